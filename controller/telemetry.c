/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "controller/reconciler.h"
#include "controller/watches.h"

enum metric {
#define METRIC(id, ...) METRICS_##id,
#include "controller/metrics.def"
#undef METRIC
};

static const struct metric_row rows[] = {
#define METRIC(id, type, name, unit, help, labels)                                                \
	{name, METRIC_##type, unit, help, labels},
#include "controller/metrics.def"
#undef METRIC
};

struct telemetry {
	struct metric_registry *registry;
	struct telemetry_sources sources;
};

int telemetry_new(struct telemetry **ret_telemetry, struct error *err)
{
	struct telemetry *telemetry = calloc(1, sizeof(*telemetry));

	if (!telemetry)
		return error_no_memory(err);
	if (metric_registry_new(rows, ARRAY_SIZE(rows), &telemetry->registry, err) < 0) {
		free(telemetry);
		return -1;
	}
	*ret_telemetry = telemetry;
	return 0;
}

void telemetry_free(struct telemetry *telemetry)
{
	if (!telemetry)
		return;
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
		.nodes = METRICS_NODES,
		.tokens = METRICS_TOKENS,
	};
}

/* Makes a counter show `total`, which only rises. */
static void carry(struct telemetry *telemetry, enum metric id, size_t label, uint64_t total)
{
	metric_set_total(telemetry->registry, id, label, total);
}

static void show(struct telemetry *telemetry, enum metric id, size_t label, double value)
{
	metric_set(telemetry->registry, id, label, value);
}

static void collect_watches(struct telemetry *telemetry)
{
	struct inventory_unused unused = inventory_unused(telemetry->sources.inventory);

	show(telemetry, METRICS_WATCH_UNUSED, 0, (double)unused.resource_claims);
	show(telemetry, METRICS_WATCH_UNUSED, 1, (double)unused.resource_slices);
	show(telemetry, METRICS_POD_DEVICES_LEFT_OUT, 0, (double)unused.of_pods);
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++) {
		struct watches_state state = watches_state(telemetry->sources.watches, i);

		show(telemetry, METRICS_WATCH_OBJECTS, i,
		     (double)inventory_count(telemetry->sources.inventory, (enum inventory_kind)i));
		show(telemetry, METRICS_WATCH_SYNCED, i, state.synced);
		show(telemetry, METRICS_WATCH_UP, i, state.followed);
		carry(telemetry, METRICS_WATCH_EVENTS, i, state.counters.events);
		carry(telemetry, METRICS_WATCH_LISTS, i, state.counters.lists);
		carry(telemetry, METRICS_WATCH_FAILURES, i, state.counters.failures);
		carry(telemetry, METRICS_WATCH_REFUSED, i, state.counters.objects_refused);
	}
}

static void collect_reconciler(struct telemetry *telemetry)
{
	struct reconciler_counters counters = reconciler_counters(telemetry->sources.reconciler);

	show(telemetry, METRICS_WORKQUEUE_DEPTH, 0, (double)counters.depth);
	carry(telemetry, METRICS_WORKQUEUE_ADDS, 0, counters.queue.adds);
	carry(telemetry, METRICS_WORKQUEUE_RETRIES, 0, counters.queue.retries);
	carry(telemetry, METRICS_RECONCILE, 0, counters.runs);
	carry(telemetry, METRICS_RECONCILE_ERRORS, 0, counters.errors);
	carry(telemetry, METRICS_WRITES, 0, counters.writes.created);
	carry(telemetry, METRICS_WRITES, 1, counters.writes.updated);
	carry(telemetry, METRICS_WRITES, 2, counters.writes.deleted);
	carry(telemetry, METRICS_WRITE_CONFLICTS, 0, counters.writes.conflicts);
	carry(telemetry, METRICS_WRITES_REJECTED, 0, counters.writes.rejected);
	carry(telemetry, METRICS_WRITES_DROPPED, 0, counters.writes.dropped);
	carry(telemetry, METRICS_CLAIMS_REFUSED, 0, counters.claims_refused);
	carry(telemetry, METRICS_IDS_UNKNOWN, 0, counters.ids_unknown);
	carry(telemetry, METRICS_DEVICES_REFUSED, 0, counters.devices_refused);
	carry(telemetry, METRICS_OBJECTS_LEFT_OUT, 0, counters.objects_left_out);
	carry(telemetry, METRICS_DEBOUNCED_LEFT_OUT, 0, counters.debounced_left_out);
}

static void collect_client(struct telemetry *telemetry)
{
	struct apiclient_counters counters = apiclient_counters(telemetry->sources.client);

	for (size_t i = 0; i < ARRAY_SIZE(counters.by_code); i++)
		carry(telemetry, METRICS_REST_REQUESTS, i, counters.by_code[i]);
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

static void collect_process(struct telemetry *telemetry)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		show(telemetry, METRICS_PROCESS_CPU, 0,
		     (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	show(telemetry, METRICS_PROCESS_RSS, 0, (double)resident_bytes());
	show(telemetry, METRICS_PROCESS_FDS, 0, open_files());
	carry(telemetry, METRICS_LOG_DROPPED, 0, log_dropped());
}

void telemetry_collect(struct telemetry *telemetry)
{
	collect_watches(telemetry);
	collect_reconciler(telemetry);
	collect_client(telemetry);
	collect_process(telemetry);
}
