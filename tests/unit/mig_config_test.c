/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "model/mig_config.h"

TEST(a_layout_is_found_by_its_name)
{
	const struct mig_config layouts[] = {{.name = VIEW_INIT("all-disabled")},
					     {.name = VIEW_INIT("all-1g.10gb")}};
	const struct mig_configs configs = {.layouts = array_of(layouts, 2)};

	assert_ptr_equal(mig_config_find(&configs, VIEW("all-1g.10gb")), &layouts[1]);
	assert_null(mig_config_find(&configs, VIEW("all-1g")));
}

TEST(the_last_part_that_is_for_a_device_counts)
{
	int64_t first[] = {0}, second[] = {1}, both[] = {0, 1};
	struct view filter = VIEW("0x20B010DE");
	const struct {
		struct mig_config_part parts[2];
		int64_t index;
		int found; /* -1: none */
		bool is_uncertain;
	} rows[] = {
		{{{.is_for_all = true}, {.indices = {second, 1, true}}}, 0, 0, false},
		{{{.is_for_all = true}, {.indices = {second, 1, true}}}, 1, 1, false},
		{{{.indices = {first, 1, true}}, {.indices = {second, 1, true}}}, 2, -1, false},
		{{{.indices = {both, 2, true}}, {.indices = {first, 1, true}}}, 1, 0, false},
		{{{.is_for_all = true, .filters = {&filter, 1, true}}, {.is_for_all = true}}, 0, 1,
		 false},
		{{{.is_for_all = true}, {.is_for_all = true, .filters = {&filter, 1, true}}}, 0, 1,
		 true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct mig_config layout = {.parts = array_of(rows[i].parts, 2)};
		bool is_uncertain = !rows[i].is_uncertain;
		const struct mig_config_part *part =
			mig_config_part_of(&layout, rows[i].index, &is_uncertain);

		assert_ptr_equal(part, rows[i].found < 0 ? NULL : &rows[i].parts[rows[i].found]);
		assert_int_equal(is_uncertain, rows[i].is_uncertain);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_layout_is_found_by_its_name),
	cmocka_unit_test(the_last_part_that_is_for_a_device_counts),
};
TEST_MAIN(tests)
