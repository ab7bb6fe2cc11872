/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "lib/failing_malloc.h"
#include "lib/golden.h"
#include "schema/checkpoint_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

#define G0 "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define G1 "GPU-6e027708-5f1c-4c0e-9d0a-0a1b2c3d4e5f"
#define M0 "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"
#define WITH_ENTRIES(entries) \
	"{\"Data\":{\"PodDeviceEntries\":" entries ",\"RegisteredDevices\":null},\"Checksum\":1}"
/* 129 characters */
#define TEN "0123456789"
#define LONG_UID TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "012345678"
#define ENTRY(rest) \
	"{\"PodUID\":\"u\",\"ContainerName\":\"c\",\"ResourceName\":\"nvidia.com/gpu\"" rest "}"

static int setup(void **state)
{
	static struct arena arena;
	arena_init(&arena, 16 * LIMIT_MIB);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_deinit(*state);
	return 0;
}

static struct report_checkpoint decode(struct arena *arena, struct view json)
{
	struct report_checkpoint checkpoint;
	struct error err;
	if (checkpoint_doc_decode(json, arena, &checkpoint, &err) != 0)
		fail_msg("%s", err.text);
	return checkpoint;
}

static void expect_entry(const struct report_checkpoint *checkpoint, uint32_t i, const char *uid,
			 const char *container, const char *resource, const char *device, bool mps)
{
	const struct report_checkpoint_entry *entry =
		ARRAY_AT(checkpoint->entries, struct report_checkpoint_entry, i);
	assert_text(entry->pod_uid, uid);
	assert_text(entry->container, container);
	assert_text(entry->resource, resource);
	assert_int_equal(entry->device_ids.count, 1);
	assert_text(*ARRAY_AT(entry->device_ids, struct view, 0), device);
	assert_int_equal(entry->mps, mps);
}

static void both_forms_of_the_file_say_the_same(void **state)
{
	static const char *const names[] = {"checkpoint_v1.json", "checkpoint_v2.json"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct view json = golden_read(names[i]);
		struct report_checkpoint checkpoint = decode(*state, json);
		/* Texts must not lie in the file's bytes. */
		golden_free(json);

		assert_true(checkpoint.present && checkpoint.entries.present);
		assert_int_equal(checkpoint.entries.count, 3);
		expect_entry(&checkpoint, 0, "00d76c9e-1c16-46f0-9aee-b624a6d8abae", "main",
			     "nvidia.com/gpu", G0 "::3", false);
		expect_entry(&checkpoint, 1, "0123456789abcdef0123456789abcdef", "burn",
			     "nvidia.com/gpu", G1 "::0", true);
		expect_entry(&checkpoint, 2, "5f6d0c4e-0000-4000-8000-000000000001", "llm",
			     "nvidia.com/mig-1g.5gb", M0, false);

		assert_int_equal(checkpoint.registered.count, 2);
		const struct report_resource_devices *gpus =
			ARRAY_AT(checkpoint.registered, struct report_resource_devices, 0);
		assert_text(gpus->resource, "nvidia.com/gpu");
		assert_int_equal(gpus->device_ids.count, 3);
		assert_text(*ARRAY_AT(gpus->device_ids, struct view, 2), G1 "::0");
	}
}

