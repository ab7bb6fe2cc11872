/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "controller/event_teller.h"
#include "controller/leadership.h"
#include "controller/reconciler.h"
#include "controller/rest_series.h"
#include "controller/watches.h"
#include "io/loop.h"

#define LABELS_CAP (64u * LIMIT_KIB)

enum metric {
#define METRIC(id, ...) METRICS_##id,
#include "controller/metrics.def"
#undef METRIC
};

static const struct metric_row rows[] = {
#define METRIC(id, type, name, unit, help, ...)                                                   \
	{name, METRIC_##type, unit, help, __VA_ARGS__},
#include "controller/metrics.def"
#undef METRIC
};

struct telemetry {
	struct metric_row rows[ARRAY_SIZE(rows)];
	struct arena labels; /* of those that are made at the start */
	struct metric_registry *registry;
	struct telemetry_sources sources;
};

static int make_labels(struct telemetry *telemetry, struct view host, struct error *err)
{
	struct metric_row *requests = &telemetry->rows[METRICS_REST_CLIENT_REQUESTS];
	struct metric_row *durations = &telemetry->rows[METRICS_REST_CLIENT_DURATION];

	memcpy(telemetry->rows, rows, sizeof(rows));
	arena_init(&telemetry->labels, LABELS_CAP);
	requests->labels = rest_series_requests(&telemetry->labels, host);
	durations->labels = rest_series_durations(&telemetry->labels, host);
	return requests->labels && durations->labels ? 0 : error_no_memory(err);
}

int telemetry_new(struct view host, struct telemetry **ret_telemetry, struct error *err)
{
	struct telemetry *telemetry = calloc(1, sizeof(*telemetry));

	if (!telemetry)
		return error_no_memory(err);
	if (make_labels(telemetry, host, err) < 0 ||
	    metric_registry_new(telemetry->rows, ARRAY_SIZE(rows), &telemetry->registry, err) < 0) {
		telemetry_free(telemetry);
		return -1;
	}
	metric_set(telemetry->registry, METRICS_PROCESS_START, 0, (double)clock_wall_ms() / 1000);
	*ret_telemetry = telemetry;
	return 0;
}

void telemetry_free(struct telemetry *telemetry)
{
	if (!telemetry)
		return;
	arena_deinit(&telemetry->labels);
	metric_registry_free(telemetry->registry);
	free(telemetry);
}

void telemetry_watch(struct telemetry *telemetry, const struct telemetry_sources *sources)
{
	telemetry->sources = *sources;
}

struct front_metrics telemetry_front_metrics(const struct telemetry *telemetry)
{
	return (struct front_metrics){
		.registry = telemetry->registry,
		.reports = METRICS_REPORTS,
		.connections = METRICS_CONNECTIONS,
		.open_connections = METRICS_OPEN_CONNECTIONS,
		.idle_connections = METRICS_IDLE_CONNECTIONS,
		.nodes = METRICS_NODES,
		.tokens = METRICS_TOKENS,
		.requests = METRICS_REQUESTS,
		.token_questions = METRICS_TOKEN_QUESTIONS,
		.durations = METRICS_REPORT_DURATION,
		.incomplete = METRICS_INCOMPLETE,
		.refused = METRICS_SCRAPES_REFUSED,
		.readers = METRICS_READER_CONNECTIONS,
		.memory_used = METRICS_MEMORY_USED,
		.memory_limit = METRICS_MEMORY_LIMIT,
		.memory_refused = METRICS_MEMORY_REFUSED,
		.turns = METRICS_LOOP_TURNS,
	};
}

/* Makes a counter show `total`, which only rises. */
static void carry(struct telemetry *telemetry, enum metric id, size_t label, uint64_t total)
{
	metric_set_total(telemetry->registry, id, label, total);
}

static void carry_histogram(struct telemetry *telemetry, enum metric id, size_t label,
			    const struct histogram *histogram)
{
	metric_set_histogram(telemetry->registry, id, label, histogram);
}

static void show(struct telemetry *telemetry, enum metric id, size_t label, double value)
{
	metric_set(telemetry->registry, id, label, value);
}

static void collect_watch(struct telemetry *telemetry, unsigned label,
			  const struct watches_state *state)
{
	show(telemetry, METRICS_WATCH_SYNCED, label, state->synced);
	show(telemetry, METRICS_WATCH_UP, label, state->followed);
	carry(telemetry, METRICS_WATCH_EVENTS, label, state->counters.events);
	carry(telemetry, METRICS_WATCH_LISTS, label, state->counters.lists);
	carry(telemetry, METRICS_WATCH_FAILURES, label, state->counters.failures);
	carry(telemetry, METRICS_WATCH_REFUSED, label, state->counters.objects_refused);
}

static void collect_watches(struct telemetry *telemetry)
{
	struct watches_state configs;
	struct watches_pods pods;
	struct inventory_unused unused = inventory_unused(telemetry->sources.inventory);

	show(telemetry, METRICS_WATCH_UNUSED, 0, (double)unused.resource_claims);
	show(telemetry, METRICS_WATCH_UNUSED, 1, (double)unused.resource_slices);
	show(telemetry, METRICS_POD_DEVICES_LEFT_OUT, 0, (double)unused.of_pods);
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		struct watches_state state = watches_state(telemetry->sources.watches, i);

		show(telemetry, METRICS_WATCH_OBJECTS, i,
		     (double)inventory_count(telemetry->sources.inventory, (enum inventory_kind)i));
		collect_watch(telemetry, i, &state);
	}
	pods = watches_pods(telemetry->sources.watches);
	show(telemetry, METRICS_PODS_BY_NODE, 0, pods.is_by_node);
	show(telemetry, METRICS_POD_NODE_WATCHES, 0, (double)pods.n_watches);
	carry(telemetry, METRICS_POD_NODE_WATCHES_REFUSED, 0, pods.n_refused);
	configs = watches_configs_state(telemetry->sources.watches);
	collect_watch(telemetry, INVENTORY_N_KINDS, &configs);
}

