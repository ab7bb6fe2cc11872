/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A table decodes and encodes; what a table cannot say is checked afterwards (schema/report_check.h).
 *
 * Some members of a report change though nothing happened. They are the sequence number, the times of
 * reading, and counts of corrected errors and of links. So are figures of activity, and what the agent
 * counts of itself. Their rows say JMAP_NO_NEWS; all others are evidence.
 */

#include "schema/report_doc.h"

#include <assert.h>

#include "base/limits.h"
#include "schema/report_check.h"
#include "wire/jmap.h"
#include "wire/jmap_decode.h"
#include "wire/jmap_encode.h"

static const char *const source_state_names[] = {"", "ok", "error", "absent", NULL};

static const char *const compute_mode_names[] = {
	"", "Default", "ExclusiveProcess", "Prohibited", NULL,
};

static const char *const process_kind_names[] = {"", "Compute", "Graphics", "MPS", NULL};

/* The last stands for all that this version does not know. */
static const char *const recovery_names[] = {
	"",	    "None",	     "Reset",		  "Reboot", "DrainP2P",
	"DrainAndReset", "RecoverIMEXDomain", "Other", NULL,
};

static const char *const fabric_names[] = {"", "NotStarted", "InProgress", "Completed", NULL};

static const char *const activity_source_names[] = {
	"", "NVMLUtilization", "GPM", "DCGM", "NoProcess", NULL,
};

static const char *const activity_state_names[] = {"", "Busy", "Idle", "Measuring", NULL};

static const char *const event_type_names[] = {"", "XID", NULL};

/* Each word stands at its enumerator's place, and none is missing. */
static_assert(ARRAY_SIZE(source_state_names) == REPORT_SOURCE_ABSENT + 2, "source states");
static_assert(ARRAY_SIZE(compute_mode_names) == REPORT_COMPUTE_PROHIBITED + 2, "compute modes");
static_assert(ARRAY_SIZE(process_kind_names) == REPORT_PROCESS_MPS + 2, "process kinds");
static_assert(ARRAY_SIZE(recovery_names) == REPORT_RECOVERY_OTHER + 2, "recovery actions");
static_assert(ARRAY_SIZE(fabric_names) == REPORT_FABRIC_COMPLETED + 2, "fabric states");
static_assert(ARRAY_SIZE(activity_source_names) == REPORT_ACTIVITY_NO_PROCESS + 2, "sources");
static_assert(ARRAY_SIZE(activity_state_names) == REPORT_ACTIVITY_MEASURING + 2, "states");
static_assert(ARRAY_SIZE(event_type_names) == REPORT_EVENT_XID + 2, "event types");

static const struct jmap_row source_rows[] = {
	{"state", JMAP_ENUM, 0, JMAP_AT(report_source, state), .names = source_state_names},
	{"hangs", JMAP_BOOL, 0, JMAP_AT(report_source, hangs)},
	{"driverMismatch", JMAP_BOOL, 0, JMAP_AT(report_source, has_driver_mismatch)},
	{"message", JMAP_TEXT, 0, JMAP_AT(report_source, message), .limit = LIMIT_REPORT_MESSAGE},
	{"observedAt", JMAP_TIME, JMAP_NO_NEWS, JMAP_AT(report_source, observed_at)},
	{"failures", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(report_source, failures),
	 .limit = LIMIT_NUMBER_COUNTER},
	{"hangCount", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(report_source, hang_count),
	 .limit = LIMIT_NUMBER_COUNTER},
	{0},
};

static const struct jmap_row sources_rows[] = {
	{"podResources", JMAP_OBJECT, 0, JMAP_AT(report_sources, pod_resources),
	 .rows = source_rows},
	{"checkpoint", JMAP_OBJECT, 0, JMAP_AT(report_sources, checkpoint), .rows = source_rows},
	{"nvml", JMAP_OBJECT, 0, JMAP_AT(report_sources, nvml), .rows = source_rows},
	{"processes", JMAP_OBJECT, 0, JMAP_AT(report_sources, processes), .rows = source_rows},
	{"dcgm", JMAP_OBJECT, 0, JMAP_AT(report_sources, dcgm), .rows = source_rows},
	{0},
};

