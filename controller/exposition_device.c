/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/exposition_device.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "join/wording.h"
#include "schema/attribution_doc.h"

#define UUID_CAP (8u * LIMIT_KIB)

/* What is written, and the label that nearly all samples begin with. */
struct writer {
	struct exposition_lines *lines;
	const struct exposition_device *device;
	const struct attribution_status *status;
	struct sbuf uuid; /* uuid="..." */
};

static void begin(struct writer *writer, enum exposition_lines_family family)
{
	exposition_lines_begin(writer->lines, family);
	exposition_lines_ready_label(writer->lines, sbuf_view(&writer->uuid));
}

static struct view word(enum attribution_doc_words of, int value)
{
	return view_from(attribution_doc_words(of)[value]);
}

static void write_info(struct writer *writer)
{
	begin(writer, EXPOSITION_LINES_DEVICE_INFO);
	exposition_lines_label(writer->lines, VIEW("node"), writer->status->node_name);
	exposition_lines_label(writer->lines, VIEW("model"), writer->status->device.model);
	exposition_lines_label(writer->lines, VIEW("mode"),
			       word(ATTRIBUTION_DOC_MODES, writer->status->sharing.mode));
	exposition_lines_end(writer->lines, VIEW("1"));
}

static void write_slots(struct writer *writer)
{
	const struct attribution_slots *slots = &writer->status->slots;
	const struct {
		struct view state;
		int64_t n;
	} states[] = {{VIEW("allocated"), slots->allocated},
		      {VIEW("free"), slots->total - slots->allocated}};

	if (slots->allocated < 0 || slots->total < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		begin(writer, EXPOSITION_LINES_DEVICE_SLOTS);
		exposition_lines_label(writer->lines, VIEW("state"), states[i].state);
		exposition_lines_end_u64(writer->lines,
					 states[i].n > 0 ? (uint64_t)states[i].n : 0);
	}
}

/* An object without a status has the state that is not known: the last word. */
static void write_states(struct writer *writer, enum exposition_lines_family family,
			 enum attribution_doc_words of, int state)
{
	const char *const *words = attribution_doc_words(of);

	for (int i = 1; words[i]; i++) {
		const bool is_it = i == state || (state == 0 && !words[i + 1]);

		begin(writer, family);
		exposition_lines_label(writer->lines, VIEW("state"), view_from(words[i]));
		exposition_lines_end(writer->lines, is_it ? VIEW("1") : VIEW("0"));
	}
}

/* partition: empty for the device itself. */
static void write_idle_seconds(struct writer *writer, int state, int64_t idle_since,
			       struct view partition)
{
	const bool is_idle = state == ATTRIBUTION_ACTIVITY_IDLE && idle_since > 0;
	const int64_t idle_ms = writer->device->now_wall_ms - idle_since;

	if (!is_idle && state != ATTRIBUTION_ACTIVITY_ACTIVE)
		return;
	begin(writer, partition.len > 0 ? EXPOSITION_LINES_PARTITION_IDLE
					: EXPOSITION_LINES_IDLE_SECONDS);
	if (partition.len > 0)
		exposition_lines_label(writer->lines, VIEW("partition"), partition);
	exposition_lines_end_u64(writer->lines,
				 is_idle && idle_ms > 0 ? (uint64_t)idle_ms / 1000 : 0);
}

/* Whoever may write statuses may have repeated a partition. */
static void write_idleness(struct writer *writer)
{
	const struct attribution_activity_state *activity = &writer->status->activity;
	const struct attribution_partition *partition = writer->status->partitions.items;
	const uint32_t n = writer->status->partitions.count;

	write_idle_seconds(writer, activity->state, activity->idle_since, (struct view){0});
	for (uint32_t i = 0; i < n && i < LIMIT_PARTITIONS; i++) {
		uint32_t before = 0;

		while (before < i && !view_equal(partition[before].uuid, partition[i].uuid))
			before++;
		if (before == i && partition[i].uuid.len > 0)
			write_idle_seconds(writer, partition[i].activity.state,
					   partition[i].activity.idle_since, partition[i].uuid);
	}
}

/* Whoever may write statuses may have repeated one, and no series may be there twice. */
static bool is_repeated(struct array drifts, uint32_t n)
{
	const struct attribution_drift *drift = drifts.items;

	for (uint32_t i = 0; i < n; i++)
		if (drift[i].severity == drift[n].severity &&
		    view_equal(drift[i].type, drift[n].type))
			return true;
	return false;
}

