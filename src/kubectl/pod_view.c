/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/pod_view.h"

#include "kubectl/footnotes.h"
#include "kubectl/shared_with.h"
#include "kubectl/output.h"
#include "kubectl/json_output.h"
#include "kubectl/text_table.h"
#include "kubectl/report_state.h"
#include "kubectl/verdict.h"
#include "kubectl/words.h"
#include "wire/jout.h"

#define UNKNOWN VIEW("?")
#define MESSAGE_BYTES (16u * LIMIT_KIB)

struct line {
	const struct assignment *assignment;               /* NULL: not known, but the pod asks for GPUs */
	const struct assignment_finding *finding; /* without a assignment */
	const struct pod_card_request *request;
	const struct output *output;
};

static const struct attribution_status *status_of(const struct line *line)
{
	return &line->assignment->device->status;
}

static void write_namespace(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->assignment ? words_known(line->assignment->tenant->pod_namespace)
				     : line->finding->namespace);
}

static void write_pod(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	const struct attribution_tenant *tenant = line->assignment ? line->assignment->tenant : NULL;
	if (!tenant)
		sbuf_append(cell, line->finding->name);
	else if (tenant->pod_name.len > 0)
		sbuf_append(cell, tenant->pod_name);
	else
		words_pod(cell, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
}

static void write_container(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->assignment ? line->assignment->tenant->container : line->request->container);
}

static void write_gpu(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->assignment)
		output_uuid(line->output, line->assignment->device->uuid, cell);
	else
		sbuf_append(cell, UNKNOWN);
}

static void write_node(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->assignment ? words_known(status_of(line)->node_name)
				     : line->finding->card->node);
}

static void write_index(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	words_number(cell, line->assignment ? status_of(line)->device.index : -1);
}

static void write_model(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	output_model(line->output, line->assignment ? status_of(line)->device.model : (struct view){0},
		     cell);
}

static void write_mode(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->assignment ? words_mode(status_of(line)->sharing.mode) : UNKNOWN);
}

static void write_slots(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->assignment)
		words_share(cell, line->assignment->tenant->slots, status_of(line)->slots.total);
	else
		sbuf_append(cell, UNKNOWN);
}

static void write_partition(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (!line->assignment) {
		sbuf_append(cell, UNKNOWN);
		return;
	}
	words_partitions(cell, status_of(line), line->assignment->tenant->partitions);
}

static void write_phase(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->assignment ? words_phase(line->assignment->tenant->phase) : VIEW("Unknown"));
}

static void write_confidence(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->assignment ? words_confidence(line->assignment->tenant->confidence)
				     : VIEW("Unknown"));
}

static void write_shared_with(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	int64_t n = line->assignment ? shared_with_count(status_of(line), line->assignment->tenant) : -1;
	words_number(cell, n);
}

static void write_health(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->assignment ? words_health(status_of(line)->health.state) : UNKNOWN);
}

static void write_ready(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->assignment)
		report_state_write(status_of(line), leader_is_missing(&line->output->leader), cell);
	else
		sbuf_append(cell, VIEW("Unknown*"));
}

static void write_resource(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, words_known(line->assignment ? line->assignment->tenant->resource
						 : line->request->resource));
}

static void write_witnesses(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->assignment)
		words_list(cell, line->assignment->tenant->witnesses);
	else
		sbuf_append(cell, UNKNOWN);
}

static void write_since(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	words_age(cell, line->assignment ? line->assignment->tenant->start_time : 0, line->output->now);
}

static void write_uid(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->assignment ? line->assignment->tenant->pod_uid : line->finding->card->uid);
}

static void write_others(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (!line->assignment) {
		sbuf_append(cell, UNKNOWN);
		return;
	}
	struct array tenants = status_of(line)->tenants;
	for (uint32_t i = 0; i < tenants.count; i++) {
		const struct attribution_tenant *other =
			ARRAY_AT(tenants, struct attribution_tenant, i);
		if (!shared_with_is(line->assignment->tenant, other))
			continue;
		if (cell->len > 0)
			sbuf_append_char(cell, ',');
		words_pod(cell, other->pod_namespace, other->pod_name, other->pod_uid);
		sbuf_append_char(cell, '/');
		sbuf_append(cell, other->container);
	}
}

static const struct text_table_column columns[] = {
	{"NAMESPACE", OUTPUT_IF_ALL_NAMESPACES, write_namespace, .cut = true},
	{"POD", OUTPUT_IF_MANY, write_pod, .cut = true},
	{"CONTAINER", 0, write_container, .cut = true},
	{"GPU", 0, write_gpu},
	{"NODE", 0, write_node, .cut = true},
	{"INDEX", 0, write_index, .drop = 3},
	{"MODEL", 0, write_model, .drop = 1},
	{"MODE", 0, write_mode, .drop = 2},
	{"SLOTS", 0, write_slots, .drop = 6},
	{"PARTITION", 0, write_partition, .drop = 5, .cut = true},
	{"PHASE", 0, write_phase, .drop = 4},
	{"CONFIDENCE", 0, write_confidence, .drop = 8},
	{"SHARED", 0, write_shared_with, .drop = 7},
	{"HEALTH", 0, write_health},
	{"READY", 0, write_ready, .cut = true},
	{"RESOURCE", OUTPUT_IF_WIDE, write_resource},
	{"WITNESSES", OUTPUT_IF_WIDE, write_witnesses},
	{"SINCE", OUTPUT_IF_WIDE, write_since},
	{"POD-UID", OUTPUT_IF_WIDE, write_uid},
	{"OTHERS", OUTPUT_IF_WIDE, write_others},
	{0},
};

static bool has_unknown_lines(const struct assignment_finding *finding)
{
	return finding->verdict == ASSIGNMENT_UNKNOWN || finding->verdict == ASSIGNMENT_UNPLACED;
}