/* Figures move all the time: what they amount to is the state. A window begins anew after a gap, and */
/* when the node's clock is set. */
static const struct jmap_row activity_rows[] = {
	{"state", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(report_activity, state),
	 .names = activity_state_names},
	{"source", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(report_activity, source),
	 .names = activity_source_names},
	{"utilizationPercent", JMAP_I64, JMAP_OR_MINUS_ONE | JMAP_NO_NEWS,
	 JMAP_AT(report_activity, utilization), .limit = LIMIT_NUMBER_PERCENT},
	{"lastBusyAt", JMAP_TIME, JMAP_NO_NEWS, JMAP_AT(report_activity, last_busy_at)},
	{"measuredSince", JMAP_TIME, 0, JMAP_AT(report_activity, measured_since)},
	{0},
};

static const struct jmap_row partition_rows[] = {
	{"uuid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_partition, uuid),
	 .limit = LIMIT_TEXT_UUID},
	{"profile", JMAP_TEXT, 0, JMAP_AT(report_partition, profile), .limit = LIMIT_TEXT_PROFILE},
	{"gpuInstanceID", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(report_partition, gpu_instance_id),
	 .limit = LIMIT_NUMBER_INSTANCE},
	{"computeInstanceID", JMAP_I64, JMAP_OR_MINUS_ONE,
	 JMAP_AT(report_partition, compute_instance_id), .limit = LIMIT_NUMBER_INSTANCE},
	{"memoryMiB", JMAP_I64, 0, JMAP_AT(report_partition, memory_mib),
	 .limit = LIMIT_NUMBER_MEMORY_MIB},
	{"activity", JMAP_OBJECT, 0, JMAP_AT(report_partition, activity), .rows = activity_rows,
	 .present_offset = 1 + offsetof(struct report_partition, activity.present)},
	{0},
};

static const struct jmap_row process_rows[] = {
	{"pid", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report_process, pid), .limit = LIMIT_NUMBER_PID},
	{"kind", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(report_process, kind),
	 .names = process_kind_names},
	{"memoryMiB", JMAP_I64, 0, JMAP_AT(report_process, memory_mib),
	 .limit = LIMIT_NUMBER_MEMORY_MIB},
	{"partition", JMAP_TEXT, 0, JMAP_AT(report_process, partition), .limit = LIMIT_TEXT_UUID},
	{"podUID", JMAP_TEXT, 0, JMAP_AT(report_process, pod_uid), .limit = LIMIT_TEXT_UID},
	{"containerID", JMAP_TEXT, 0, JMAP_AT(report_process, container_id),
	 .limit = LIMIT_TEXT_UID},
	{"command", JMAP_TEXT, 0, JMAP_AT(report_process, command), .limit = LIMIT_TEXT_COMMAND},
	{0},
};

static const struct jmap_row mig_rows[] = {
	{"current", JMAP_BOOL, JMAP_KEEP_ZERO, JMAP_AT(report_mig, current)},
	{"pending", JMAP_BOOL, JMAP_KEEP_ZERO, JMAP_AT(report_mig, pending)},
	{0},
};

/* Corrected errors come by the thousand, and are no problem by themselves. */
static const struct jmap_row error_rows[] = {
	{"corrected", JMAP_I64, JMAP_OR_MINUS_ONE | JMAP_NO_NEWS,
	 JMAP_AT(report_error_counts, corrected), .limit = LIMIT_NUMBER_ERRORS},
	{"uncorrected", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(report_error_counts, uncorrected),
	 .limit = LIMIT_NUMBER_ERRORS},
	{0},
};

static const struct jmap_row remapped_rows_rows[] = {
	{"corrected", JMAP_I64, JMAP_OR_MINUS_ONE | JMAP_NO_NEWS,
	 JMAP_AT(report_remapped_rows, counts.corrected), .limit = LIMIT_NUMBER_COUNT},
	{"uncorrected", JMAP_I64, JMAP_OR_MINUS_ONE,
	 JMAP_AT(report_remapped_rows, counts.uncorrected), .limit = LIMIT_NUMBER_COUNT},
	{"pending", JMAP_BOOL, JMAP_KEEP_ZERO, JMAP_AT(report_remapped_rows, pending)},
	{"failed", JMAP_BOOL, JMAP_KEEP_ZERO, JMAP_AT(report_remapped_rows, failed)},
	{0},
};

static const struct jmap_row retired_pages_rows[] = {
	{"pending", JMAP_BOOL, JMAP_KEEP_ZERO, JMAP_AT(report_retired_pages, pending)},
	{0},
};

