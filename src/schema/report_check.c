/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/report_check.h"

#include "base/limits.h"
#include "model/device_id.h"

int report_check_refuse_version(int64_t version, struct error *err)
{
	return error_set(err, ERROR_REJECTED, 0,
			 "version: this is version %lld of the report, understood is version %d",
			 (long long)version, REPORT_VERSION);
}

static int check_partitions(const struct report_device *device, uint32_t d, struct error *err)
{
	const struct array *parts = &device->partitions;
	for (uint32_t i = 0; i < parts->count; i++) {
		struct view uuid = ARRAY_AT(*parts, struct report_partition, i)->uuid;
		if (!device_id_is_mig_uuid(uuid))
			return error_set(err, ERROR_REJECTED, 0,
					 "devices[%u].partitions[%u].uuid: not a MIG UUID", d, i);
		for (uint32_t j = 0; j < i; j++) {
			if (view_equal(uuid, ARRAY_AT(*parts, struct report_partition, j)->uuid))
				return error_set(err, ERROR_REJECTED, 0,
						 "devices[%u].partitions[%u].uuid: as in [%u]", d,
						 i, j);
		}
	}
	return 0;
}

static int check_processes(const struct report_device *device, uint32_t d, struct error *err)
{
	for (uint32_t i = 0; i < device->processes.count; i++) {
		struct view uuid = ARRAY_AT(device->processes, struct report_process, i)->partition;
		if (uuid.len > 0 && !device_id_is_mig_uuid(uuid))
			return error_set(err, ERROR_REJECTED, 0,
					 "devices[%u].processes[%u].partition: not a MIG UUID", d,
					 i);
	}
	return 0;
}

static int check_devices(const struct report *report, struct error *err)
{
	for (uint32_t i = 0; i < report->devices.count; i++) {
		const struct report_device *device = ARRAY_AT(report->devices, struct report_device,
							      i);
		if (!device_id_is_gpu_uuid(device->uuid))
			return error_set(err, ERROR_REJECTED, 0, "devices[%u].uuid: not a GPU UUID",
					 i);
		for (uint32_t j = 0; j < i; j++) {
			if (view_equal_ignoring_case(
				    device->uuid,
				    ARRAY_AT(report->devices, struct report_device, j)->uuid))
				return error_set(err, ERROR_REJECTED, 0,
						 "devices[%u].uuid: as in devices[%u]", i, j);
		}
		if (check_partitions(device, i, err) != 0 || check_processes(device, i, err) != 0)
			return -1;
	}
	return 0;
}

static int check_events(const struct report *report, struct error *err)
{
	int64_t before = -1;
	for (uint32_t i = 0; i < report->events.count; i++) {
		const struct report_event *event = ARRAY_AT(report->events, struct report_event, i);
		if (event->sequence <= before)
			return error_set(err, ERROR_REJECTED, 0,
					 "events[%u].sequence: not ascending", i);
		if (event->uuid.len > 0 && !device_id_is_gpu_uuid(event->uuid) &&
		    !device_id_is_mig_uuid(event->uuid))
			return error_set(err, ERROR_REJECTED, 0, "events[%u].uuid: not a UUID", i);
		before = event->sequence;
	}
	return 0;
}

int report_check_reading(const struct report *reading, struct error *err)
{
	return check_devices(reading, err) != 0 ? -1 : check_events(reading, err);
}

static size_t count_advertised(struct array lists)
{
	size_t n = 0;
	for (uint32_t i = 0; i < lists.count; i++)
		n += ARRAY_AT(lists, struct report_resource_devices, i)->device_ids.count;
	return n;
}

size_t report_check_count_ids(const struct report *report)
{
	const struct array listed = report->pod_resources, entries = report->checkpoint.entries;
	size_t n = count_advertised(report->allocatable) +
		   count_advertised(report->checkpoint.registered);
	for (uint32_t i = 0; i < listed.count; i++)
		n += ARRAY_AT(listed, struct report_pod_resource, i)->device_ids.count;
	for (uint32_t i = 0; i < entries.count; i++)
		n += ARRAY_AT(entries, struct report_checkpoint_entry, i)->device_ids.count;
	return n;
}

size_t report_check_count_processes(const struct report *report)
{
	size_t n = 0;
	for (uint32_t i = 0; i < report->devices.count; i++)
		n += ARRAY_AT(report->devices, struct report_device, i)->processes.count;
	return n;
}

int report_check(const struct report *report, struct error *err)
{
	if (report->version != REPORT_VERSION)
		return report_check_refuse_version(report->version, err);
	if (report->node.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "node: empty");
	if (report->boot_id.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "bootID: empty");
	if (report_check_count_processes(report) > LIMIT_REPORT_ALL_PROCESSES)
		return error_set(err, ERROR_LIMIT, 0, "processes: too many, at most %u of all devices",
				 LIMIT_REPORT_ALL_PROCESSES);
	return report_check_reading(report, err);
}
