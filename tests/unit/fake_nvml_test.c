/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stand-in NVML library itself, where the agent's reader does not reach: what the real device
 * plugin and feature discovery ask, and what a broken device file does. Functions are looked up by
 * name, as those programs do.
 */

#include "lib/test_main.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/nvml_abi.h"

struct fixture {
	char folder[64];
	char file[96];
	void *library;
};

/* A function that takes up to five words; the stand-in's arguments are all words or pointers. */
typedef int (*call_fn)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static int call(const struct fixture *f, const char *symbol, uintptr_t a, uintptr_t b, uintptr_t c)
{
	call_fn function;
	void *address = dlsym(f->library, symbol);
	if (!address)
		fail_msg("no %s", symbol);
	memcpy(&function, &address, sizeof(function));
	return function(a, b, c, 0, 0);
}

#define P(pointer) ((uintptr_t)(pointer))

static void set_world(const struct fixture *f, const char *text)
{
	char next[128];
	snprintf(next, sizeof(next), "%s.next", f->file);
	FILE *file = fopen(next, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(next, f->file), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	snprintf(f->folder, sizeof(f->folder), "/tmp/fake_nvml_test.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof(f->file), "%s/devices.json", f->folder);
	setenv("FAKE_NVML_FILE", f->file, 1);
	f->library = dlopen(FAKE_NVML, RTLD_NOW);
	assert_non_null(f->library);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	dlclose(f->library);
	unlink(f->file);
	rmdir(f->folder);
	free(f);
	return 0;
}

static void use_sample(const struct fixture *f, const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), FAKE_NVML_DEVICES "/%s.json", name);
	setenv("FAKE_NVML_FILE", path, 1);
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), 0);
}

static void *handle_of(const struct fixture *f, const char *uuid)
{
	void *handle = NULL;
	assert_int_equal(call(f, "nvmlDeviceGetHandleByUUID", P(uuid), P(&handle), 0), 0);
	return handle;
}

#define GOOD                                                                                 \
	"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": [{\"uuid\": "  \
	"\"GPU-a\", \"name\": \"X\", \"minor\": 0, \"pciBusID\": \"0000:01:00.0\", "         \
	"\"memoryMiB\": 8}]}"

#define WITH(rest)                                                                           \
	"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": [{\"uuid\": "  \
	"\"GPU-a\", \"name\": \"X\", \"minor\": 0, \"pciBusID\": \"0000:01:00.0\", "         \
	"\"memoryMiB\": 8, " rest "}]}"

static void a_broken_file_keeps_the_last_good_state(void **state)
{
	struct fixture *f = *state;
	static const char *const broken[] = {
		"", "{", "[]", "{\"driverVersion\": \"1\", \"driverVersion\": \"2\"}",
		"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\"}",
		"{\"driverVersion\": 1, \"cudaVersion\": \"13.0\", \"devices\": []}",
		"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": [], "
		"\"x\": 1}",
		"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": [{}]}",
		"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": [], "
		"\"errors\": {\"getUUID\": 1}}",
		"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": [], "
		"\"hangs\": {\"getUUID\": \"Forever\"}}",
		"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": [], "
		"\"hangs\": {\"*\": \"Long\"}}",
		"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": [], "
		"\"events\": [{\"sequence\": 2, \"uuid\": \"GPU-a\", \"type\": \"XID\"}, "
		"{\"sequence\": 2, \"uuid\": \"GPU-a\", \"type\": \"XID\"}]}",
		WITH("\"fabric\": \"Broken\""),
		WITH("\"nvlinks\": {\"total\": 4}"),
		WITH("\"pcieLanes\": {\"total\": 4, \"active\": 4, \"max\": 4}"),
		WITH("\"retiredPages\": true"),
		WITH("\"resetRequired\": 1"),
	};
	set_world(f, GOOD);
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		unsigned count = 0;
		set_world(f, broken[i]);
		assert_int_equal(call(f, "nvmlDeviceGetCount_v2", P(&count), 0, 0), 0);
		assert_int_equal(count, 1);
	}
	assert_int_equal(unlink(f->file), 0);
	assert_int_equal(call(f, "nvmlDeviceGetHandleByIndex_v2", 1, P(&f), 0),
			 NVML_ABI_INVALID_ARGUMENT);
	assert_non_null(handle_of(f, "GPU-a"));
}

static void without_a_good_file_there_is_no_driver(void **state)
{
	struct fixture *f = *state;
	unsigned count = 0;
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), NVML_ABI_DRIVER_NOT_LOADED);
	set_world(f, "{}");
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), NVML_ABI_DRIVER_NOT_LOADED);
	assert_int_equal(call(f, "nvmlDeviceGetCount_v2", P(&count), 0, 0), NVML_ABI_UNINITIALIZED);
	set_world(f, GOOD);
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), 0);
}

