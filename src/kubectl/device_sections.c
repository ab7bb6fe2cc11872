/* SPDX-License-Identifier: Apache-2.0 */

/* A section with nothing in it is said to be empty, or left out where it would only be noise. */

#include "kubectl/device_sections.h"

#include <inttypes.h>

#include "kubectl/output.h"
#include "kubectl/text_table.h"
#include "kubectl/words.h"

/* A row of a section: the element, and what its cells need besides. */
struct line {
	const void *element;
	const struct attribution_status *status;
	int64_t now;
};

/* The name of the pod with that UID, as far as the status knows it. */
static void write_pod_of_uid(const struct attribution_status *status, struct view uid,
			     struct sbuf *cell)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (view_equal(tenant->pod_uid, uid)) {
			words_pod(cell, tenant->pod_namespace, tenant->pod_name, uid);
			return;
		}
	}
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		const struct attribution_past_tenant *past =
			ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i);
		if (view_equal(past->pod_uid, uid)) {
			words_pod(cell, past->pod_namespace, past->pod_name, uid);
			sbuf_append(cell, VIEW(" (left)"));
			return;
		}
	}
	sbuf_append(cell, VIEW("uid/"));
	sbuf_append(cell, uid);
}

/* Cells: each function is for one type of element, given by its name. */

static const struct attribution_tenant *tenant_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void tenant_pod(const void *row, struct sbuf *cell)
{
	const struct attribution_tenant *tenant = tenant_of(row);
	words_pod(cell, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
}

static void tenant_container(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, tenant_of(row)->container);
}

static void tenant_slots(const void *row, struct sbuf *cell)
{
	words_number(cell, tenant_of(row)->slots);
}

static void tenant_phase(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_phase(tenant_of(row)->phase));
	if (!attribution_is_counted(tenant_of(row))) {
		sbuf_append_char(cell, ',');
		sbuf_append(cell, words_role(tenant_of(row)->role));
	}
}

static void tenant_confidence(const void *row, struct sbuf *cell)
{
	const struct attribution_tenant *tenant = tenant_of(row);
	sbuf_append(cell, words_confidence(tenant->confidence));
	if (tenant->placeholder.len > 0) {
		sbuf_append(cell, VIEW(",placeholder of "));
		sbuf_append(cell, tenant->placeholder);
	}
}

static void tenant_witnesses(const void *row, struct sbuf *cell)
{
	words_list(cell, tenant_of(row)->witnesses);
}

static void tenant_since(const void *row, struct sbuf *cell)
{
	words_age(cell, tenant_of(row)->start_time, ((const struct line *)row)->now);
}

static void tenant_partitions(const void *row, struct sbuf *cell)
{
	words_list(cell, tenant_of(row)->partitions);
}

static void tenant_workload(const void *row, struct sbuf *cell)
{
	const struct attribution_workload *workload = &tenant_of(row)->workload;
	if (!workload->present)
		return;
	sbuf_append(cell, workload->kind);
	sbuf_append_char(cell, '/');
	sbuf_append(cell, workload->name);
}

static void tenant_resource(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(tenant_of(row)->resource));
}

static void tenant_uid(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, tenant_of(row)->pod_uid);
}

static const struct text_table_column tenant_columns[] = {
	{"POD", 0, tenant_pod, .cut = true},
	{"CONTAINER", 0, tenant_container, .cut = true},
	{"SLOTS", 0, tenant_slots},
	{"PHASE", 0, tenant_phase},
	{"CONFIDENCE", 0, tenant_confidence, .cut = true},
	{"WITNESSES", 0, tenant_witnesses, .drop = 3},
	{"SINCE", 0, tenant_since},
	{"RESOURCE", 0, tenant_resource, .drop = 2},
	{"WORKLOAD", 0, tenant_workload, .drop = 4},
	{"POD-UID", 0, tenant_uid},
	{"PARTITIONS", OUTPUT_IF_MANY, tenant_partitions, .drop = 1},
	{0},
};

static const struct attribution_partition *partition_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void partition_uuid(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, partition_of(row)->uuid);
}

static void partition_profile(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(partition_of(row)->profile));
}

