/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "controller/access.h"
#include "controller/certificates.h"
#include "controller/descriptors.h"
#include "controller/event_teller.h"
#include "controller/exposition.h"
#include "controller/front.h"
#include "controller/last_writes.h"
#include "controller/leadership.h"
#include "controller/memory_limit.h"
#include "controller/published_orders.h"
#include "controller/readiness.h"
#include "controller/reconciler.h"
#include "controller/reviewer.h"
#include "controller/shared_report.h"
#include "controller/telemetry.h"
#include "controller/watches.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "kube/apiclient.h"
#include "model/inventory.h"

/*
 * Objects are made from the bottom up and freed from the top down: loop, client, inventory, then
 * what works with them. The front comes last, since it accepts connections. Everything of the
 * loop's side runs on this thread; what the front hands over is taken from its queue here.
 *
 * A pulse shows the front that the loop lives, and updates readiness and metrics. It beats fast
 * until everything is synced, so that nobody waits for it, and slowly after that.
 */

#define PULSE_SYNCING_MS 20
#define PULSE_MS 2000
#define PULSE_STOPPING_MS 10
#define MAX_SILENT_MS 30000u
#define MAX_NODES 20000u
#define DEFAULT_NAMESPACE "gpu-attribution"
#define MAX_NAMESPACE 64

struct daemon {
	const struct settings *settings;
	char namespace[MAX_NAMESPACE];
	const char *agent_namespace;
	size_t memory_limit; /* of the process */
	struct descriptors_shares shares;
	struct loop *loop;
	struct loop_signal *signals[2];
	struct loop_timer *pulse;
	struct loop_watch *messages;
	struct apiclient *client;
	struct inventory *inventory;
	struct watches *watches;
	struct leadership *leadership; /* NULL: this is the only replica */
	struct certificates *certificates;
	struct reconciler *reconciler;
	struct event_teller *events; /* NULL: none are sent */
	struct reviewer *reviewer;
	struct telemetry *telemetry;
	struct exposition *exposition;
	struct front *front;
	struct readiness readiness;
	bool synced;
	struct last_writes last;
};

/* The second signal ends it at once. */
static void on_signal(void *owner, int signal_number)
{
	struct daemon *daemon = owner;

	LOG_INFO("Controller stops on a signal", LOG_I64("signal", signal_number));
	if (daemon->leadership && last_writes_begin(&daemon->last, loop_now_ms(daemon->loop)))
		loop_timer_set(daemon->pulse, 0);
	else
		loop_stop(daemon->loop);
}

static void on_released(void *owner)
{
	struct daemon *daemon = owner;

	LOG_INFO("Lease given up");
	loop_stop(daemon->loop);
}

static void stop(struct daemon *daemon)
{
	const struct reconciler_counters counters = reconciler_counters(daemon->reconciler);
	const uint64_t now = loop_now_ms(daemon->loop);

	if (last_writes_events_ms(&daemon->last, now) == 0)
		event_teller_cut(daemon->events);
	switch (last_writes_next(&daemon->last,
				 counters.writes.under_way + event_teller_is_busy(daemon->events),
				 now)) {
	case LAST_WRITES_WAIT:
		break;
	case LAST_WRITES_RELEASE:
		leadership_release(daemon->leadership);
		break;
	case LAST_WRITES_END:
		loop_stop(daemon->loop);
		break;
	}
}

/* The front shall not take the node's next report for one that is known. */
static void on_forgotten(void *owner, struct view node_name)
{
	struct daemon *daemon = owner;
	struct error error = {0};

	if (front_forget(daemon->front, node_name, &error) < 0)
		LOG_ERROR("Node removal not passed to the front thread",
			  LOG_TEXT("node", node_name), LOG_ERROR_FIELD(&error));
}

/* Before the first sync nothing need be told: no report is taken, and all is told then. */
static void on_named_boot(void *owner, struct view node_name)
{
	struct daemon *daemon = owner;

	if (daemon->synced)
		published_orders_tell_boot(daemon->front, daemon->inventory, node_name);
}

/* From the front */

