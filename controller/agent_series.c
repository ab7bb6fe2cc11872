/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The samples of a family must stand together, so the nodes are walked once for each. They are walked
 * in one order: so the same ones are left out of each.
 */

#include "controller/agent_series.h"

#include <inttypes.h>
#include <stdio.h>

enum kind { COUNTER, GAUGE };

/* Numbers of a node that a family shows, one for each of its label sets. */
struct family {
	const char *name;
	const char *help;
	enum kind kind;
	bool by_source;
	int64_t (*count)(const struct sender *sender, unsigned source);
};

static const char *const sources[AGENT_COUNTS_N_SOURCES] = {
	[AGENT_COUNTS_CHECKPOINT] = "Checkpoint",
	[AGENT_COUNTS_POD_RESOURCES] = "PodResources",
	[AGENT_COUNTS_NVML] = "NVML",
	[AGENT_COUNTS_PROCESSES] = "Processes",
	[AGENT_COUNTS_DCGM] = "DCGM",
};

static int64_t count_reports(const struct sender *sender, unsigned source)
{
	(void)source;
	return sender->order.sequence;
}

static int64_t count_refused(const struct sender *sender, unsigned source)
{
	(void)source;
	return sender->counts.refused;
}

static int64_t count_hangs(const struct sender *sender, unsigned source)
{
	(void)source;
	return sender->counts.nvml_hangs;
}

static int64_t count_processes(const struct sender *sender, unsigned source)
{
	(void)source;
	return sender->counts.nvml_processes;
}

static int64_t count_left_behind(const struct sender *sender, unsigned source)
{
	(void)source;
	return sender->counts.nvml_left_behind;
}

static int64_t count_dropped(const struct sender *sender, unsigned source)
{
	(void)source;
	return sender->counts.events_dropped;
}

static int64_t count_failures(const struct sender *sender, unsigned source)
{
	return sender->counts.failures[source];
}

static const struct family families[] = {
	{"gpuattribution_agent_reports", "Reports that the node's agent has made since it started.",
	 COUNTER, false, count_reports},
	{"gpuattribution_agent_reports_refused", "Reports of the node's agent that were not accepted.",
	 COUNTER, false, count_refused},
	{"gpuattribution_agent_nvml_hangs", "How often the node's agent found a call to NVML to hang.",
	 COUNTER, false, count_hangs},
	{"gpuattribution_agent_nvml_processes",
	 "Processes that the node's agent has started to call NVML; more than one means that some failed.",
	 COUNTER, false, count_processes},
	{"gpuattribution_agent_nvml_processes_left_behind",
	 "Processes that called NVML, were killed by the node's agent, and have not ended yet.", GAUGE,
	 false, count_left_behind},
	{"gpuattribution_agent_events_dropped",
	 "XID errors that the node's agent had no room for.", COUNTER, false, count_dropped},
	{"gpuattribution_agent_source_failures",
	 "Readings of a source that failed on the node, by source.", COUNTER, true, count_failures},
};

/* Names are those of Nodes, which have nothing to escape; a token's node is not looked up, though. */
static void append_node(struct sbuf *buf, struct view name)
{
	size_t begin = 0;
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] != '\n' && name.ptr[i] != '"' && name.ptr[i] != '\\')
			continue;
		sbuf_append(buf, (struct view){name.ptr + begin, i - begin});
		sbuf_append_char(buf, '\\');
		sbuf_append_char(buf, name.ptr[i] == '\n' ? 'n' : name.ptr[i]);
		begin = i + 1;
	}
	sbuf_append(buf, (struct view){name.ptr + begin, name.len - begin});
}

/* There may be 90 000 of them. Printing a whole line takes twice as long. */
static void append_sample(struct sbuf *buf, const struct family *family,
			  const struct sender *sender, unsigned source)
{
	char number[32];
	int len = snprintf(number, sizeof(number), "%" PRId64, family->count(sender, source));
	sbuf_append(buf, view_from(family->name));
	sbuf_append(buf, family->kind == COUNTER ? VIEW("_total{node=\"") : VIEW("{node=\""));
	append_node(buf, senders_name(sender));
	if (family->by_source) {
		sbuf_append(buf, VIEW("\",source=\""));
		sbuf_append(buf, view_from(sources[source]));
	}
	sbuf_append(buf, VIEW("\"} "));
	sbuf_append(buf, (struct view){number, (size_t)len});
	sbuf_append_char(buf, '\n');
}

/* The next node that is shown, after this one; NULL: the first. NULL: there is no further one. */
static const struct sender *next_shown(const struct senders *senders, const struct sender *sender,
				       uint64_t now_ms)
{
	const struct table_node *node = sender ? &sender->by_name : NULL;
	while ((node = table_next(&senders->table, node))) {
		const struct sender *next = CONTAINER_OF(node, const struct sender, by_name);
		if (next->counts.known && now_ms - next->used_at_ms < SENDERS_SILENT_MS)
			return next;
	}
	return NULL;
}

/* How many nodes were left out. */
static size_t render_family(const struct senders *senders, const struct family *family,
			    uint64_t now_ms, struct sbuf *buf)
{
	size_t n = 0;
	sbuf_printf(buf, "# TYPE %s %s\n# HELP %s %s\n", family->name,
		    family->kind == COUNTER ? "counter" : "gauge", family->name, family->help);
	for (const struct sender *sender = next_shown(senders, NULL, now_ms); sender;
	     sender = next_shown(senders, sender, now_ms)) {
		if (++n > LIMIT_AGENT_SERIES_NODES)
			continue;
		for (unsigned i = 0; i < (family->by_source ? AGENT_COUNTS_N_SOURCES : 1u); i++)
			append_sample(buf, family, sender, i);
	}
	return n > LIMIT_AGENT_SERIES_NODES ? n - LIMIT_AGENT_SERIES_NODES : 0;
}

void agent_series_render(const struct senders *senders, uint64_t now_ms, struct sbuf *buf)
{
	size_t left_out = 0;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		left_out = render_family(senders, &families[i], now_ms, buf);
	sbuf_printf(buf,
		    "# TYPE gpuattribution_agent_nodes_left_out gauge\n"
		    "# HELP gpuattribution_agent_nodes_left_out Nodes beyond %u, of whose agents "
		    "nothing is shown here.\n"
		    "gpuattribution_agent_nodes_left_out %zu\n",
		    LIMIT_AGENT_SERIES_NODES, left_out);
}