static void null_stands_for_empty_everywhere(void **state)
{
	static const char *const rows[] = {
		"{\"Data\":{\"PodDeviceEntries\":null,\"RegisteredDevices\":null},\"Checksum\":0}",
		"{\"Data\":{\"PodDeviceEntries\":[],\"RegisteredDevices\":{}},\"Checksum\":0}",
		WITH_ENTRIES("[" ENTRY(",\"DeviceIDs\":null,\"AllocResp\":null") "]"),
		WITH_ENTRIES("[" ENTRY(",\"DeviceIDs\":{\"0\":null},\"AllocResp\":\"\"") "]"),
		WITH_ENTRIES("[" ENTRY(",\"DeviceIDs\":[]") "]"),
		WITH_ENTRIES("[" ENTRY("") "]"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_checkpoint checkpoint = decode(*state, view_from(rows[i]));
		assert_true(checkpoint.present && checkpoint.entries.present);
		assert_true(checkpoint.registered.present);
		assert_int_equal(checkpoint.entries.count, 0);
		assert_int_equal(checkpoint.registered.count, 0);
	}
}

static void a_registered_resource_without_healthy_devices_is_kept(void **state)
{
	struct report_checkpoint checkpoint =
		decode(*state, VIEW("{\"Data\":{\"PodDeviceEntries\":[],\"RegisteredDevices\":"
				    "{\"nvidia.com/gpu\":null,\"example.com/nic\":[\"eth0\"]}}}"));
	assert_int_equal(checkpoint.registered.count, 1);
	const struct report_resource_devices *gpus =
		ARRAY_AT(checkpoint.registered, struct report_resource_devices, 0);
	assert_true(gpus->device_ids.present);
	assert_int_equal(gpus->device_ids.count, 0);
}

static void devices_come_sorted_and_once_whatever_their_numa_nodes(void **state)
{
	struct report_checkpoint checkpoint = decode(
		*state,
		VIEW(WITH_ENTRIES("[" ENTRY(",\"DeviceIDs\":{\"1\":[\"b\",\"a\"],\"0\":[\"c\",\"a\"],"
					    "\"-1\":[\"b\"]}") "]")));
	const struct report_checkpoint_entry *entry =
		ARRAY_AT(checkpoint.entries, struct report_checkpoint_entry, 0);
	assert_int_equal(entry->device_ids.count, 3);
	assert_text(*ARRAY_AT(entry->device_ids, struct view, 0), "a");
	assert_text(*ARRAY_AT(entry->device_ids, struct view, 1), "b");
	assert_text(*ARRAY_AT(entry->device_ids, struct view, 2), "c");
}

static void members_in_another_order_and_unknown_ones_do_not_matter(void **state)
{
	struct report_checkpoint checkpoint = decode(
		*state,
		VIEW("{\"Future\":{\"x\":[1]},\"Checksum\":18446744073709551615,\"Data\":{"
		     "\"RegisteredDevices\":{},\"More\":null,\"PodDeviceEntries\":[{\"AllocResp\":\"\","
		     "\"DeviceIDs\":{\"0\":[\"nvidia0\\/gi1\"]},\"New\":1.5,\"ResourceName\":"
		     "\"nvidia.com\\u002fgpu\",\"ContainerName\":\"c\",\"PodUID\":\"u\"}]}}"));
	expect_entry(&checkpoint, 0, "u", "c", "nvidia.com/gpu", "nvidia0/gi1", false);
}

static void a_gpu_under_a_foreign_resource_name_is_kept(void **state)
{
	struct report_checkpoint checkpoint = decode(
		*state, VIEW(WITH_ENTRIES("[{\"PodUID\":\"u\",\"ContainerName\":\"c\",\"ResourceName\":"
					  "\"example.com/a100\",\"DeviceIDs\":{\"0\":[\"" G0
					  "\",\"other\"]}}]")));
	expect_entry(&checkpoint, 0, "u", "c", "example.com/a100", G0, false);
}

/* The environment of an allocation response, in base64. */
static void a_variable_of_mps_makes_a_container_its_client(void **state)
{
	static const struct {
		const char *alloc_resp;
		bool mps;
	} rows[] = {
		/* CUDA_MPS_PIPE_DIRECTORY=/mps */
		{"Ch8KF0NVREFfTVBTX1BJUEVfRElSRUNUT1JZEgQvbXBz", true},
		/* NVIDIA_VISIBLE_DEVICES=0, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8M */
		{"ChsKFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSATAKKAogQ1VEQV9NUFNfUElOTkVEX0RFVklDRV9NRU1f"
		 "TElNSVQSBDA9OE0=", true},
		/* CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50, NVIDIA_VISIBLE_DEVICES=0 */
		{"CicKIUNVREFfTVBTX0FDVElWRV9USFJFQURfUEVSQ0VOVEFHRRICNTAKGwoWTlZJRElBX1ZJU0lCTEVf"
		 "REVWSUNFUxIBMA==", true},
		/* NVIDIA_VISIBLE_DEVICES=0, CUDA_MPS=1 */
		{"ChsKFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSATAKDQoIQ1VEQV9NUFMSATE=", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char json[512];
		snprintf(json, sizeof(json),
			 WITH_ENTRIES("[" ENTRY(",\"DeviceIDs\":[\"g\"],\"AllocResp\":\"%s\"") "]"),
			 rows[i].alloc_resp);
		struct report_checkpoint checkpoint = decode(*state, view_from(json));
		expect_entry(&checkpoint, 0, "u", "c", "nvidia.com/gpu", "g", rows[i].mps);
	}
}

static void what_is_no_checkpoint_is_refused_with_the_reason_and_changes_nothing(void **state)
{
	static const struct {
		const char *json, *message;
		enum error_kind kind;
	} rows[] = {
		{"", "not JSON", ERROR_REJECTED},
		{"{}", "Data: missing", ERROR_REJECTED},
		{"null", "Data: missing", ERROR_REJECTED},
		{"[]", "'{' expected", ERROR_REJECTED},
		{"{\"Data\":{}}", "Data.PodDeviceEntries: missing", ERROR_REJECTED},
		{"{\"Data\":{\"PodDeviceEntries\":[]}}", "Data.RegisteredDevices: missing",
		 ERROR_REJECTED},
		{"{\"Data\":{\"PodDeviceEntries\":[],\"RegisteredDevices\":{}}}x", "the end expected",
		 ERROR_REJECTED},
		{"{\"Data\":{\"PodDeviceEntries\":{},\"RegisteredDevices\":{}}}", "'[' expected",
		 ERROR_REJECTED},
		{WITH_ENTRIES("[1]"), "PodDeviceEntries[0]", ERROR_REJECTED},
		{WITH_ENTRIES("[" ENTRY(",\"DeviceIDs\":{}") ",{\"PodUID\":\"u\"}]"),
		 "PodDeviceEntries[1]: PodUID, ContainerName or ResourceName is missing",
		 ERROR_REJECTED},
		{WITH_ENTRIES("[" ENTRY(",\"DeviceIDs\":\"GPU\"") "]"), "PodDeviceEntries[0]",
		 ERROR_REJECTED},
		{WITH_ENTRIES("[" ENTRY(",\"DeviceIDs\":{\"0\":[7]}") "]"), "PodDeviceEntries[0]",
		 ERROR_REJECTED},
		{WITH_ENTRIES("[" ENTRY(",\"AllocResp\":\"*\"") "]"),
		 "PodDeviceEntries[0]: AllocResp: not base64", ERROR_REJECTED},
		{WITH_ENTRIES("[" ENTRY(",\"AllocResp\":\"Cv8=\"") "]"), "AllocResp",
		 ERROR_REJECTED},
		{WITH_ENTRIES("[{\"PodUID\":\"" LONG_UID "\",\"ContainerName\":\"c\","
			      "\"ResourceName\":\"nvidia.com/gpu\"}]"),
		 "PodDeviceEntries[0]: PodUID: too long", ERROR_LIMIT},
		{"[[[[[[[[[[[[[[[[[[", "", ERROR_REJECTED},
		{"{\"a\":[[[[[[[[[[[[[[[[[[", "deeper", ERROR_LIMIT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_checkpoint read, before;
		struct error err;
		memset(&read, 0xa5, sizeof(read));
		memset(&before, 0xa5, sizeof(before));
		if (checkpoint_doc_decode(view_from(rows[i].json), *state, &read, &err) == 0)
			fail_msg("accepted: %s", rows[i].json);
		assert_memory_equal(&read, &before, sizeof(read));
		if (err.kind != rows[i].kind || !strstr(err.text, rows[i].message))
			fail_msg("%s: %s", rows[i].json, err.text);
	}
}

static void a_file_beyond_the_limit_is_refused_unread(void **state)
{
	static const char whole[] = WITH_ENTRIES("[]");
	size_t len = LIMIT_CHECKPOINT_BYTES;
	char *bytes = malloc(len + 1);
	struct report_checkpoint read;
	struct error err;
	assert_non_null(bytes);
	memset(bytes, ' ', len + 1);
	memcpy(bytes, whole, sizeof(whole) - 1);
	decode(*state, (struct view){bytes, len});
	assert_int_equal(checkpoint_doc_decode((struct view){bytes, len + 1}, *state, &read, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	free(bytes);
}

static void a_half_written_file_is_refused_wherever_it_ends(void **state)
{
	static const char *const names[] = {"checkpoint_v1.json", "checkpoint_v2.json"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct view json = golden_read(names[i]);
		for (size_t len = 0; len < json.len; len++) {
			struct view cut = golden_copy((struct view){json.ptr, len});
			struct report_checkpoint read;
			struct error err;
			assert_int_equal(checkpoint_doc_decode(cut, *state, &read, &err), -1);
			assert_int_equal(err.kind, ERROR_REJECTED);
			golden_free(cut);
		}
		golden_free(json);
	}
}

static void any_changed_byte_is_survived(void **state)
{
	struct view json = golden_read("checkpoint_v2.json");
	char *bytes = (char *)(uintptr_t)json.ptr;
	for (size_t i = 0; i < json.len; i++) {
		struct report_checkpoint read;
		struct error err;
		char before = bytes[i];
		for (unsigned c = 0; c < 256; c += 5) {
			bytes[i] = (char)c;
			arena_reset(*state);
			if (checkpoint_doc_decode(json, *state, &read, &err) == 0)
				assert_true(read.present);
		}
		bytes[i] = before;
	}
	golden_free(json);
}

static void running_out_of_memory_anywhere_changes_nothing(void **state)
{
	struct arena *arena = *state;
	struct view json = golden_read("checkpoint_v2.json");
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct report_checkpoint read, before;
		struct error err;
		memset(&read, 0xa5, sizeof(read));
		memset(&before, 0xa5, sizeof(before));
		arena_deinit(arena);
		failing_malloc_at(k);
		int result = checkpoint_doc_decode(json, arena, &read, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		if (failed) {
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_memory_equal(&read, &before, sizeof(read));
		}
	}
	golden_free(json);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(both_forms_of_the_file_say_the_same, setup, teardown),
	cmocka_unit_test_setup_teardown(null_stands_for_empty_everywhere, setup, teardown),
	cmocka_unit_test_setup_teardown(a_registered_resource_without_healthy_devices_is_kept, setup,
					teardown),
	cmocka_unit_test_setup_teardown(devices_come_sorted_and_once_whatever_their_numa_nodes,
					setup, teardown),
	cmocka_unit_test_setup_teardown(members_in_another_order_and_unknown_ones_do_not_matter,
					setup, teardown),
	cmocka_unit_test_setup_teardown(a_gpu_under_a_foreign_resource_name_is_kept, setup,
					teardown),
	cmocka_unit_test_setup_teardown(
		what_is_no_checkpoint_is_refused_with_the_reason_and_changes_nothing, setup,
		teardown),
	cmocka_unit_test_setup_teardown(a_file_beyond_the_limit_is_refused_unread, setup, teardown),
	cmocka_unit_test_setup_teardown(a_half_written_file_is_refused_wherever_it_ends, setup,
					teardown),
	cmocka_unit_test_setup_teardown(any_changed_byte_is_survived, setup, teardown),
	cmocka_unit_test_setup_teardown(running_out_of_memory_anywhere_changes_nothing, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_variable_of_mps_makes_a_container_its_client, setup,
					teardown),
};

TEST_MAIN(tests)