static void starts_are_counted(void **state)
{
	struct fixture *f = *state;
	unsigned count = 0;
	use_sample(f, "exclusive");
	use_sample(f, "exclusive");
	assert_int_equal(call(f, "nvmlShutdown", 0, 0, 0), 0);
	assert_int_equal(call(f, "nvmlDeviceGetCount_v2", P(&count), 0, 0), 0);
	assert_int_equal(call(f, "nvmlShutdown", 0, 0, 0), 0);
	assert_int_equal(call(f, "nvmlDeviceGetCount_v2", P(&count), 0, 0), NVML_ABI_UNINITIALIZED);
	assert_int_equal(call(f, "nvmlShutdown", 0, 0, 0), NVML_ABI_UNINITIALIZED);
}

static void a_device_is_found_by_any_of_its_names(void **state)
{
	struct fixture *f = *state;
	void *by_index = NULL;
	void *found = NULL;
	use_sample(f, "exclusive");
	assert_int_equal(call(f, "nvmlDeviceGetHandleByIndex_v2", 1, P(&by_index), 0), 0);
	assert_ptr_equal(handle_of(f, "GPU-2f0c7d4e-9b13-4c0a-8d5e-6b1f0a37c921"), by_index);
	assert_int_equal(call(f, "nvmlDeviceGetHandleByPciBusId_v2", P("0000:86:00.0"),
			      P(&found), 0), 0);
	assert_ptr_equal(found, by_index);
	assert_int_equal(call(f, "nvmlDeviceGetHandleByUUID", P("GPU-x"), P(&found), 0),
			 NVML_ABI_NOT_FOUND);
}

static void errors_of_the_device_come_before_those_of_the_file(void **state)
{
	struct fixture *f = *state;
	char text[96];
	set_world(f, "{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"errors\": "
		     "{\"nvmlDeviceGetName\": 4, \"nvmlDeviceGetSerial\": 4}, \"devices\": ["
		     "{\"uuid\": \"GPU-a\", \"name\": \"X\", \"minor\": 0, \"pciBusID\": "
		     "\"0000:01:00.0\", \"memoryMiB\": 8, \"serial\": \"1\", \"errors\": "
		     "{\"*\": 15, \"nvmlDeviceGetHandleByUUID\": 0, "
		     "\"nvmlDeviceGetName\": 999}}]}");
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), 0);
	void *device = handle_of(f, "GPU-a");
	assert_int_equal(call(f, "nvmlDeviceGetName", P(device), P(text), sizeof(text)), 999);
	assert_int_equal(call(f, "nvmlDeviceGetSerial", P(device), P(text), sizeof(text)), 15);
	set_world(f, GOOD);
	assert_int_equal(call(f, "nvmlDeviceGetName", P(device), P(text), sizeof(text)), 0);
	assert_string_equal(text, "X");
}

struct late_call {
	const struct fixture *f;
	void *device;
	char text[96];
	int code;
};

static void *ask_name(void *owner)
{
	struct late_call *call_of_name = owner;
	call_of_name->code = call(call_of_name->f, "nvmlDeviceGetName", P(call_of_name->device),
				  P(call_of_name->text), sizeof(call_of_name->text));
	return NULL;
}

