/* SPDX-License-Identifier: Apache-2.0 */

/* The agent's NVML reader: the library, devices and their parts, processes, and events. */

#include "lib/failing_malloc.h"
#include "lib/nvml_fixture.h"

#include <dlfcn.h>
#include <unistd.h>

#include "agent/nvml_library.h"
#include "base/sbuf.h"
#include "schema/report_doc.h"

#define LONG_NAME 10240

static void an_absent_library_is_an_absent_source(void **state)
{
	struct fixture *f = *state;
	open_reader(f, "/nonexistent/libnvidia-ml.so.1");
	read_at(f, 1000);
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ABSENT);
	assert_int_equal(f->reading.source.observed_at, 0);
	assert_message_has(f, "/nonexistent/libnvidia-ml.so.1");
	assert_false(f->reading.devices.present);
}

static void a_library_of_another_kind_is_an_absent_source(void **state)
{
	struct fixture *f = *state;
	open_reader(f, "libc.so.6");
	read_at(f, 1000);
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ABSENT);
	assert_message_has(f, "libc.so.6 has no nvmlInit_v2");
}

static void a_library_that_is_of_no_use_is_not_kept(void **state)
{
	struct fixture *f = *state;
	static const char name[] = "libjansson.so.4";
	open_reader(f, name);
	read_at(f, 1000);
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ABSENT);
	assert_null(dlopen(name, RTLD_NOW | RTLD_NOLOAD));
}

static void a_library_that_appears_later_is_found(void **state)
{
	struct fixture *f = *state;
	char place[128];
	snprintf(place, sizeof(place), "%s/lib.so", f->folder);
	open_reader(f, place);
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ABSENT);
	assert_int_equal(symlink(FAKE_NVML, place), 0);
	read_at(f, 1001);
	assert_ok(f, 2);
	unlink(place);
}

static void everything_of_a_device_is_read(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "") ", " DEVICE(GPU_B, "1",
			   "\"pciDeviceID\": 548409566, \"serial\": \"1322620012345\","
			   "\"computeMode\": \"ExclusiveProcess\","
			   "\"mig\": {\"current\": false, \"pending\": true},"), ""));
	assert_ok(f, 2);
	assert_text(f->reading.source.message, "");
	assert_int_equal(f->reading.source.observed_at, 1000);
	assert_text(f->reading.driver_version, "580.65.06");
	assert_text(f->reading.cuda_version, "13.0");
	const struct report_device *device = device_at(f, 1);
	assert_text(device->uuid, GPU_B);
	assert_int_equal(device->index, 1);
	assert_int_equal(device->minor, 1);
	assert_text(device->pci_bus_id, "00000000:3B:01.0");
	assert_text(device->pci_device_id, "0x20B010DE");
	assert_text(device->model, "NVIDIA A100-SXM4-40GB");
	assert_int_equal(device->memory_mib, 40960);
	assert_text(device->serial, "1322620012345");
	assert_text(device->compute_capability, "8.0");
	assert_int_equal(device->compute_mode, REPORT_COMPUTE_EXCLUSIVE_PROCESS);
	assert_true(device->mig.present && !device->mig.current && device->mig.pending);
	assert_true(device->partitions.present && device->partitions.count == 0);
	assert_true(device->processes.present && device->processes.count == 0);
}

static void figures_of_the_moment_are_read_each_by_itself(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"memoryUsedMiB\": 2500, \"temperatureC\": 61, "
						  "\"powerMilliwatts\": 254321,"), ""));
	const struct report_figures *figures = &device_at(f, 0)->figures;
	assert_true(figures->present);
	assert_int_equal(figures->memory_used_mib, 2500);
	assert_int_equal(figures->temperature_celsius, 61);
	assert_int_equal(figures->power_mw, 254321);
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"memoryUsedMiB\": 0, \"temperatureC\": 5000,"), ""));
	figures = &device_at(f, 0)->figures;
	assert_int_equal(figures->memory_used_mib, 0);
	assert_int_equal(figures->temperature_celsius, -1);
	assert_int_equal(figures->power_mw, -1);
}

static void a_device_without_mig_is_known_to_have_no_partitions(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), ""));
	assert_false(device_at(f, 0)->mig.present);
	assert_true(device_at(f, 0)->partitions.present);
	assert_text(device_at(f, 0)->serial, "");
}

static void the_sample_files_are_read_whole(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *name;
		uint32_t devices;
		uint32_t partitions; /* of the first device */
	} rows[] = {
		{"exclusive", 2, 0},
		{"time-sliced", 2, 0},
		{"mig", 2, 4},
		{"mig-single", 1, 3},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[512];
		snprintf(path, sizeof(path), FAKE_NVML_DEVICES "/%s.json", rows[i].name);
		setenv("FAKE_NVML_FILE", path, 1);
		read_at(f, 1000);
		assert_ok(f, rows[i].devices);
		assert_text(f->reading.source.message, "");
		assert_int_equal(device_at(f, 0)->partitions.count, rows[i].partitions);
	}
}

static void a_node_without_devices_has_an_empty_list(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE("", ""));
	assert_ok(f, 0);
}

static void partitions_have_profile_instances_and_memory(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"migDevices\": ["
				  MIG(MIG_1, "3g.20gb", "2", "19968", "") ", "
				  MIG(MIG_2, "1g.5gb+me", "9", "4864", "") "],"), ""));
	assert_ok(f, 1);
	const struct array *partitions = &device_at(f, 0)->partitions;
	assert_true(device_at(f, 0)->mig.current && device_at(f, 0)->mig.pending);
	assert_true(partitions->present);
	assert_int_equal(partitions->count, 2);
	const struct report_partition *second = ARRAY_AT(*partitions, struct report_partition, 1);
	assert_text(ARRAY_AT(*partitions, struct report_partition, 0)->profile, "3g.20gb");
	assert_text(second->uuid, MIG_2);
	assert_text(second->profile, "1g.5gb+me");
	assert_int_equal(second->gpu_instance_id, 9);
	assert_int_equal(second->compute_instance_id, 0);
	assert_int_equal(second->memory_mib, 4864);
}

