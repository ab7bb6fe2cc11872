/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One table says everything about the document: crds/gpuattributions.yaml must agree with it, row
 * by row. Members that the schema does not require may be missing: the first status that is read is
 * the schema's default, and anybody may have written a part of it.
 *
 * The status goes by PUT, not by a patch. A merge patch must write each member that disappears as
 * null, at every depth, and so needs the previous status. An apply patch costs the API server more.
 * The resource version makes the PUT safe against other writers.
 */

#include "schema/attribution_doc.h"

#include <assert.h>

#include "base/limits.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jmap_encode.h"

static const char *const mode_names[] = {
	"", "Unknown", "Exclusive", "TimeSliced", "MPS", "MIG", "MIGTimeSliced", NULL,
};

static const char *const phase_names[] = {
	"", "Pending", "Unresolved", "Starting", "Running", "Reserved", "Terminating", NULL,
};

static const char *const confidence_names[] = {
	"", "Confirmed", "NameOnly", "Unconfirmed", "Annotated", "Disputed", NULL,
};

static const char *const role_names[] = {
	"", "Workload", "Monitor", "Validation", "Reservation", NULL,
};

static const char *const report_state_names[] = {
	"", "Current", "Stale", "NoAgent", "Pending", NULL,
};

static const char *const health_names[] = {
	"", "Healthy", "Degraded", "Unhealthy", "Unknown", NULL,
};

static const char *const recovery_names[] = {
	"",        "None",     "Reset",         "Reboot",
	"Replace", "DrainP2P", "DrainAndReset", "RecoverIMEXDomain",
	"Unknown", NULL,
};

static const char *const activity_names[] = {"", "Active", "Idle", "Unknown", NULL};

static const char *const event_class_names[] = {
	"", "Application", "Informational", "LookCloser", "NeedsReset", "NeedsReboot", NULL,
};

static const char *const scope_names[] = {"", "Device", "Partition", NULL};

static const char *const intent_names[] = {
	"", "InSync", "Drifted", "Settling", "Unmanaged", "Unknown", NULL,
};

static const char *const severity_names[] = {"", "Info", "Warning", "Critical", NULL};

static const char *const condition_names[] = {"", "True", "False", "Unknown", NULL};

/* Each word stands at its enumerator's place, and none is missing. */
static_assert(ARRAY_SIZE(mode_names) == ATTRIBUTION_MODE_MIG_TIME_SLICED + 2, "modes");
static_assert(ARRAY_SIZE(phase_names) == ATTRIBUTION_PHASE_TERMINATING + 2, "phases");
static_assert(ARRAY_SIZE(confidence_names) == ATTRIBUTION_CONFIDENCE_DISPUTED + 2, "confidence");
static_assert(ARRAY_SIZE(role_names) == ATTRIBUTION_ROLE_RESERVATION + 2, "roles");
static_assert(ARRAY_SIZE(report_state_names) == ATTRIBUTION_REPORT_PENDING + 2, "report states");
static_assert(ARRAY_SIZE(health_names) == ATTRIBUTION_HEALTH_UNKNOWN + 2, "health");
static_assert(ARRAY_SIZE(recovery_names) == ATTRIBUTION_RECOVERY_UNKNOWN + 2, "recovery");
static_assert(ARRAY_SIZE(activity_names) == ATTRIBUTION_ACTIVITY_UNKNOWN + 2, "activity");
static_assert(ARRAY_SIZE(event_class_names) == ATTRIBUTION_EVENT_NEEDS_REBOOT + 2, "classes");
static_assert(ARRAY_SIZE(scope_names) == ATTRIBUTION_SCOPE_PARTITION + 2, "scopes");
static_assert(ARRAY_SIZE(intent_names) == ATTRIBUTION_INTENT_UNKNOWN + 2, "intent");
static_assert(ARRAY_SIZE(severity_names) == ATTRIBUTION_SEVERITY_CRITICAL + 2, "severities");
static_assert(ARRAY_SIZE(condition_names) == CONDITION_UNKNOWN + 2, "condition status");