static void partition_instances(const void *row, struct sbuf *cell)
{
	words_share(cell, partition_of(row)->gpu_instance_id,
		    partition_of(row)->compute_instance_id);
}

static void partition_memory(const void *row, struct sbuf *cell)
{
	int64_t memory = partition_of(row)->memory_mib;
	words_number(cell, memory > 0 ? memory : -1);
}

static void partition_slots(const void *row, struct sbuf *cell)
{
	int64_t slots = partition_of(row)->slots;
	words_number(cell, slots > 0 ? slots : -1);
}

static void partition_holders(const void *row, struct sbuf *cell)
{
	const struct attribution_status *status = ((const struct line *)row)->status;
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		for (uint32_t j = 0; j < tenant->partitions.count; j++) {
			if (!view_equal(*ARRAY_AT(tenant->partitions, struct view, j),
					partition_of(row)->uuid))
				continue;
			if (cell->len > 0)
				sbuf_append_char(cell, ',');
			words_pod(cell, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
		}
	}
	if (cell->len == 0)
		sbuf_append(cell, status->tenant_count < 0 ? VIEW("?") : VIEW("<none>"));
}

static const struct text_table_column partition_columns[] = {
	{"PROFILE", 0, partition_profile, .cut = true},
	{"UUID", 0, partition_uuid},
	{"GI/CI", 0, partition_instances},
	{"MEMORY-MIB", 0, partition_memory},
	{"SLOTS", 0, partition_slots},
	{"HELD BY", 0, partition_holders, .wrap = true},
	{0},
};

static const struct attribution_user *user_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void user_process(const void *row, struct sbuf *cell)
{
	words_process(cell, user_of(row));
}

static void user_pod(const void *row, struct sbuf *cell)
{
	const struct attribution_user *user = user_of(row);
	if (user->pod_uid.len > 0)
		words_pod(cell, user->pod_namespace, user->pod_name, user->pod_uid);
	else
		sbuf_append(cell, VIEW("<host>"));
}

static void user_container(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, user_of(row)->container);
}

static void user_memory(const void *row, struct sbuf *cell)
{
	int64_t memory = user_of(row)->memory_mib;
	words_number(cell, memory > 0 ? memory : -1);
}

static void user_since(const void *row, struct sbuf *cell)
{
	words_age(cell, user_of(row)->start_time, ((const struct line *)row)->now);
}

static const struct text_table_column user_columns[] = {
	{"PROCESS", 0, user_process, .cut = true},
	{"POD", 0, user_pod, .cut = true},
	{"CONTAINER", 0, user_container, .cut = true},
	{"MEMORY-MIB", 0, user_memory},
	{"SINCE", 0, user_since},
	{0},
};

static const struct attribution_unplaced *unplaced_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void unplaced_pod(const void *row, struct sbuf *cell)
{
	const struct attribution_unplaced *unplaced = unplaced_of(row);
	words_pod(cell, unplaced->pod_namespace, unplaced->pod_name, words_known(unplaced->pod_uid));
}

static void unplaced_container(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, unplaced_of(row)->container);
}

static void unplaced_resource(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_known(unplaced_of(row)->resource));
}

static void unplaced_ids(const void *row, struct sbuf *cell)
{
	words_list(cell, unplaced_of(row)->device_ids);
	if (unplaced_of(row)->device_ids_left_out > 0)
		sbuf_printf(cell, " +%" PRId64, unplaced_of(row)->device_ids_left_out);
}

static const struct text_table_column unplaced_columns[] = {
	{"POD", 0, unplaced_pod, .cut = true},
	{"CONTAINER", 0, unplaced_container, .cut = true},
	{"RESOURCE", 0, unplaced_resource, .cut = true},
	{"DEVICE IDS", 0, unplaced_ids, .wrap = true},
	{0},
};

static const struct attribution_past_tenant *past_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void past_pod(const void *row, struct sbuf *cell)
{
	words_pod(cell, past_of(row)->pod_namespace, past_of(row)->pod_name, past_of(row)->pod_uid);
}

static void past_container(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, past_of(row)->container);
}

static void past_since(const void *row, struct sbuf *cell)
{
	words_instant(cell, past_of(row)->start_time, ((const struct line *)row)->now);
}

