/* SPDX-License-Identifier: Apache-2.0 */

/* A device's cells are on each line of it, so that a line that grep finds says everything. */

#include "kubectl/node_view.h"

#include "kubectl/footnotes.h"
#include "kubectl/output.h"
#include "kubectl/text_table.h"
#include "kubectl/report_state.h"
#include "kubectl/words.h"

struct line {
	const struct attribution *device;
	const struct attribution_tenant *tenant; /* NULL: none, or not known */
	const struct output *output;
};

static const struct attribution_status *status_of(const void *row)
{
	const struct line *line = row;
	return &line->device->status;
}

static void write_node(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(status_of(row)->node_name));
}

static void write_index(const void *row, struct sbuf *cell)
{
	words_number(cell, status_of(row)->device.index);
}

static void write_gpu(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	output_uuid(line->output, line->device->uuid, cell);
}

static void write_model(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	output_model(line->output, status_of(row)->device.model, cell);
}

static void write_mode(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_mode(status_of(row)->sharing.mode));
}

static void write_slots(const void *row, struct sbuf *cell)
{
	const struct attribution_slots *slots = &status_of(row)->slots;
	words_share(cell, slots->allocated, slots->total);
}

static void write_pod(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		words_pod(cell, line->tenant->pod_namespace, line->tenant->pod_name,
			  line->tenant->pod_uid);
	else
		sbuf_append(cell, status_of(row)->tenant_count == 0 ? VIEW("<none>") : VIEW("?"));
}

static void write_container(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		sbuf_append(cell, line->tenant->container);
}

static void write_held(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		words_number(cell, line->tenant->slots);
}

static void write_partition(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		words_partitions(cell, status_of(row), line->tenant->partitions);
}

static void write_phase(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		sbuf_append(cell, words_phase(line->tenant->phase));
}

static void write_confidence(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		sbuf_append(cell, words_confidence(line->tenant->confidence));
}

static void write_health(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_health(status_of(row)->health.state));
}

static void write_ready(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	report_state_write(status_of(row), leader_is_missing(&line->output->leader), cell);
}

static void write_since(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		words_age(cell, line->tenant->start_time, line->output->now);
}

static void write_resource(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		sbuf_append(cell, words_known(line->tenant->resource));
}

static void write_uid(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->tenant)
		sbuf_append(cell, line->tenant->pod_uid);
}

static const struct text_table_column columns[] = {
	{"NODE", OUTPUT_IF_MANY, write_node, .cut = true},
	{"INDEX", 0, write_index, .drop = 7},
	{"GPU", 0, write_gpu},
	{"MODEL", 0, write_model, .drop = 1},
	{"MODE", 0, write_mode, .drop = 2},
	{"SLOTS", 0, write_slots, .drop = 6},
	{"POD", 0, write_pod, .cut = true},
	{"CONTAINER", 0, write_container, .cut = true},
	{"HELD", 0, write_held, .drop = 3},
	{"PARTITION", 0, write_partition, .drop = 5, .cut = true},
	{"PHASE", 0, write_phase, .drop = 4},
	{"CONFIDENCE", 0, write_confidence, .drop = 8},
	{"HEALTH", 0, write_health},
	{"READY", 0, write_ready, .cut = true},
	{"SINCE", OUTPUT_IF_WIDE, write_since},
	{"RESOURCE", OUTPUT_IF_WIDE, write_resource},
	{"POD-UID", OUTPUT_IF_WIDE, write_uid},
	{0},
};

static void add_device(struct text_table *table, const struct attribution *device,
		       const struct output *output)
{
	struct array tenants = device->status.tenants;
	struct line line = {.device = device, .output = output};
	if (tenants.count == 0)
		text_table_add(table, &line);
	for (uint32_t i = 0; i < tenants.count; i++) {
		line.tenant = ARRAY_AT(tenants, struct attribution_tenant, i);
		text_table_add(table, &line);
	}
}

void node_view(struct output *output, const struct attribution *const *devices, size_t n_devices)
{
	CLEANUP(text_table_deinit) struct text_table table;
	text_table_init(&table, columns, output_flags(output), OUTPUT_BYTES);
	for (size_t i = 0; i < n_devices; i++)
		add_device(&table, devices[i], output);
	text_table_write(&table, output, 0);
	footnotes_add(output, devices, n_devices);
}
