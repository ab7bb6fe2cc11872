/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From front_start() to front_stop() the front's thread owns everything of the front, except two
 * queues, the accounts of memory and the loop's last sign of life. The loop gives back what is charged
 * for a report when it gives up the last reference. What the loop wants changed travels as a command with its
 * own memory. The loop parses a certificate itself, so that it learns at once when a pair does not fit.
 * Only the finished context is handed over.
 *
 * The thread blocks all signals: the loop handles them, and SIGPIPE is ignored.
 */

#include "controller/front.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/prng.h"
#include "controller/exposition_budget.h"
#include "controller/exposition_text.h"
#include "controller/front_command.h"
#include "controller/front_counts.h"
#include "controller/memory_limit.h"
#include "controller/shared_report.h"
#include "io/loop.h"
#include "io/server.h"
#include "io/tls.h"
#include "model/figures.h"
#include "model/report.h"
#include "schema/token_review_doc.h"

#define MAX_MESSAGES 8192u
#define MAX_COMMANDS 65536u
/* Of the connections of agents, and of readers of metrics, those whose token was not judged yet. */
#define STRANGERS_PART 4u
#define MAX_CONNECTIONS_OF_NODE 16u /* an agent has one, and one more for a moment when it connects anew */
#define MAX_KNOWN_READERS 1024u
#define MAX_REVIEWS 96u
#define RESERVED_PART 3u /* of reviews, for tokens and addresses that were good before */
#define STRANGERS_REVIEWS_PER_SECOND 10u /* that accept no token */

struct front {
	struct front_config config;
	struct arena texts; /* of the config */
	struct loop *loop;
	struct tls_identity *certificate;
	struct receiver *receiver;
	struct scrapes *scrapes;
	struct probes *probes;
	struct metrics_gate *gate;
	struct server *report_server;
	struct server *probe_server;
	struct server *metrics_server; /* NULL: none */
	struct handoff *messages; /* to the loop */
	struct handoff *commands; /* from it */
	struct loop_watch *command_watch;
	struct front_counts counts;
	pthread_t thread;
	bool is_running;
	atomic_uint_fast64_t beat_ms;
};

struct front_config front_config_default(void)
{
	return (struct front_config){
		.token_ttl_ms = 120000,
		.reviews_per_second = 8,
		.max_reviews = MAX_REVIEWS,
		.max_reader_reviews = METRICS_GATE_MAX_REVIEWS,
		.max_connections = 4096,
		.heartbeat_ms = 60000,
		.max_metrics_connections = 256,
		.max_probe_connections = 128,
		.max_connections_per_address = 256,
		.max_strangers_per_network = 16,
		.reports_per_second = 5,
		.refusal_delay_ms = 250,
		.refresh_ms = 1000,
		.max_nodes = 16384,
		.memory_limit = MEMORY_LIMIT_DEFAULT,
		.metrics_address = "",
		.max_silent_ms = 30000,
	};
}

/* Messages: from the front's thread to the loop's */

/* With the text, which may be a token. */
static void free_wiped(struct front_message *message)
{
	explicit_bzero(message, sizeof(*message) + message->text.len);
	free(message);
}

void front_message_free(struct front_message *message)
{
	if (!message)
		return;
	shared_report_unref(message->report);
	figures_free(message->figures);
	free_wiped(message);
}

static bool push_message(struct front *front, const struct front_message *template)
{
	struct error err;
	struct front_message *message = malloc(sizeof(*message) + template->text.len);
	if (!message)
		return false;
	*message = *template;
	memcpy(message + 1, template->text.ptr ? template->text.ptr : "", template->text.len);
	message->text.ptr = (const char *)(message + 1);
	if (handoff_push(front->messages, &message->node, &err) == 0)
		return true;
	free_wiped(message);
	return false;
}

static bool on_review(void *owner, uint64_t ticket, struct view token)
{
	return push_message(owner, &(struct front_message){.kind = FRONT_REVIEW, .ticket = ticket,
							   .text = token});
}

