/* SPDX-License-Identifier: Apache-2.0 */

/* A section with nothing in it is said to be empty, or left out where it would only be noise. */

#include "kubectl/device_sections.h"

#include <inttypes.h>
#include <string.h>

#include "kubectl/device_findings.h"
#include "kubectl/device_row.h"
#include "kubectl/output.h"
#include "kubectl/text_table.h"
#include "kubectl/words.h"

/* Cells: each function is for one type of element, given by its name. */

static const struct attribution_tenant *tenant_of(const void *row)
{
	return ((const struct device_row *)row)->element;
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
	words_age(cell, tenant_of(row)->start_time, ((const struct device_row *)row)->now);
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
	{"CONFIDENCE", 0, tenant_confidence, .marked = OUTPUT_IF_NO_LEADER, .cut = true},
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
	return ((const struct device_row *)row)->element;
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
	const struct attribution_status *status = ((const struct device_row *)row)->status;
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
	{"HELD BY", 0, partition_holders, .marked = OUTPUT_IF_NO_LEADER, .wrap = true},
	{0},
};

static const struct attribution_user *user_of(const void *row)
{
	return ((const struct device_row *)row)->element;
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
	words_age(cell, user_of(row)->start_time, ((const struct device_row *)row)->now);
}

static const struct text_table_column user_columns[] = {
	{"PROCESS", 0, user_process, .cut = true},
	{"POD", 0, user_pod, .cut = true},
	{"CONTAINER", 0, user_container, .cut = true},
	{"MEMORY-MIB", 0, user_memory},
	{"SINCE", 0, user_since, .marked = OUTPUT_IF_NO_LEADER},
	{0},
};

static const struct attribution_unplaced *unplaced_of(const void *row)
{
	return ((const struct device_row *)row)->element;
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
	{"RESOURCE", 0, unplaced_resource, .marked = OUTPUT_IF_NO_LEADER, .cut = true},
	{"DEVICE IDS", 0, unplaced_ids, .wrap = true},
	{0},
};

static const struct attribution_past_tenant *past_of(const void *row)
{
	return ((const struct device_row *)row)->element;
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
	words_instant(cell, past_of(row)->start_time, ((const struct device_row *)row)->now);
}

static void past_until(const void *row, struct sbuf *cell)
{
	words_instant(cell, past_of(row)->end_time, ((const struct device_row *)row)->now);
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

static const struct attribution_disagreement *disagreement_of(const void *row)
{
	return ((const struct device_row *)row)->element;
}

static void disagreement_pod(const void *row, struct sbuf *cell)
{
	device_row_pod(((const struct device_row *)row)->status, disagreement_of(row)->pod_uid, cell);
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
	{"WHO SAYS WHAT", 0, disagreement_says, .marked = OUTPUT_IF_NO_LEADER, .wrap = true},
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
			sbuf_printf(&output->body, "%s:%*s%s%s\n", section->title,
				    (int)(DEVICE_SECTIONS_LABEL - 1 - strlen(section->title)), "",
				    section->empty, leader_is_missing(&output->leader) ? "*" : "");
		return;
	}
	text_table_init(&table, section->columns,
			(output_flags(output) & OUTPUT_IF_NO_LEADER) |
				(status->partitions.count > 0 ? OUTPUT_IF_MANY : 0u),
			OUTPUT_BYTES);
	table.title = section->title;
	for (uint32_t i = 0; i < section->elements.count; i++)
		text_table_add(&table,
			  &(struct device_row){(const char *)section->elements.items +
						 i * section->element_size,
					 status, output->now});
	sbuf_printf(&output->body, "%s:\n", section->title);
	text_table_write(&table, output, 2);
	if (section->left_out > 0)
		sbuf_printf(&output->body, "  and %" PRId64 " more\n", section->left_out);
}

void device_sections(struct output *output, const struct attribution_status *status)
{
	const struct section sections[] = {
		{"Partitions", partition_columns, status->partitions,
		 sizeof(struct attribution_partition), 0, NULL},
		{"Tenants", tenant_columns, status->tenants, sizeof(struct attribution_tenant),
		 status->tenants_left_out, status->tenant_count == 0 ? "<none>" : "?"},
		{"Disagreement", disagreement_columns, status->source_disagreements,
		 sizeof(struct attribution_disagreement), status->source_disagreements_left_out,
		 NULL},
		{"Without a slot", user_columns, status->unallocated_users,
		 sizeof(struct attribution_user), status->unallocated_users_left_out, NULL},
		{"On no known GPU of the node", unplaced_columns, status->unplaced_tenants,
		 sizeof(struct attribution_unplaced), status->unplaced_tenants_left_out, NULL},
		{"Recent tenants", past_columns, status->recent_tenants,
		 sizeof(struct attribution_past_tenant), 0, "<none known>"},
		{"Health events", device_findings_events, status->health.events,
		 sizeof(struct attribution_health_event), 0, "<none known>"},
		{"Drifts", device_findings_drifts, status->intent.drifts, sizeof(struct attribution_drift),
		 0, NULL},
		{"May yet drift", device_findings_pending, status->intent.pending,
		 sizeof(struct attribution_pending_drift), 0, NULL},
		{"Conditions", device_findings_conditions, status->conditions, sizeof(struct condition), 0,
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