#define HANGING(how)                                                                       \
	"{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"hangs\": {"             \
	"\"nvmlDeviceGetName\": \"" how "\"}, \"devices\": [{\"uuid\": \"GPU-a\", \"name\": " \
	"\"Y\", \"minor\": 0, \"pciBusID\": \"0000:01:00.0\", \"memoryMiB\": 8}]}"

static void a_call_that_hangs_returns_when_the_file_says_so_and_others_do_at_once(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;
	unsigned count = 0;
	set_world(f, HANGING("UntilChanged"));
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), 0);
	struct late_call late = {.f = f, .device = handle_of(f, "GPU-a"), .code = -1};
	assert_int_equal(pthread_create(&thread, NULL, ask_name, &late), 0);
	assert_int_equal(call(f, "nvmlDeviceGetCount_v2", P(&count), 0, 0), 0);
	assert_int_equal(count, 1);
	/* What it then says is what the file says then. */
	set_world(f, GOOD);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(late.code, 0);
	assert_string_equal(late.text, "X");
}

static void a_handle_outlives_changes_of_the_file(void **state)
{
	struct fixture *f = *state;
	char text[96];
	set_world(f, GOOD);
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), 0);
	void *device = handle_of(f, "GPU-a");
	set_world(f, "{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"devices\": []}");
	assert_int_equal(call(f, "nvmlDeviceGetName", P(device), P(text), sizeof(text)),
			 NVML_ABI_GPU_IS_LOST);
	set_world(f, GOOD);
	assert_int_equal(call(f, "nvmlDeviceGetName", P(device), P(text), sizeof(text)), 0);
	assert_int_equal(call(f, "nvmlDeviceGetName", P(text), P(text), sizeof(text)),
			 NVML_ABI_INVALID_ARGUMENT);
}

static void a_short_buffer_is_refused(void **state)
{
	struct fixture *f = *state;
	char text[20] = "untouched";
	use_sample(f, "exclusive");
	void *device = handle_of(f, "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f");
	assert_int_equal(call(f, "nvmlDeviceGetUUID", P(device), P(text), 20),
			 NVML_ABI_INSUFFICIENT_SIZE);
	assert_string_equal(text, "untouched");
}

/* Walks the profile indexes as users do; the ID that instances carry must be among them. */
static unsigned index_of_profile(const struct fixture *f, void *device, unsigned id)
{
	for (unsigned index = 0; index < 0x11; index++) {
		uint32_t info[12] = {0};
		int code = call(f, "nvmlDeviceGetGpuInstanceProfileInfo", P(device), index,
				P(info));
		if (code == NVML_ABI_SUCCESS && info[0] == id)
			return index;
	}
	return 0xff;
}

