/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/front_counts.h"

static void collect_tokens(const struct front_metrics *metrics, const struct receiver *receiver)
{
	const struct admission_counters counters = receiver_admissions(receiver);
	/* In the order of ADMISSION_LABELS. */
	const uint64_t outcomes[] = {counters.reviewed, counters.foreseen, counters.too_often,
				     counters.crowded, counters.busy};
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		metric_set_total(metrics->registry, metrics->token_questions, i, outcomes[i]);
}

/* known: what was counted into the metric already. */
static void collect_connections(const struct front_metrics *metrics,
				const struct server_counters *counters, size_t metric,
				uint64_t known[static FRONT_COUNTS_EVENTS])
{
	/* In the order of FRONT_CONNECTION_LABELS. */
	const uint64_t events[FRONT_COUNTS_EVENTS] = {
		counters->accepted,  counters->refused_limit, counters->evicted,
		counters->handshake_failed, counters->timed_out, counters->malformed,
		counters->too_large, counters->pauses, counters->evicted_strangers,
	};
	for (size_t i = 0; i < FRONT_COUNTS_EVENTS; i++) {
		metric_add(metrics->registry, metric, i, events[i] - known[i]);
		known[i] = events[i];
	}
}

static void collect_memory(const struct front_metrics *metrics, const struct receiver *receiver)
{
	/* In the order of FRONT_MEMORY_LABELS. */
	const struct memory_account_state states[] = {receiver_body_memory(receiver),
						      receiver_report_memory(receiver)};
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		metric_set(metrics->registry, metrics->memory_used, i, (double)states[i].used);
		metric_set(metrics->registry, metrics->memory_limit, i, (double)states[i].cap);
		metric_set_total(metrics->registry, metrics->memory_refused, i, states[i].refused);
	}
}

static void collect_scrapes(const struct front_metrics *metrics, const struct scrapes *scrapes)
{
	const struct scrapes_counts counts = scrapes_counts(scrapes);
	for (size_t i = 0; i < SCRAPES_N_LACKS; i++)
		metric_set_total(metrics->registry, metrics->incomplete, i, counts.incomplete[i]);
	metric_set_total(metrics->registry, metrics->refused, 0, counts.refused);
}

void front_counts_collect(struct front_counts *counts, const struct front_metrics *metrics,
			  const struct front_counted *of)
{
	const struct server_counters reports = server_counters(of->reports);
	collect_connections(metrics, &reports, metrics->connections, counts->connections);
	if (of->readers) {
		const struct server_counters readers = server_counters(of->readers);
		collect_connections(metrics, &readers, metrics->readers, counts->readers);
	}
	metric_set(metrics->registry, metrics->open_connections, 0, (double)reports.open);
	metric_set(metrics->registry, metrics->idle_connections, 0, (double)reports.idle);
	metric_set(metrics->registry, metrics->nodes, 0, (double)receiver_nodes(of->receiver));
	metric_set(metrics->registry, metrics->tokens, 0,
		   (double)(receiver_tokens(of->receiver) + metrics_gate_tokens(of->gate)));
	metric_set_histogram(metrics->registry, metrics->turns, FRONT_LOOP_LABEL, loop_turns(of->loop));
	collect_scrapes(metrics, of->scrapes);
	collect_tokens(metrics, of->receiver);
	collect_memory(metrics, of->receiver);
}