static const struct jmap_row device_rows[] = {
	{"index", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(attribution_device, index),
	 .limit = LIMIT_NUMBER_INDEX},
	{"minor", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(attribution_device, minor),
	 .limit = LIMIT_NUMBER_MINOR},
	{"pciBusID", JMAP_TEXT, 0, JMAP_AT(attribution_device, pci_bus_id),
	 .limit = LIMIT_TEXT_PCI},
	{"vendor", JMAP_TEXT, 0, JMAP_AT(attribution_device, vendor), .limit = LIMIT_TEXT_VENDOR},
	{"model", JMAP_TEXT, 0, JMAP_AT(attribution_device, model), .limit = LIMIT_TEXT_MODEL},
	{"memoryMiB", JMAP_I64, 0, JMAP_AT(attribution_device, memory_mib),
	 .limit = LIMIT_NUMBER_MEMORY_MIB},
	{"serial", JMAP_TEXT, 0, JMAP_AT(attribution_device, serial), .limit = LIMIT_TEXT_SERIAL},
	{"computeCapability", JMAP_TEXT, 0, JMAP_AT(attribution_device, compute_capability),
	 .limit = LIMIT_TEXT_SHORT_VERSION},
	{"driverVersion", JMAP_TEXT, 0, JMAP_AT(attribution_device, driver_version),
	 .limit = LIMIT_TEXT_VERSION},
	{"cudaVersion", JMAP_TEXT, 0, JMAP_AT(attribution_device, cuda_version),
	 .limit = LIMIT_TEXT_SHORT_VERSION},
	{0},
};

static const struct jmap_row sharing_rows[] = {
	{"mode", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_sharing, mode), .names = mode_names},
	{"replicas", JMAP_I64, 0, JMAP_AT(attribution_sharing, replicas),
	 .limit = LIMIT_NUMBER_COUNT},
	{"evidence", JMAP_TEXTS, 0, JMAP_AT(attribution_sharing, evidence),
	 .limit = LIMIT_TEXT_EVIDENCE, .max_items = LIMIT_EVIDENCE},
	{0},
};

static const struct jmap_row slots_rows[] = {
	{"total", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(attribution_slots, total),
	 .limit = LIMIT_NUMBER_COUNT},
	{"allocated", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(attribution_slots, allocated),
	 .limit = LIMIT_NUMBER_COUNT},
	{"summary", JMAP_TEXT, 0, JMAP_AT(attribution_slots, summary), .limit = LIMIT_TEXT_SLOTS},
	{0},
};

static const struct jmap_row partition_activity_rows[] = {
	{"state", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_partition_activity, state),
	 .names = activity_names},
	{"reason", JMAP_TEXT, 0, JMAP_AT(attribution_partition_activity, reason),
	 .limit = LIMIT_TEXT_WORD},
	{"idleSince", JMAP_TIME, 0, JMAP_AT(attribution_partition_activity, idle_since)},
	{0},
};

static const struct jmap_row partition_rows[] = {
	{"uuid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_partition, uuid),
	 .limit = LIMIT_TEXT_UUID},
	{"profile", JMAP_TEXT, 0, JMAP_AT(attribution_partition, profile),
	 .limit = LIMIT_TEXT_PROFILE},
	{"gpuInstanceID", JMAP_I64, JMAP_OR_MINUS_ONE,
	 JMAP_AT(attribution_partition, gpu_instance_id), .limit = LIMIT_NUMBER_INSTANCE},
	{"computeInstanceID", JMAP_I64, JMAP_OR_MINUS_ONE,
	 JMAP_AT(attribution_partition, compute_instance_id), .limit = LIMIT_NUMBER_INSTANCE},
	{"memoryMiB", JMAP_I64, 0, JMAP_AT(attribution_partition, memory_mib),
	 .limit = LIMIT_NUMBER_MEMORY_MIB},
	{"slots", JMAP_I64, 0, JMAP_AT(attribution_partition, slots), .limit = LIMIT_NUMBER_COUNT},
	{"activity", JMAP_OBJECT, 0, JMAP_AT(attribution_partition, activity),
	 .rows = partition_activity_rows},
	{0},
};

static const struct jmap_row workload_rows[] = {
	{"group", JMAP_TEXT, 0, JMAP_AT(attribution_workload, group), .limit = LIMIT_TEXT_NAME},
	{"kind", JMAP_TEXT, 0, JMAP_AT(attribution_workload, kind), .limit = LIMIT_TEXT_LABEL},
	{"name", JMAP_TEXT, 0, JMAP_AT(attribution_workload, name), .limit = LIMIT_TEXT_NAME},
	{0},
};