#define NAMED_MIG(profile, memory, name)                                                \
	NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"migDevices\": ["       \
		    MIG(MIG_1, profile, "2", memory, "\"name\": \"" name "\",") "],"), "")

static void a_profile_that_the_name_lacks_comes_from_the_attributes(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *world;
		const char *profile;
	} rows[] = {
		{NAMED_MIG("1g.5gb", "4864", "some device"), "1g.5gb"},
		{NAMED_MIG("2g.10gb", "9856", "MIG device"), "2g.10gb"},
		{NAMED_MIG("3g.20gb", "19968", "A100 MIG 3g"), "3g.20gb"},
		{NAMED_MIG("1c.3g.20gb", "19968", "A100 MIG"), "1c.3g.20gb"},
		{NAMED_MIG("7g.40gb", "40192", ""), "7g.40gb"},
		{NAMED_MIG("1g.5gb", "4864", "A100 MIG 1c.2g.10gb"), "1c.2g.10gb"},
		{NAMED_MIG("1g.5gb", "4864", "MIG 4g.20gb-me"), "4g.20gb-me"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		read_world(f, rows[i].world);
		const struct array *partitions = &device_at(f, 0)->partitions;
		assert_int_equal(partitions->count, 1);
		assert_text(ARRAY_AT(*partitions, struct report_partition, 0)->profile,
			    rows[i].profile);
	}
}

/* It may be 1g.5gb+me, of which attributes tell nothing. */
static void a_partition_whose_name_is_not_told_has_no_profile(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"migDevices\": ["
				  MIG(MIG_1, "1g.5gb+me", "2", "4864",
				      "\"errors\": {\"nvmlDeviceGetName\": 999},") "],"), ""));
	assert_ok(f, 1);
	const struct array *partitions = &device_at(f, 0)->partitions;
	assert_int_equal(partitions->count, 1);
	assert_text(ARRAY_AT(*partitions, struct report_partition, 0)->profile, "");
}

static void a_partition_that_cannot_be_named_makes_the_list_unknown(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"migDevices\": ["
				  MIG(MIG_1, "1g.5gb", "2", "4864", "") ", "
				  MIG(MIG_2, "1g.5gb", "9", "4864",
				      "\"errors\": {\"nvmlDeviceGetUUID\": 999},") "],"), ""));
	assert_ok(f, 1);
	assert_false(device_at(f, 0)->partitions.present);
	assert_false(device_at(f, 0)->processes.present);
	assert_message_has(f, GPU_A ": MIG UUID: Unknown Error");
}

static void more_partitions_than_a_report_holds_make_the_list_unknown(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *max;
		bool is_known;
	} rows[] = {{"56", true}, {"57", false}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char world[2048];
		snprintf(world, sizeof(world),
			 NODE(DEVICE(GPU_A, "0",
				     "\"mig\": {\"current\": true, \"maxDevices\": %s}, "
				     "\"migDevices\": [" MIG(MIG_1, "1g.5gb", "2", "4864", "") "],"),
			      ""),
			 rows[i].max);
		read_world(f, world);
		assert_int_equal(device_at(f, 0)->partitions.present, rows[i].is_known);
		assert_int_equal(device_at(f, 0)->processes.present, rows[i].is_known);
	}
	assert_message_has(f, GPU_A ": MIG devices: up to 57, more than a report holds (56)");
}

static const struct report_process *process_at(const struct fixture *f, uint32_t i)
{
	const struct array *processes = &device_at(f, 0)->processes;
	assert_true(processes->present && i < processes->count);
	return ARRAY_AT(*processes, struct report_process, i);
}

static void processes_have_kind_and_memory_and_are_told_once(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", PROCESSES(
		"{\"pid\": 10, \"kind\": \"Compute\", \"memoryMiB\": 2048},"
		"{\"pid\": 11, \"kind\": \"Graphics\"},"
		"{\"pid\": 10, \"kind\": \"Graphics\", \"memoryMiB\": 5},"
		"{\"pid\": 12, \"kind\": \"MPS\", \"memoryMiB\": 300},"
		"{\"pid\": 12, \"kind\": \"Compute\", \"memoryMiB\": 300}")), ""));
	assert_int_equal(device_at(f, 0)->processes.count, 3);
	assert_int_equal(process_at(f, 0)->pid, 12);
	assert_int_equal(process_at(f, 0)->kind, REPORT_PROCESS_MPS);
	assert_int_equal(process_at(f, 1)->pid, 10);
	assert_int_equal(process_at(f, 1)->kind, REPORT_PROCESS_COMPUTE);
	assert_int_equal(process_at(f, 1)->memory_mib, 2048);
	assert_text(process_at(f, 1)->partition, "");
	assert_int_equal(process_at(f, 2)->pid, 11);
	assert_int_equal(process_at(f, 2)->kind, REPORT_PROCESS_GRAPHICS);
	assert_int_equal(process_at(f, 2)->memory_mib, 0);
}

static void processes_on_mig_have_their_partition(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"migDevices\": ["
				  MIG(MIG_1, "1g.5gb", "7", "4864", "") ", "
				  MIG(MIG_2, "1g.5gb", "9", "4864", "") "],"
				  PROCESSES(RUNNING("10", "9") ", " RUNNING("10", "7"))), ""));
	assert_int_equal(device_at(f, 0)->processes.count, 2);
	assert_text(process_at(f, 0)->partition, MIG_1);
	assert_text(process_at(f, 1)->partition, MIG_2);
}

static void processes_are_those_of_their_device(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", PROCESSES(PLAIN("10"))) ", "
			   DEVICE(GPU_B, "1", PROCESSES(PLAIN("20"))), ""));
	const struct array *second = &device_at(f, 1)->processes;
	assert_int_equal(device_at(f, 0)->processes.count, 1);
	assert_int_equal(second->count, 1);
	assert_int_equal(ARRAY_AT(*second, struct report_process, 0)->pid, 20);
}