static void take_report(struct daemon *daemon, struct shared_report *report)
{
	struct error error = {0};
	const struct node_state *node_state = inventory_node_state_find(daemon->inventory,
									report->report.node);
	bool is_first = !node_state || !node_state->report;

	if (inventory_node_state_put_report(daemon->inventory, &report->report, shared_report_unref,
					    report, loop_now_ms(daemon->loop), &error) == 0) {
		if (is_first)
			on_named_boot(daemon, report->report.node);
		return;
	}
	LOG_ERROR("Report could not be stored", LOG_TEXT("node", report->report.node),
		  LOG_ERROR_FIELD(&error));
	on_forgotten(daemon, report->report.node);
	shared_report_unref(report);
}

static void take_refresh(struct daemon *daemon, struct front_message *message)
{
	if (!inventory_node_state_refresh_report(
		    daemon->inventory, message->text, message->listed_at,
		    (uint64_t)daemon->settings->stale_ms, loop_now_ms(daemon->loop))) {
		on_forgotten(daemon, message->text);
		return;
	}
	if (message->figures)
		inventory_node_state_put_figures(daemon->inventory, message->text,
						 &message->report->report, TAKE(message->figures));
}

static void take_message(struct daemon *daemon, struct front_message *message)
{
	switch (message->kind) {
	case FRONT_REVIEW:
		reviewer_review(daemon->reviewer, message->ticket, message->text);
		break;
	case FRONT_READER:
		reviewer_review_reader(daemon->reviewer, message->ticket, message->text);
		break;
	case FRONT_REPORT:
		take_report(daemon, TAKE(message->report));
		break;
	case FRONT_REFRESH:
		take_refresh(daemon, message);
		break;
	case FRONT_SCRAPE:
		exposition_write(daemon->exposition);
		break;
	}
	front_message_free(message);
}

static void on_messages(void *owner, bool readable, bool writable)
{
	struct daemon *daemon = owner;
	struct front_message *message;

	(void)readable;
	(void)writable;
	while ((message = front_next(daemon->front)))
		take_message(daemon, message);
}

/* To the front */

static int on_certificate(void *owner, struct view cert_pem, struct view key_pem, struct error *err)
{
	struct daemon *daemon = owner;

	return front_set_certificate(daemon->front, cert_pem, key_pem, err);
}

static void on_events_published(void *owner, const struct reconciler_events *events)
{
	struct daemon *daemon = owner;
	struct report_event last = {.sequence = events->sequence};
	const struct report report = {
		.node = events->node_name,
		.boot_id = events->boot_id,
		.instance = events->instance,
		.events = {.items = &last, .count = 1, .present = true},
	};
	struct error error = {0};

	if (front_acknowledge(daemon->front, &report, &error) < 0)
		LOG_WARN("Event acknowledgement not passed to the front thread",
			 LOG_TEXT("node", events->node_name), LOG_ERROR_FIELD(&error));
}

static void on_exposition(void *owner, struct exposition_text *take_text, enum error_kind failure)
{
	struct daemon *daemon = owner;
	struct error error = {0};

	if (front_expose(daemon->front, take_text, failure, &error) < 0)
		LOG_WARN("Metrics not passed to the front thread", LOG_ERROR_FIELD(&error));
}

static bool is_ready(void *owner)
{
	const struct daemon *daemon = owner;

	return daemon->synced && watches_allow_writes(daemon->watches);
}

static bool may_join(void *owner, struct view node_name)
{
	return watches_allow_node(((const struct daemon *)owner)->watches, node_name);
}

static uint64_t leads_until(void *owner)
{
	const struct daemon *daemon = owner;

	return daemon->last.has_begun ? 0 : leadership_leads_until(daemon->leadership);
}

static bool leads(void *owner)
{
	return leads_until(owner) > 0;
}

/* Events of the last statuses may be sent until the Lease is given up, for a moment. */
static uint64_t may_send_until(void *owner)
{
	const struct daemon *daemon = owner;
	const uint64_t last =
		clock_boot_ms() + last_writes_events_ms(&daemon->last, loop_now_ms(daemon->loop));
	const uint64_t lead = leadership_leads_until(daemon->leadership);

	return lead < last ? lead : last;
}

static int64_t term(void *owner)
{
	const struct daemon *daemon = owner;

	return leadership_term(daemon->leadership);
}

static void on_changed(void *owner, struct view node_name, const struct event_change *changes,
		       size_t n)
{
	struct daemon *daemon = owner;

	event_teller_tell(daemon->events, node_name, changes, n);
}

