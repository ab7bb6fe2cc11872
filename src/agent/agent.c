/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One timer drives all: after everything that happens, advance() does what is due and sets the
 * timer for what comes next. What happens is a change in the kubelet's folders, an XID error, the
 * end of a sample, the answer to a report, or time.
 *
 * While a kubelet or the driver hangs, reports go on between the samples, with what was last known:
 * that is what they say.
 */

#include "agent/agent.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/evidence.h"
#include "agent/ready_mark.h"
#include "agent/replicas.h"
#include "agent/sampler.h"
#include "agent/schedule.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/fetch.h"
#include "io/filewatch.h"
#include "wire/jindent.h"

#define PRINT_CAP (4u * LIMIT_REPORT_BYTES)
/* The last reports before the end; only the one after that with an event can acknowledge it. */
#define N_LAST_REPORTS 3u
#define LAST_REPORT_MS 500u

struct agent {
	const struct agent_settings *settings;
	struct loop *loop;
	struct loop_timer *timer; /* for advance() */
	struct loop_timer *look;  /* for sampler_look() */
	struct loop_timer *last;  /* for report_once_more() */
	struct loop_signal *terminated;
	struct loop_signal *interrupted;
	struct fetcher *fetcher;
	struct filewatch *plugins_folder; /* NULL: not watched */
	struct filewatch *socket_folder;  /* the same */

	struct schedule schedule;
	struct sampler *sampler;
	struct replicas *replicas;
	bool has_sample;    /* the first one has ended */
	unsigned last_loss; /* enum evidence_loss of the last report */
	struct ready_mark mark;
	int64_t refused; /* reports that were not accepted */
	unsigned n_last; /* reports asked for since a signal; 0: there was none */

	bool failed; /* --once did not succeed; error says why */
	struct error error;
};

static void advance(struct agent *agent);

/* Making a report. */

static struct report tell(struct agent *agent, int64_t instance, int64_t sequence)
{
	struct report report = {
		.version = REPORT_VERSION,
		.node = view_from(agent->settings->node_name),
		.boot_id = boot_id_view(&agent->mark.boot_id),
		.instance = instance,
		.sequence = sequence,
		.observed_at = clock_wall_ms(),
		.uptime_ms = (int64_t)clock_boot_ms(),
		.agent_version = VIEW(GPU_ATTRIBUTION_VERSION),
		.reports_refused = agent->refused,
	};
	sampler_tell(agent->sampler, &report);
	return report;
}

static void log_loss(struct agent *agent, unsigned loss)
{
	if (loss != 0 && loss != agent->last_loss)
		LOG_WARN("Report exceeds its size limit, parts omitted",
			 LOG_BOOL("processes_omitted", (loss & EVIDENCE_PROCESSES) != 0),
			 LOG_BOOL("advertised_omitted", (loss & EVIDENCE_ADVERTISED) != 0),
			 LOG_BOOL("pod_resources_omitted", (loss & EVIDENCE_POD_RESOURCES) != 0));
	agent->last_loss = loss;
}

static int encode(void *owner, int64_t instance, int64_t sequence, struct sbuf *buf,
		  struct error *err)
{
	struct agent *agent = owner;
	unsigned loss;
	const struct report report = tell(agent, instance, sequence);
	if (evidence_encode(&report, buf, &loss, err) < 0)
		return -1;
	log_loss(agent, loss);
	return 0;
}

/* What became of it. */

static void end_once(struct agent *agent, const struct error *err)
{
	agent->failed = err != NULL;
	if (err)
		agent->error = *err;
	loop_stop(agent->loop);
}

static void on_answer(void *owner, const struct replicas_answer *answer)
{
	struct agent *agent = owner;
	agent->refused += !answer->accepted;
	if (answer->accepted)
		sampler_acknowledge(agent->sampler, answer->acknowledged_events);
	if (agent->settings->once) {
		if (answer->accepted || !answer->others_wait)
			end_once(agent, answer->accepted ? NULL : answer->error);
		return;
	}
	if (agent->n_last > 0 && !sampler_has_events(agent->sampler)) {
		loop_stop(agent->loop);
		return;
	}
	if (answer->accepted)
		ready_mark_accepted(&agent->mark, clock_boot_ms(),
				    replicas_heartbeat_ms(agent->replicas));
	advance(agent);
}

/* Printing it. */

