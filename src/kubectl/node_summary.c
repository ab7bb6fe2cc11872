/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A count to which a device contributes nothing known ends in "+?": it is the least that it can be.
 */

#include "kubectl/node_summary.h"

#include <inttypes.h>

#include "kubectl/output.h"
#include "kubectl/report_state.h"
#include "kubectl/text_table.h"
#include "kubectl/words.h"

struct count {
	int64_t n;
	bool is_least; /* there may be more */
};

struct line {
	struct view node;
	struct count gpus, held, free_slots, tenants, sick, drifted, silent;
};

static void add(struct count *count, int64_t n, bool is_known)
{
	if (is_known)
		count->n += n;
	else
		count->is_least = true;
}

static void add_device(struct line *line, const struct attribution_status *status)
{
	const struct attribution_slots *slots = &status->slots;
	int health = status->health.state, intent = status->intent.state;
	bool is_held = status->tenant_count > 0 || slots->allocated > 0;
	add(&line->gpus, 1, true);
	add(&line->held, is_held, is_held || status->tenant_count == 0);
	add(&line->free_slots, slots->total - slots->allocated,
	    slots->total >= 0 && slots->allocated >= 0);
	add(&line->tenants, status->tenant_count, status->tenant_count >= 0);
	add(&line->sick,
	    health == ATTRIBUTION_HEALTH_DEGRADED || health == ATTRIBUTION_HEALTH_UNHEALTHY,
	    health != ATTRIBUTION_HEALTH_UNSET && health != ATTRIBUTION_HEALTH_UNKNOWN);
	/* Unmanaged is known, too: no rule that needs no policy found a difference. */
	add(&line->drifted, intent == ATTRIBUTION_INTENT_DRIFTED,
	    intent != ATTRIBUTION_INTENT_UNSET && intent != ATTRIBUTION_INTENT_UNKNOWN);
	add(&line->silent, !report_state_of(status).is_fresh, true);
}

static void write_count(struct count count, struct sbuf *cell)
{
	if (count.n > 0 || !count.is_least)
		sbuf_printf(cell, "%" PRId64, count.n);
	if (count.is_least)
		sbuf_append(cell, count.n > 0 ? VIEW("+?") : VIEW("?"));
}

static void write_node(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(((const struct line *)row)->node));
}

static void write_gpus(const void *row, struct sbuf *cell)
{
	write_count(((const struct line *)row)->gpus, cell);
}

static void write_held(const void *row, struct sbuf *cell)
{
	write_count(((const struct line *)row)->held, cell);
}

static void write_free_slots(const void *row, struct sbuf *cell)
{
	write_count(((const struct line *)row)->free_slots, cell);
}

static void write_tenants(const void *row, struct sbuf *cell)
{
	write_count(((const struct line *)row)->tenants, cell);
}

static void write_sick(const void *row, struct sbuf *cell)
{
	write_count(((const struct line *)row)->sick, cell);
}

static void write_drifted(const void *row, struct sbuf *cell)
{
	write_count(((const struct line *)row)->drifted, cell);
}

static void write_silent(const void *row, struct sbuf *cell)
{
	write_count(((const struct line *)row)->silent, cell);
}

static const struct text_table_column columns[] = {
	{"NODE", 0, write_node, .cut = true},
	{"GPUS", 0, write_gpus},
	{"HELD", 0, write_held},
	{"FREE SLOTS", 0, write_free_slots},
	{"TENANTS", 0, write_tenants},
	{"SICK", 0, write_sick},
	{"DRIFTED", 0, write_drifted},
	{"SILENT", 0, write_silent, .marked = OUTPUT_IF_NO_LEADER},
	{0},
};

void node_summary(struct output *output, const struct attribution *const *devices, size_t n_devices)
{
	CLEANUP(text_table_deinit) struct text_table table;
	struct line line = {0}, all = {.node = VIEW("(all)")};
	text_table_init(&table, columns, output_flags(output), OUTPUT_BYTES);
	for (size_t i = 0; i < n_devices; i++) {
		const struct attribution_status *status = &devices[i]->status;
		if (i > 0 && !view_equal(status->node_name, line.node)) {
			text_table_add(&table, &line);
			line = (struct line){0};
		}
		line.node = status->node_name;
		add_device(&line, status);
		add_device(&all, status);
	}
	if (n_devices > 0)
		text_table_add(&table, &line);
	text_table_add(&table, &all);
	text_table_write(&table, output, 0);
	output_printf(output, "%zu devices are summed up by node; to see them: kubectl gpus node NAME, "
			      "or kubectl gpus -o wide",
		      n_devices);
}