static void write_drifts(struct writer *writer)
{
	const struct array drifts = writer->status->intent.drifts;

	for (uint32_t i = 0; i < drifts.count && i < LIMIT_DRIFTS; i++) {
		const struct attribution_drift *drift =
			ARRAY_AT(drifts, struct attribution_drift, i);

		if (is_repeated(drifts, i))
			continue;
		begin(writer, EXPOSITION_LINES_DRIFT);
		exposition_lines_label(writer->lines, VIEW("type"), drift->type);
		exposition_lines_label(writer->lines, VIEW("severity"),
				       word(ATTRIBUTION_DOC_SEVERITIES, drift->severity));
		exposition_lines_end(writer->lines, VIEW("1"));
	}
}

/* What is wrong with other slots hides it, and so does what is not known. */
static void write_conflicts(struct writer *writer)
{
	const struct condition *attributed =
		attribution_find_condition(writer->status, wording_condition(CONDITION_ATTRIBUTED));
	const bool is_so = attributed &&
			   wording_reason_of(attributed->reason) == REASON_SLOT_HELD_TWICE;

	if (!is_so && !(attributed && attributed->status == CONDITION_TRUE))
		return;
	begin(writer, EXPOSITION_LINES_CONFLICTS);
	exposition_lines_label(writer->lines, VIEW("kind"),
			       wording_reason(REASON_SLOT_HELD_TWICE));
	exposition_lines_end(writer->lines, is_so ? VIEW("1") : VIEW("0"));
}

static void write_xids(struct writer *writer)
{
	for (size_t i = 0; i < writer->device->n_xids; i++) {
		const struct xid_count *xid = &writer->device->xids[i];
		char number[32] = "other";

		if (xid->xid >= 0)
			snprintf(number, sizeof(number), "%" PRId64, xid->xid);
		begin(writer, EXPOSITION_LINES_XID_ERRORS);
		exposition_lines_label(writer->lines, VIEW("xid"), view_from(number));
		exposition_lines_end_u64(writer->lines, xid->count);
	}
}

/* Live figures */

static void write_utilization(struct writer *writer, const struct report_activity *activity,
			      struct view partition)
{
	if (!activity->present || activity->utilization < 0)
		return;
	begin(writer, EXPOSITION_LINES_UTILIZATION);
	if (partition.len > 0)
		exposition_lines_label(writer->lines, VIEW("partition"), partition);
	exposition_lines_end_milli(writer->lines, (uint64_t)activity->utilization * 10);
}

/* The agent may have told a partition twice. */
static bool is_told_before(struct array partitions, uint32_t n)
{
	const struct report_partition *partition = partitions.items;

	for (uint32_t i = 0; i < n; i++)
		if (view_equal(partition[i].uuid, partition[n].uuid))
			return true;
	return false;
}

static void write_errors(struct writer *writer, const struct report_condition *condition)
{
	const struct {
		struct view kind;
		int64_t n;
	} kinds[] = {
		{VIEW("corrected_volatile"), condition->ecc_volatile.corrected},
		{VIEW("uncorrected_volatile"), condition->ecc_volatile.uncorrected},
		{VIEW("corrected_aggregate"), condition->ecc_aggregate.corrected},
		{VIEW("uncorrected_aggregate"), condition->ecc_aggregate.uncorrected},
	};

	for (size_t i = 0; condition->present && i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].n < 0)
			continue;
		begin(writer, EXPOSITION_LINES_ECC_ERRORS);
		exposition_lines_label(writer->lines, VIEW("kind"), kinds[i].kind);
		exposition_lines_end_u64(writer->lines, (uint64_t)kinds[i].n);
	}
}

static void write_figures(struct writer *writer, const struct report_figures *figures)
{
	if (!figures->present)
		return;
	if (figures->memory_used_mib >= 0) {
		begin(writer, EXPOSITION_LINES_MEMORY_USED);
		exposition_lines_end_u64(writer->lines,
					 (uint64_t)figures->memory_used_mib * LIMIT_MIB);
	}
	if (figures->temperature_celsius >= 0) {
		begin(writer, EXPOSITION_LINES_TEMPERATURE);
		exposition_lines_end_u64(writer->lines, (uint64_t)figures->temperature_celsius);
	}
	if (figures->power_mw >= 0) {
		begin(writer, EXPOSITION_LINES_POWER);
		exposition_lines_end_milli(writer->lines, (uint64_t)figures->power_mw);
	}
}

static void write_live(struct writer *writer)
{
	const struct report_device *reported = writer->device->reported;
	const struct report_partition *partition;

	if (!reported)
		return;
	write_utilization(writer, &reported->activity, (struct view){0});
	partition = reported->partitions.items;
	for (uint32_t i = 0; i < reported->partitions.count; i++)
		if (!is_told_before(reported->partitions, i))
			write_utilization(writer, &partition[i].activity, partition[i].uuid);
	write_figures(writer, &reported->figures);
	write_errors(writer, &reported->condition);
}