/* What their number means, the agent says. */
static const struct jmap_row lanes_rows[] = {
	{"total", JMAP_I64, JMAP_REQUIRED | JMAP_NO_NEWS, JMAP_AT(report_links, total),
	 .limit = LIMIT_NUMBER_LINKS},
	{"active", JMAP_I64, JMAP_REQUIRED | JMAP_NO_NEWS, JMAP_AT(report_links, active),
	 .limit = LIMIT_NUMBER_LINKS},
	{0},
};

/* The controller compares how many are active with what earlier agents told. */
static const struct jmap_row nvlinks_rows[] = {
	{"total", JMAP_I64, JMAP_REQUIRED | JMAP_NO_NEWS, JMAP_AT(report_links, total),
	 .limit = LIMIT_NUMBER_LINKS},
	{"active", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report_links, active),
	 .limit = LIMIT_NUMBER_LINKS},
	{0},
};

static const struct jmap_row pcie_generation_rows[] = {
	{"highest", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report_pcie_generation, highest),
	 .limit = LIMIT_NUMBER_PCIE},
	{"current", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report_pcie_generation, current),
	 .limit = LIMIT_NUMBER_PCIE},
	{"busy", JMAP_BOOL, 0, JMAP_AT(report_pcie_generation, busy)},
	{0},
};

static const struct jmap_row slowdown_rows[] = {
	{"thermal", JMAP_TOGGLE, 0, JMAP_AT(report_slowdown, thermal)},
	{"powerBrake", JMAP_TOGGLE, 0, JMAP_AT(report_slowdown, power_brake)},
	{"hardware", JMAP_TOGGLE, 0, JMAP_AT(report_slowdown, hardware)},
	{0},
};

static const struct jmap_row condition_rows[] = {
	{"lost", JMAP_BOOL, 0, JMAP_AT(report_condition, lost)},
	{"resetRequired", JMAP_BOOL, 0, JMAP_AT(report_condition, reset_required)},
	{"recoveryAction", JMAP_ENUM, JMAP_OR_LAST, JMAP_AT(report_condition, recovery),
	 .names = recovery_names},
	{"recoveryActionUnsupported", JMAP_BOOL, 0, JMAP_AT(report_condition, recovery_unsupported)},
	{"eccVolatile", JMAP_OBJECT, 0, JMAP_AT(report_condition, ecc_volatile),
	 .rows = error_rows},
	{"eccAggregate", JMAP_OBJECT, 0, JMAP_AT(report_condition, ecc_aggregate),
	 .rows = error_rows},
	{"remappedRows", JMAP_OBJECT, 0, JMAP_AT(report_condition, remapped_rows),
	 .rows = remapped_rows_rows,
	 .present_offset = 1 + offsetof(struct report_condition, remapped_rows.present)},
	{"remappedRowsUnsupported", JMAP_BOOL, 0, JMAP_AT(report_condition, rows_unsupported)},
	{"retiredPages", JMAP_OBJECT, 0, JMAP_AT(report_condition, retired_pages),
	 .rows = retired_pages_rows,
	 .present_offset = 1 + offsetof(struct report_condition, retired_pages.present)},
	{"nvlinks", JMAP_OBJECT, 0, JMAP_AT(report_condition, nvlinks), .rows = nvlinks_rows,
	 .present_offset = 1 + offsetof(struct report_condition, nvlinks.present)},
	{"nvlinksDown", JMAP_TOGGLE, 0, JMAP_AT(report_condition, nvlinks_down)},
	{"fabric", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(report_condition, fabric),
	 .names = fabric_names},
	{"pcieLanes", JMAP_OBJECT, 0, JMAP_AT(report_condition, pcie_lanes), .rows = lanes_rows,
	 .present_offset = 1 + offsetof(struct report_condition, pcie_lanes.present)},
	{"pcieGeneration", JMAP_OBJECT, JMAP_NO_NEWS, JMAP_AT(report_condition, pcie_generation),
	 .rows = pcie_generation_rows,
	 .present_offset = 1 + offsetof(struct report_condition, pcie_generation.present)},
	{"pcieDegraded", JMAP_TOGGLE, 0, JMAP_AT(report_condition, pcie_degraded)},
	{"clocksEventReasons", JMAP_I64, JMAP_OR_MINUS_ONE | JMAP_NO_NEWS,
	 JMAP_AT(report_condition, clocks_event_reasons), .limit = REPORT_CLOCKS_ALL},
	{"slowdown", JMAP_OBJECT, 0, JMAP_AT(report_condition, slowdown), .rows = slowdown_rows,
	 .present_offset = 1 + offsetof(struct report_condition, slowdown.present)},
	{"partsRead", JMAP_I64, 0, JMAP_AT(report_condition, parts_read), .limit = REPORT_PART_FIRST},
	{"furtherPartsRead", JMAP_I64, 0, JMAP_AT(report_condition, further_parts_read),
	 .limit = REPORT_PART_LIMIT},
	{"resetTime", JMAP_TIME, 0, JMAP_AT(report_condition, reset_time)},
	{"resetUptimeMilliseconds", JMAP_I64, 0, JMAP_AT(report_condition, reset_uptime_ms),
	 .limit = LIMIT_NUMBER_UPTIME_MS},
	{0},
};