#define MIG_WITH_ERRORS(errors)                                                          \
	NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"migDevices\": ["        \
		    MIG(MIG_1, "1g.5gb", "2", "4864", "\"errors\": {" errors "},") "]," ) \
	     ", " DEVICE(GPU_B, "1", ""), "")

static void a_device_is_lost_with_its_partitions(void **state)
{
	struct fixture *f = *state;
	read_world(f, MIG_WITH_ERRORS("\"nvmlDeviceGetAttributes_v2\": 15"));
	assert_ok(f, 1);
	assert_text(device_at(f, 0)->uuid, GPU_B);
}

static void an_instance_that_cannot_be_told_is_minus_one(void **state)
{
	static const struct {
		const char *world;
		int64_t gpu_instance_id, compute_instance_id;
	} rows[] = {
		{MIG_WITH_ERRORS("\"nvmlDeviceGetGpuInstanceId\": 999"), -1, 0},
		{MIG_WITH_ERRORS("\"nvmlDeviceGetComputeInstanceId\": 999"), 2, -1},
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		read_world(f, rows[i].world);
		const struct report_partition *partition =
			ARRAY_AT(device_at(f, 0)->partitions, struct report_partition, 0);
		assert_int_equal(partition->gpu_instance_id, rows[i].gpu_instance_id);
		assert_int_equal(partition->compute_instance_id, rows[i].compute_instance_id);
	}
}

static void processes_hidden_on_one_partition_are_not_known(void **state)
{
	struct fixture *f = *state;
	read_world(f, MIG_WITH_ERRORS("\"nvmlDeviceGetComputeRunningProcesses_v3\": 4"));
	assert_ok(f, 2);
	assert_true(device_at(f, 0)->partitions.present);
	assert_false(device_at(f, 0)->processes.present);
	assert_message_has(f, MIG_1 ": processes: Insufficient Permissions");
}

static void processes_that_may_not_be_seen_are_not_known(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0",
		"\"errors\": {\"nvmlDeviceGetComputeRunningProcesses_v3\": 4},"), ""));
	assert_ok(f, 1);
	assert_false(device_at(f, 0)->processes.present);
	assert_message_has(f, GPU_A ": processes: Insufficient Permissions");
}

static void more_processes_than_the_limit_are_not_known(void **state)
{
	struct fixture *f = *state;
	size_t size = 1u << 20;
	char *text = malloc(size);
	assert_non_null(text);
	size_t used = (size_t)snprintf(text, size, "{\"driverVersion\": \"1.2\", \"cudaVersion\": "
		"\"13.0\", \"devices\": [{\"uuid\": \"" GPU_A "\", \"name\": \"X\", \"minor\": 0, "
		"\"pciBusID\": \"0000:01:00.0\", \"memoryMiB\": 1, \"processes\": [");
	for (unsigned i = 0; i <= LIMIT_REPORT_PROCESSES; i++)
		used += (size_t)snprintf(text + used, size - used,
					 "%s{\"pid\": %u, \"kind\": \"Compute\"}", i ? "," : "",
					 i + 1);
	snprintf(text + used, size - used, "]}]}");
	read_world(f, text);
	free(text);
	assert_false(device_at(f, 0)->processes.present);
	assert_message_has(f, "processes: Insufficient Size");
}

static void a_datum_that_fails_is_missing_alone(void **state)
{
	struct fixture *f = *state;
	static const char *const functions[] = {
		"nvmlDeviceGetName", "nvmlDeviceGetSerial", "nvmlDeviceGetMinorNumber",
		"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetCudaComputeCapability",
		"nvmlDeviceGetComputeMode", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMigMode",
	};
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		char world[1024];
		snprintf(world, sizeof(world),
			 NODE(DEVICE(GPU_A, "0", "\"serial\": \"17\", \"pciDeviceID\": 1, "
						 "\"errors\": {\"%s\": 999},"), ""),
			 functions[i]);
		read_world(f, world);
		assert_ok(f, 1);
		const struct report_device *device = device_at(f, 0);
		assert_text(device->uuid, GPU_A);
		assert_message_has(f, "Unknown Error");
		assert_int_equal(device->model.len == 0, i == 0);
		assert_int_equal(device->serial.len == 0, i == 1);
		assert_int_equal(device->minor == -1, i == 2);
		assert_int_equal(device->pci_bus_id.len == 0, i == 3);
		assert_int_equal(device->pci_device_id.len == 0, i == 3);
		assert_int_equal(device->compute_capability.len == 0, i == 4);
		assert_int_equal(device->compute_mode == REPORT_COMPUTE_UNKNOWN, i == 5);
		assert_int_equal(device->memory_mib == 0, i == 6);
		assert_int_equal(device->partitions.present, i != 7);
	}
}

static void versions_that_fail_are_empty(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, "\"errors\": {\"nvmlSystemGetDriverVersion\": 999, "
			   "\"nvmlSystemGetCudaDriverVersion_v2\": 12},"));
	assert_ok(f, 2);
	assert_text(f->reading.driver_version, "");
	assert_text(f->reading.cuda_version, "");
}

static void an_old_library_tells_what_it_can(void **state)
{
	struct fixture *f = *state;
	open_reader(f, FAKE_NVML_OLD);
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"serial\": \"17\", \"mig\": {\"current\": true},"
				  PROCESSES(PLAIN("10"))), ""));
	assert_ok(f, 1);
	assert_text(device_at(f, 0)->uuid, GPU_A);
	assert_text(device_at(f, 0)->serial, "");
	assert_false(device_at(f, 0)->mig.present);
	assert_false(device_at(f, 0)->partitions.present);
	assert_int_equal(process_at(f, 0)->pid, 10);
	assert_message_has(f, "XID errors are not watched");
	struct nvml_event event;
	assert_false(nvml_next_event(f->nvml, &event));
}