/* Tenants */

static void label_container(struct writer *writer, const struct attribution_tenant *tenant)
{
	exposition_lines_label(writer->lines, VIEW("namespace"), tenant->pod_namespace);
	exposition_lines_label(writer->lines, VIEW("pod"), tenant->pod_name);
	exposition_lines_label(writer->lines, VIEW("pod_uid"), tenant->pod_uid);
	exposition_lines_label(writer->lines, VIEW("container"), tenant->container);
}

/* -1: not known. */
static int64_t find_gpu_instance(const struct attribution_status *status, struct view partition)
{
	const struct attribution_partition *known = status->partitions.items;

	for (uint32_t i = 0; i < status->partitions.count; i++)
		if (view_equal(known[i].uuid, partition))
			return known[i].gpu_instance_id;
	return -1;
}

static void write_partition(struct writer *writer, const struct attribution_tenant *tenant,
			    struct view partition)
{
	const int64_t instance = find_gpu_instance(writer->status, partition);
	char number[32] = "";

	if (instance >= 0)
		snprintf(number, sizeof(number), "%" PRId64, instance);
	begin(writer, EXPOSITION_LINES_TENANT_PARTITION);
	if (number[0])
		exposition_lines_label(writer->lines, VIEW("gpu_instance"), view_from(number));
	exposition_lines_label(writer->lines, VIEW("partition"), partition);
	label_container(writer, tenant);
	exposition_lines_end(writer->lines, VIEW("1"));
}

/* Whoever may write statuses may have repeated one. */
static void write_partitions(struct writer *writer, const struct attribution_tenant *tenant)
{
	const struct view *partition = tenant->partitions.items;

	for (uint32_t i = 0; i < tenant->partitions.count && i < LIMIT_PARTITIONS; i++) {
		uint32_t before = 0;

		while (before < i && !view_equal(partition[before], partition[i]))
			before++;
		if (before == i)
			write_partition(writer, tenant, partition[i]);
	}
}

static void write_tenant(struct writer *writer, const struct attribution_tenant *tenant)
{
	char slots[32];

	snprintf(slots, sizeof(slots), "%" PRId64, tenant->slots);
	begin(writer, EXPOSITION_LINES_TENANT_INFO);
	exposition_lines_label(writer->lines, VIEW("node"), writer->status->node_name);
	label_container(writer, tenant);
	exposition_lines_label(writer->lines, VIEW("confidence"),
			       word(ATTRIBUTION_DOC_CONFIDENCES, tenant->confidence));
	exposition_lines_label(writer->lines, VIEW("slots"), view_from(slots));
	exposition_lines_end(writer->lines, VIEW("1"));
}

static size_t write_tenants(struct writer *writer)
{
	const struct array tenants = writer->status->tenants;
	size_t n = 0;

	for (uint32_t i = 0; i < tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(tenants, struct attribution_tenant, i);

		if (!attribution_is_counted(tenant))
			continue;
		n++;
		if (!writer->device->with_tenants)
			continue;
		write_tenant(writer, tenant);
		write_partitions(writer, tenant);
	}
	return n;
}

size_t exposition_device_write(struct exposition_lines *lines,
			       const struct exposition_device *device)
{
	const struct attribution_status *status = &device->object->status;
	struct writer writer = {.lines = lines, .device = device, .status = status};
	size_t n_tenants;

	sbuf_init(&writer.uuid, UUID_CAP);
	sbuf_append(&writer.uuid, VIEW("uuid=\""));
	exposition_lines_escape(&writer.uuid, device->object->uuid);
	sbuf_append_char(&writer.uuid, '"');
	if (writer.uuid.failure != ERROR_NONE)
		exposition_text_fail(lines->text, writer.uuid.failure);
	write_info(&writer);
	write_slots(&writer);
	write_states(&writer, EXPOSITION_LINES_HEALTH_STATE, ATTRIBUTION_DOC_HEALTH_STATES,
		     status->health.state);
	write_states(&writer, EXPOSITION_LINES_INTENT_STATE, ATTRIBUTION_DOC_INTENT_STATES,
		     status->intent.state);
	write_states(&writer, EXPOSITION_LINES_ACTIVITY_STATE, ATTRIBUTION_DOC_ACTIVITY_STATES,
		     status->activity.state);
	write_idleness(&writer);
	write_drifts(&writer);
	write_conflicts(&writer);
	write_xids(&writer);
	write_live(&writer);
	n_tenants = write_tenants(&writer);
	sbuf_deinit(&writer.uuid);
	return n_tenants;
}