static const struct jmap_row figures_rows[] = {
	{"memoryUsedMiB", JMAP_I64, JMAP_OR_MINUS_ONE | JMAP_NO_NEWS,
	 JMAP_AT(report_figures, memory_used_mib), .limit = LIMIT_NUMBER_MEMORY_MIB},
	{"temperatureCelsius", JMAP_I64, JMAP_OR_MINUS_ONE | JMAP_NO_NEWS,
	 JMAP_AT(report_figures, temperature_celsius), .limit = LIMIT_NUMBER_CELSIUS},
	{"powerMilliwatts", JMAP_I64, JMAP_OR_MINUS_ONE | JMAP_NO_NEWS,
	 JMAP_AT(report_figures, power_mw), .limit = LIMIT_NUMBER_MILLIWATTS},
	{0},
};

static const struct jmap_row device_rows[] = {
	{"uuid", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_device, uuid), .limit = LIMIT_TEXT_UUID},
	{"index", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(report_device, index),
	 .limit = LIMIT_NUMBER_INDEX},
	{"minor", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(report_device, minor),
	 .limit = LIMIT_NUMBER_MINOR},
	{"pciBusID", JMAP_TEXT, 0, JMAP_AT(report_device, pci_bus_id), .limit = LIMIT_TEXT_PCI},
	{"pciDeviceID", JMAP_TEXT, 0, JMAP_AT(report_device, pci_device_id),
	 .limit = LIMIT_TEXT_PCI},
	{"model", JMAP_TEXT, 0, JMAP_AT(report_device, model), .limit = LIMIT_TEXT_MODEL},
	{"memoryMiB", JMAP_I64, 0, JMAP_AT(report_device, memory_mib),
	 .limit = LIMIT_NUMBER_MEMORY_MIB},
	{"serial", JMAP_TEXT, 0, JMAP_AT(report_device, serial), .limit = LIMIT_TEXT_SERIAL},
	{"computeCapability", JMAP_TEXT, 0, JMAP_AT(report_device, compute_capability),
	 .limit = LIMIT_TEXT_SHORT_VERSION},
	{"computeMode", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(report_device, compute_mode),
	 .names = compute_mode_names},
	{"mig", JMAP_OBJECT, 0, JMAP_AT(report_device, mig), .rows = mig_rows,
	 .present_offset = 1 + offsetof(struct report_device, mig.present)},
	{"condition", JMAP_OBJECT, 0, JMAP_AT(report_device, condition), .rows = condition_rows,
	 .present_offset = 1 + offsetof(struct report_device, condition.present)},
	{"activity", JMAP_OBJECT, 0, JMAP_AT(report_device, activity), .rows = activity_rows,
	 .present_offset = 1 + offsetof(struct report_device, activity.present)},
	{"figures", JMAP_OBJECT, JMAP_NO_NEWS, JMAP_AT(report_device, figures),
	 .rows = figures_rows,
	 .present_offset = 1 + offsetof(struct report_device, figures.present)},
	{"partitions", JMAP_ARRAY, JMAP_KEEP_ZERO, JMAP_AT(report_device, partitions),
	 .limit = LIMIT_REPORT_PARTITIONS, .rows = partition_rows,
	 .element_size = sizeof(struct report_partition)},
	{"processes", JMAP_ARRAY, JMAP_KEEP_ZERO, JMAP_AT(report_device, processes),
	 .limit = LIMIT_REPORT_PROCESSES, .rows = process_rows,
	 .element_size = sizeof(struct report_process)},
	{0},
};