static bool on_reader(void *owner, uint64_t ticket, struct view token)
{
	return push_message(owner, &(struct front_message){.kind = FRONT_READER, .ticket = ticket,
							   .text = token});
}

/* What waits is charged to its node (shared_report_charge()). */
static bool on_hand_over(void *owner, struct shared_report *take_report)
{
	return push_message(owner, &(struct front_message){.kind = FRONT_REPORT,
							   .report = take_report});
}

static bool on_refresh(void *owner, const struct receiver_refresh *refresh)
{
	struct shared_report *of = refresh->figures ? shared_report_ref(refresh->of) : NULL;

	if (push_message(owner, &(struct front_message){.kind = FRONT_REFRESH,
							.report = of,
							.text = refresh->node,
							.listed_at = refresh->listed_at,
							.figures = refresh->figures}))
		return true;
	shared_report_unref(of);
	return false;
}

static bool on_scrape(void *owner)
{
	return push_message(owner, &(struct front_message){.kind = FRONT_SCRAPE});
}

int front_fd(const struct front *front)
{
	return handoff_fd(front->messages);
}

struct front_message *front_next(struct front *front)
{
	struct handoff_node *node = handoff_pop(front->messages);
	return node ? CONTAINER_OF(node, struct front_message, node) : NULL;
}

/* Commands: from the loop's thread to the front's */

/* Takes the command over in any case; NULL: it could not be made, and err says why. */
static int push_command(struct front *front, struct front_command *take_command, struct error *err)
{
	if (!take_command)
		return -1;
	if (handoff_push(front->commands, &take_command->node, err) == 0)
		return 0;
	front_command_free(take_command);
	return -1;
}

int front_answer_review(struct front *front, uint64_t ticket, const struct token_review *review,
			struct error *err)
{
	struct identity verdict;
	if (review)
		verdict = identity_judge(&front->config.rules, review);
	return push_command(front,
			    front_command_verdict(FRONT_COMMAND_VERDICT, ticket, review ? &verdict : NULL, err),
			    err);
}

int front_answer_reader(struct front *front, uint64_t ticket, const struct identity *verdict,
			struct error *err)
{
	return push_command(front, front_command_verdict(FRONT_COMMAND_READER, ticket, verdict, err), err);
}

int front_set_certificate(struct front *front, struct view cert_pem, struct view key_pem,
			  struct error *err)
{
	return push_command(front, front_command_certificate(cert_pem, key_pem, err), err);
}

int front_publish(struct front *front, const struct front_state *state, struct error *err)
{
	return push_command(front, front_command_state(state, err), err);
}

int front_forget(struct front *front, struct view node, struct error *err)
{
	return push_command(front, front_command_forget(node, err), err);
}

int front_acknowledge(struct front *front, const struct report *report, struct error *err)
{
	return report->events.count == 0
		       ? 0
		       : push_command(front, front_command_acknowledge(report, err), err);
}

int front_set_orders(struct front *front, const struct receiver_order *orders, size_t n,
		     struct error *err)
{
	return push_command(front, front_command_orders(orders, n, err), err);
}

int front_expose(struct front *front, struct exposition_text *take_text, enum error_kind failure,
		 struct error *err)
{
	return push_command(front, front_command_exposition(take_text, failure, err), err);
}

static void apply_state(struct front *front, const struct front_state *state)
{
	receiver_set_trouble(front->receiver, state->trouble);
	receiver_set_heartbeat(front->receiver, state->heartbeat_s);
	receiver_set_leads(front->receiver, state->leads);
	probes_set(front->probes, state->checks, state->n_checks);
}