static void add_lines(struct text_table *table, const struct output *output, const struct assignment_set *set)
{
	for (size_t i = 0; i < set->n_assignments; i++)
		text_table_add(table, &(struct line){.assignment = &set->assignments[i], .output = output});
	for (size_t i = 0; i < set->n_findings; i++) {
		const struct assignment_finding *finding = &set->findings[i];
		struct array requests = has_unknown_lines(finding) ? finding->card->requests
								    : (struct array){0};
		for (uint32_t j = 0; j < requests.count; j++)
			text_table_add(table,
				  &(struct line){.finding = finding,
						 .request = ARRAY_AT(requests,
								     struct pod_card_request, j),
						 .output = output});
	}
}

/* Of pods that a selector chose, those that ask for no GPU and use none are not worth a word. */
static bool is_worth_a_note(const struct assignment_set *set, const struct assignment_finding *finding)
{
	return set->is_named || finding->user ||
	       (finding->verdict != ASSIGNMENT_NO_REQUEST && finding->verdict != ASSIGNMENT_ENDED);
}

void pod_view_notes(struct output *output, const struct assignment_set *set)
{
	for (size_t i = 0; i < set->n_findings; i++) {
		const struct assignment_finding *finding = &set->findings[i];
		if (!is_worth_a_note(set, finding))
			continue;
		struct sbuf *line = output_note(output);
		if (output->all_namespaces)
			sbuf_printf(line, "pod %.*s/%.*s: ", VIEW_ARG(finding->namespace),
				    VIEW_ARG(finding->name));
		else
			sbuf_printf(line, "pod/%.*s: ", VIEW_ARG(finding->name));
		size_t prefix = line->len;
		if (finding->n_assignments > 0)
			verdict_say_assigned(output, set, finding, line);
		else
			verdict_say(output, set, finding, line);
		if (line->len == prefix)
			sbuf_clear(line);
		output_note_end(output);
	}
}

/* Was the device that of an earlier assignment? */
static bool is_seen(const struct assignment_set *set, size_t assignment)
{
	for (size_t i = 0; i < assignment; i++) {
		if (set->assignments[i].device == set->assignments[assignment].device)
			return true;
	}
	return false;
}

static void add_footnotes(struct output *output, const struct assignment_set *set)
{
	for (size_t i = 0; i < set->n_assignments; i++) {
		if (!is_seen(set, i))
			footnotes_add(output, &set->assignments[i].device, 1);
	}
}

void pod_view(struct output *output, const struct assignment_set *set)
{
	CLEANUP(text_table_deinit) struct text_table table;
	text_table_init(&table, columns, output_flags(output), OUTPUT_BYTES);
	add_lines(&table, output, set);
	if (table.n_rows > 0)
		text_table_write(&table, output, 0);
	pod_view_notes(output, set);
	add_footnotes(output, set);
}

void pod_view_names(struct output *output, const struct assignment_set *set)
{
	for (size_t i = 0; i < set->n_assignments; i++) {
		if (!is_seen(set, i))
			sbuf_printf(&output->body, "gpuattribution.gpuattribution.dev/%.*s\n",
				    VIEW_ARG(set->assignments[i].device->name));
	}
	pod_view_notes(output, set);
	add_footnotes(output, set);
}

static void write_past(struct jout *out, const struct assignment_finding *finding)
{
	jout_key(out, "past");
	jout_array(out);
	for (size_t i = 0; i < finding->n_past; i++) {
		const struct assignment_past *past = &finding->past[i];
		jout_object(out);
		jout_member_text(out, "uuid", past->device->uuid);
		json_output_text(out, "node", past->device->status.node_name);
		json_output_text(out, "podUID", past->tenant->pod_uid);
		json_output_text(out, "container", past->tenant->container);
		json_output_instant(out, "since", past->tenant->start_time);
		json_output_instant(out, "until", past->tenant->end_time);
		jout_object_end(out);
	}
	jout_array_end(out);
}

static void write_finding(struct jout *out, const struct output *output,
			   const struct assignment_set *set, const struct assignment_finding *finding)
{
	CLEANUP(sbuf_deinit) struct sbuf message;
	sbuf_init(&message, MESSAGE_BYTES);
	verdict_say(output, set, finding, &message);
	jout_object(out);
	jout_member_text(out, "namespace", finding->namespace);
	jout_member_text(out, "pod", finding->name);
	json_output_text(out, "podUID", finding->card ? finding->card->uid : (struct view){0});
	jout_member_text(out, "verdict", verdict_name(finding->verdict));
	jout_member_text(out, "message", sbuf_view(&message));
	write_past(out, finding);
	jout_object_end(out);
}

static void write_assignment(struct jout *out, const struct assignment *assignment)
{
	jout_object(out);
	json_output_tenant(out, &assignment->device->status, assignment->tenant);
	jout_member_text(out, "matchedBy", assignment->is_by_name ? VIEW("Name") : VIEW("UID"));
	jout_key(out, "gpu");
	json_output_device(out, assignment->device, false);
	jout_object_end(out);
}

void pod_view_json(struct output *output, const struct assignment_set *set)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&json, OUTPUT_BYTES);
	jout_init(&out, &json);
	json_output_begin(&out, output, "PodGPUs");
	jout_key(&out, "pods");
	jout_array(&out);
	for (size_t i = 0; i < set->n_findings; i++)
		write_finding(&out, output, set, &set->findings[i]);
	jout_array_end(&out);
	jout_key(&out, "items");
	jout_array(&out);
	for (size_t i = 0; i < set->n_assignments; i++)
		write_assignment(&out, &set->assignments[i]);
	jout_array_end(&out);
	jout_object_end(&out);
	json_output_end(output, &json);
}