/* With the meaning that client-go gives them: see src/kube/workqueue.h. */
static void collect_queue(struct telemetry *telemetry, const struct reconciler_counters *counters)
{
	const struct workqueue_load *load = &counters->load;

	show(telemetry, METRICS_QUEUED_NODES, 0, (double)counters->depth);
	show(telemetry, METRICS_WORKQUEUE_DEPTH, 0, (double)load->ready);
	carry(telemetry, METRICS_WORKQUEUE_ADDS, 0, counters->queue.adds);
	carry(telemetry, METRICS_WORKQUEUE_RETRIES, 0, counters->queue.retries);
	carry_histogram(telemetry, METRICS_WORKQUEUE_WAITED, 0, &counters->queue.waited);
	carry_histogram(telemetry, METRICS_WORKQUEUE_WORKED, 0, &counters->durations);
	show(telemetry, METRICS_WORKQUEUE_UNFINISHED, 0, (double)load->unfinished_ms / 1000);
	show(telemetry, METRICS_WORKQUEUE_LONGEST, 0, (double)load->longest_ms / 1000);
}

static void collect_reconciler(struct telemetry *telemetry)
{
	struct reconciler_counters counters = reconciler_counters(telemetry->sources.reconciler);

	collect_queue(telemetry, &counters);
	for (size_t i = 0; i < ARRAY_SIZE(counters.results); i++)
		carry(telemetry, METRICS_RECONCILE, i, counters.results[i]);
	carry(telemetry, METRICS_RECONCILE_ERRORS, 0, counters.errors);
	carry_histogram(telemetry, METRICS_RECONCILE_TIME, 0, &counters.durations);
	show(telemetry, METRICS_ACTIVE_WORKERS, 0, (double)counters.load.working);
	carry(telemetry, METRICS_WRITES, 0, counters.writes.created);
	carry(telemetry, METRICS_WRITES, 1, counters.writes.updated);
	carry(telemetry, METRICS_WRITES, 2, counters.writes.deleted);
	carry(telemetry, METRICS_WRITE_CONFLICTS, 0, counters.writes.conflicts);
	carry(telemetry, METRICS_WRITES_REJECTED, 0, counters.writes.rejected);
	carry(telemetry, METRICS_WRITES_DROPPED, 0, counters.writes.dropped);
	for (size_t i = 0; i < ARRAY_SIZE(counters.writes.held); i++)
		carry(telemetry, METRICS_WRITES_HELD, i, counters.writes.held[i]);
	show(telemetry, METRICS_HELD_NODES, 0, (double)counters.writes.held_now.nodes);
	show(telemetry, METRICS_HELD_OBJECTS, 0, (double)counters.writes.held_now.objects);
	carry(telemetry, METRICS_WRITE_BUDGETS_FORGOTTEN, 0, counters.writes.budgets_forgotten);
	carry(telemetry, METRICS_RECONCILE_PAUSES, 0, counters.pauses);
	carry(telemetry, METRICS_REPORT_ENTRIES_REFUSED, 0, counters.entries_refused);
	carry(telemetry, METRICS_IDS_UNKNOWN, 0, counters.ids_unknown);
	carry(telemetry, METRICS_DEVICES_REFUSED, 0, counters.devices_refused);
	carry(telemetry, METRICS_OBJECTS_LEFT_OUT, 0, counters.objects_left_out);
	carry(telemetry, METRICS_DEBOUNCED_LEFT_OUT, 0, counters.debounced_left_out);
}

