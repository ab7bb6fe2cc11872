/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/uuid_prefix.h"
#include "lib/failing_malloc.h"

static void a_uuid_may_be_short_of_its_end_its_kind_and_its_case(void **state)
{
	(void)state;
	struct attribution_partition partitions[] = {{.uuid = VIEW("MIG-5C89852c-d268")}};
	struct attribution device = {.uuid = VIEW("GPU-11ba558D-3437"),
				     .status = {.partitions = {partitions, 1, true}}};
	static const struct {
		const char *text;
		bool fits;
	} rows[] = {
		{"GPU-11ba558D-3437", true}, {"gpu-11BA558d", true}, {"11ba", true}, {"1", true},
		{"MIG-5c8", true},           {"5c89852c-d268", true}, {"", true},
		{"GPU-11ba558D-34370", false}, {"1ba", false}, {"558D", false}, {"GPU-5c8", false},
		{"MIG-11ba", false},         {"6", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(uuid_prefix_fits(view_from(rows[i].text), &device), rows[i].fits);
}

static void a_whole_uuid_is_the_name_of_an_object(void **state)
{
	(void)state;
	char name[UUID_PREFIX_NAME_SIZE] = "untouched";
	assert_false(uuid_prefix_object_name(VIEW("GPU-11ba558d"), name));
	assert_false(uuid_prefix_object_name(VIEW("MIG-11BA558d-3437-2335-2fd8-a78c8502f87f"), name));
	assert_false(uuid_prefix_object_name(VIEW("GPU-11BA558d-3437-2335-2fd8-a78c8502f87f0"), name));
	assert_string_equal(name, "untouched");
	assert_true(uuid_prefix_object_name(VIEW("GPU-11BA558d-3437-2335-2fd8-a78c8502f87f"), name));
	assert_string_equal(name, "gpu-11ba558d-3437-2335-2fd8-a78c8502f87f");
}

static void add(struct uuid_prefix *known, const char *uuid)
{
	struct error err;
	assert_int_equal(uuid_prefix_add(known, view_from(uuid), &err), 0);
}

static void assert_len(struct uuid_prefix *known, const char *uuid, const char *expected)
{
	struct view view = view_from(uuid);
	view.len = uuid_prefix_len(known, view);
	if (!view_equal(view, view_from(expected)))
		fail_msg("%.*s is not %s", VIEW_ARG(view), expected);
}

static void a_uuid_is_shown_as_far_as_it_differs_from_all_that_are_known(void **state)
{
	(void)state;
	CLEANUP(uuid_prefix_deinit) struct uuid_prefix known;
	uuid_prefix_init(&known);
	assert_len(&known, "GPU-11ba558d-3437", "GPU-11ba558d");
	add(&known, "gpu-11ba558d-3437");
	add(&known, "GPU-11BA558D-3437");
	assert_len(&known, "GPU-11ba558d-3437", "GPU-11ba558d");
	add(&known, "gpu-11ba558d-3499");
	add(&known, "gpu-00000000-0000");
	assert_len(&known, "GPU-11ba558d-3437", "GPU-11ba558d-343");
	assert_len(&known, "GPU-11ba558d-3499", "GPU-11ba558d-349");
	assert_len(&known, "GPU-00000000-0000", "GPU-00000000");
	add(&known, "gpu-11ba558d-34373");
	assert_len(&known, "GPU-11ba558d-3437", "GPU-11ba558d-3437");
	assert_len(&known, "GPU-11ba558d-34373", "GPU-11ba558d-34373");
	assert_len(&known, "GPU-1", "GPU-1");
}

static void what_is_shown_of_a_uuid_begins_no_other(void **state)
{
	(void)state;
	enum { N = 500 };
	static char names[N][41];
	CLEANUP(uuid_prefix_deinit) struct uuid_prefix known;
	uint32_t random = 1;
	uuid_prefix_init(&known);
	for (size_t i = 0; i < N; i++) {
		random = random * 1664525u + 1013904223u;
		snprintf(names[i], sizeof(names[i]), "GPU-0000%04x-%04x-0000-0000-%012x",
			 random >> 24, random >> 28, (unsigned)i);
		add(&known, names[i]);
	}
	for (size_t i = 0; i < N; i++) {
		size_t n = uuid_prefix_len(&known, view_from(names[i]));
		for (size_t j = 0; j < N; j++)
			assert_true(i == j || strncmp(names[i], names[j], n) != 0);
		bool is_shortest = n == UUID_PREFIX_MIN;
		for (size_t j = 0; j < N && !is_shortest; j++)
			is_shortest = i != j && strncmp(names[i], names[j], n - 1) == 0;
		assert_true(is_shortest);
	}
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		CLEANUP(uuid_prefix_deinit) struct uuid_prefix known;
		struct error err;
		uuid_prefix_init(&known);
		failing_malloc_at(k);
		int result = uuid_prefix_add(&known, VIEW("gpu-1"), &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_uuid_is_shown_as_far_as_it_differs_from_all_that_are_known),
	cmocka_unit_test(what_is_shown_of_a_uuid_begins_no_other),
	cmocka_unit_test(missing_memory_is_said),
	cmocka_unit_test(a_uuid_may_be_short_of_its_end_its_kind_and_its_case),
	cmocka_unit_test(a_whole_uuid_is_the_name_of_an_object),
};
TEST_MAIN(tests)
