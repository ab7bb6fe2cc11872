/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/failing_view.h"

#include <inttypes.h>

#include "kubectl/fleet_view.h"
#include "kubectl/footnotes.h"
#include "kubectl/json_output.h"
#include "kubectl/output.h"
#include "kubectl/remedy.h"
#include "kubectl/tenant_cell.h"
#include "kubectl/text_table.h"
#include "kubectl/words.h"
#include "wire/jout.h"

#define PODS_THEN 2 /* that are shown of an event */
#define PODS_NOW 1
#define REMEDY_BYTES LIMIT_KIB

struct line {
	const struct failing_row *row;
	const struct output *output;
};

static const struct attribution_status *status_of(const void *row)
{
	const struct line *line = row;
	return &line->row->device->status;
}

static bool is_wide(const void *row)
{
	const struct line *line = row;
	return line->output->form == OUTPUT_WIDE;
}

static void write_gpu(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	output_uuid(line->output, line->row->device->uuid, cell);
}

static void write_node(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(status_of(row)->node_name));
}

static void write_health(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_health(status_of(row)->health.state));
}

static void write_since(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	words_age(cell, line->row->since, line->output->now);
}

/* The worst one, and how many more there are. The mark is for what no agent reports now. */
static void write_reason(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	struct array reasons = status_of(row)->health.reasons;
	if (is_wide(row) && reasons.count > 0)
		words_list(cell, reasons);
	else
		sbuf_append(cell, words_known(remedy_reason(status_of(row))));
	if (!is_wide(row) && reasons.count > 1)
		sbuf_printf(cell, " +%" PRIu32, reasons.count - 1);
	if (line->row->is_last_known)
		sbuf_append_char(cell, '*');
}

static void write_action(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_recovery(status_of(row)->health.recovery_action));
}

/* Nothing is written where the reason is no event. Containers of a pod stand side by side. */
static void write_then(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	const struct attribution_health_event *event = line->row->event;
	const struct attribution_event_tenant *last = NULL;
	int64_t n = 0, room = is_wide(row) ? INT64_MAX : PODS_THEN;
	for (uint32_t i = 0; event && i < event->tenants.count; i++) {
		const struct attribution_event_tenant *tenant =
			ARRAY_AT(event->tenants, struct attribution_event_tenant, i);
		if (last && view_equal(last->pod_uid, tenant->pod_uid))
			continue;
		last = tenant;
		if (n++ >= room)
			continue;
		if (n > 1)
			sbuf_append_char(cell, ',');
		words_pod(cell, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
	}
	int64_t more = (n > room ? n - room : 0) + (event ? event->tenants_left_out : 0);
	if (event && n == 0)
		sbuf_append(cell, VIEW("<none known>"));
	if (more > 0)
		sbuf_printf(cell, " +%" PRId64, more);
}

static void write_now(const void *row, struct sbuf *cell)
{
	tenant_cell_write(&(struct tenant_cell){.status = status_of(row),
						.room = is_wide(row) ? INT64_MAX : PODS_NOW},
			  cell);
}

static void write_workloads(const void *row, struct sbuf *cell)
{
	tenant_cell_write_workloads(
		&(struct tenant_cell){.status = status_of(row),
				      .room = is_wide(row) ? INT64_MAX : PODS_NOW},
		cell);
}

static void write_remedy(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	remedy_write(line->row->device, line->row->event, cell);
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

static void write_pci(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(status_of(row)->device.pci_bus_id));
}

static void write_serial(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(status_of(row)->device.serial));
}

static const struct text_table_column columns[] = {
	{"GPU", 0, write_gpu},
	{"NODE", 0, write_node, .cut = true},
	{"HEALTH", 0, write_health, .drop = 1},
	{"SINCE", 0, write_since},
	{"REASON", 0, write_reason, .marked = OUTPUT_IF_NO_LEADER, .cut = true},
	{"ACTION", 0, write_action},
	{"ON IT WHEN IT FAILED", 0, write_then, .cut = true},
	{"ON IT NOW", 0, write_now, .cut = true},
	{"WORKLOAD", 0, write_workloads, .cut = true},
	{"INDEX", OUTPUT_IF_WIDE, write_index},
	{"MODEL", OUTPUT_IF_WIDE, write_model},
	{"PCI", OUTPUT_IF_WIDE, write_pci},
	{"SERIAL", OUTPUT_IF_WIDE, write_serial},
	{"WHAT TO DO", 0, write_remedy, .below = "to do: "},
	{0},
};

void failing_view(struct output *output, const struct failing *failing)
{
	CLEANUP(text_table_deinit) struct text_table table;
	text_table_init(&table, columns, output_flags(output), OUTPUT_BYTES);
	for (size_t i = 0; i < failing->n_rows; i++)
		text_table_add(&table, &(struct line){&failing->rows[i], output});
	if (failing->n_rows > 0)
		text_table_write(&table, output, 0);
	footnotes_add_states(output, failing->silent, failing->n_silent);
}

void failing_view_names(struct output *output, const struct failing *failing)
{
	for (size_t i = 0; i < failing->n_rows; i++)
		fleet_view_names(output, &failing->rows[i].device, 1);
}

static void write_event(struct jout *out, const struct attribution_health_event *event)
{
	jout_key(out, "event");
	if (!event) {
		jout_null(out);
		return;
	}
	jout_object(out);
	jout_key(out, "xid");
	jout_i64(out, event->xid);
	json_output_instant(out, "time", event->event_time);
	json_output_text(out, "meaning", event->meaning);
	json_output_text(out, "partition", event->partition);
	jout_key(out, "tenants");
	jout_array(out);
	for (uint32_t i = 0; i < event->tenants.count; i++) {
		const struct attribution_event_tenant *tenant =
			ARRAY_AT(event->tenants, struct attribution_event_tenant, i);
		jout_object(out);
		json_output_text(out, "namespace", tenant->pod_namespace);
		json_output_text(out, "pod", tenant->pod_name);
		json_output_text(out, "podUID", tenant->pod_uid);
		json_output_text(out, "container", tenant->container);
		jout_object_end(out);
	}
	jout_array_end(out);
	jout_key(out, "tenantsLeftOut");
	jout_i64(out, event->tenants_left_out);
	jout_object_end(out);
}

static void write_item(struct jout *out, const struct failing_row *row)
{
	CLEANUP(sbuf_deinit) struct sbuf remedy;
	const struct attribution_health_state *health = &row->device->status.health;
	sbuf_init(&remedy, REMEDY_BYTES);
	remedy_write(row->device, row->event, &remedy);
	jout_object(out);
	json_output_instant(out, "since", row->since);
	json_output_texts(out, "reasons", health->reasons);
	json_output_word(out, "recoveryAction", words_recovery(health->recovery_action));
	json_output_text(out, "whatToDo", sbuf_view(&remedy));
	jout_member_bool(out, "lastKnown", row->is_last_known);
	write_event(out, row->event);
	jout_key(out, "gpu");
	json_output_device(out, row->device, true);
	jout_object_end(out);
	if (remedy.failure)
		out->buf->failure = remedy.failure;
}

void failing_view_json(struct output *output, const struct failing *failing)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&json, OUTPUT_BYTES);
	jout_init(&out, &json);
	json_output_begin(&out, output, "FailingGPUs");
	jout_key(&out, "notKnown");
	jout_i64(&out, (int64_t)failing->n_unknown);
	jout_key(&out, "items");
	jout_array(&out);
	for (size_t i = 0; i < failing->n_rows; i++)
		write_item(&out, &failing->rows[i]);
	jout_array_end(&out);
	jout_object_end(&out);
	json_output_end(output, &json);
}