static void collect_events(struct telemetry *telemetry)
{
	const struct event_counters counters = event_teller_counters(telemetry->sources.events);

	for (size_t type = 0; type < N_EVENT_TYPES; type++)
		for (size_t outcome = 0; outcome < N_EVENT_OUTCOMES; outcome++)
			carry(telemetry, METRICS_EVENTS, type * N_EVENT_OUTCOMES + outcome,
			      counters.by_type[type][outcome]);
}

static void collect_client(struct telemetry *telemetry)
{
	struct apiclient_counters counters = apiclient_counters(telemetry->sources.client);

	for (size_t i = 0; i < ARRAY_SIZE(counters.by_code); i++)
		carry(telemetry, METRICS_REST_REQUESTS, i, counters.by_code[i]);
	for (size_t i = 0; i < REQUEST_COUNTS_METHODS; i++) {
		for (size_t j = 0; j < REQUEST_COUNTS_CODES; j++)
			carry(telemetry, METRICS_REST_CLIENT_REQUESTS, i * REQUEST_COUNTS_CODES + j,
			      counters.requests.counts[i][j]);
		carry_histogram(telemetry, METRICS_REST_CLIENT_DURATION, i,
				&counters.requests.durations[i]);
	}
	carry(telemetry, METRICS_API_PROBES, 0, counters.probes);
	carry(telemetry, METRICS_API_OUTAGES, 0, counters.outages);
}

/* The second number of /proc/self/statm: resident pages. */
static uint64_t resident_bytes(void)
{
	char line[128] = "";
	char *end = line;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file))
		(void)strtoul(line, &end, 10);
	fclose(file);
	return strtoul(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static unsigned open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	if (!folder)
		return 0;
	while (readdir(folder))
		n++;
	closedir(folder);
	return n > 3 ? n - 3 : 0; /* ".", ".." and the folder itself */
}

static double most_files(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (double)limit.rlim_cur : 0;
}

static void collect_process(struct telemetry *telemetry)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		show(telemetry, METRICS_PROCESS_CPU, 0,
		     (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	show(telemetry, METRICS_PROCESS_RSS, 0, (double)resident_bytes());
	show(telemetry, METRICS_PROCESS_FDS, 0, open_files());
	show(telemetry, METRICS_PROCESS_MAX_FDS, 0, most_files());
	carry_histogram(telemetry, METRICS_LOOP_TURNS, 0, loop_turns(telemetry->sources.loop));
	carry(telemetry, METRICS_LOG_DROPPED, 0, log_dropped());
}

static void collect_leadership(struct telemetry *telemetry)
{
	const struct leadership *leadership = telemetry->sources.leadership;
	struct leadership_counters counters = leadership_counters(leadership);

	show(telemetry, METRICS_LEADER, 0, leadership_leads(leadership));
	carry(telemetry, METRICS_LEADER_TAKEN, 0, counters.taken);
	carry(telemetry, METRICS_LEADER_LOST, 0, counters.lost);
}

void telemetry_collect(struct telemetry *telemetry)
{
	collect_leadership(telemetry);
	collect_watches(telemetry);
	collect_reconciler(telemetry);
	collect_events(telemetry);
	collect_client(telemetry);
	collect_process(telemetry);
}