static const struct jmap_row tenant_rows[] = {
	{"podUID", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_tenant, pod_uid),
	 .limit = LIMIT_TEXT_UID},
	{"container", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_tenant, container),
	 .limit = LIMIT_TEXT_LABEL},
	{"podNamespace", JMAP_TEXT, 0, JMAP_AT(attribution_tenant, pod_namespace),
	 .limit = LIMIT_TEXT_LABEL},
	{"podName", JMAP_TEXT, 0, JMAP_AT(attribution_tenant, pod_name), .limit = LIMIT_TEXT_NAME},
	{"workload", JMAP_OBJECT, 0, JMAP_AT(attribution_tenant, workload), .rows = workload_rows,
	 .present_offset = 1 + offsetof(struct attribution_tenant, workload.present)},
	{"resource", JMAP_TEXT, 0, JMAP_AT(attribution_tenant, resource),
	 .limit = LIMIT_TEXT_RESOURCE},
	{"slots", JMAP_I64, JMAP_KEEP_ZERO, JMAP_AT(attribution_tenant, slots),
	 .limit = LIMIT_NUMBER_COUNT},
	{"partitions", JMAP_TEXTS, 0, JMAP_AT(attribution_tenant, partitions),
	 .limit = LIMIT_TEXT_UUID, .max_items = LIMIT_PARTITIONS},
	{"partitionsLeftOut", JMAP_I64, 0, JMAP_AT(attribution_tenant, partitions_left_out),
	 .limit = LIMIT_NUMBER_COUNT},
	{"phase", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_tenant, phase),
	 .names = phase_names},
	{"confidence", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_tenant, confidence),
	 .names = confidence_names},
	{"witnesses", JMAP_TEXTS, 0, JMAP_AT(attribution_tenant, witnesses),
	 .limit = LIMIT_TEXT_WITNESS, .max_items = LIMIT_WITNESSES},
	{"role", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_tenant, role), .names = role_names},
	{"placeholder", JMAP_TEXT, 0, JMAP_AT(attribution_tenant, placeholder),
	 .limit = LIMIT_TEXT_WITNESS},
	{"startTime", JMAP_TIME, 0, JMAP_AT(attribution_tenant, start_time)},
	{"memoryMiB", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(attribution_tenant, memory_mib),
	 .limit = LIMIT_NUMBER_MEMORY_MIB},
	{"processes", JMAP_I64, JMAP_NEWS_IF_ANY, JMAP_AT(attribution_tenant, processes),
	 .limit = LIMIT_NUMBER_COUNT},
	{0},
};

static const struct jmap_row statement_rows[] = {
	{"witness", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_statement, witness),
	 .limit = LIMIT_TEXT_WITNESS},
	{"slots", JMAP_I64, JMAP_KEEP_ZERO, JMAP_AT(attribution_statement, slots),
	 .limit = LIMIT_NUMBER_COUNT},
	{"deviceIDs", JMAP_TEXTS, 0, JMAP_AT(attribution_statement, device_ids),
	 .limit = LIMIT_TEXT_DEVICE_ID, .max_items = LIMIT_STATED_IDS},
	{"deviceIDsLeftOut", JMAP_I64, 0, JMAP_AT(attribution_statement, device_ids_left_out),
	 .limit = LIMIT_NUMBER_COUNT},
	{0},
};

static const struct jmap_row disagreement_rows[] = {
	{"podUID", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_disagreement, pod_uid),
	 .limit = LIMIT_TEXT_UID},
	{"container", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_disagreement, container),
	 .limit = LIMIT_TEXT_LABEL},
	{"says", JMAP_ARRAY, 0, JMAP_AT(attribution_disagreement, says), .limit = LIMIT_WITNESSES,
	 .rows = statement_rows, .element_size = sizeof(struct attribution_statement)},
	{0},
};