static void on_watches_changed(void *owner)
{
	struct daemon *daemon = owner;

	if (daemon->synced)
		reconciler_wake(daemon->reconciler);
}

/* Publishes what changed in readiness. */
static void tell_readiness(struct daemon *daemon)
{
	struct error error = {0};
	struct front_state state = {
		.heartbeat_s = (uint32_t)(daemon->settings->heartbeat_ms / 1000),
		.leads = leads(daemon),
	};
	const struct readiness_sources sources = {
		.watches = daemon->watches,
		.certificates = daemon->certificates,
		.leadership = daemon->leadership,
		.writes = reconciler_write_trouble(daemon->reconciler),
	};

	if (!readiness_look(&daemon->readiness, &sources, loop_now_ms(daemon->loop)))
		return;
	state.trouble = daemon->synced ? (struct view){0} : VIEW("not synced yet");
	state.checks = readiness_checks(&daemon->readiness, &state.n_checks);
	if (front_publish(daemon->front, &state, &error) < 0) {
		LOG_WARN("Readiness not passed to the front thread", LOG_ERROR_FIELD(&error));
		readiness_forget(&daemon->readiness);
	}
}

static void on_pulse(void *owner)
{
	struct daemon *daemon = owner;

	front_beat(daemon->front);
	if (daemon->last.has_begun) {
		stop(daemon);
		loop_timer_set(daemon->pulse, PULSE_STOPPING_MS);
		return;
	}
	if (!daemon->synced && watches_are_synced(daemon->watches)) {
		daemon->synced = true;
		LOG_INFO("All resources are synced");
		leadership_run(daemon->leadership);
		published_orders_tell(daemon->front, daemon->inventory);
		readiness_forget(&daemon->readiness);
		reconciler_wake(daemon->reconciler);
	}
	tell_readiness(daemon);
	telemetry_collect(daemon->telemetry);
	loop_timer_set(daemon->pulse, daemon->synced ? PULSE_MS : PULSE_SYNCING_MS);
}

/* The front is told at once: agents post to all replicas, and the leader's answer counts. */
static void on_leadership(void *owner)
{
	struct daemon *daemon = owner;

	readiness_forget(&daemon->readiness);
	tell_readiness(daemon);
	exposition_leader_changed(daemon->exposition);
	if (leads(daemon))
		reconciler_take_over(daemon->reconciler);
}

/* Making */

static int choose_namespaces(struct daemon *daemon, const struct kubeconfig *config,
			     struct error *err)
{
	const struct settings *settings = daemon->settings;
	struct view namespace = view_from(settings->namespace);

	if (namespace.len == 0 && getenv("KUBERNETES_SERVICE_HOST"))
		namespace = config->namespace;
	if (namespace.len == 0)
		namespace = VIEW(DEFAULT_NAMESPACE);
	if (namespace.len >= sizeof(daemon->namespace))
		return error_set(err, ERROR_REJECTED, 0, "--namespace is too long");
	snprintf(daemon->namespace, sizeof(daemon->namespace), "%.*s", VIEW_ARG(namespace));
	daemon->agent_namespace =
		settings->agent_namespace[0] ? settings->agent_namespace : daemon->namespace;
	return 0;
}

static int make_client(struct daemon *daemon, struct error *err)
{
	CLEANUP(kubeconfig_deinit) struct kubeconfig config = {0};
	const struct settings *settings = daemon->settings;

	if (access_load(settings->kubeconfig, settings->context, &config, err) < 0 ||
	    choose_namespaces(daemon, &config, err) < 0)
		return -1;
	LOG_INFO("Using API server", LOG_TEXT("server", config.server),
		 LOG_TEXT("context", config.context),
		 LOG_TEXT("namespace", view_from(daemon->namespace)));
	return apiclient_new(daemon->loop, &config, "gpu-attribution-controller/"
			     GPU_ATTRIBUTION_VERSION, &daemon->client, err);
}

static uint32_t wanted_connections(const struct daemon *daemon)
{
	return memory_limit_connections(daemon->memory_limit,
					(uint32_t)daemon->settings->max_connections);
}