static const struct jmap_row pod_resource_rows[] = {
	{"namespace", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_pod_resource, namespace),
	 .limit = LIMIT_TEXT_LABEL},
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_pod_resource, name),
	 .limit = LIMIT_TEXT_NAME},
	{"container", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_pod_resource, container),
	 .limit = LIMIT_TEXT_LABEL},
	{"resource", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_pod_resource, resource),
	 .limit = LIMIT_TEXT_RESOURCE},
	{"deviceIDs", JMAP_TEXTS, JMAP_REQUIRED, JMAP_AT(report_pod_resource, device_ids),
	 .limit = LIMIT_TEXT_DEVICE_ID, .max_items = LIMIT_REPORT_DEVICE_IDS,
	 .max_in_all = LIMIT_REPORT_ALL_IDS},
	{0},
};

static const struct jmap_row resource_devices_rows[] = {
	{"resource", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_resource_devices, resource),
	 .limit = LIMIT_TEXT_RESOURCE},
	{"deviceIDs", JMAP_TEXTS, JMAP_REQUIRED, JMAP_AT(report_resource_devices, device_ids),
	 .limit = LIMIT_TEXT_DEVICE_ID, .max_items = LIMIT_REPORT_DEVICE_IDS,
	 .max_in_all = LIMIT_REPORT_ALL_IDS},
	{0},
};

static const struct jmap_row entry_rows[] = {
	{"podUID", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_checkpoint_entry, pod_uid),
	 .limit = LIMIT_TEXT_UID},
	{"container", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_checkpoint_entry, container),
	 .limit = LIMIT_TEXT_LABEL},
	{"resource", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report_checkpoint_entry, resource),
	 .limit = LIMIT_TEXT_RESOURCE},
	{"deviceIDs", JMAP_TEXTS, JMAP_REQUIRED, JMAP_AT(report_checkpoint_entry, device_ids),
	 .limit = LIMIT_TEXT_DEVICE_ID, .max_items = LIMIT_REPORT_DEVICE_IDS,
	 .max_in_all = LIMIT_REPORT_ALL_IDS},
	{"mps", JMAP_BOOL, JMAP_KEEP_ZERO, JMAP_AT(report_checkpoint_entry, mps)},
	{0},
};

static const struct jmap_row checkpoint_rows[] = {
	{"entries", JMAP_ARRAY, JMAP_KEEP_ZERO, JMAP_AT(report_checkpoint, entries),
	 .limit = LIMIT_REPORT_HOLDINGS, .rows = entry_rows,
	 .element_size = sizeof(struct report_checkpoint_entry)},
	{"registered", JMAP_ARRAY, JMAP_KEEP_ZERO, JMAP_AT(report_checkpoint, registered),
	 .limit = LIMIT_REPORT_HOLDINGS, .rows = resource_devices_rows,
	 .element_size = sizeof(struct report_resource_devices)},
	{0},
};

static const struct jmap_row event_rows[] = {
	{"sequence", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report_event, sequence), .limit = INT64_MAX},
	{"time", JMAP_TIME, 0, JMAP_AT(report_event, time)},
	{"uptimeMilliseconds", JMAP_I64, 0, JMAP_AT(report_event, uptime_ms),
	 .limit = LIMIT_NUMBER_UPTIME_MS},
	{"uuid", JMAP_TEXT, 0, JMAP_AT(report_event, uuid), .limit = LIMIT_TEXT_UUID},
	{"type", JMAP_ENUM, JMAP_LENIENT, JMAP_AT(report_event, type), .names = event_type_names},
	{"code", JMAP_I64, JMAP_KEEP_ZERO, JMAP_AT(report_event, code), .limit = LIMIT_NUMBER_XID},
	{"gpuInstanceID", JMAP_I64, JMAP_OR_MINUS_ONE, JMAP_AT(report_event, gpu_instance_id),
	 .limit = LIMIT_NUMBER_INSTANCE},
	{"computeInstanceID", JMAP_I64, JMAP_OR_MINUS_ONE,
	 JMAP_AT(report_event, compute_instance_id), .limit = LIMIT_NUMBER_INSTANCE},
	{0},
};

static const struct jmap_row kubelet_rows[] = {
	{"restartedAt", JMAP_TIME, 0, JMAP_AT(report, kubelet_restarted_at)},
	{0},
};