static const struct jmap_row unplaced_rows[] = {
	{"podUID", JMAP_TEXT, 0, JMAP_AT(attribution_unplaced, pod_uid), .limit = LIMIT_TEXT_UID},
	{"container", JMAP_TEXT, 0, JMAP_AT(attribution_unplaced, container),
	 .limit = LIMIT_TEXT_LABEL},
	{"podNamespace", JMAP_TEXT, 0, JMAP_AT(attribution_unplaced, pod_namespace),
	 .limit = LIMIT_TEXT_LABEL},
	{"podName", JMAP_TEXT, 0, JMAP_AT(attribution_unplaced, pod_name),
	 .limit = LIMIT_TEXT_NAME},
	{"resource", JMAP_TEXT, 0, JMAP_AT(attribution_unplaced, resource),
	 .limit = LIMIT_TEXT_RESOURCE},
	{"deviceIDs", JMAP_TEXTS, 0, JMAP_AT(attribution_unplaced, device_ids),
	 .limit = LIMIT_TEXT_DEVICE_ID, .max_items = LIMIT_UNPLACED_IDS},
	{"deviceIDsLeftOut", JMAP_I64, 0, JMAP_AT(attribution_unplaced, device_ids_left_out),
	 .limit = LIMIT_NUMBER_COUNT},
	{0},
};

static const struct jmap_row user_rows[] = {
	{"podUID", JMAP_TEXT, 0, JMAP_AT(attribution_user, pod_uid), .limit = LIMIT_TEXT_UID},
	{"podNamespace", JMAP_TEXT, 0, JMAP_AT(attribution_user, pod_namespace),
	 .limit = LIMIT_TEXT_LABEL},
	{"podName", JMAP_TEXT, 0, JMAP_AT(attribution_user, pod_name), .limit = LIMIT_TEXT_NAME},
	{"container", JMAP_TEXT, 0, JMAP_AT(attribution_user, container),
	 .limit = LIMIT_TEXT_LABEL},
	{"command", JMAP_TEXT, 0, JMAP_AT(attribution_user, command), .limit = LIMIT_TEXT_COMMAND},
	{"pid", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(attribution_user, pid),
	 .limit = LIMIT_NUMBER_PID},
	{"memoryMiB", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(attribution_user, memory_mib),
	 .limit = LIMIT_NUMBER_MEMORY_MIB},
	{"startTime", JMAP_TIME, 0, JMAP_AT(attribution_user, start_time)},
	{0},
};

static const struct jmap_row past_tenant_rows[] = {
	{"podUID", JMAP_TEXT, 0, JMAP_AT(attribution_past_tenant, pod_uid),
	 .limit = LIMIT_TEXT_UID},
	{"podNamespace", JMAP_TEXT, 0, JMAP_AT(attribution_past_tenant, pod_namespace),
	 .limit = LIMIT_TEXT_LABEL},
	{"podName", JMAP_TEXT, 0, JMAP_AT(attribution_past_tenant, pod_name),
	 .limit = LIMIT_TEXT_NAME},
	{"container", JMAP_TEXT, 0, JMAP_AT(attribution_past_tenant, container),
	 .limit = LIMIT_TEXT_LABEL},
	{"startTime", JMAP_TIME, 0, JMAP_AT(attribution_past_tenant, start_time)},
	{"endTime", JMAP_TIME, 0, JMAP_AT(attribution_past_tenant, end_time)},
	{"partitions", JMAP_TEXTS, 0, JMAP_AT(attribution_past_tenant, partitions),
	 .limit = LIMIT_TEXT_UUID, .max_items = LIMIT_PARTITIONS},
	{0},
};

static const struct jmap_row activity_rows[] = {
	{"state", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_activity_state, state),
	 .names = activity_names},
	{"reason", JMAP_TEXT, 0, JMAP_AT(attribution_activity_state, reason),
	 .limit = LIMIT_TEXT_WORD},
	{"lastTransitionTime", JMAP_TIME, 0,
	 JMAP_AT(attribution_activity_state, last_transition_time)},
	{"idleSince", JMAP_TIME, 0, JMAP_AT(attribution_activity_state, idle_since)},
	{"scope", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_activity_state, scope),
	 .names = scope_names},
	{"evidence", JMAP_TEXTS, 0, JMAP_AT(attribution_activity_state, evidence),
	 .limit = LIMIT_TEXT_EVIDENCE, .max_items = LIMIT_EVIDENCE},
	{0},
};