static bool has_any_source(struct agent *agent)
{
	struct report report = {0};
	sampler_tell(agent->sampler, &report);
	return report.sources.checkpoint.state == REPORT_SOURCE_OK ||
	       report.sources.pod_resources.state == REPORT_SOURCE_OK ||
	       report.sources.nvml.state == REPORT_SOURCE_OK;
}

static int print(struct agent *agent, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf body;
	CLEANUP(sbuf_deinit) struct sbuf text;
	sbuf_init(&body, LIMIT_REPORT_BYTES);
	sbuf_init(&text, PRINT_CAP);
	if (encode(agent, replicas_instance(agent->replicas), 1, &body, err) < 0)
		return -1;
	jindent(sbuf_view(&body), &text);
	if (sbuf_check(&text, "report", err) < 0)
		return -1;
	if (fwrite(text.ptr, 1, text.len, stdout) != text.len || fflush(stdout) != 0)
		return error_set(err, ERROR_RETRY, 0, "writing to standard output failed");
	return has_any_source(agent) ? 0
				     : error_set(err, ERROR_RETRY, 0,
						 "no source answered: see `sources` in the report");
}

/* Sampling. */

static void end_sample(void *owner, const struct sampler_outcome *outcome)
{
	struct agent *agent = owner;
	uint64_t now = loop_now_ms(agent->loop);
	if (outcome->was_called)
		schedule_kubelet_answered(&agent->schedule, outcome->throttled, now);
	if (outcome->restarted) {
		LOG_INFO("Kubelet restart detected");
		schedule_kubelet_restarted(&agent->schedule, now);
	}
	if (outcome->is_news || !agent->has_sample)
		replicas_changed(agent->replicas);
	agent->has_sample = true;
	if (agent->settings->print) {
		struct error err;
		end_once(agent, print(agent, &err) < 0 ? &err : NULL);
		return;
	}
	advance(agent);
}

/*
 * A report holds whole samples only. A checkpoint read just now must not stand beside an older
 * List: that would show one pod under two names, or two pods under one. If the kubelet refused the
 * last List, that failure stays beside the checkpoint, and the List is dated.
 */
static uint64_t report_at(const struct agent *agent)
{
	return sampler_is_busy(agent->sampler) ? DELIVERY_NEVER
					       : replicas_next_at(agent->replicas);
}

/* After a signal, too, none is begun: it would hold the last reports up. */
static bool may_sample(const struct agent *agent)
{
	return !sampler_is_busy(agent->sampler) && agent->n_last == 0;
}

static uint64_t next_at(const struct agent *agent)
{
	uint64_t sample_at = may_sample(agent) ? schedule_next_at(&agent->schedule)
					       : SCHEDULE_NEVER;
	return sample_at < report_at(agent) ? sample_at : report_at(agent);
}

static void advance(struct agent *agent)
{
	uint64_t now = loop_now_ms(agent->loop);
	/* Before the next sample begins: samples that come one upon another would let none through. */
	if (report_at(agent) <= now)
		replicas_post(agent->replicas);
	unsigned parts = may_sample(agent) ? schedule_take_due(&agent->schedule, now) : 0;
	if (parts)
		sampler_start(agent->sampler, parts, now);
	uint64_t next = next_at(agent);
	if (next == SCHEDULE_NEVER)
		loop_timer_clear(agent->timer);
	else
		loop_timer_set(agent->timer, next > now ? next - now : 0);
}

/* What happens. */

static void on_time(void *owner)
{
	advance(owner);
}

static void on_look_due(void *owner)
{
	struct agent *agent = owner;
	loop_timer_set(agent->look, SAMPLER_LOOK_MS);
	sampler_look(agent->sampler);
}

static void on_surprise(void *owner, enum sampler_surprise surprise)
{
	struct agent *agent = owner;
	uint64_t now = loop_now_ms(agent->loop);
	if (surprise == SAMPLER_EVENTS) {
		replicas_changed(agent->replicas);
		schedule_node_changed(&agent->schedule, now);
	} else if (surprise == SAMPLER_STATE) {
		schedule_node_changed(&agent->schedule, now);
	} else {
		schedule_checkpoint_written(&agent->schedule, now);
	}
	advance(agent);
}

static struct view file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return view_from(slash ? slash + 1 : path);
}

