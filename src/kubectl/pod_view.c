/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/pod_view.h"

#include "kubectl/footnotes.h"
#include "kubectl/neighbours.h"
#include "kubectl/page.h"
#include "kubectl/record.h"
#include "kubectl/sheet.h"
#include "kubectl/standing.h"
#include "kubectl/verdict.h"
#include "kubectl/words.h"
#include "wire/jindent.h"
#include "wire/jout.h"

#define UNKNOWN VIEW("?")
#define MESSAGE_BYTES (16u * LIMIT_KIB)

struct line {
	const struct seat *seat;               /* NULL: not known, but the pod asks for GPUs */
	const struct seating_finding *finding; /* without a seat */
	const struct pod_card_request *request;
	int64_t now;
};

static const struct attribution_status *status_of(const struct line *line)
{
	return &line->seat->device->status;
}

static void write_namespace(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? words_known(line->seat->tenant->pod_namespace)
				     : line->finding->namespace);
}

static void write_pod(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	const struct attribution_tenant *tenant = line->seat ? line->seat->tenant : NULL;
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
	sbuf_append(cell, line->seat ? line->seat->tenant->container : line->request->container);
}

static void write_gpu(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? line->seat->device->uuid : UNKNOWN);
}

static void write_node(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? words_known(status_of(line)->node_name)
				     : line->finding->card->node);
}

static void write_index(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	words_number(cell, line->seat ? status_of(line)->device.index : -1);
}

static void write_model(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? words_known(status_of(line)->device.model) : UNKNOWN);
}

static void write_mode(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? words_mode(status_of(line)->sharing.mode) : UNKNOWN);
}

static void write_slots(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->seat)
		words_share(cell, line->seat->tenant->slots, status_of(line)->slots.total);
	else
		sbuf_append(cell, UNKNOWN);
}

static void write_partition(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (!line->seat) {
		sbuf_append(cell, UNKNOWN);
		return;
	}
	words_partitions(cell, status_of(line), line->seat->tenant->partitions);
}

static void write_phase(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? words_phase(line->seat->tenant->phase) : VIEW("Unknown"));
}

static void write_confidence(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? words_confidence(line->seat->tenant->confidence)
				     : VIEW("Unknown"));
}

static void write_shared_with(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	int64_t n = line->seat ? neighbours_count(status_of(line), line->seat->tenant) : -1;
	words_number(cell, n);
	if (n >= 0)
		sbuf_append(cell, n == 1 ? VIEW(" other") : VIEW(" others"));
}

static void write_health(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? words_health(status_of(line)->health.state) : UNKNOWN);
}

static void write_status(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->seat)
		standing_write(status_of(line), cell);
	else
		sbuf_append(cell, VIEW("Unknown*"));
}

static void write_resource(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, words_known(line->seat ? line->seat->tenant->resource
						 : line->request->resource));
}

static void write_witnesses(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (line->seat)
		words_list(cell, line->seat->tenant->witnesses);
	else
		sbuf_append(cell, UNKNOWN);
}

static void write_since(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	words_age(cell, line->seat ? line->seat->tenant->start_time : 0, line->now);
}

static void write_uid(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	sbuf_append(cell, line->seat ? line->seat->tenant->pod_uid : line->finding->card->uid);
}

static void write_others(const void *row, struct sbuf *cell)
{
	const struct line *line = row;
	if (!line->seat) {
		sbuf_append(cell, UNKNOWN);
		return;
	}
	struct array tenants = status_of(line)->tenants;
	for (uint32_t i = 0; i < tenants.count; i++) {
		const struct attribution_tenant *other =
			ARRAY_AT(tenants, struct attribution_tenant, i);
		if (!neighbours_are(line->seat->tenant, other))
			continue;
		if (cell->len > 0)
			sbuf_append_char(cell, ',');
		words_pod(cell, other->pod_namespace, other->pod_name, other->pod_uid);
		sbuf_append_char(cell, '/');
		sbuf_append(cell, other->container);
	}
}

static const struct sheet_column columns[] = {
	{"NAMESPACE", PAGE_IF_ALL_NAMESPACES, write_namespace},
	{"POD", PAGE_IF_MANY, write_pod},
	{"CONTAINER", 0, write_container},
	{"GPU", 0, write_gpu},
	{"NODE", 0, write_node},
	{"INDEX", 0, write_index},
	{"MODEL", 0, write_model},
	{"MODE", 0, write_mode},
	{"SLOTS", 0, write_slots},
	{"PARTITION", 0, write_partition},
	{"PHASE", 0, write_phase},
	{"CONFIDENCE", 0, write_confidence},
	{"SHARED WITH", 0, write_shared_with},
	{"HEALTH", 0, write_health},
	{"STATUS", 0, write_status},
	{"RESOURCE", PAGE_IF_WIDE, write_resource},
	{"WITNESSES", PAGE_IF_WIDE, write_witnesses},
	{"SINCE", PAGE_IF_WIDE, write_since},
	{"POD-UID", PAGE_IF_WIDE, write_uid},
	{"OTHERS", PAGE_IF_WIDE, write_others},
	{0},
};

static bool has_unknown_lines(const struct seating_finding *finding)
{
	return finding->verdict == SEATING_UNKNOWN || finding->verdict == SEATING_UNPLACED;
}