static void a_driver_that_is_not_loaded_is_an_error_until_it_is(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, "\"errors\": {\"nvmlInitWithFlags\": 9},"));
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ERROR);
	assert_text(f->reading.source.message, "start: Driver Not Loaded");
	assert_false(f->reading.devices.present);
	assert_int_equal(f->reading.source.observed_at, 0);
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_ok(f, 2);
}

static void a_library_that_does_not_fit_the_module_is_told_in_words(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, "\"nvmlVersion\": \"12.570.86.15\", "
					"\"errors\": {\"nvmlInitWithFlags\": 18},"));
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ERROR);
	assert_message_has(f, "start: the driver's library (570.86.15) and the kernel module that");
	assert_message_has(f, " are of different versions: delete this agent's pod; if that does not help, "
			      "reload the module, or reboot the node");
	assert_true(f->reading.source.has_driver_mismatch);
	read_world(f, NODE(TWO_DEVICES, "\"errors\": {\"nvmlInitWithFlags\": 9},"));
	assert_false(f->reading.source.has_driver_mismatch);
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_ok(f, 2);
	assert_false(f->reading.source.has_driver_mismatch);
}

static void a_failed_source_is_dated_by_its_last_good_reading(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, ""));
	set_world(f, NODE(TWO_DEVICES, "\"errors\": {\"nvmlDeviceGetCount_v2\": 18},"));
	read_at(f, 5000);
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ERROR);
	assert_int_equal(f->reading.source.observed_at, 1000);
	assert_message_has(f, "count of devices");
	assert_false(f->reading.devices.present);
	set_world(f, NODE(TWO_DEVICES, ""));
	read_at(f, 6000);
	assert_ok(f, 2);
	assert_int_equal(f->reading.source.observed_at, 6000);
}

static void a_silent_driver_is_started_anew(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"lost\": true,"), ""));
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), "\"errors\": {\"nvmlInitWithFlags\": 9},"));
	assert_text(f->reading.source.message, "start: Driver Not Loaded");
}

static void a_file_that_changes_is_seen_at_the_next_reading(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), ""));
	read_world(f, NODE(DEVICE(GPU_B, "0", "\"computeMode\": \"Prohibited\","), ""));
	assert_ok(f, 1);
	assert_text(device_at(f, 0)->uuid, GPU_B);
	assert_int_equal(device_at(f, 0)->compute_mode, REPORT_COMPUTE_PROHIBITED);
}

static void texts_outlive_the_session(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), ""));
	nvml_free(f->nvml);
	f->nvml = NULL;
	assert_text(device_at(f, 0)->uuid, GPU_A);
	assert_text(f->reading.driver_version, "580.65.06");
}

static void more_devices_than_the_limit_are_cut_and_said(void **state)
{
	struct fixture *f = *state;
	size_t size = 1u << 16;
	char *text = malloc(size);
	assert_non_null(text);
	size_t used = (size_t)snprintf(text, size, "{\"driverVersion\": \"1.2\", \"cudaVersion\": "
				       "\"13.0\", \"devices\": [");
	for (unsigned i = 0; i <= LIMIT_REPORT_DEVICES; i++)
		used += (size_t)snprintf(text + used, size - used,
			"%s{\"uuid\": \"GPU-%u\", \"name\": \"X\", \"minor\": %u, \"pciBusID\": "
			"\"0000:%02x:00.0\", \"memoryMiB\": 1}", i ? "," : "", i, i, i);
	snprintf(text + used, size - used, "]}");
	read_world(f, text);
	free(text);
	assert_ok(f, LIMIT_REPORT_DEVICES);
	assert_message_has(f, "only the first 64 of 65 devices");
}

static void a_long_message_is_cut_at_the_limit(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, "\"errors\": {\"nvmlDeviceGetName\": 999, "
		"\"nvmlDeviceGetSerial\": 999, \"nvmlDeviceGetMinorNumber\": 999, "
		"\"nvmlDeviceGetPciInfo_v3\": 999},"));
	assert_ok(f, 2);
	assert_int_equal(f->reading.source.message.len, LIMIT_REPORT_MESSAGE);
}

/* The library has no room for them either: it says so, and the device is told without. */
static void a_name_of_ten_kilobytes_is_left_out(void **state)
{
	struct fixture *f = *state;
	char world[2 * LONG_NAME];
	char name[LONG_NAME];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(world, sizeof(world),
		 NODE("{\"uuid\": \"" GPU_A "\", \"name\": \"%s\", \"minor\": 0, "
		      "\"pciBusID\": \"00000000:3B:00.0\", \"memoryMiB\": 40960}", ""),
		 name);
	read_world(f, world);
	assert_ok(f, 1);
	const struct report_device *device = device_at(f, 0);
	assert_text(device->uuid, GPU_A);
	assert_int_equal(device->model.len, 0);
	assert_int_equal(device->memory_mib, 40960);
	assert_message_has(f, "name: ");
}

#define EVERYTHING                                                                        \
	"\"serial\": \"1\", \"pciDeviceID\": 1, \"computeMode\": \"Default\", "             \
	"\"ecc\": {\"current\": true, "                                                     \
	"\"corrected\": 1, \"uncorrected\": 0}, \"utilization\": {\"gpu\": 38, \"memory\": 1}, " \
	"\"temperatureC\": 41, \"powerMilliwatts\": 118000, \"memoryUsedMiB\": 5, "               \
	"\"clocksEventReasons\": 1, \"remappedRows\": {\"correctable\": 0, \"uncorrectable\": 0," \
	" \"pending\": false, \"failed\": false}, \"retiredPages\": {\"pending\": false}, "       \
	"\"recoveryAction\": 0, \"nvlinks\": {\"total\": 4, \"active\": 4}, \"fabric\": "         \
	"\"Completed\", \"pcieLanes\": {\"total\": 16, \"active\": 16}, \"pcieGeneration\": "     \
	"{\"total\": 4, \"active\": 1}, " PROCESSES(PLAIN("1") ", {\"pid\": 2, \"kind\": "        \
	"\"MPS\"}, {\"pid\": 3, \"kind\": \"Graphics\"}")