/* The checkpoint is moved in under its name; other names are the plugins' sockets. */
static void on_plugins_folder(void *owner, enum filewatch_change change, struct view name)
{
	struct agent *agent = owner;
	uint64_t now = loop_now_ms(agent->loop);
	if (view_equal(name, file_name(agent->settings->checkpoint_file))) {
		if (change == FILEWATCH_APPEARED)
			schedule_checkpoint_written(&agent->schedule, now);
	} else if (!view_starts_with(name, VIEW("."))) {
		schedule_node_changed(&agent->schedule, now);
	}
	advance(agent);
}

static void on_socket_folder(void *owner, enum filewatch_change change, struct view name)
{
	struct agent *agent = owner;
	bool is_socket = view_equal(name, file_name(agent->settings->pod_resources_socket));
	if (change != FILEWATCH_RESET && !is_socket)
		return;
	schedule_node_changed(&agent->schedule, loop_now_ms(agent->loop));
	advance(agent);
}

static void report_once_more(void *owner)
{
	struct agent *agent = owner;
	if (agent->n_last == N_LAST_REPORTS) {
		LOG_WARN("Agent stops though XID errors were not acknowledged");
		loop_stop(agent->loop);
		return;
	}
	agent->n_last++;
	loop_timer_set(agent->last, LAST_REPORT_MS);
	replicas_changed(agent->replicas);
	advance(agent);
}

/* XID errors that no controller has published would be gone with this agent. A second signal ends it. */
static void on_signal(void *owner, int number)
{
	struct agent *agent = owner;
	LOG_INFO("Agent stops on a signal", LOG_I64("signal", number));
	if (agent->settings->once || agent->n_last > 0 || !sampler_has_events(agent->sampler))
		loop_stop(agent->loop);
	else
		report_once_more(agent);
}

/* Beginning and end. */

static int open_loop(struct agent *agent, struct error *err)
{
	struct loop *loop;
	if (loop_new(&agent->loop, err) < 0)
		return -1;
	loop = agent->loop;
	if (loop_timer_new(loop, on_time, agent, &agent->timer, err) < 0 ||
	    loop_timer_new(loop, on_look_due, agent, &agent->look, err) < 0 ||
	    loop_timer_new(loop, report_once_more, agent, &agent->last, err) < 0 ||
	    loop_signal_new(loop, SIGTERM, on_signal, agent, &agent->terminated, err) < 0 ||
	    loop_signal_new(loop, SIGINT, on_signal, agent, &agent->interrupted, err) < 0)
		return -1;
	return fetcher_new(loop, &agent->fetcher, err);
}

/*
 * Watches the folder that the path, which is absolute, is in. Nodes on which inotify is used up are
 * common; there changes are found by the samples at rest, later but all the same.
 */
static struct filewatch *watch_folder_of(struct agent *agent, const char *path,
					 filewatch_fn changed)
{
	char folder[PATH_MAX];
	struct error err;
	struct filewatch *watch = NULL;
	int len = (int)(file_name(path).ptr - path);
	snprintf(folder, sizeof(folder), "%.*s", len, path);
	if (filewatch_new(agent->loop, folder, changed, agent, &watch, &err) < 0)
		LOG_WARN("Folder watch failed", LOG_TEXT("folder", view_from(folder)),
			 LOG_TEXT("effect", VIEW("changes are seen at --sample-interval only")),
			 LOG_ERROR_FIELD(&err));
	else if (!filewatch_is_armed(watch))
		LOG_WARN("Folder not found, watch starts when it appears", LOG_TEXT("folder", view_from(folder)));
	return watch;
}

static void watch_folders(struct agent *agent)
{
	const struct agent_settings *settings = agent->settings;
	if (settings->once)
		return;
	agent->plugins_folder =
		watch_folder_of(agent, settings->checkpoint_file, on_plugins_folder);
	agent->socket_folder =
		watch_folder_of(agent, settings->pod_resources_socket, on_socket_folder);
}