static void a_mig_device_leads_to_its_profile(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *uuid;
		unsigned gpu_instance;
		unsigned profile_index;
		unsigned slices;
	} rows[] = {
		{"MIG-0b2f5f0e-6b3a-5d7c-8e9f-10a1b2c3d4e5", 1, 0x02, 3},
		{"MIG-2d41a6c3-7f58-5b0d-9c22-31b2c3d4e5f6", 3, 0x01, 2},
		{"MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", 9, 0x00, 1},
		{"MIG-7fa1c9d2-3e64-5c18-a0b7-52c3d4e5f607", 10, 0x07, 1},
	};
	use_sample(f, "mig");
	void *parent = handle_of(f, "GPU-9c1d7e50-41aa-4f0e-93d6-5e2b8a7f1c04");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *mig = handle_of(f, rows[i].uuid);
		void *found = NULL;
		void *instance = NULL;
		unsigned id = 0;
		struct nvml_abi_attributes attributes;
		uint32_t info[6]; /* nvmlGpuInstanceInfo_t: device, id, profile ID, placement */
		assert_int_equal(call(f, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", P(mig),
				      P(&found), 0), 0);
		assert_ptr_equal(found, parent);
		assert_int_equal(call(f, "nvmlDeviceGetGpuInstanceId", P(mig), P(&id), 0), 0);
		assert_int_equal(id, rows[i].gpu_instance);
		assert_int_equal(call(f, "nvmlDeviceGetAttributes_v2", P(mig), P(&attributes), 0),
				 0);
		assert_int_equal(attributes.gpu_instance_slices, rows[i].slices);
		assert_int_equal(call(f, "nvmlDeviceGetGpuInstanceById", P(parent), id,
				      P(&instance)), 0);
		assert_int_equal(call(f, "nvmlGpuInstanceGetInfo", P(instance), P(info), 0), 0);
		assert_int_equal(info[2], id);
		assert_int_equal(index_of_profile(f, parent, info[3]), rows[i].profile_index);
		assert_int_equal(call(f, "nvmlGpuInstanceGetComputeInstanceById", P(instance), 0,
				      P(&found)), 0);
		void *of[4]; /* nvmlComputeInstanceInfo_t: device, GPU instance, IDs, placement */
		assert_int_equal(call(f, "nvmlComputeInstanceGetInfo_v2", P(found), P(of), 0), 0);
		assert_ptr_equal(of[0], parent);
		assert_ptr_equal(of[1], instance);
	}
}

static void mig_functions_refuse_other_handles(void **state)
{
	struct fixture *f = *state;
	unsigned number = 0;
	unsigned long long mask = 0;
	use_sample(f, "mig");
	void *device = handle_of(f, "GPU-9c1d7e50-41aa-4f0e-93d6-5e2b8a7f1c04");
	void *mig = handle_of(f, "MIG-0b2f5f0e-6b3a-5d7c-8e9f-10a1b2c3d4e5");
	assert_int_equal(call(f, "nvmlDeviceGetGpuInstanceId", P(device), P(&number), 0),
			 NVML_ABI_NOT_SUPPORTED);
	assert_int_equal(call(f, "nvmlDeviceGetSupportedEventTypes", P(mig), P(&mask), 0),
			 NVML_ABI_NOT_SUPPORTED);
	assert_int_equal(call(f, "nvmlDeviceIsMigDeviceHandle", P(mig), P(&number), 0), 0);
	assert_int_equal(number, 1);
}

static void what_mig_hides_is_not_supported(void **state)
{
	struct fixture *f = *state;
	uint32_t rates[2];
	use_sample(f, "mig");
	void *divided = handle_of(f, "GPU-9c1d7e50-41aa-4f0e-93d6-5e2b8a7f1c04");
	void *whole = handle_of(f, "GPU-c7e8f901-52bb-4a1f-84e7-6f3c9b802d15");
	assert_int_equal(call(f, "nvmlDeviceGetUtilizationRates", P(divided), P(rates), 0),
			 NVML_ABI_NOT_SUPPORTED);
	assert_int_equal(call(f, "nvmlDeviceGetUtilizationRates", P(whole), P(rates), 0), 0);
}

static void fields_tell_health_each_with_a_code_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct {
		uint32_t id;
		uint32_t scope;
		int64_t times[2];
		int32_t type;
		int32_t code;
		uint64_t value;
	} fields[] = {{.id = 230}, {.id = 144}, {.id = 4}, {.id = 9999}};
	use_sample(f, "faults");
	void *device = handle_of(f, "GPU-00000000-0000-4000-8000-00000000000a");
	assert_int_equal(call(f, "nvmlDeviceGetFieldValues", P(device), 4, P(fields)), 0);
	assert_int_equal(fields[0].value, 1);
	assert_int_equal(fields[1].value, 1);
	assert_int_equal(fields[2].value, 2);
	assert_int_equal(fields[2].code, 0);
	assert_int_equal(fields[3].code, NVML_ABI_NOT_SUPPORTED);
}

/* The device of a file with more about it. */
static void *device_with(const struct fixture *f, const char *world)
{
	set_world(f, world);
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), 0);
	return handle_of(f, "GPU-a");
}