static const struct jmap_row event_tenant_rows[] = {
	{"podUID", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_event_tenant, pod_uid),
	 .limit = LIMIT_TEXT_UID},
	{"podNamespace", JMAP_TEXT, 0, JMAP_AT(attribution_event_tenant, pod_namespace),
	 .limit = LIMIT_TEXT_LABEL},
	{"podName", JMAP_TEXT, 0, JMAP_AT(attribution_event_tenant, pod_name),
	 .limit = LIMIT_TEXT_NAME},
	{"container", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_event_tenant, container),
	 .limit = LIMIT_TEXT_LABEL},
	{0},
};

static const struct jmap_row health_event_rows[] = {
	{"xid", JMAP_I64, 0, JMAP_AT(attribution_health_event, xid), .limit = LIMIT_NUMBER_XID},
	{"eventTime", JMAP_TIME, 0, JMAP_AT(attribution_health_event, event_time)},
	{"uptimeMilliseconds", JMAP_I64, 0, JMAP_AT(attribution_health_event, uptime_ms),
	 .limit = LIMIT_NUMBER_UPTIME_MS},
	{"meaning", JMAP_TEXT, 0, JMAP_AT(attribution_health_event, meaning),
	 .limit = LIMIT_TEXT_MEANING},
	{"class", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_health_event, class),
	 .names = event_class_names},
	{"action", JMAP_TEXT, 0, JMAP_AT(attribution_health_event, action),
	 .limit = LIMIT_TEXT_ACTION},
	{"partition", JMAP_TEXT, 0, JMAP_AT(attribution_health_event, partition),
	 .limit = LIMIT_TEXT_UUID},
	/* They were UIDs in the first release. */
	{"tenants", JMAP_ARRAY, JMAP_LENIENT, JMAP_AT(attribution_health_event, tenants),
	 .limit = LIMIT_EVENT_TENANTS, .rows = event_tenant_rows,
	 .element_size = sizeof(struct attribution_event_tenant)},
	{"tenantsLeftOut", JMAP_I64, 0, JMAP_AT(attribution_health_event, tenants_left_out),
	 .limit = LIMIT_NUMBER_COUNT},
	{0},
};

static const struct jmap_row health_rows[] = {
	{"state", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_health_state, state),
	 .names = health_names},
	{"recoveryAction", JMAP_ENUM, JMAP_LENIENT,
	 JMAP_AT(attribution_health_state, recovery_action), .names = recovery_names},
	{"reasons", JMAP_TEXTS, 0, JMAP_AT(attribution_health_state, reasons),
	 .limit = LIMIT_TEXT_WORD, .max_items = LIMIT_HEALTH_REASONS},
	{"events", JMAP_ARRAY, 0, JMAP_AT(attribution_health_state, events),
	 .limit = LIMIT_HEALTH_EVENTS, .rows = health_event_rows,
	 .element_size = sizeof(struct attribution_health_event)},
	/* A clock that is set changes it; that it is another moment is told by the next. */
	{"eventsSince", JMAP_TIME, JMAP_NO_NEWS, JMAP_AT(attribution_health_state, events_since)},
	{"eventsSinceUptimeMilliseconds", JMAP_I64, 0,
	 JMAP_AT(attribution_health_state, events_since_uptime_ms), .limit = LIMIT_NUMBER_UPTIME_MS},
	{0},
};

static const struct jmap_row drift_rows[] = {
	{"type", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_drift, type),
	 .limit = LIMIT_TEXT_WORD},
	{"severity", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_drift, severity),
	 .names = severity_names},
	{"intended", JMAP_TEXT, 0, JMAP_AT(attribution_drift, intended),
	 .limit = LIMIT_TEXT_SETTING},
	{"observed", JMAP_TEXT, 0, JMAP_AT(attribution_drift, observed),
	 .limit = LIMIT_TEXT_SETTING},
	{"startTime", JMAP_TIME, 0, JMAP_AT(attribution_drift, start_time)},
	{"message", JMAP_TEXT, 0, JMAP_AT(attribution_drift, message), .limit = LIMIT_TEXT_MESSAGE},
	{"intentHash", JMAP_I64, 0, JMAP_AT(attribution_drift, intent_hash),
	 .limit = UINT32_MAX},
	{0},
};

static const struct jmap_row pending_drift_rows[] = {
	{"type", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution_pending_drift, type),
	 .limit = LIMIT_TEXT_WORD},
	{"startTime", JMAP_TIME, 0, JMAP_AT(attribution_pending_drift, start_time)},
	{"intentHash", JMAP_I64, 0, JMAP_AT(attribution_pending_drift, intent_hash),
	 .limit = UINT32_MAX},
	{0},
};