/* The members of a reading. */
static const char *const members[] = {
	"driverVersion", "cudaVersion", "uuid", "index", "minor", "pciBusID", "pciDeviceID", "model", "memoryMiB",
	"serial", "computeCapability", "computeMode", "mig", "recoveryAction", "eccVolatile",
	"eccAggregate", "corrected", "uncorrected", "remappedRows", "retiredPages", "nvlinks",
	"fabric", "pcieLanes", "pcieGeneration", "clocksEventReasons", "slowdown", "source",
	"utilizationPercent", "memoryUsedMiB", "temperatureCelsius", "powerMilliwatts", "partitions",
	"profile", "gpuInstanceID", "computeInstanceID", "processes", "pid"};

static unsigned count_in(const char *json, const char *member)
{
	char key[64];
	unsigned n = 0;
	snprintf(key, sizeof(key), "\"%s\":", member);
	while ((json = strstr(json, key)) && ++n)
		json++;
	return n;
}

/* What a reader who begins now reads of a whole device and one with MIG devices. */
static void read_everything(struct fixture *f, const char *errors, char *json, size_t size)
{
	char world[4096];
	CLEANUP(sbuf_deinit) struct sbuf buf;
	snprintf(world, sizeof(world),
		 NODE(DEVICE(GPU_A, "0", EVERYTHING) ", " DEVICE(GPU_B, "1",
			"\"mig\": {\"current\": true}, \"migDevices\": [" MIG(MIG_1, "1g.5gb", "7",
			"4864", "\"graphicsUtilization\": 7,") "],"), "%s"), errors);
	open_reader(f, FAKE_NVML);
	read_world(f, world);
	const struct report reading = {.sources.nvml = f->reading.source,
				       .driver_version = f->reading.driver_version,
				       .cuda_version = f->reading.cuda_version,
				       .devices = f->reading.devices};
	sbuf_init(&buf, size - 1);
	report_doc_encode_reading(&reading, &buf);
	snprintf(json, size, "%s", sbuf_text(&buf));
}

#define OF_DEVICES \
	"uuid index minor pciBusID pciDeviceID model memoryMiB serial computeCapability" \
	" computeMode mig recoveryAction eccVolatile eccAggregate corrected" \
	" uncorrected remappedRows retiredPages nvlinks fabric pcieLanes" \
	" pcieGeneration clocksEventReasons slowdown source utilizationPercent" \
	" memoryUsedMiB temperatureCelsius powerMilliwatts partitions profile" \
	" gpuInstanceID computeInstanceID processes pid"

/* What a reading lacks when a function fails; those that are not here cost nothing. */
static const struct {
	const char *function, *members;
} costs[] = {
	{"nvmlInitWithFlags", "driverVersion cudaVersion " OF_DEVICES},
	{"nvmlSystemGetDriverVersion", "driverVersion"},
	{"nvmlSystemGetCudaDriverVersion_v2", "cudaVersion"},
	{"nvmlDeviceGetCount_v2", "driverVersion cudaVersion " OF_DEVICES},
	{"nvmlDeviceGetHandleByIndex_v2", OF_DEVICES},
	{"nvmlDeviceGetUUID", OF_DEVICES},
	{"nvmlDeviceGetName", "model profile"},
	{"nvmlDeviceGetSerial", "serial"},
	{"nvmlDeviceGetMinorNumber", "minor"},
	{"nvmlDeviceGetPciInfo_v3", "pciBusID pciDeviceID"},
	{"nvmlDeviceGetCudaComputeCapability", "computeCapability"},
	{"nvmlDeviceGetComputeMode", "computeMode"},
	{"nvmlDeviceGetMemoryInfo", "memoryMiB memoryUsedMiB"},
	{"nvmlDeviceGetMigMode",
	 "uuid memoryMiB mig source partitions profile gpuInstanceID computeInstanceID"},
	{"nvmlDeviceGetMaxMigDeviceCount",
	 "uuid memoryMiB source partitions profile gpuInstanceID computeInstanceID processes"},
	{"nvmlDeviceGetMigDeviceHandleByIndex",
	 "uuid memoryMiB source partitions profile gpuInstanceID computeInstanceID processes"},
	{"nvmlDeviceGetGpuInstanceId", "source gpuInstanceID"},
	{"nvmlDeviceGetComputeInstanceId", "computeInstanceID"},
	{"nvmlDeviceGetAttributes_v2", "memoryMiB"},
	{"nvmlDeviceGetMPSComputeRunningProcesses_v3", "pid"},
	{"nvmlDeviceGetComputeRunningProcesses_v3", "processes pid"},
	{"nvmlDeviceGetGraphicsRunningProcesses_v3", "pid"},
	{"nvmlDeviceGetTotalEccErrors", "eccVolatile eccAggregate corrected uncorrected"},
	{"nvmlDeviceGetRemappedRows", "corrected uncorrected remappedRows"},
	{"nvmlDeviceGetRetiredPagesPendingStatus", "retiredPages"},
	{"nvmlDeviceGetFieldValues", "recoveryAction"},
	{"nvmlDeviceGetNvLinkState", "nvlinks"},
	{"nvmlDeviceGetCurrentClocksEventReasons", "clocksEventReasons slowdown"},
	{"nvmlDeviceGetGpuFabricInfo", "fabric"},
	{"nvmlDeviceGetUtilizationRates", "source utilizationPercent"},
	{"nvmlDeviceGetTemperature", "temperatureCelsius"},
	{"nvmlDeviceGetPowerUsage", "powerMilliwatts"},
	{"nvmlDeviceGetMaxPcieLinkWidth", "pcieLanes"},
	{"nvmlDeviceGetCurrPcieLinkWidth", "pcieLanes"},
	{"nvmlDeviceGetMaxPcieLinkGeneration", "pcieGeneration"},
	{"nvmlDeviceGetCurrPcieLinkGeneration", "pcieGeneration"},
	{"nvmlGpmQueryDeviceSupport", "source"},
};

