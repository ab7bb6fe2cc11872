/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/fleet_view.h"

#include "kubectl/footnotes.h"
#include "kubectl/output.h"
#include "kubectl/json_output.h"
#include "kubectl/report_state.h"
#include "kubectl/tenant_cell.h"
#include "kubectl/text_table.h"
#include "kubectl/words.h"
#include "wire/jout.h"

#define PODS_SHOWN 1 /* as in the status' tenantSummary */

struct line {
	const struct attribution *device;
	const struct output *output;
};

static const struct attribution_status *status_of(const void *row)
{
	const struct line *line = row;
	return &line->device->status;
}

static void write_gpu(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	output_uuid(line->output, line->device->uuid, cell);
}

static void write_node(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(status_of(row)->node_name));
}

static void write_index(const void *row, struct sbuf *cell)
{
	words_number(cell, status_of(row)->device.index);
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

static void write_tenants(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	bool is_wide = line->output->form == OUTPUT_WIDE;
	tenant_cell_write(&(struct tenant_cell){.status = status_of(row),
						.room = is_wide ? INT64_MAX : PODS_SHOWN},
			  cell);
}

static void write_health(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_health(status_of(row)->health.state));
}

static void write_intent(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_intent(status_of(row)->intent.state));
}

static void write_ready(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	report_state_write(status_of(row), leader_is_missing(&line->output->leader), cell);
}

static void write_activity(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_activity(status_of(row)->activity.state));
}

static void write_pci(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(status_of(row)->device.pci_bus_id));
}

static void write_memory(const void *row, struct sbuf *cell)
{
	int64_t memory = status_of(row)->device.memory_mib;
	words_number(cell, memory > 0 ? memory : -1);
}

static void write_driver(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(status_of(row)->device.driver_version));
}

static const struct text_table_column columns[] = {
	{"GPU", 0, write_gpu},
	{"NODE", 0, write_node, .cut = true},
	{"INDEX", 0, write_index, .drop = 4},
	{"MODEL", 0, write_model, .drop = 1},
	{"MODE", 0, write_mode, .drop = 3},
	{"SLOTS", 0, write_slots},
	{"TENANTS", 0, write_tenants, .cut = true},
	{"HEALTH", 0, write_health},
	{"INTENT", 0, write_intent, .drop = 2},
	{"READY", 0, write_ready, .cut = true},
	{"ACTIVITY", OUTPUT_IF_WIDE, write_activity},
	{"PCI", OUTPUT_IF_WIDE, write_pci},
	{"MEMORY-MIB", OUTPUT_IF_WIDE, write_memory},
	{"DRIVER", OUTPUT_IF_WIDE, write_driver},
	{0},
};

void fleet_view(struct output *output, const struct attribution *const *devices, size_t n_devices)
{
	CLEANUP(text_table_deinit) struct text_table table;
	text_table_init(&table, columns, output_flags(output), OUTPUT_BYTES);
	for (size_t i = 0; i < n_devices; i++)
		text_table_add(&table, &(struct line){devices[i], output});
	text_table_write(&table, output, 0);
	footnotes_add(output, devices, n_devices);
}

void fleet_view_names(struct output *output, const struct attribution *const *devices,
		      size_t n_devices)
{
	for (size_t i = 0; i < n_devices; i++)
		sbuf_printf(&output->body, "gpuattribution.gpuattribution.dev/%.*s\n",
			    VIEW_ARG(devices[i]->name));
}

void fleet_view_json(struct output *output, const struct attribution *const *devices, size_t n_devices)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&json, OUTPUT_BYTES);
	jout_init(&out, &json);
	json_output_begin(&out, output, "GPUList");
	jout_key(&out, "items");
	jout_array(&out);
	for (size_t i = 0; i < n_devices; i++)
		json_output_device(&out, devices[i], true);
	jout_array_end(&out);
	jout_object_end(&out);
	json_output_end(output, &json);
}