static const struct jmap_row intent_rows[] = {
	{"state", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_intent_state, state),
	 .names = intent_names},
	{"policy", JMAP_TEXT, 0, JMAP_AT(attribution_intent_state, policy),
	 .limit = LIMIT_TEXT_NAME},
	{"drifts", JMAP_ARRAY, 0, JMAP_AT(attribution_intent_state, drifts), .limit = LIMIT_DRIFTS,
	 .rows = drift_rows, .element_size = sizeof(struct attribution_drift)},
	{"pending", JMAP_ARRAY, 0, JMAP_AT(attribution_intent_state, pending),
	 .limit = LIMIT_DRIFTS, .rows = pending_drift_rows,
	 .element_size = sizeof(struct attribution_pending_drift)},
	{0},
};

static const struct jmap_row condition_rows[] = {
	{"type", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(condition, type),
	 .limit = LIMIT_TEXT_CONDITION_TYPE},
	{"status", JMAP_ENUM, JMAP_REQUIRED, JMAP_AT(condition, status), .names = condition_names},
	{"observedGeneration", JMAP_I64, 0, JMAP_AT(condition, observed_generation),
	 .limit = INT64_MAX},
	{"lastTransitionTime", JMAP_TIME, JMAP_REQUIRED, JMAP_AT(condition, last_transition_time)},
	{"reason", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(condition, reason),
	 .limit = LIMIT_TEXT_CONDITION_REASON},
	{"message", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(condition, message),
	 .limit = LIMIT_TEXT_CONDITION_MESSAGE},
	{0},
};

static const struct jmap_row report_rows[] = {
	/* Times since boot, elsewhere in the status, are of this one. */
	{"bootID", JMAP_TEXT, 0, JMAP_AT(attribution_report, boot_id), .limit = LIMIT_TEXT_UUID},
	{"instance", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(attribution_report, instance),
	 .limit = INT64_MAX},
	{"sequence", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(attribution_report, sequence),
	 .limit = INT64_MAX},
	{"observationTime", JMAP_TIME, JMAP_NO_NEWS,
	 JMAP_AT(attribution_report, observation_time)},
	{0},
};