static const char *cost_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++)
		if (strcmp(costs[i].function, function) == 0)
			return costs[i].members;
	return "";
}

static void find_lacking(const char *good, const char *bad, char ret[static 512])
{
	size_t used = 0;
	ret[0] = '\0';
	for (size_t k = 0; k < ARRAY_SIZE(members); k++)
		if (count_in(bad, members[k]) != count_in(good, members[k]))
			used += (size_t)snprintf(ret + used, 512 - used, "%s%s", used ? " " : "",
						 members[k]);
	assert_true(used < 512);
}

/* Figures of GPU instances come with the second reading: gpm_test has their failures. */
static void each_function_that_fails_costs_its_own_values_only(void **state)
{
#define SYMBOL(member, symbol, arguments) #symbol,
	static const char *const functions[] = {NVML_LIBRARY_FUNCTIONS(SYMBOL)};
	static char good[8192], bad[8192];
	read_everything(*state, "", good, sizeof(good));
	for (size_t k = 0; k < ARRAY_SIZE(members); k++)
		if (count_in(good, members[k]) == 0)
			fail_msg("%s is not there", members[k]);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		char errors[96], lacks[512];
		snprintf(errors, sizeof(errors), "\"errors\": {\"%s\": 999},", functions[i]);
		read_everything(*state, errors, bad, sizeof(bad));
		find_lacking(good, bad, lacks);
		if (strcmp(lacks, cost_of(functions[i])) != 0)
			fail_msg("%s: %s", functions[i], lacks);
	}
}

static void assert_event(struct fixture *f, const char *uuid, uint64_t xid)
{
	struct nvml_event event = {.xid = 0};
	assert_true(nvml_next_event(f->nvml, &event));
	assert_string_equal(event.uuid, uuid);
	assert_int_equal(event.xid, xid);
}

static void assert_no_event(struct fixture *f)
{
	struct nvml_event event = {.xid = 4711};
	assert_false(nvml_next_event(f->nvml, &event));
	assert_int_equal(event.xid, 4711);
}

static void an_xid_is_told_once_and_older_ones_never(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, "\"events\": [" XID("3", GPU_A, "13") "],"));
	assert_no_event(f);
	set_world(f, NODE(TWO_DEVICES, "\"events\": [" XID("3", GPU_A, "13") ", "
			  XID("4", GPU_B, "79") ", {\"sequence\": 5, \"uuid\": \"" GPU_A "\", "
			  "\"type\": \"DoubleBitECC\"}, " XID("6", GPU_A, "94") "],"));
	assert_event(f, GPU_B, 79);
	assert_event(f, GPU_A, 94);
	assert_no_event(f);
	read_at(f, 2000);
	assert_no_event(f);
}

#define STATE(sequence, type) \
	"{\"sequence\": " sequence ", \"uuid\": \"" GPU_A "\", \"type\": \"" type "\"}"

/* They are no XID errors. That one came is told once, whatever else came with it. */
static void an_event_of_a_changed_state_asks_for_a_reading(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_false(nvml_take_new_state(f->nvml));
	set_world(f, NODE(TWO_DEVICES, "\"events\": [" STATE("1", "RecoveryAction") ", "
			  XID("2", GPU_B, "79") ", " STATE("3", "DoubleBitECC") "],"));
	assert_event(f, GPU_B, 79);
	assert_no_event(f);
	assert_true(nvml_take_new_state(f->nvml));
	assert_false(nvml_take_new_state(f->nvml));
	set_world(f, NODE(TWO_DEVICES, "\"events\": [" STATE("4", "DoubleBitECC") ", "
			  STATE("5", "GPUUnavailable") "],"));
	assert_no_event(f);
	assert_true(nvml_take_new_state(f->nvml));
}

/* Neither a driver that does not say what it supports, nor one that says too much. */
static void what_else_can_be_watched_never_costs_xid_errors(void **state)
{
	struct fixture *f = *state;
	static const char *const devices[] = {
		DEVICE(GPU_A, "0", "\"errors\": {\"nvmlDeviceGetSupportedEventTypes\": 3},"),
		DEVICE(GPU_A, "0", "\"eventTypes\": 8,"),
		DEVICE(GPU_A, "0", "\"eventTypes\": 8, \"eventTypesTold\": 32776,"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		char world[4096];
		snprintf(world, sizeof(world), NODE("%s", ""), devices[i]);
		read_world(f, world);
		assert_text(f->reading.source.message, "");
		snprintf(world, sizeof(world),
			 NODE("%s", "\"events\": [" STATE("1", "RecoveryAction") ", "
			      XID("2", GPU_A, "79") "],"), devices[i]);
		set_world(f, world);
		assert_event(f, GPU_A, 79);
		assert_no_event(f);
		assert_false(nvml_take_new_state(f->nvml));
		open_reader(f, FAKE_NVML);
	}
}

static void an_xid_names_the_instances_it_was_on(void **state)
{
	struct fixture *f = *state;
	struct nvml_event event;
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), ""));
	set_world(f, NODE(DEVICE(GPU_A, "0", ""), "\"events\": [" XID("1", GPU_A, "79")
			  ", {\"sequence\": 2, \"uuid\": \"" GPU_A "\", \"type\": \"XID\", "
			  "\"code\": 94, \"gpuInstanceID\": 7, \"computeInstanceID\": 0}],"));
	assert_true(nvml_next_event(f->nvml, &event));
	assert_int_equal(event.gpu_instance_id, -1);
	assert_int_equal(event.compute_instance_id, -1);
	assert_true(nvml_next_event(f->nvml, &event));
	assert_int_equal(event.gpu_instance_id, 7);
	assert_int_equal(event.compute_instance_id, 0);
}

static void a_device_that_takes_the_place_of_another_is_watched(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), ""));
	read_world(f, NODE(DEVICE(GPU_B, "0", ""), ""));
	set_world(f, NODE(DEVICE(GPU_B, "0", ""), "\"events\": [" XID("1", GPU_B, "48") "],"));
	assert_event(f, GPU_B, 48);
	assert_no_event(f);
}