/* Clients must not take the memory and the descriptors that watches and writes need. */
static int limit_connections(struct daemon *daemon, struct front_config *config,
			     struct error *err)
{
	const uint32_t limit = descriptors_raise();
	const struct descriptors_shares wanted = {
		.reports = wanted_connections(daemon),
		.metrics = config->max_metrics_connections,
		.probes = config->max_probe_connections,
		.reviews = config->max_reviews,
		.readers = config->max_reader_reviews,
		.pods = daemon->settings->pod_selection_policy == POD_SELECTION_ALWAYS_CLUSTER
				? 0
				: descriptors_for_nodes(POD_SELECTION_MAX),
		.writes = (uint32_t)daemon->settings->max_requests,
	};

	if (descriptors_divide(limit, &wanted, &daemon->shares, err) < 0)
		return -1;
	const struct descriptors_shares shares = daemon->shares;

	config->max_connections = shares.reports;
	config->max_metrics_connections = shares.metrics;
	config->max_probe_connections = shares.probes;
	config->max_reviews = shares.reviews;
	config->max_reader_reviews = shares.readers;
	if (shares.reports < wanted.reports)
		LOG_WARN("Connections limited by the file descriptors of the process",
			 LOG_I64("connections", shares.reports), LOG_I64("wanted", wanted.reports),
			 LOG_I64("descriptors", limit));
	if (shares.writes < wanted.writes)
		LOG_WARN("Writes limited by the file descriptors of the process: raise the limit "
			 "(RLIMIT_NOFILE)",
			 LOG_I64("writes", shares.writes), LOG_I64("wanted", wanted.writes),
			 LOG_I64("descriptors", limit));
	return 0;
}

static int make_front(struct daemon *daemon, struct error *err)
{
	const struct settings *settings = daemon->settings;
	struct front_config config = front_config_default();

	config.report_address = settings->report_address;
	config.probe_address = settings->probe_address;
	config.metrics_address = settings->metrics_address;
	config.metrics_insecure = settings->metrics_insecure;
	config.rules = (struct identity_rules){
		.audience = view_from(settings->audience),
		.namespace = view_from(daemon->agent_namespace),
		.service_account = view_from(settings->agent_service_account),
	};
	config.token_ttl_ms = (uint32_t)settings->token_ttl_ms;
	config.reviews_per_second = (uint32_t)settings->token_reviews_per_second;
	config.heartbeat_ms = (uint32_t)settings->heartbeat_ms;
	config.max_connections_per_address = (uint32_t)settings->max_connections_per_address;
	config.reports_per_second = (uint32_t)settings->reports_per_second;
	config.max_nodes = MAX_NODES;
	config.memory_limit = daemon->memory_limit;
	config.max_silent_ms = MAX_SILENT_MS;
	config.metrics = telemetry_front_metrics(daemon->telemetry);
	config.with_exposition = true;
	if (limit_connections(daemon, &config, err) < 0 ||
	    front_new(&config, &daemon->front, err) < 0)
		return -1;
	return loop_watch_new(daemon->loop, front_fd(daemon->front), LOOP_READ, on_messages,
			      daemon, &daemon->messages, err);
}

static int make_certificates(struct daemon *daemon, struct error *err)
{
	const struct settings *settings = daemon->settings;
	const struct certificates_config config = {
		.loop = daemon->loop,
		.client = daemon->client,
		.cert_file = settings->tls_cert[0] ? settings->tls_cert : NULL,
		.key_file = settings->tls_key[0] ? settings->tls_key : NULL,
		.secret = settings->tls_secret,
		.namespace = daemon->namespace,
		.service = settings->tls_service,
		.ca_config_map = settings->tls_ca_configmap[0] ? settings->tls_ca_configmap : NULL,
		.ca_namespace = daemon->agent_namespace,
		.changed = on_certificate,
		.owner = daemon,
	};

	return certificates_new(&config, &daemon->certificates, err);
}

static int make_reconciler(struct daemon *daemon, struct error *err)
{
	const struct settings *settings = daemon->settings;
	const struct reconciler_config config = {
		.loop = daemon->loop,
		.client = daemon->client,
		.inventory = daemon->inventory,
		.limits = {
			.report_stale_ms = settings->stale_ms,
			.pending_ms = settings->pending_ms,
			.settling_ms = settings->settling_ms,
			.node_gone_ms = settings->node_gone_ms,
			.agentless_ms = settings->agentless_ms,
			.disagreement_ms = settings->disagreement_ms,
			.user_grace_ms = settings->user_grace_ms,
			.quiet_ms = settings->quiet_ms,
			.hold_off_percent = (uint32_t)settings->hold_off_percent,
		},
		.max_requests = daemon->shares.writes,
		.max_join_bytes = memory_limit_join(daemon->memory_limit),
		.is_ready = is_ready,
		.may_join = may_join,
		.leads_until = leads_until,
		.events_published = on_events_published,
		.changed = daemon->events ? on_changed : NULL,
		.forgotten = on_forgotten,
		.owner = daemon,
		.seed = prng_entropy(),
	};

	inventory_on_boot(daemon->inventory, on_named_boot, daemon);
	return reconciler_new(&config, &daemon->reconciler, err);
}