static void apply(struct front *front, struct front_command *command)
{
	switch (command->kind) {
	case FRONT_COMMAND_VERDICT:
		receiver_answer_review(front->receiver, command->ticket,
				       command->has_verdict ? &command->verdict : NULL);
		break;
	case FRONT_COMMAND_READER:
		metrics_gate_answer_review(front->gate, command->ticket,
					   command->has_verdict ? &command->verdict : NULL);
		break;
	case FRONT_COMMAND_CERTIFICATE:
		tls_identity_replace(front->certificate, TAKE(command->certificate));
		break;
	case FRONT_COMMAND_STATE:
		apply_state(front, &command->state);
		break;
	case FRONT_COMMAND_FORGET:
		receiver_forget(front->receiver, command->node_name);
		break;
	case FRONT_COMMAND_ACKNOWLEDGE:
		receiver_acknowledge(front->receiver, &command->acknowledgement);
		break;
	case FRONT_COMMAND_ORDERS:
		for (size_t i = 0; i < command->n_orders; i++)
			receiver_set_order(front->receiver, &command->orders[i]);
		break;
	case FRONT_COMMAND_EXPOSITION:
		scrapes_take(front->scrapes, TAKE(command->text), command->failure);
		break;
	}
}

static struct front_command *next_command(struct front *front)
{
	struct handoff_node *node = handoff_pop(front->commands);
	return node ? CONTAINER_OF(node, struct front_command, node) : NULL;
}

static void on_commands(void *owner, bool readable, bool writable)
{
	(void)readable, (void)writable;
	struct front *front = owner;
	for (struct front_command *command = next_command(front); command;
	     command = next_command(front)) {
		apply(front, command);
		front_command_free(command);
	}
}

/* What probes ask for */

static uint64_t silent_ms(void *owner)
{
	struct front *front = owner;
	uint64_t beat_ms = atomic_load_explicit(&front->beat_ms, memory_order_relaxed);
	uint64_t now_ms = clock_monotonic_ms();
	return now_ms > beat_ms ? now_ms - beat_ms : 0;
}

static void collect(void *owner)
{
	struct front *front = owner;
	front_counts_collect(&front->counts, &front->config.metrics,
			     &(struct front_counted){
				     .loop = front->loop,
				     .receiver = front->receiver,
				     .gate = front->gate,
				     .scrapes = front->scrapes,
				     .reports = front->report_server,
				     .readers = front->metrics_server,
			     });
}

static void append_agents(void *owner, struct sbuf *text)
{
	const struct front *front = owner;
	receiver_render_agents(front->receiver, text);
}

void front_beat(struct front *front)
{
	atomic_store_explicit(&front->beat_ms, clock_monotonic_ms(), memory_order_relaxed);
}

/* Start and end */

static int make_receiver(struct front *front, struct error *err)
{
	const struct front_config *config = &front->config;
	const uint32_t reviews = config->max_reviews;
	const struct receiver_config receiver = {
		.admission = {
			.cache = {
				.max_accepted = 2 * config->max_nodes,
				.max_refused = 4096,
				.accepted_ms = config->token_ttl_ms,
				.refused_ms = 10000,
			},
			.rules = &config->rules,
			.quota = {
				.max_clients = 4096,
				.max_strangers = reviews - (reviews + RESERVED_PART - 1) / RESERVED_PART,
				.max_of_client = config->reviews_per_second,
				.per_second = config->reviews_per_second,
				.strangers_per_second = STRANGERS_REVIEWS_PER_SECOND,
			},
			.max_reviews = reviews,
			.max_waiting = config->max_connections,
			.timeout_ms = 10000,
			.review = on_review,
		},
		.reports_per_second = config->reports_per_second,
		.max_nodes = config->max_nodes,
		.max_body_bytes = memory_limit_bodies(config->memory_limit),
		.max_report_bytes = memory_limit_reports(config->memory_limit),
		.refresh_ms = config->refresh_ms,
		.metrics = config->metrics.registry,
		.metric = config->metrics.reports,
		.durations = config->metrics.durations,
		.hand_over = on_hand_over,
		.refresh = on_refresh,
		.owner = front,
	};
	return receiver_new(front->loop, &receiver, &front->receiver, err);
}

static int make_scrapes(struct front *front, struct error *err)
{
	const struct scrapes_config scrapes = {
		.metrics = front->config.metrics.registry,
		.collect = collect,
		.append = append_agents,
		.ask = front->config.with_exposition ? on_scrape : NULL,
		.owner = front,
	};
	if (!scrapes.metrics)
		return 0;
	exposition_budget_set_cap(memory_limit_pages(front->config.memory_limit));
	return scrapes_new(front->loop, &scrapes, &front->scrapes, err);
}