/* What a report and a reading have in common. */
#define ROW_DRIVER_VERSION                                                                         \
	{"driverVersion", JMAP_TEXT, 0, JMAP_AT(report, driver_version),                           \
	 .limit = LIMIT_TEXT_VERSION}
#define ROW_CUDA_VERSION                                                                           \
	{"cudaVersion", JMAP_TEXT, 0, JMAP_AT(report, cuda_version),                               \
	 .limit = LIMIT_TEXT_SHORT_VERSION}
#define ROW_DEVICES                                                                                \
	{"devices", JMAP_ARRAY, JMAP_KEEP_ZERO, JMAP_AT(report, devices),                          \
	 .limit = LIMIT_REPORT_DEVICES, .rows = device_rows,                                       \
	 .element_size = sizeof(struct report_device)}
#define ROW_EVENTS                                                                                 \
	{"events", JMAP_ARRAY, JMAP_KEEP_ZERO, JMAP_AT(report, events),                            \
	 .limit = LIMIT_REPORT_EVENTS, .rows = event_rows,                                         \
	 .element_size = sizeof(struct report_event)}
#define ROW_EVENTS_SINCE {"eventsSince", JMAP_TIME, 0, JMAP_AT(report, events_since)}
#define ROW_EVENTS_SINCE_UPTIME                                                                    \
	{"eventsSinceUptimeMilliseconds", JMAP_I64, 0, JMAP_AT(report, events_since_uptime_ms),    \
	 .limit = LIMIT_NUMBER_UPTIME_MS}

static const struct jmap_row report_rows[] = {
	{"version", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report, version)},
	{"node", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report, node), .limit = LIMIT_TEXT_NAME},
	{"bootID", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(report, boot_id), .limit = LIMIT_TEXT_UUID},
	{"instance", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report, instance), .limit = INT64_MAX},
	{"sequence", JMAP_I64, JMAP_REQUIRED | JMAP_NO_NEWS, JMAP_AT(report, sequence),
	 .limit = INT64_MAX},
	{"observedAt", JMAP_TIME, JMAP_REQUIRED | JMAP_NO_NEWS, JMAP_AT(report, observed_at)},
	{"uptimeMilliseconds", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(report, uptime_ms),
	 .limit = LIMIT_NUMBER_UPTIME_MS},
	{"agentVersion", JMAP_TEXT, 0, JMAP_AT(report, agent_version), .limit = LIMIT_TEXT_VERSION},
	ROW_DRIVER_VERSION,
	ROW_CUDA_VERSION,
	{"reportsRefused", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(report, reports_refused),
	 .limit = LIMIT_NUMBER_COUNTER},
	{"nvmlProcesses", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(report, nvml_processes),
	 .limit = LIMIT_NUMBER_COUNTER},
	{"nvmlProcessesLeftBehind", JMAP_I64, JMAP_NO_NEWS, JMAP_AT(report, nvml_left_behind),
	 .limit = LIMIT_NUMBER_COUNTER},
	{"kubelet", JMAP_OBJECT, 0, .offset = 0, .rows = kubelet_rows},
	{"sources", JMAP_OBJECT, JMAP_REQUIRED, JMAP_AT(report, sources), .rows = sources_rows},
	ROW_DEVICES,
	{"podResources", JMAP_ARRAY, JMAP_KEEP_ZERO, JMAP_AT(report, pod_resources),
	 .limit = LIMIT_REPORT_HOLDINGS, .rows = pod_resource_rows,
	 .element_size = sizeof(struct report_pod_resource)},
	{"allocatable", JMAP_ARRAY, JMAP_KEEP_ZERO, JMAP_AT(report, allocatable),
	 .limit = LIMIT_REPORT_HOLDINGS, .rows = resource_devices_rows,
	 .element_size = sizeof(struct report_resource_devices)},
	{"checkpoint", JMAP_OBJECT, 0, JMAP_AT(report, checkpoint), .rows = checkpoint_rows,
	 .present_offset = 1 + offsetof(struct report, checkpoint.present)},
	ROW_EVENTS,
	{"eventsDropped", JMAP_I64, 0, JMAP_AT(report, events_dropped), .limit = INT64_MAX},
	ROW_EVENTS_SINCE,
	ROW_EVENTS_SINCE_UPTIME,
	{0},
};

