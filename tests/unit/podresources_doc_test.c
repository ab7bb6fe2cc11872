/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "lib/failing_malloc.h"
#include "lib/golden.h"
#include "model/report.h"
#include "schema/podresources_doc.h"

#define assert_text(view_, text_) assert_true(view_equal(view_, view_from(text_)))

#define G0 "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define G1 "GPU-6e027708-5f1c-4c0e-9d0a-0a1b2c3d4e5f"
#define M0 "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"

typedef int (*decode_fn)(struct view message, struct arena *arena, struct array *ret,
			 struct error *err);

static const struct {
	const char *name;
	decode_fn decode;
} golden[] = {
	{"podresources_list.pb", podresources_doc_decode_list},
	{"podresources_allocatable.pb", podresources_doc_decode_allocatable},
};

static int setup(void **state)
{
	static struct arena arena;
	arena_init(&arena, 64 * LIMIT_MIB);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_deinit(*state);
	return 0;
}

static struct array decode(decode_fn fn, struct arena *arena, struct view message)
{
	struct array array;
	struct error err;
	if (fn(message, arena, &array, &err) != 0)
		fail_msg("%s", err.text);
	return array;
}

static void expect_ids(const struct array *ids, const char *first, const char *second)
{
	assert_int_equal(ids->count, second ? 2 : 1);
	assert_text(*ARRAY_AT(*ids, struct view, 0), first);
	if (second)
		assert_text(*ARRAY_AT(*ids, struct view, 1), second);
}

static void a_list_gives_each_container_and_resource_once_sorted(void **state)
{
	static const struct {
		const char *namespace, *name, *container, *resource, *first, *second;
	} rows[] = {
		{"inf", "llm-0", "llm", "example.com/renamed", M0, NULL},
		{"inf", "llm-0", "llm", "nvidia.com/mig-1g.5gb", M0 "::0", M0 "::1"},
		{"ml", "train-0", "main", "nvidia.com/gpu", G0 "::3", G1 "::0"},
	};
	struct view message = golden_read("podresources_list.pb");
	struct array list = decode(podresources_doc_decode_list, *state, message);
	/* Texts must not lie in the message. */
	golden_free(message);

	assert_true(list.present);
	assert_int_equal(list.count, ARRAY_SIZE(rows));
	for (uint32_t i = 0; i < list.count; i++) {
		const struct report_pod_resource *holding =
			ARRAY_AT(list, struct report_pod_resource, i);
		assert_text(holding->namespace, rows[i].namespace);
		assert_text(holding->name, rows[i].name);
		assert_text(holding->container, rows[i].container);
		assert_text(holding->resource, rows[i].resource);
		expect_ids(&holding->device_ids, rows[i].first, rows[i].second);
	}
}

static void allocatable_devices_are_merged_by_resource(void **state)
{
	struct view message = golden_read("podresources_allocatable.pb");
	struct array list = decode(podresources_doc_decode_allocatable, *state, message);
	golden_free(message);

	assert_int_equal(list.count, 2);
	const struct report_resource_devices *gpus =
		ARRAY_AT(list, struct report_resource_devices, 0);
	assert_text(gpus->resource, "nvidia.com/gpu");
	expect_ids(&gpus->device_ids, G0 "::0", G0 "::1");
	const struct report_resource_devices *parts =
		ARRAY_AT(list, struct report_resource_devices, 1);
	assert_text(parts->resource, "nvidia.com/mig-1g.5gb");
	expect_ids(&parts->device_ids, M0, NULL);
}

static void an_empty_answer_is_an_empty_list_and_not_an_unknown_one(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		struct array list = decode(golden[i].decode, *state, VIEW(""));
		assert_true(list.present);
		assert_int_equal(list.count, 0);
	}
}

static void a_resource_without_devices_is_told(void **state)
{
	struct array allocatable = decode(podresources_doc_decode_allocatable, *state,
					  VIEW("\x0a\x10\x0a\x0envidia.com/gpu"));
	assert_int_equal(allocatable.count, 1);
	const struct report_resource_devices *devices =
		ARRAY_AT(allocatable, struct report_resource_devices, 0);
	assert_text(devices->resource, "nvidia.com/gpu");
	assert_true(devices->device_ids.present);
	assert_int_equal(devices->device_ids.count, 0);
}

static void an_answer_that_ends_within_a_field_is_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		struct array array;
		struct error err;
		assert_int_equal(golden[i].decode(VIEW("\x0a\x05\x0a"), *state, &array, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
	}
}