static int make_events(struct daemon *daemon, struct error *err)
{
	const struct settings *settings = daemon->settings;
	const struct event_teller_config config = {
		.loop = daemon->loop,
		.client = daemon->client,
		.inventory = daemon->inventory,
		.limits = {
			.per_minute = (uint32_t)settings->events_per_minute,
			.repeat_ms = (uint64_t)settings->event_repeat_ms,
		},
		.idle_ms = settings->event_idle_ms,
		.is_ready = is_ready,
		.leads = leads,
		.may_send_until = may_send_until,
		.owner = daemon,
		.seed = loop_now_ms(daemon->loop),
	};

	return settings->events ? event_teller_new(&config, &daemon->events, err) : 0;
}

static int make_leadership(struct daemon *daemon, struct error *err)
{
	const struct settings *settings = daemon->settings;
	const struct leadership_config config = {
		.loop = daemon->loop,
		.client = daemon->client,
		.namespace = daemon->namespace,
		.name = settings->lease_name,
		.duration_ms = (uint32_t)settings->lease_duration_ms,
		.renew_deadline_ms = (uint32_t)settings->renew_deadline_ms,
		.retry_ms = (uint32_t)settings->retry_period_ms,
		.seed = prng_entropy(),
		.changed = on_leadership,
		.released = on_released,
		.owner = daemon,
	};

	return settings->leader_elect ? leadership_new(&config, &daemon->leadership, err) : 0;
}

static int make_watches(struct daemon *daemon, struct error *err)
{
	const uint32_t max_nodes = descriptors_nodes_of(daemon->shares.pods);
	if (daemon->shares.pods > 1)
		apiclient_spread(daemon->client, daemon->shares.pods - 1); /* one is to spare */
	const struct watches_config config = {
		.initial = daemon->settings->initial_state,
		.pod_selection = max_nodes ? daemon->settings->pod_selection_policy
					   : POD_SELECTION_ALWAYS_CLUSTER,
		.max_pod_nodes = max_nodes < POD_SELECTION_MAX ? max_nodes : POD_SELECTION_MAX,
		.pod_selection_threshold = (uint32_t)daemon->settings->pod_selection_threshold,
		.seed = prng_entropy(),
		.changed = on_watches_changed,
		.owner = daemon,
	};

	return watches_new(daemon->loop, daemon->client, daemon->inventory, &config,
			   &daemon->watches, err);
}

static int make_telemetry(struct daemon *daemon, struct error *err)
{
	return telemetry_new(apiclient_host(daemon->client), &daemon->telemetry, err);
}

static int make_loop(struct daemon *daemon, struct error *err)
{
	if (loop_new(&daemon->loop, err) < 0 ||
	    loop_signal_new(daemon->loop, SIGTERM, on_signal, daemon, &daemon->signals[0], err) <
		    0 ||
	    loop_signal_new(daemon->loop, SIGINT, on_signal, daemon, &daemon->signals[1], err) < 0 ||
	    loop_timer_new(daemon->loop, on_pulse, daemon, &daemon->pulse, err) < 0)
		return -1;
	return inventory_new(loop_now_ms(daemon->loop), &daemon->inventory, err);
}

static int make_reviewer(struct daemon *daemon, struct error *err)
{
	const struct reviewer_config config = {
		.client = daemon->client,
		.front = daemon->front,
		.audience = daemon->settings->audience,
		.max_agents = daemon->shares.reviews,
		.max_readers = daemon->shares.readers,
	};

	return reviewer_new(&config, &daemon->reviewer, err);
}

static const struct write_budget *writes(void *owner)
{
	const struct daemon *daemon = owner;

	return daemon->reconciler ? reconciler_write_budget(daemon->reconciler) : NULL;
}