static void past_until(const void *row, struct sbuf *cell)
{
	words_instant(cell, past_of(row)->end_time, ((const struct line *)row)->now);
}

static void past_uid(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, past_of(row)->pod_uid);
}

static const struct text_table_column past_columns[] = {
	{"POD", 0, past_pod, .cut = true},
	{"CONTAINER", 0, past_container, .cut = true},
	{"SINCE", 0, past_since, .drop = 1},
	{"UNTIL", 0, past_until},
	{"POD-UID", 0, past_uid},
	{0},
};

static const struct attribution_health_event *event_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void event_time(const void *row, struct sbuf *cell)
{
	words_instant(cell, event_of(row)->event_time, ((const struct line *)row)->now);
}

static void event_xid(const void *row, struct sbuf *cell)
{
	words_number(cell, event_of(row)->xid);
}

static void event_meaning(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, event_of(row)->meaning);
}

static void event_tenants(const void *row, struct sbuf *cell)
{
	struct array tenants = event_of(row)->tenants;
	const struct attribution_event_tenant *tenant = tenants.items, *last = NULL;
	for (uint32_t i = 0; i < tenants.count; i++, tenant++) {
		if (last && view_equal(last->pod_uid, tenant->pod_uid))
			continue;
		if (last)
			sbuf_append(cell, VIEW(", "));
		words_pod(cell, tenant->pod_namespace, tenant->pod_name, tenant->pod_uid);
		if (!attribution_find_tenant(((const struct line *)row)->status, tenant->pod_uid,
					     tenant->container))
			sbuf_append(cell, VIEW(" (left)"));
		last = tenant;
	}
	if (event_of(row)->tenants_left_out > 0)
		sbuf_printf(cell, " +%" PRId64, event_of(row)->tenants_left_out);
	if (tenants.count == 0)
		sbuf_append(cell, VIEW("<none known>"));
}

static const struct text_table_column event_columns[] = {
	{"TIME", 0, event_time},
	{"XID", 0, event_xid},
	{"MEANING", 0, event_meaning, .cut = true},
	{"ON IT AT THAT TIME", 0, event_tenants, .wrap = true},
	{0},
};

static const struct attribution_disagreement *disagreement_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void disagreement_pod(const void *row, struct sbuf *cell)
{
	write_pod_of_uid(((const struct line *)row)->status, disagreement_of(row)->pod_uid, cell);
}

static void disagreement_container(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, disagreement_of(row)->container);
}

static void write_ids(const struct attribution_statement *statement, struct sbuf *cell)
{
	if (statement->device_ids.count == 0)
		return;
	sbuf_printf(cell, " (");
	words_list(cell, statement->device_ids);
	if (statement->device_ids_left_out > 0)
		sbuf_printf(cell, " +%" PRId64, statement->device_ids_left_out);
	sbuf_printf(cell, ")");
}

static void disagreement_says(const void *row, struct sbuf *cell)
{
	struct array says = disagreement_of(row)->says;
	for (uint32_t i = 0; i < says.count; i++) {
		const struct attribution_statement *statement =
			ARRAY_AT(says, struct attribution_statement, i);
		sbuf_printf(cell, "%s%.*s: %" PRId64 " %s", i > 0 ? ", " : "",
			    VIEW_ARG(statement->witness), statement->slots,
			    statement->slots == 1 ? "slot" : "slots");
		write_ids(statement, cell);
	}
}

static const struct text_table_column disagreement_columns[] = {
	{"POD", 0, disagreement_pod, .cut = true},
	{"CONTAINER", 0, disagreement_container, .cut = true},
	{"WHO SAYS WHAT", 0, disagreement_says, .wrap = true},
	{0},
};

static const struct attribution_drift *drift_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void drift_type(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->type);
}

static void drift_severity(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_severity(drift_of(row)->severity));
}

static void drift_since(const void *row, struct sbuf *cell)
{
	words_age(cell, drift_of(row)->start_time, ((const struct line *)row)->now);
}

static void drift_intended(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->intended);
}

static void drift_observed(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->observed);
}

static void drift_message(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, drift_of(row)->message);
}