static const struct jmap_row reading_rows[] = {
	{"sequence", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report, sequence), .limit = INT64_MAX},
	ROW_DRIVER_VERSION,
	ROW_CUDA_VERSION,
	{"sources", JMAP_OBJECT, 0, JMAP_AT(report, sources), .rows = sources_rows},
	ROW_DEVICES,
	ROW_EVENTS,
	{"hasNewState", JMAP_BOOL, 0, JMAP_AT(report, has_new_state)},
	ROW_EVENTS_SINCE,
	ROW_EVENTS_SINCE_UPTIME,
	{0},
};

static const struct jmap_row version_rows[] = {
	{"version", JMAP_I64, JMAP_REQUIRED, JMAP_AT(report, version)},
	{0},
};

/*
 * A report of another version may fail anywhere: its version is what its sender must be told.
 * Whatever this second look finds beside the version does not matter.
 */
static int explain_failure(struct view json, struct arena *arena, struct error *err)
{
	struct report head = {0};
	struct error ignored;
	if (err->kind == ERROR_REJECTED &&
	    jmap_decode(json, LIMIT_REPORT_DEPTH, version_rows, arena, &head, sizeof(head),
			&ignored) == 0 &&
	    head.version != REPORT_VERSION)
		return report_check_refuse_version(head.version, err);
	return -1;
}

/* The text lies in the arena that it was just copied into: nobody else holds it yet. */
static void clean_text(const struct view *text)
{
	char *bytes = (char *)(uintptr_t)text->ptr;
	for (size_t i = 0; i < text->len; i++) {
		if ((unsigned char)bytes[i] < 0x20 || bytes[i] == 0x7f)
			bytes[i] = '?';
	}
}

/* Replaces control characters in all texts: whoever prints one must not be steered by it. */
static void clean_texts(const struct jmap_row *rows, const char *object)
{
	for (const struct jmap_row *row = rows; row->key; row++) {
		const void *value = object + row->offset;
		if (row->type == JMAP_TEXT) {
			clean_text(value);
		} else if (row->type == JMAP_OBJECT) {
			clean_texts(row->rows, value);
		} else if (row->type == JMAP_TEXTS) {
			const struct array *texts = value;
			for (uint32_t i = 0; i < texts->count; i++)
				clean_text(ARRAY_AT(*texts, struct view, i));
		} else if (row->type == JMAP_ARRAY) {
			const struct array *items = value;
			for (uint32_t i = 0; i < items->count; i++)
				clean_texts(row->rows,
					    (const char *)items->items + i * row->element_size);
		}
	}
}

int report_doc_decode(struct view json, struct arena *arena, struct report *ret_report,
		      struct error *err)
{
	struct report report = {0};
	if (json.len > LIMIT_REPORT_BYTES)
		return error_set(err, ERROR_LIMIT, 0, "%zu bytes: more than %u", json.len,
				 LIMIT_REPORT_BYTES);
	if (jmap_decode(json, LIMIT_REPORT_DEPTH, report_rows, arena, &report, sizeof(report),
			err) != 0)
		return explain_failure(json, arena, err);
	clean_texts(report_rows, (const char *)&report);
	if (report_check(&report, err) != 0)
		return -1;
	*ret_report = report;
	return 0;
}

int report_doc_decode_reading(struct view json, struct arena *arena, struct report *ret_reading,
			      struct error *err)
{
	struct report reading = {0};
	if (json.len > LIMIT_READING_BYTES)
		return error_set(err, ERROR_LIMIT, 0, "%zu bytes: more than %u", json.len,
				 LIMIT_READING_BYTES);
	if (jmap_decode(json, LIMIT_REPORT_DEPTH, reading_rows, arena, &reading, sizeof(reading),
			err) != 0)
		return -1;
	clean_texts(reading_rows, (const char *)&reading);
	if (report_check_reading(&reading, err) != 0)
		return -1;
	*ret_reading = reading;
	return 0;
}

void report_doc_encode_reading(const struct report *reading, struct sbuf *buf)
{
	jmap_encode(reading_rows, reading, buf);
}

void report_doc_encode(const struct report *report, struct sbuf *buf)
{
	jmap_encode(report_rows, report, buf);
}

bool report_doc_same_evidence(const struct report *a, const struct report *b)
{
	return !jmap_is_news(report_rows, a, b);
}

const struct jmap_row *report_doc_rows(void)
{
	return report_rows;
}

const struct jmap_row *report_doc_reading_rows(void)
{
	return reading_rows;
}