static int make_probes(struct front *front, struct error *err)
{
	const struct probes_config probes = {
		.silent_ms = silent_ms,
		.owner = front,
		.max_silent_ms = front->config.max_silent_ms,
	};
	return probes_new(&probes, &front->probes, err);
}

static void answer_metrics(void *owner, struct server_request *request)
{
	const struct front *front = owner;
	scrapes_answer(front->scrapes, request);
}

static int make_gate(struct front *front, struct error *err)
{
	const struct front_config *config = &front->config;
	const struct metrics_gate_config gate = {
		.admission = {
			.cache = {
				.max_accepted = 64,
				.max_refused = 256,
				.accepted_ms = config->token_ttl_ms,
				.refused_ms = 10000,
			},
			.max_reviews = config->max_reader_reviews,
			.max_waiting = config->max_metrics_connections,
			.timeout_ms = 10000,
			.review = on_reader,
		},
		.insecure = config->metrics_insecure,
		.seed = prng_entropy(),
		.metrics = config->metrics.registry,
		.metric = config->metrics.requests,
		.answer = answer_metrics,
		.owner = front,
	};
	return metrics_gate_new(front->loop, &gate, &front->gate, err);
}

static uint32_t strangers_of(uint32_t max_connections)
{
	return (max_connections + STRANGERS_PART - 1) / STRANGERS_PART;
}

/* Where nobody shows a token, nobody is a stranger. */
static int make_metrics_server(struct front *front, struct error *err)
{
	const bool is_open = front->config.metrics_insecure;
	const uint32_t max_connections = front->config.max_metrics_connections;
	const struct server_config config = {
		.address = front->config.metrics_address,
		.tls = is_open ? NULL : front->certificate,
		.max_connections = max_connections,
		.max_connections_per_address = 128,
		.max_strangers = is_open ? 0 : strangers_of(max_connections),
		.max_strangers_per_network = is_open ? 0 : front->config.max_strangers_per_network,
		.max_known_addresses = is_open ? 0 : MAX_KNOWN_READERS,
		.handshake_timeout_ms = 10000,
		.head_timeout_ms = 5000,
		.body_timeout_ms = 5000,
		.write_timeout_ms = 30000,
		.idle_timeout_ms = 60000,
	};
	const struct server_handler handler = metrics_gate_handler(front->gate);
	if (!config.address[0] || !front->scrapes)
		return 0;
	return server_new(front->loop, &config, &handler, &front->metrics_server, err);
}

static int make_servers(struct front *front, struct error *err)
{
	const struct front_config *config = &front->config;
	const struct server_config reports = {
		.address = config->report_address,
		.tls = front->certificate,
		.max_body = LIMIT_REPORT_BYTES,
		.max_connections = config->max_connections,
		.max_connections_per_address = config->max_connections_per_address,
		.max_connections_per_client = MAX_CONNECTIONS_OF_NODE,
		.max_strangers = strangers_of(config->max_connections),
		.max_strangers_per_network = config->max_strangers_per_network,
		.max_known_addresses = 2 * config->max_nodes,
		.handshake_timeout_ms = 10000,
		.head_timeout_ms = 10000,
		.body_timeout_ms = 20000,
		.write_timeout_ms = 10000,
		.idle_timeout_ms = 30000,
		/* Agents notice by its end that this process has ended. */
		.idle_long_timeout_ms = 2 * config->heartbeat_ms,
		.delay_ms = config->refusal_delay_ms,
	};
	const struct server_config probes = {
		.address = config->probe_address,
		.max_connections = config->max_probe_connections,
		.max_connections_per_address = 64,
		.handshake_timeout_ms = 1000,
		.head_timeout_ms = 5000,
		.body_timeout_ms = 5000,
		.write_timeout_ms = 10000,
		.idle_timeout_ms = 60000,
	};
	const struct server_handler report_handler = receiver_handler(front->receiver);
	const struct server_handler probe_handler = probes_handler(front->probes);
	if (server_new(front->loop, &reports, &report_handler, &front->report_server, err) != 0)
		return -1;
	return server_new(front->loop, &probes, &probe_handler, &front->probe_server, err);
}