static const struct jmap_row status_rows[] = {
	{"observedGeneration", JMAP_I64, 0, JMAP_AT(attribution_status, observed_generation),
	 .limit = INT64_MAX},
	{"nodeName", JMAP_TEXT, 0, JMAP_AT(attribution_status, node_name),
	 .limit = LIMIT_TEXT_NAME},
	{"nodeUID", JMAP_TEXT, 0, JMAP_AT(attribution_status, node_uid), .limit = LIMIT_TEXT_UID},
	{"reportState", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(attribution_status, report_state),
	 .names = report_state_names},
	{"report", JMAP_OBJECT, 0, JMAP_AT(attribution_status, report), .rows = report_rows},
	{"device", JMAP_OBJECT, 0, JMAP_AT(attribution_status, device), .rows = device_rows},
	{"sharing", JMAP_OBJECT, 0, JMAP_AT(attribution_status, sharing), .rows = sharing_rows},
	{"slots", JMAP_OBJECT, 0, JMAP_AT(attribution_status, slots), .rows = slots_rows},
	{"partitions", JMAP_ARRAY, 0, JMAP_AT(attribution_status, partitions),
	 .limit = LIMIT_PARTITIONS, .rows = partition_rows,
	 .element_size = sizeof(struct attribution_partition)},
	{"tenants", JMAP_ARRAY, 0, JMAP_AT(attribution_status, tenants), .limit = LIMIT_TENANTS,
	 .rows = tenant_rows, .element_size = sizeof(struct attribution_tenant)},
	{"tenantCount", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(attribution_status, tenant_count),
	 .limit = LIMIT_NUMBER_COUNT},
	{"tenantsLeftOut", JMAP_I64, 0, JMAP_AT(attribution_status, tenants_left_out),
	 .limit = LIMIT_NUMBER_COUNT},
	{"tenantSummary", JMAP_TEXT, 0, JMAP_AT(attribution_status, tenant_summary),
	 .limit = LIMIT_TEXT_TENANTS},
	{"sourceDisagreements", JMAP_ARRAY, 0, JMAP_AT(attribution_status, source_disagreements),
	 .limit = LIMIT_SOURCE_DISAGREEMENT, .rows = disagreement_rows,
	 .element_size = sizeof(struct attribution_disagreement)},
	{"sourceDisagreementsLeftOut", JMAP_I64, 0,
	 JMAP_AT(attribution_status, source_disagreements_left_out), .limit = LIMIT_NUMBER_COUNT},
	{"unplacedTenants", JMAP_ARRAY, 0, JMAP_AT(attribution_status, unplaced_tenants),
	 .limit = LIMIT_UNPLACED_TENANTS, .rows = unplaced_rows,
	 .element_size = sizeof(struct attribution_unplaced)},
	{"unplacedTenantsLeftOut", JMAP_I64, 0,
	 JMAP_AT(attribution_status, unplaced_tenants_left_out), .limit = LIMIT_NUMBER_COUNT},
	{"unallocatedUsers", JMAP_ARRAY, 0, JMAP_AT(attribution_status, unallocated_users),
	 .limit = LIMIT_UNALLOCATED_USERS, .rows = user_rows,
	 .element_size = sizeof(struct attribution_user)},
	{"unallocatedUsersLeftOut", JMAP_I64, 0,
	 JMAP_AT(attribution_status, unallocated_users_left_out), .limit = LIMIT_NUMBER_COUNT},
	{"unknownProcesses", JMAP_I64, JMAP_NEWS_IF_ANY,
	 JMAP_AT(attribution_status, unknown_processes), .limit = LIMIT_NUMBER_COUNT},
	{"recentTenants", JMAP_ARRAY, 0, JMAP_AT(attribution_status, recent_tenants),
	 .limit = LIMIT_RECENT_TENANTS, .rows = past_tenant_rows,
	 .element_size = sizeof(struct attribution_past_tenant)},
	{"activity", JMAP_OBJECT, 0, JMAP_AT(attribution_status, activity), .rows = activity_rows},
	{"health", JMAP_OBJECT, 0, JMAP_AT(attribution_status, health), .rows = health_rows},
	{"intent", JMAP_OBJECT, 0, JMAP_AT(attribution_status, intent), .rows = intent_rows},
	{"conditions", JMAP_ARRAY, 0, JMAP_AT(attribution_status, conditions),
	 .limit = LIMIT_CONDITIONS, .rows = condition_rows,
	 .element_size = sizeof(struct condition)},
	{0},
};

static const struct jmap_row spec_rows[] = {
	{"uuid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(attribution, uuid),
	 .limit = LIMIT_TEXT_GPU_UUID},
	{0},
};

static const struct jmap_row body_rows[] = {
	{"spec", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = spec_rows},
	{"status", JMAP_OBJECT, 0, JMAP_AT(attribution, status), .rows = status_rows},
	{0},
};

/* The object with what stands around it; metadata and spec are not structs of their own in C. */
struct document {
	struct view api_version;
	struct view kind;
	int64_t deleted_at;
	struct attribution object;
};

static const struct jmap_row metadata_rows[] = {
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, object.name),
	 .limit = LIMIT_TEXT_NAME},
	{"uid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, object.uid), .limit = LIMIT_TEXT_UID},
	{"resourceVersion", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, object.resource_version),
	 .limit = LIMIT_TEXT_UID},
	{"generation", JMAP_I64, JMAP_DECODE_ONLY, JMAP_AT(document, object.generation),
	 .limit = INT64_MAX},
	{"deletionTimestamp", JMAP_TIME, JMAP_DECODE_ONLY, JMAP_AT(document, deleted_at)},
	{0},
};

static const struct jmap_row new_metadata_rows[] = {
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(document, object.name),
	 .limit = LIMIT_TEXT_NAME},
	{0},
};

static const struct jmap_row document_rows[] = {
	{"apiVersion", JMAP_TEXT, 0, JMAP_AT(document, api_version), .limit = LIMIT_TEXT_RESOURCE},
	{"kind", JMAP_TEXT, 0, JMAP_AT(document, kind), .limit = LIMIT_TEXT_LABEL},
	{"metadata", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = metadata_rows},
	{"spec", JMAP_OBJECT, JMAP_REQUIRED, JMAP_AT(document, object), .rows = spec_rows},
	{"status", JMAP_OBJECT, 0, JMAP_AT(document, object.status), .rows = status_rows},
	{0},
};

