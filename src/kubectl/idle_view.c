/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/idle_view.h"

#include "kubectl/fleet_view.h"
#include "kubectl/json_output.h"
#include "kubectl/output.h"
#include "kubectl/tenant_cell.h"
#include "kubectl/text_table.h"
#include "kubectl/words.h"
#include "wire/jout.h"

#define NAMES_SHOWN 1

/* Only a table with a partition in it has columns for partitions. */
#define IF_PARTITIONS OUTPUT_IF_MANY

struct line {
	const struct idle_row *row;
	const struct output *output;
};

static const struct attribution_status *status_of(const void *row)
{
	const struct line *line = row;
	return &line->row->device->status;
}

static void write_gpu(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	output_uuid(line->output, line->row->device->uuid, cell);
}

static void write_partition(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->row->partition)
		output_uuid(line->output, line->row->partition->uuid, cell);
}

static void write_profile(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->row->partition)
		sbuf_append(cell, words_known(line->row->partition->profile));
}

static void write_node(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(status_of(row)->node_name));
}

static void write_since(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	words_age(cell, line->row->since, line->output->now);
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

static void write_index(const void *row, struct sbuf *cell)
{
	words_number(cell, status_of(row)->device.index);
}

static void write_evidence(const void *row, struct sbuf *cell)
{
	words_list(cell, status_of(row)->activity.evidence);
}

static struct tenant_cell holders_of(const void *row)
{
	const struct line *line = row;
	return (struct tenant_cell){
		.status = status_of(row),
		.partition = line->row->partition,
		.room = line->output->form == OUTPUT_WIDE ? INT64_MAX : NAMES_SHOWN,
	};
}

static void write_holders(const void *row, struct sbuf *cell)
{
	struct tenant_cell holders = holders_of(row);
	tenant_cell_write(&holders, cell);
}

static void write_workloads(const void *row, struct sbuf *cell)
{
	struct tenant_cell holders = holders_of(row);
	tenant_cell_write_workloads(&holders, cell);
}

static const struct text_table_column columns[] = {
	{"GPU", 0, write_gpu},
	{"PARTITION", IF_PARTITIONS, write_partition},
	{"PROFILE", IF_PARTITIONS, write_profile, .drop = 4},
	{"NODE", 0, write_node, .cut = true},
	{"IDLE SINCE", 0, write_since, .marked = OUTPUT_IF_NO_LEADER},
	{"MODEL", 0, write_model, .drop = 1},
	{"MODE", 0, write_mode, .drop = 3},
	{"SLOTS", 0, write_slots, .drop = 2},
	{"HELD BY", 0, write_holders, .cut = true},
	{"WORKLOAD", 0, write_workloads, .cut = true},
	{"INDEX", OUTPUT_IF_WIDE, write_index},
	{"EVIDENCE", OUTPUT_IF_WIDE, write_evidence},
	{0},
};

static bool has_partitions(const struct idle *idle)
{
	for (size_t i = 0; i < idle->n_rows; i++) {
		if (idle->rows[i].partition)
			return true;
	}
	return false;
}

void idle_view(struct output *output, const struct idle *idle)
{
	CLEANUP(text_table_deinit) struct text_table table;
	uint32_t flags = output_flags(output) | (has_partitions(idle) ? IF_PARTITIONS : 0u);
	text_table_init(&table, columns, flags, OUTPUT_BYTES);
	for (size_t i = 0; i < idle->n_rows; i++)
		text_table_add(&table, &(struct line){&idle->rows[i], output});
	if (idle->n_rows > 0)
		text_table_write(&table, output, 0);
}

void idle_view_names(struct output *output, const struct idle *idle)
{
	for (size_t i = 0; i < idle->n_rows; i++) {
		if (idle->rows[i].is_first_of_device)
			fleet_view_names(output, &idle->rows[i].device, 1);
	}
}

static void write_partition_json(struct jout *out, const struct attribution_partition *partition)
{
	jout_key(out, "partition");
	if (!partition) {
		jout_null(out);
		return;
	}
	jout_object(out);
	jout_member_text(out, "uuid", partition->uuid);
	json_output_text(out, "profile", partition->profile);
	jout_object_end(out);
}

/* Those that hold what is idle: tenants of the device that hold other partitions are not among them. */
static void write_item(struct jout *out, const struct idle_row *row)
{
	const struct attribution_status *status = &row->device->status;
	jout_object(out);
	json_output_instant(out, "since", row->since);
	write_partition_json(out, row->partition);
	json_output_texts(out, "evidence", status->activity.evidence);
	jout_key(out, "heldBy");
	jout_array(out);
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (!tenant_cell_holds(tenant, row->partition))
			continue;
		jout_object(out);
		json_output_tenant(out, status, tenant);
		jout_object_end(out);
	}
	jout_array_end(out);
	jout_key(out, "gpu");
	json_output_device(out, row->device, true);
	jout_object_end(out);
}

void idle_view_json(struct output *output, const struct idle *idle)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&json, OUTPUT_BYTES);
	jout_init(&out, &json);
	json_output_begin(&out, output, "IdleGPUs");
	jout_key(&out, "notKnown");
	jout_i64(&out, (int64_t)idle->n_unknown);
	jout_key(&out, "items");
	jout_array(&out);
	for (size_t i = 0; i < idle->n_rows; i++)
		write_item(&out, &idle->rows[i]);
	jout_array_end(&out);
	jout_object_end(&out);
	json_output_end(output, &json);
}