static int make_exposition(struct daemon *daemon, struct error *err)
{
	const struct exposition_config config = {
		.loop = daemon->loop,
		.inventory = daemon->inventory,
		.with_devices = daemon->settings->metrics_devices,
		.leads = daemon->settings->leader_elect ? leads : NULL,
		.term = term,
		.writes = writes,
		.max_series = (size_t)daemon->settings->max_series,
		.stale_ms = (uint64_t)daemon->settings->stale_ms,
		.done = on_exposition,
		.owner = daemon,
	};

	return exposition_new(&config, &daemon->exposition, err);
}

static int make_all(struct daemon *daemon, struct error *err)
{
	static int (*const steps[])(struct daemon *, struct error *) = {
		make_loop,     make_client,       make_telemetry, make_exposition, make_front,
		make_reviewer, make_certificates, make_events,    make_reconciler, make_watches,
		make_leadership,
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i](daemon, err) < 0)
			return -1;
	telemetry_watch(daemon->telemetry, &(struct telemetry_sources){
		.loop = daemon->loop,
		.client = daemon->client,
		.inventory = daemon->inventory,
		.watches = daemon->watches,
		.reconciler = daemon->reconciler,
		.events = daemon->events,
		.leadership = daemon->leadership,
	});
	return 0;
}

static int choose_memory_limit(struct daemon *daemon, struct error *err)
{
	daemon->memory_limit = memory_limit_choose((uint64_t)daemon->settings->memory_limit);
	if (memory_limit_check(daemon->memory_limit, err) < 0)
		return -1;
	LOG_INFO("Memory limit chosen", LOG_I64("bytes", (int64_t)daemon->memory_limit),
		 LOG_I64("connections", wanted_connections(daemon)));
	return 0;
}

int daemon_new(const struct settings *settings, struct daemon **ret_daemon, struct error *err)
{
	struct daemon *daemon = calloc(1, sizeof(*daemon));

	if (!daemon)
		return error_no_memory(err);
	daemon->settings = settings;
	if (choose_memory_limit(daemon, err) < 0 || make_all(daemon, err) < 0) {
		daemon_free(daemon);
		return -1;
	}
	*ret_daemon = daemon;
	return 0;
}

static void log_start(const struct daemon *daemon)
{
	CLEANUP(sbuf_deinit) struct sbuf libraries = {0};
	sbuf_init(&libraries, FETCH_VERSIONS_CAP);
	fetch_versions(&libraries);
	LOG_INFO("HTTPS servers started", LOG_TEXT("version", VIEW(GPU_ATTRIBUTION_VERSION)),
		 LOG_TEXT("libraries", sbuf_view(&libraries)),
		 LOG_TEXT("reports", view_from(daemon->settings->report_address)),
		 LOG_TEXT("probes", view_from(daemon->settings->probe_address)),
		 LOG_TEXT("metrics", view_from(daemon->settings->metrics_address)),
		 LOG_BOOL("metrics_insecure", daemon->settings->metrics_insecure));
}

int daemon_run(struct daemon *daemon, struct error *err)
{
	/* A client that goes away while it is written to is that connection's matter. */
	signal(SIGPIPE, SIG_IGN);
	if (front_start(daemon->front, err) < 0)
		return -1;
	log_start(daemon);
	loop_timer_set(daemon->pulse, 0);
	return loop_run(daemon->loop, err);
}

void daemon_free(struct daemon *daemon)
{
	if (!daemon)
		return;
	if (daemon->front)
		front_stop(daemon->front);
	reconciler_free(daemon->reconciler);
	event_teller_free(daemon->events);
	certificates_free(daemon->certificates);
	reviewer_free(daemon->reviewer);
	/* The client runs the watches' reflectors: it goes before them. */
	apiclient_free(daemon->client);
	leadership_free(daemon->leadership);
	watches_free(daemon->watches);
	loop_watch_free(daemon->messages);
	front_free(daemon->front);
	exposition_free(daemon->exposition);
	inventory_free(daemon->inventory);
	telemetry_free(daemon->telemetry);
	loop_timer_free(daemon->pulse);
	for (size_t i = 0; i < ARRAY_SIZE(daemon->signals); i++)
		loop_signal_free(daemon->signals[i]);
	loop_free(daemon->loop);
	free(daemon);
}