static int ecc_errors(const struct fixture *f, void *device, int type, int counter,
		      unsigned long long *ret)
{
	int (*function)(void *, int, int, unsigned long long *);
	void *address = dlsym(f->library, "nvmlDeviceGetTotalEccErrors");
	assert_non_null(address);
	memcpy(&function, &address, sizeof(function));
	return function(device, type, counter, ret);
}

static void errors_of_a_life_are_those_since_the_start_unless_said(void **state)
{
	static const struct {
		const char *world;
		unsigned long long counts[2][2]; /* by counter and type */
	} rows[] = {
		{WITH("\"ecc\": {\"current\": true, \"corrected\": 5, \"uncorrected\": 1}"),
		 {{5, 1}, {5, 1}}},
		{WITH("\"ecc\": {\"current\": true, \"corrected\": 5, \"uncorrected\": 1, "
		      "\"aggregate\": {\"corrected\": 50, \"uncorrected\": 10}}"),
		 {{5, 1}, {50, 10}}},
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *device = device_with(f, rows[i].world);
		for (int counter = 0; counter < 2; counter++) {
			for (int type = 0; type < 2; type++) {
				unsigned long long count = 0;
				assert_int_equal(ecc_errors(f, device, type, counter, &count), 0);
				assert_int_equal(count, rows[i].counts[counter][type]);
			}
		}
	}
}

static void retired_pages_are_pending_or_not_supported(void **state)
{
	struct fixture *f = *state;
	static const char symbol[] = "nvmlDeviceGetRetiredPagesPendingStatus";
	int pending = -1;
	void *device = device_with(f, WITH("\"retiredPages\": {\"pending\": true}"));
	assert_int_equal(call(f, symbol, P(device), P(&pending), 0), 0);
	assert_int_equal(pending, 1);
	device = device_with(f, WITH("\"serial\": \"1\""));
	assert_int_equal(call(f, symbol, P(device), P(&pending), 0), NVML_ABI_NOT_SUPPORTED);
}