static void devices_are_registered_for_events_once(void **state)
{
	struct fixture *f = *state;
	set_world(f, NODE(TWO_DEVICES, ""));
	for (unsigned i = 0; i < 100; i++) {
		read_at(f, 1000);
		assert_text(f->reading.source.message, "");
	}
}

static int ends_of_told[2];
static struct nvml_ring *ring;
static struct nvml_ring_reader reader;

static void note_told(void *owner)
{
	(void)owner;
	assert_int_equal(write(ends_of_told[1], "", 1), 1);
}

static void begin_waiting(struct fixture *f, struct nvml_waiter **ret_waiter)
{
	ring = nvml_ring_new();
	reader = (struct nvml_ring_reader){0};
	assert_non_null(ring);
	const struct nvml_waiter_config config = {.wait_ms = 20, .ring = ring, .told = note_told};
	assert_int_equal(pipe(ends_of_told), 0);
	assert_int_equal(nvml_waiter_new(&config, ret_waiter, &f->err), 0);
	nvml_wait_with(f->nvml, *ret_waiter);
}

static void await_told(void)
{
	char byte;
	assert_int_equal(read(ends_of_told[0], &byte, 1), 1);
}

static void assert_told(const struct nvml_ring_taken *taken, uint32_t i, const char *uuid, int64_t xid)
{
	assert_true(i < taken->n);
	assert_true(view_equal(taken->items[i].uuid, view_from(uuid)));
	assert_int_equal(taken->items[i].code, xid);
}

/* Nothing is told by the reader: what its waiter tells is. */
static void assert_waiter_told(struct fixture *f, const char *uuid, int64_t xid)
{
	struct nvml_ring_taken taken;
	assert_no_event(f);
	nvml_ring_take(ring, &reader, &taken);
	assert_told(&taken, 0, uuid, xid);
	assert_int_equal(taken.n, 1);
}

static void end_waiting(struct fixture *f, struct nvml_waiter *waiter)
{
	nvml_free(f->nvml);
	f->nvml = NULL;
	nvml_waiter_free(waiter);
	nvml_ring_free(ring);
	close(ends_of_told[0]);
	close(ends_of_told[1]);
}

static void an_xid_that_is_waited_for_is_told_without_asking(void **state)
{
	struct fixture *f = *state;
	struct nvml_waiter *waiter;
	begin_waiting(f, &waiter);
	read_world(f, NODE(TWO_DEVICES, ""));
	set_world(f, NODE(TWO_DEVICES, "\"events\": [" XID("1", GPU_B, "79") "],"));
	await_told();
	assert_waiter_told(f, GPU_B, 79);
	end_waiting(f, waiter);
}

static void an_xid_is_told_though_the_driver_goes_afterwards(void **state)
{
	struct fixture *f = *state;
	struct nvml_ring_taken taken;
	struct nvml_waiter *waiter;
	begin_waiting(f, &waiter);
	read_world(f, NODE(TWO_DEVICES, ""));
	set_world(f, NODE(TWO_DEVICES, "\"events\": [" XID("1", GPU_A, "79") ", "
			  XID("2", GPU_B, "94") "],"));
	await_told();
	await_told();
	read_world(f, NODE(TWO_DEVICES, "\"errors\": {\"nvmlDeviceGetCount_v2\": 18}, "
			   "\"events\": [" XID("1", GPU_A, "79") ", " XID("2", GPU_B, "94") "],"));
	assert_int_equal(f->reading.source.state, REPORT_SOURCE_ERROR);
	nvml_ring_take(ring, &reader, &taken);
	assert_told(&taken, 0, GPU_A, 79);
	assert_told(&taken, 1, GPU_B, 94);
	end_waiting(f, waiter);
}

static void a_wait_that_fails_is_made_anew_by_the_next_reading(void **state)
{
	struct fixture *f = *state;
	struct nvml_waiter *waiter;
	begin_waiting(f, &waiter);
	read_world(f, NODE(TWO_DEVICES, ""));
	const uint64_t watch = nvml_watch(f->nvml);
	assert_true(watch > 0);
	set_world(f, NODE(TWO_DEVICES, "\"errors\": {\"nvmlEventSetWait_v2\": 999},"));
	await_told();
	assert_no_event(f);
	assert_int_equal(nvml_watch(f->nvml), 0);
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_message_has(f, "XID errors may be missing: Unknown Error");
	read_at(f, 3000);
	assert_true(nvml_watch(f->nvml) > watch);
	set_world(f, NODE(TWO_DEVICES, "\"events\": [" XID("1", GPU_A, "31") "],"));
	await_told();
	assert_waiter_told(f, GPU_A, 31);
	end_waiting(f, waiter);
}

static void every_reader_gets_every_event(void **state)
{
	struct fixture *f = *state;
	struct nvml *other = NULL;
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_int_equal(nvml_new(FAKE_NVML, &other, &f->err), 0);
	assert_int_equal(nvml_read(other, (struct wall_time){1000, 1}, &f->arena, &f->reading, &f->err), 0);
	set_world(f, NODE(TWO_DEVICES, "\"events\": [" XID("1", GPU_A, "31") "],"));
	assert_event(f, GPU_A, 31);
	struct nvml_event event;
	assert_true(nvml_next_event(other, &event));
	assert_false(nvml_next_event(other, &event));
	nvml_free(other);
}

static void there_are_no_events_before_the_first_reading(void **state)
{
	struct fixture *f = *state;
	assert_no_event(f);
}

static void the_last_xid_of_a_lost_device_names_it(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0", ""), ""));
	read_world(f, NODE(DEVICE(GPU_A, "0", "\"lost\": true,"),
			   "\"events\": [" XID("1", GPU_A, "79") "],"));
	assert_true(device_at(f, 0)->condition.lost);
	assert_event(f, GPU_A, 79);
	assert_no_event(f);
}