static const struct text_table_column drift_columns[] = {
	{"TYPE", 0, drift_type, .cut = true},
	{"SEVERITY", 0, drift_severity},
	{"SINCE", 0, drift_since},
	{"INTENDED", 0, drift_intended, .cut = true},
	{"OBSERVED", 0, drift_observed, .cut = true},
	{"MESSAGE", 0, drift_message, .wrap = true},
	{0},
};

static const struct condition *condition_of(const void *row)
{
	return ((const struct line *)row)->element;
}

static void condition_type(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, condition_of(row)->type);
}

static void condition_status(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, words_condition(condition_of(row)->status));
}

static void condition_since(const void *row, struct sbuf *cell)
{
	words_age(cell, condition_of(row)->last_transition_time, ((const struct line *)row)->now);
}

static void condition_reason(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, condition_of(row)->reason);
}

static void condition_message(const void *row, struct sbuf *cell)
{
	sbuf_append(cell, condition_of(row)->message);
}

static const struct text_table_column condition_columns[] = {
	{"TYPE", 0, condition_type, .cut = true},
	{"STATUS", 0, condition_status},
	{"SINCE", 0, condition_since},
	{"REASON", 0, condition_reason, .cut = true},
	{"MESSAGE", 0, condition_message, .wrap = true},
	{0},
};

struct section {
	const char *title;
	const struct text_table_column *columns;
	struct array elements;
	size_t element_size;
	int64_t left_out;
	const char *empty; /* what to say of none; NULL: leave the section out */
};

static void write_section(struct output *output, const struct attribution_status *status,
			  const struct section *section)
{
	CLEANUP(text_table_deinit) struct text_table table = {0};
	if (section->elements.count == 0) {
		if (section->empty)
			sbuf_printf(&output->body, "%-*s%s\n", DEVICE_SECTIONS_LABEL, section->title,
				    section->empty);
		return;
	}
	text_table_init(&table, section->columns, status->partitions.count > 0 ? OUTPUT_IF_MANY : 0u,
		   OUTPUT_BYTES);
	for (uint32_t i = 0; i < section->elements.count; i++)
		text_table_add(&table,
			  &(struct line){(const char *)section->elements.items +
						 i * section->element_size,
					 status, output->now});
	sbuf_printf(&output->body, "%s\n", section->title);
	text_table_write(&table, output, 2);
	if (section->left_out > 0)
		sbuf_printf(&output->body, "  and %" PRId64 " more\n", section->left_out);
}

void device_sections(struct output *output, const struct attribution_status *status)
{
	const struct section sections[] = {
		{"Partitions:", partition_columns, status->partitions,
		 sizeof(struct attribution_partition), 0, NULL},
		{"Tenants:", tenant_columns, status->tenants, sizeof(struct attribution_tenant),
		 status->tenants_left_out, status->tenant_count == 0 ? "<none>" : "?"},
		{"Disagreement:", disagreement_columns, status->source_disagreements,
		 sizeof(struct attribution_disagreement), status->source_disagreements_left_out,
		 NULL},
		{"Without a slot:", user_columns, status->unallocated_users,
		 sizeof(struct attribution_user), status->unallocated_users_left_out, NULL},
		{"On no known GPU of the node:", unplaced_columns, status->unplaced_tenants,
		 sizeof(struct attribution_unplaced), status->unplaced_tenants_left_out, NULL},
		{"Recent tenants:", past_columns, status->recent_tenants,
		 sizeof(struct attribution_past_tenant), 0, "<none known>"},
		{"Health events:", event_columns, status->health.events,
		 sizeof(struct attribution_health_event), 0, "<none known>"},
		{"Drifts:", drift_columns, status->intent.drifts, sizeof(struct attribution_drift),
		 0, NULL},
		{"Conditions:", condition_columns, status->conditions, sizeof(struct condition), 0,
		 "?"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		write_section(output, status, &sections[i]);
		if (sections[i].columns == user_columns && status->unknown_processes > 0)
			sbuf_printf(&output->body, "%-*s%" PRId64 " on the device; whose they are is not known\n",
				    DEVICE_SECTIONS_LABEL, "Not looked at:",
				    status->unknown_processes);
	}
}