static void names_may_follow_what_they_name(void **state)
{
	/* pod {3: {2: {2: "x", 1: "nvidia.com/gpu"}, 1: "c"}, 2: "ns", 1: "p"} */
	struct array list = decode(podresources_doc_decode_list, *state,
				   VIEW("\x0a\x21\x1a\x18\x12\x13\x12\x01x\x0a\x0envidia.com/gpu"
					"\x0a\x01"
					"c\x12\x02ns\x0a\x01p"));
	assert_int_equal(list.count, 1);
	const struct report_pod_resource *holding = ARRAY_AT(list, struct report_pod_resource, 0);
	assert_text(holding->name, "p");
	assert_text(holding->namespace, "ns");
	assert_text(holding->container, "c");
	expect_ids(&holding->device_ids, "x", NULL);
}

static void devices_of_nobody_are_refused(void **state)
{
	static const struct view rows[] = {
		/* a pod with a namespace and no name */
		VIEW_INIT("\x0a\x04\x12\x02ns"),
		/* a pod with a name and no namespace */
		VIEW_INIT("\x0a\x03\x0a\x01p"),
		/* a container with devices and no name */
		VIEW_INIT("\x0a\x0e\x0a\x01p\x12\x02ns\x1a\x05\x12\x03\x0a\x01r"),
		/* devices without a resource */
		VIEW_INIT("\x0a\x0e\x0a\x01p\x12\x02ns\x1a\x05\x0a\x01"
			  "c\x12\x00"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct array list = {.count = 7};
		struct error err;
		assert_int_equal(podresources_doc_decode_list(rows[i], *state, &list, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_int_equal(list.count, 7);
	}
}

static void an_answer_cut_anywhere_is_refused_or_lacks_parts(void **state)
{
	for (size_t g = 0; g < ARRAY_SIZE(golden); g++) {
		struct view message = golden_read(golden[g].name);
		for (size_t len = 0; len < message.len; len++) {
			struct view cut = golden_copy((struct view){message.ptr, len});
			struct array list = {.count = 7};
			struct error err;
			if (golden[g].decode(cut, *state, &list, &err) != 0) {
				assert_int_equal(err.kind, ERROR_REJECTED);
				assert_int_equal(list.count, 7);
			}
			golden_free(cut);
		}
		golden_free(message);
	}
}

static void any_changed_byte_is_survived(void **state)
{
	for (size_t g = 0; g < ARRAY_SIZE(golden); g++) {
		struct view message = golden_read(golden[g].name);
		char *bytes = (char *)(uintptr_t)message.ptr;
		for (size_t i = 0; i < message.len; i++) {
			char before = bytes[i];
			for (unsigned c = 0; c < 256; c += 3) {
				struct array list;
				struct error err;
				bytes[i] = (char)c;
				arena_reset(*state);
				if (golden[g].decode(message, *state, &list, &err) == 0)
					assert_true(list.present);
			}
			bytes[i] = before;
		}
		golden_free(message);
	}
}

static void running_out_of_memory_anywhere_changes_nothing(void **state)
{
	for (size_t g = 0; g < ARRAY_SIZE(golden); g++) {
		struct view message = golden_read(golden[g].name);
		bool failed = true;
		for (unsigned k = 1; failed; k++) {
			struct array list = {.count = 7};
			struct error err;
			arena_deinit(*state);
			failing_malloc_at(k);
			int result = golden[g].decode(message, *state, &list, &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
			if (failed) {
				assert_int_equal(err.kind, ERROR_NO_MEMORY);
				assert_int_equal(list.count, 7);
			}
		}
		golden_free(message);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_list_gives_each_container_and_resource_once_sorted, setup,
					teardown),
	cmocka_unit_test_setup_teardown(allocatable_devices_are_merged_by_resource, setup, teardown),
	cmocka_unit_test_setup_teardown(an_empty_answer_is_an_empty_list_and_not_an_unknown_one,
					setup, teardown),
	cmocka_unit_test_setup_teardown(a_resource_without_devices_is_told, setup, teardown),
	cmocka_unit_test_setup_teardown(an_answer_that_ends_within_a_field_is_refused, setup,
					teardown),
	cmocka_unit_test_setup_teardown(names_may_follow_what_they_name, setup, teardown),
	cmocka_unit_test_setup_teardown(devices_of_nobody_are_refused, setup, teardown),
	cmocka_unit_test_setup_teardown(an_answer_cut_anywhere_is_refused_or_lacks_parts, setup,
					teardown),
	cmocka_unit_test_setup_teardown(any_changed_byte_is_survived, setup, teardown),
	cmocka_unit_test_setup_teardown(running_out_of_memory_anywhere_changes_nothing, setup,
					teardown),
};

TEST_MAIN(tests)