static void the_first_links_are_up_and_there_are_no_others(void **state)
{
	struct fixture *f = *state;
	static const struct {
		unsigned link;
		int code, active;
	} rows[] = {{0, 0, 1}, {2, 0, 1}, {3, 0, 0}, {4, NVML_ABI_INVALID_ARGUMENT, -1}};
	void *device = device_with(f, WITH("\"nvlinks\": {\"total\": 4, \"active\": 3}"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int active = -1;
		assert_int_equal(call(f, "nvmlDeviceGetNvLinkState", P(device), rows[i].link,
				      P(&active)), rows[i].code);
		assert_int_equal(active, rows[i].active);
	}
	device = device_with(f, WITH("\"serial\": \"1\""));
	assert_int_equal(call(f, "nvmlDeviceGetNvLinkState", P(device), 0, P(&device)),
			 NVML_ABI_NOT_SUPPORTED);
}

static void a_fabric_has_a_state(void **state)
{
	static const struct {
		const char *world;
		int code, state, status;
	} rows[] = {
		{WITH("\"fabric\": \"NotSupported\""), 0, NVML_ABI_FABRIC_NOT_SUPPORTED, 0},
		{WITH("\"fabric\": \"NotStarted\""), 0, NVML_ABI_FABRIC_NOT_STARTED, 0},
		{WITH("\"fabric\": \"InProgress\""), 0, NVML_ABI_FABRIC_IN_PROGRESS, 0},
		{WITH("\"fabric\": \"Completed\""), 0, NVML_ABI_FABRIC_COMPLETED, 0},
		{WITH("\"fabric\": \"Completed\", \"fabricStatus\": 999"), 0,
		 NVML_ABI_FABRIC_COMPLETED, NVML_ABI_UNKNOWN},
		{WITH("\"serial\": \"1\""), NVML_ABI_NOT_SUPPORTED, 0, 0},
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nvml_abi_fabric_info info = {.state = 0};
		void *device = device_with(f, rows[i].world);
		assert_int_equal(call(f, "nvmlDeviceGetGpuFabricInfo", P(device), P(&info), 0),
				 rows[i].code);
		assert_int_equal(info.state, rows[i].state);
		assert_int_equal(info.status, rows[i].status);
	}
}

static void lanes_are_the_most_and_the_present_ones(void **state)
{
	struct fixture *f = *state;
	unsigned width = 0;
	void *device = device_with(f, WITH("\"pcieLanes\": {\"total\": 16, \"active\": 8}"));
	assert_int_equal(call(f, "nvmlDeviceGetMaxPcieLinkWidth", P(device), P(&width), 0), 0);
	assert_int_equal(width, 16);
	assert_int_equal(call(f, "nvmlDeviceGetCurrPcieLinkWidth", P(device), P(&width), 0), 0);
	assert_int_equal(width, 8);
	device = device_with(f, WITH("\"serial\": \"1\""));
	assert_int_equal(call(f, "nvmlDeviceGetCurrPcieLinkWidth", P(device), P(&width), 0),
			 NVML_ABI_NOT_SUPPORTED);
}

static void a_device_in_trouble_answers_with_its_code(void **state)
{
	static const struct {
		const char *world;
		int code, code_of_uuid;
	} rows[] = {
		{WITH("\"lost\": true"), NVML_ABI_GPU_IS_LOST, NVML_ABI_GPU_IS_LOST},
		{WITH("\"resetRequired\": true"), NVML_ABI_RESET_REQUIRED, 0},
		{WITH("\"resetRequired\": true, \"lost\": true"), NVML_ABI_GPU_IS_LOST,
		 NVML_ABI_GPU_IS_LOST},
		{WITH("\"resetRequired\": true, \"errors\": {\"nvmlDeviceGetName\": 0}"), 0, 0},
		{WITH("\"resetRequired\": false, \"lost\": false"), 0, 0},
	};
	struct fixture *f = *state;
	void *device = device_with(f, GOOD);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[96];
		void *found = NULL;
		set_world(f, rows[i].world);
		assert_int_equal(call(f, "nvmlDeviceGetName", P(device), P(text), sizeof(text)),
				 rows[i].code);
		assert_int_equal(call(f, "nvmlDeviceGetUUID", P(device), P(text), sizeof(text)),
				 rows[i].code_of_uuid);
		assert_int_equal(call(f, "nvmlDeviceGetHandleByIndex_v2", 0, P(&found), 0),
				 rows[i].code_of_uuid);
	}
}

static void processes_say_how_much_room_they_need(void **state)
{
	struct fixture *f = *state;
	struct nvml_abi_process list[2];
	unsigned n = 1;
	use_sample(f, "time-sliced");
	void *device = handle_of(f, "GPU-6e027708-5f1c-4a3b-9d02-71c5b8e4f013");
	static const char symbol[] = "nvmlDeviceGetComputeRunningProcesses_v3";
	assert_int_equal(call(f, symbol, P(device), P(&n), P(list)), NVML_ABI_INSUFFICIENT_SIZE);
	assert_int_equal(n, 2);
	assert_int_equal(call(f, symbol, P(device), P(&n), P(list)), 0);
	assert_int_equal(list[1].pid, 21044);
	assert_int_equal(list[1].gpu_instance, NVML_ABI_NO_INSTANCE);
}

static void a_structure_of_another_version_is_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t memory[5] = {40 | 2 << 24};
	use_sample(f, "exclusive");
	void *device = handle_of(f, "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f");
	assert_int_equal(call(f, "nvmlDeviceGetMemoryInfo_v2", P(device), P(memory), 0), 0);
	assert_int_equal(memory[1], UINT64_C(40960) << 20);
	memory[0] = 1;
	assert_int_equal(call(f, "nvmlDeviceGetMemoryInfo_v2", P(device), P(memory), 0),
			 NVML_ABI_ARGUMENT_VERSION_MISMATCH);
}

