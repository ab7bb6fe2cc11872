/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/uuid_prefix.h"

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

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_uuid_may_be_short_of_its_end_its_kind_and_its_case),
	cmocka_unit_test(a_whole_uuid_is_the_name_of_an_object),
};
TEST_MAIN(tests)