static void add_lines(struct sheet *sheet, const struct page *page, const struct seating *seating)
{
	for (size_t i = 0; i < seating->n_seats; i++)
		sheet_add(sheet, &(struct line){.seat = &seating->seats[i], .now = page->now});
	for (size_t i = 0; i < seating->n_findings; i++) {
		const struct seating_finding *finding = &seating->findings[i];
		struct array requests = has_unknown_lines(finding) ? finding->card->requests
								    : (struct array){0};
		for (uint32_t j = 0; j < requests.count; j++)
			sheet_add(sheet,
				  &(struct line){.finding = finding,
						 .request = ARRAY_AT(requests,
								     struct pod_card_request, j),
						 .now = page->now});
	}
}

/* Of pods that a selector chose, those that ask for no GPU and use none are not worth a word. */
static bool is_worth_a_note(const struct seating *seating, const struct seating_finding *finding)
{
	return seating->is_named || finding->user ||
	       (finding->verdict != SEATING_NO_REQUEST && finding->verdict != SEATING_ENDED);
}

static void add_notes(struct page *page, const struct seating *seating)
{
	for (size_t i = 0; i < seating->n_findings; i++) {
		const struct seating_finding *finding = &seating->findings[i];
		if (!is_worth_a_note(seating, finding))
			continue;
		struct sbuf *line = page_note(page);
		if (page->all_namespaces)
			sbuf_printf(line, "pod %.*s/%.*s: ", VIEW_ARG(finding->namespace),
				    VIEW_ARG(finding->name));
		else
			sbuf_printf(line, "pod/%.*s: ", VIEW_ARG(finding->name));
		size_t prefix = line->len;
		if (finding->n_seats > 0)
			verdict_say_seated(seating, finding, line);
		else
			verdict_say(seating, finding, page->now, line);
		if (line->len == prefix)
			sbuf_clear(line);
		page_note_end(page);
	}
}

/* Was the device that of an earlier seat? */
static bool is_seen(const struct seating *seating, size_t seat)
{
	for (size_t i = 0; i < seat; i++) {
		if (seating->seats[i].device == seating->seats[seat].device)
			return true;
	}
	return false;
}

static void add_footnotes(struct page *page, const struct seating *seating)
{
	for (size_t i = 0; i < seating->n_seats; i++) {
		if (!is_seen(seating, i))
			footnotes_add(page, &seating->seats[i].device, 1);
	}
}

void pod_view(struct page *page, const struct seating *seating)
{
	CLEANUP(sheet_deinit) struct sheet sheet;
	sheet_init(&sheet, columns, page_flags(page), PAGE_BYTES);
	add_lines(&sheet, page, seating);
	if (sheet.n_rows > 0)
		sheet_write(&sheet, page->has_headers, 0, &page->body);
	add_notes(page, seating);
	add_footnotes(page, seating);
}

void pod_view_names(struct page *page, const struct seating *seating)
{
	for (size_t i = 0; i < seating->n_seats; i++) {
		if (!is_seen(seating, i))
			sbuf_printf(&page->body, "gpuattribution.gpuattribution.dev/%.*s\n",
				    VIEW_ARG(seating->seats[i].device->name));
	}
	add_notes(page, seating);
	add_footnotes(page, seating);
}

static void record_past(struct jout *out, const struct seating_finding *finding)
{
	jout_key(out, "past");
	jout_array(out);
	for (size_t i = 0; i < finding->n_past; i++) {
		const struct seating_past *past = &finding->past[i];
		jout_object(out);
		jout_member_text(out, "uuid", past->device->uuid);
		record_text(out, "node", past->device->status.node_name);
		record_text(out, "podUID", past->tenant->pod_uid);
		record_text(out, "container", past->tenant->container);
		record_instant(out, "since", past->tenant->start_time);
		record_instant(out, "until", past->tenant->end_time);
		jout_object_end(out);
	}
	jout_array_end(out);
}

static void record_finding(struct jout *out, const struct page *page,
			   const struct seating *seating, const struct seating_finding *finding)
{
	CLEANUP(sbuf_deinit) struct sbuf message;
	sbuf_init(&message, MESSAGE_BYTES);
	verdict_say(seating, finding, page->now, &message);
	jout_object(out);
	jout_member_text(out, "namespace", finding->namespace);
	jout_member_text(out, "pod", finding->name);
	record_text(out, "podUID", finding->card ? finding->card->uid : (struct view){0});
	jout_member_text(out, "verdict", verdict_name(finding->verdict));
	jout_member_text(out, "message", sbuf_view(&message));
	record_past(out, finding);
	jout_object_end(out);
}

static void record_seat(struct jout *out, const struct seat *seat)
{
	jout_object(out);
	record_tenant(out, &seat->device->status, seat->tenant);
	jout_member_text(out, "matchedBy", seat->is_by_name ? VIEW("Name") : VIEW("UID"));
	jout_key(out, "gpu");
	record_device(out, seat->device, false);
	jout_object_end(out);
}

void pod_view_json(struct page *page, const struct seating *seating)
{
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&json, PAGE_BYTES);
	jout_init(&out, &json);
	record_begin(&out, "PodGPUs");
	jout_key(&out, "pods");
	jout_array(&out);
	for (size_t i = 0; i < seating->n_findings; i++)
		record_finding(&out, page, seating, &seating->findings[i]);
	jout_array_end(&out);
	jout_key(&out, "items");
	jout_array(&out);
	for (size_t i = 0; i < seating->n_seats; i++)
		record_seat(&out, &seating->seats[i]);
	jout_array_end(&out);
	jout_object_end(&out);
	if (json.failure)
		page->body.failure = json.failure;
	jindent(sbuf_view(&json), &page->body);
}