static double seconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void waiting_for_events_ends_after_the_timeout(void **state)
{
	struct fixture *f = *state;
	void *set = NULL;
	struct nvml_abi_event event;
	use_sample(f, "exclusive");
	assert_int_equal(call(f, "nvmlEventSetCreate", P(&set), 0, 0), 0);
	double start = seconds_now();
	assert_int_equal(call(f, "nvmlEventSetWait_v2", P(set), P(&event), 0), NVML_ABI_TIMEOUT);
	assert_int_equal(call(f, "nvmlEventSetWait_v2", P(set), P(&event), 20), NVML_ABI_TIMEOUT);
	assert_true(seconds_now() - start >= 0.02);
	assert_int_equal(call(f, "nvmlEventSetFree", P(set), 0, 0), 0);
}

static void an_event_carries_device_code_and_instance(void **state)
{
	struct fixture *f = *state;
	void *set = NULL;
	struct nvml_abi_event event;
	set_world(f, GOOD);
	assert_int_equal(call(f, "nvmlInit_v2", 0, 0, 0), 0);
	void *device = handle_of(f, "GPU-a");
	assert_int_equal(call(f, "nvmlEventSetCreate", P(&set), 0, 0), 0);
	assert_int_equal(call(f, "nvmlDeviceRegisterEvents", P(device), NVML_ABI_EVENT_XID,
			      P(set)), 0);
	set_world(f, "{\"driverVersion\": \"1.2\", \"cudaVersion\": \"13.0\", \"events\": ["
		     "{\"sequence\": 1, \"uuid\": \"GPU-a\", \"type\": \"SingleBitECC\"}, "
		     "{\"sequence\": 2, \"uuid\": \"GPU-a\", \"type\": \"XID\", \"code\": 94, "
		     "\"gpuInstanceID\": 7, \"computeInstanceID\": 0}], \"devices\": [{\"uuid\": "
		     "\"GPU-a\", \"name\": \"X\", \"minor\": 0, \"pciBusID\": \"0000:01:00.0\", "
		     "\"memoryMiB\": 8}]}");
	assert_int_equal(call(f, "nvmlEventSetWait_v2", P(set), P(&event), 0), 0);
	assert_ptr_equal(event.device, device);
	assert_int_equal(event.type, NVML_ABI_EVENT_XID);
	assert_int_equal(event.data, 94);
	assert_int_equal(event.gpu_instance, 7);
	assert_int_equal(call(f, "nvmlEventSetWait_v2", P(set), P(&event), 0), NVML_ABI_TIMEOUT);
	assert_int_equal(call(f, "nvmlEventSetFree", P(set), 0, 0), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		a_broken_file_keeps_the_last_good_state, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_good_file_there_is_no_driver, set_up, tear_down),
	cmocka_unit_test_setup_teardown(starts_are_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_device_is_found_by_any_of_its_names, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		errors_of_the_device_come_before_those_of_the_file, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_call_that_hangs_returns_when_the_file_says_so_and_others_do_at_once, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_handle_outlives_changes_of_the_file, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_short_buffer_is_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_mig_device_leads_to_its_profile, set_up, tear_down),
	cmocka_unit_test_setup_teardown(mig_functions_refuse_other_handles, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_mig_hides_is_not_supported, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		fields_tell_health_each_with_a_code_of_its_own, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		errors_of_a_life_are_those_since_the_start_unless_said, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		retired_pages_are_pending_or_not_supported, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_first_links_are_up_and_there_are_no_others, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_fabric_has_a_state, set_up, tear_down),
	cmocka_unit_test_setup_teardown(lanes_are_the_most_and_the_present_ones, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_in_trouble_answers_with_its_code, set_up, tear_down),
	cmocka_unit_test_setup_teardown(processes_say_how_much_room_they_need, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_structure_of_another_version_is_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		waiting_for_events_ends_after_the_timeout, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_event_carries_device_code_and_instance, set_up, tear_down),
};

TEST_MAIN(tests)