static int open_sampler(struct agent *agent, struct error *err)
{
	const struct agent_settings *settings = agent->settings;
	enum processes_mode processes;
	if (!processes_parse_mode(view_from(settings->processes), &processes))
		return error_set(err, ERROR_REJECTED, 0, "--processes: %s", settings->processes);
	const struct sampler_config config = {
		.pod_resources_socket = settings->pod_resources_socket,
		.checkpoint_file = settings->checkpoint_file,
		.nvml_library = settings->nvml_library,
		.processes = processes,
		.proc_path = "/proc",
		.activity = {.busy_percent = settings->busy_threshold_percent,
			     .idle_after_ms = (uint64_t)settings->idle_after_ms},
		.history = {.slow_ms = (uint64_t)settings->slow_after_ms,
			    .fast_ms = (uint64_t)settings->slow_clear_after_ms,
			    .narrow_ms = (uint64_t)settings->narrow_after_ms},
		.dcgm_url = settings->dcgm_url,
		.waits_for_dcgm = settings->once,
		.kubelet_timeout_ms = (uint32_t)settings->kubelet_timeout_ms,
		.nvml_timeout_ms = (uint32_t)settings->nvml_timeout_ms,
		/* Rises from one agent of a boot to the next: there is less than one XID a ms. */
		.last_event = replicas_instance(agent->replicas),
		.surprised = on_surprise,
	};
	return sampler_new(agent->loop, agent->fetcher, &config, end_sample, agent,
			   &agent->sampler, err);
}

static int open_replicas(struct agent *agent, struct error *err)
{
	const struct agent_settings *settings = agent->settings;
	const struct replicas_config config = {
		.reporter = {
			.controller = settings->controller,
			.ca_file = settings->controller_ca_file,
			.server_name = settings->controller_server_name,
			.token_file = settings->token_file,
			.timeout_ms = (uint32_t)settings->report_timeout_ms,
		},
		.delivery = {
			.heartbeat_ms = (uint32_t)settings->heartbeat_ms,
			.instance = (int64_t)clock_boot_ms(),
		},
		.seed = prng_entropy(),
		.looks_up = !settings->once,
		.make = encode,
		.answered = on_answer,
		.changed = on_time,
		.owner = agent,
	};
	return replicas_new(agent->loop, agent->fetcher, &config, &agent->replicas, err);
}

static void plan(struct agent *agent)
{
	const struct agent_settings *settings = agent->settings;
	const struct schedule_config schedule = {
		.interval_ms = (uint32_t)settings->sample_interval_ms,
		.debounce_ms = (uint32_t)settings->debounce_ms,
	};
	schedule_init(&agent->schedule, &schedule, loop_now_ms(agent->loop), prng_entropy());
}

static void freep(struct agent **agent)
{
	agent_free(*agent);
}

int agent_new(const struct agent_settings *settings, struct agent **ret_agent, struct error *err)
{
	CLEANUP(freep) struct agent *agent = calloc(1, sizeof(*agent));
	if (!agent)
		return error_no_memory(err);
	agent->settings = settings;
	if (ready_mark_init(&agent->mark, settings->ready_file, settings->boot_id_file, err) < 0 ||
	    open_loop(agent, err) < 0)
		return -1;
	plan(agent);
	if (open_replicas(agent, err) < 0 || open_sampler(agent, err) < 0)
		return -1;
	watch_folders(agent);
	*ret_agent = TAKE(agent);
	return 0;
}

static void log_start(const struct agent *agent)
{
	CLEANUP(sbuf_deinit) struct sbuf libraries;
	sbuf_init(&libraries, FETCH_VERSIONS_CAP);
	fetch_versions(&libraries);
	LOG_INFO("Agent starting", LOG_TEXT("version", VIEW(GPU_ATTRIBUTION_VERSION)),
		 LOG_TEXT("libraries", sbuf_view(&libraries)),
		 LOG_TEXT("node", view_from(agent->settings->node_name)),
		 LOG_TEXT("controller", view_from(agent->settings->controller)),
		 LOG_I64("instance", replicas_instance(agent->replicas)));
}

int agent_run(struct agent *agent, struct error *err)
{
	if (!agent->settings->once) {
		log_start(agent);
		if (ready_mark_clear(&agent->mark, err) < 0)
			return -1;
	}
	loop_timer_set(agent->timer, 0);
	loop_timer_set(agent->look, SAMPLER_LOOK_MS);
	if (loop_run(agent->loop, err) < 0)
		return -1;
	if (!agent->failed)
		return 0;
	*err = agent->error;
	return -1;
}

void agent_free(struct agent *agent)
{
	if (!agent)
		return;
	filewatch_free(agent->socket_folder);
	filewatch_free(agent->plugins_folder);
	replicas_free(agent->replicas);
	sampler_free(agent->sampler);
	fetcher_free(agent->fetcher);
	loop_signal_free(agent->interrupted);
	loop_signal_free(agent->terminated);
	loop_timer_free(agent->last);
	loop_timer_free(agent->look);
	loop_timer_free(agent->timer);
	loop_free(agent->loop);
	free(agent);
}