static void events_that_fail_are_said_and_watched_again(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(TWO_DEVICES, ""));
	set_world(f, NODE(TWO_DEVICES, "\"errors\": {\"nvmlEventSetWait_v2\": 15},"));
	assert_no_event(f);
	read_world(f, NODE(TWO_DEVICES, ""));
	assert_ok(f, 2);
	assert_text(f->reading.source.message, "XID errors may be missing: GPU is lost");
	set_world(f, NODE(TWO_DEVICES, "\"events\": [" XID("1", GPU_A, "79") "],"));
	assert_event(f, GPU_A, 79);
	read_at(f, 2000);
	assert_text(f->reading.source.message, "");
}

static void a_device_without_events_is_said(void **state)
{
	struct fixture *f = *state;
	read_world(f, NODE(DEVICE(GPU_A, "0",
		"\"errors\": {\"nvmlDeviceRegisterEvents\": 4},"), ""));
	assert_ok(f, 1);
	assert_message_has(f, GPU_A ": XID errors are not watched: Insufficient Permissions");
}

static void a_driver_is_shut_down_at_the_end(void **state)
{
	struct fixture *f = *state;
	int (*shutdown)(void);
	void *library = dlopen(FAKE_NVML, RTLD_NOW);
	assert_non_null(library);
	void *address = dlsym(library, "nvmlShutdown");
	memcpy(&shutdown, &address, sizeof(shutdown));
	read_world(f, NODE(TWO_DEVICES, ""));
	nvml_free(f->nvml);
	f->nvml = NULL;
	assert_int_equal(shutdown(), NVML_ABI_UNINITIALIZED);
	dlclose(library);
}

static void without_memory_nothing_is_told(void **state)
{
	struct fixture *f = *state;
	set_world(f, NODE(DEVICE(GPU_A, "0", "\"mig\": {\"current\": true}, \"migDevices\": ["
				 MIG(MIG_1, "1g.5gb", "7", "4864", "") "],"
				 PROCESSES(RUNNING("10", "7"))), ""));
	size_t cap = 0;
	int result = -1;
	for (; result < 0; cap += 16) {
		CLEANUP(arena_deinit) struct arena arena;
		struct nvml_reading reading = {.driver_version = VIEW("untouched")};
		arena_init(&arena, cap);
		result = nvml_read(f->nvml, (struct wall_time){1000, 1}, &arena, &reading, &f->err);
		if (result < 0) {
			assert_int_equal(f->err.kind, ERROR_NO_MEMORY);
			assert_text(reading.driver_version, "untouched");
			assert_false(reading.devices.present);
		}
	}
	assert_true(cap > 500);
}

static void every_allocation_may_fail(void **state)
{
	struct fixture *f = *state;
	bool failed = true;
	set_world(f, NODE(TWO_DEVICES, ""));
	for (unsigned k = 1; failed; k++) {
		CLEANUP(arena_deinit) struct arena arena;
		CLEANUP(nvml_freep) struct nvml *nvml = NULL;
		struct nvml_reading reading;
		arena_init(&arena, 1u << 20);
		failing_malloc_at(k);
		int result = nvml_new(FAKE_NVML, &nvml, &f->err);
		if (result == 0)
			result = nvml_read(nvml, (struct wall_time){1000, 1}, &arena, &reading, &f->err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(an_absent_library_is_an_absent_source, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_library_of_another_kind_is_an_absent_source, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_library_that_is_of_no_use_is_not_kept, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_library_that_appears_later_is_found, set_up, tear_down),
	cmocka_unit_test_setup_teardown(everything_of_a_device_is_read, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		figures_of_the_moment_are_read_each_by_itself, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_without_mig_is_known_to_have_no_partitions, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_sample_files_are_read_whole, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_without_devices_has_an_empty_list, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		partitions_have_profile_instances_and_memory, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_profile_that_the_name_lacks_comes_from_the_attributes, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_partition_whose_name_is_not_told_has_no_profile, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_partition_that_cannot_be_named_makes_the_list_unknown, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		more_partitions_than_a_report_holds_make_the_list_unknown, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		processes_have_kind_and_memory_and_are_told_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(processes_on_mig_have_their_partition, set_up, tear_down),
	cmocka_unit_test_setup_teardown(processes_are_those_of_their_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_device_is_lost_with_its_partitions, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_instance_that_cannot_be_told_is_minus_one, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		processes_hidden_on_one_partition_are_not_known, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		processes_that_may_not_be_seen_are_not_known, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		more_processes_than_the_limit_are_not_known, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_datum_that_fails_is_missing_alone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(versions_that_fail_are_empty, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_old_library_tells_what_it_can, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_driver_that_is_not_loaded_is_an_error_until_it_is, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_library_that_does_not_fit_the_module_is_told_in_words, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_failed_source_is_dated_by_its_last_good_reading, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_silent_driver_is_started_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_file_that_changes_is_seen_at_the_next_reading, set_up, tear_down),
	cmocka_unit_test_setup_teardown(texts_outlive_the_session, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		more_devices_than_the_limit_are_cut_and_said, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_long_message_is_cut_at_the_limit, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_name_of_ten_kilobytes_is_left_out, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		each_function_that_fails_costs_its_own_values_only, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_xid_is_told_once_and_older_ones_never, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_event_of_a_changed_state_asks_for_a_reading, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_else_can_be_watched_never_costs_xid_errors, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_xid_names_the_instances_it_was_on, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_that_takes_the_place_of_another_is_watched, set_up, tear_down),
	cmocka_unit_test_setup_teardown(devices_are_registered_for_events_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_xid_that_is_waited_for_is_told_without_asking, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_xid_is_told_though_the_driver_goes_afterwards, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_wait_that_fails_is_made_anew_by_the_next_reading, set_up, tear_down),
	cmocka_unit_test_setup_teardown(every_reader_gets_every_event, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		there_are_no_events_before_the_first_reading, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_last_xid_of_a_lost_device_names_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		events_that_fail_are_said_and_watched_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_device_without_events_is_said, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_driver_is_shut_down_at_the_end, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_nothing_is_told, set_up, tear_down),
	cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
};

TEST_MAIN(tests)