static int copy_rules(struct front *front, struct error *err)
{
	struct identity_rules *rules = &front->config.rules;
	arena_init(&front->texts, 64 * LIMIT_KIB);
	if (arena_copy(&front->texts, rules->audience, &rules->audience) &&
	    arena_copy(&front->texts, rules->namespace, &rules->namespace) &&
	    arena_copy(&front->texts, rules->service_account, &rules->service_account))
		return 0;
	return error_no_memory(err);
}

static int make_parts(struct front *front, struct error *err)
{
	const struct view none = {NULL, 0};
	if (copy_rules(front, err) != 0 || loop_new(&front->loop, err) != 0 ||
	    handoff_new(MAX_MESSAGES, &front->messages, err) != 0 ||
	    handoff_new(MAX_COMMANDS, &front->commands, err) != 0 ||
	    tls_identity_new(none, none, &front->certificate, err) != 0 ||
	    make_receiver(front, err) != 0 || make_scrapes(front, err) != 0 ||
	    make_probes(front, err) != 0 || make_gate(front, err) != 0 ||
	    make_servers(front, err) != 0 || make_metrics_server(front, err) != 0)
		return -1;
	return loop_watch_new(front->loop, handoff_fd(front->commands), LOOP_READ, on_commands,
			      front, &front->command_watch, err);
}

static void front_freep(struct front **front)
{
	front_free(*front);
}

int front_new(const struct front_config *config, struct front **ret_front, struct error *err)
{
	CLEANUP(front_freep) struct front *front = calloc(1, sizeof(*front));
	if (!front)
		return error_no_memory(err);
	front->config = *config;
	atomic_init(&front->beat_ms, clock_monotonic_ms());
	if (make_parts(front, err) != 0)
		return -1;
	*ret_front = TAKE(front);
	return 0;
}

static void *run(void *owner)
{
	struct front *front = owner;
	struct error err;
	if (loop_run(front->loop, &err) != 0) {
		/* Without a front the program is deaf: let it be started again. */
		LOG_ERROR("Front thread failed", LOG_ERROR_FIELD(&err));
		abort();
	}
	return NULL;
}

int front_start(struct front *front, struct error *err)
{
	sigset_t all, before;
	assert(!front->is_running);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failure = pthread_create(&front->thread, NULL, run, front);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failure != 0)
		return error_set(err, ERROR_RETRY, failure, "start the front's thread");
	front->is_running = true;
	front_beat(front);
	return 0;
}

void front_stop(struct front *front)
{
	if (!front->is_running)
		return;
	loop_stop(front->loop);
	pthread_join(front->thread, NULL);
	front->is_running = false;
}

static void drain(struct front *front)
{
	if (front->messages) {
		for (struct front_message *message = front_next(front); message;
		     message = front_next(front))
			front_message_free(message);
	}
	if (front->commands) {
		for (struct front_command *command = next_command(front); command;
		     command = next_command(front))
			front_command_free(command);
	}
}

void front_free(struct front *front)
{
	if (!front)
		return;
	assert(!front->is_running);
	loop_watch_free(front->command_watch);
	server_free(front->report_server);
	server_free(front->probe_server);
	server_free(front->metrics_server);
	metrics_gate_free(front->gate);
	receiver_free(front->receiver);
	probes_free(front->probes);
	scrapes_free(front->scrapes);
	tls_identity_free(front->certificate);
	drain(front);
	handoff_free(front->messages);
	handoff_free(front->commands);
	loop_free(front->loop);
	arena_deinit(&front->texts);
	free(front);
}

uint16_t front_report_port(const struct front *front)
{
	return server_port(front->report_server);
}

uint16_t front_probe_port(const struct front *front)
{
	return server_port(front->probe_server);
}

uint16_t front_metrics_port(const struct front *front)
{
	return front->metrics_server ? server_port(front->metrics_server) : 0;
}