static const struct jmap_row new_document_rows[] = {
	{"apiVersion", JMAP_TEXT, 0, JMAP_AT(document, api_version), .limit = LIMIT_TEXT_RESOURCE},
	{"kind", JMAP_TEXT, 0, JMAP_AT(document, kind), .limit = LIMIT_TEXT_LABEL},
	{"metadata", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = new_metadata_rows},
	{"spec", JMAP_OBJECT, JMAP_REQUIRED, JMAP_AT(document, object), .rows = spec_rows},
	{0},
};

/* metadata.managedFields nests deeper than the object itself. */
#define DOCUMENT_DEPTH 64u

/* An item of a list may leave apiVersion and kind to the list. */
static bool is_or_empty(struct view text, struct view expected)
{
	return text.len == 0 || view_equal(text, expected);
}

int attribution_doc_decode(struct view json, struct arena *arena,
			   struct attribution *ret_attribution, struct error *err)
{
	struct document document = {0};
	if (jmap_decode(json, DOCUMENT_DEPTH, document_rows, arena, &document, sizeof(document),
			err) != 0)
		return -1;
	if (!is_or_empty(document.api_version, VIEW(ATTRIBUTION_DOC_API_VERSION)) ||
	    !is_or_empty(document.kind, VIEW(ATTRIBUTION_DOC_KIND)))
		return error_set(err, ERROR_REJECTED, 0, "%.*s %.*s: not a %s of %s",
				 VIEW_ARG(document.api_version), VIEW_ARG(document.kind),
				 ATTRIBUTION_DOC_KIND, ATTRIBUTION_DOC_API_VERSION);
	*ret_attribution = document.object;
	ret_attribution->deleting = document.deleted_at != 0;
	return 0;
}

void attribution_doc_encode_new(const struct attribution *attribution, struct sbuf *buf)
{
	struct document document = {
		.api_version = VIEW(ATTRIBUTION_DOC_API_VERSION),
		.kind = VIEW(ATTRIBUTION_DOC_KIND),
		.object = {.name = attribution->name, .uuid = attribution->uuid},
	};
	jmap_encode(new_document_rows, &document, buf);
}

void attribution_doc_encode_status(const struct attribution *object,
				   const struct attribution_status *status, struct sbuf *buf)
{
	struct document document = {
		.api_version = VIEW(ATTRIBUTION_DOC_API_VERSION),
		.kind = VIEW(ATTRIBUTION_DOC_KIND),
		.object = {.name = object->name,
			   .uid = object->uid,
			   .resource_version = object->resource_version,
			   .uuid = object->uuid,
			   .status = *status},
	};
	assert(object->resource_version.len > 0);
	jmap_encode(document_rows, &document, buf);
}

bool attribution_doc_find_difference(const struct attribution_status *a,
				     const struct attribution_status *b, struct sbuf *path)
{
	CLEANUP(sbuf_deinit) struct sbuf found;

	sbuf_init(&found, LIMIT_URL);
	if (!jmap_find_difference(status_rows, a, b, &found))
		return false;
	sbuf_printf(path, "status%.*s", VIEW_ARG(sbuf_view(&found)));
	return true;
}

bool attribution_doc_is_same(const struct attribution_status *a, const struct attribution_status *b)
{
	return !jmap_is_news(status_rows, a, b);
}

const struct jmap_row *attribution_doc_rows(void)
{
	return body_rows;
}

const char *const *attribution_doc_words(enum attribution_doc_words of)
{
	static const char *const *const words[ATTRIBUTION_DOC_N_WORDS] = {
		[ATTRIBUTION_DOC_MODES] = mode_names,
		[ATTRIBUTION_DOC_CONFIDENCES] = confidence_names,
		[ATTRIBUTION_DOC_HEALTH_STATES] = health_names,
		[ATTRIBUTION_DOC_ACTIVITY_STATES] = activity_names,
		[ATTRIBUTION_DOC_INTENT_STATES] = intent_names,
		[ATTRIBUTION_DOC_SEVERITIES] = severity_names,
	};

	return words[of];
}
