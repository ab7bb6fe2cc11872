/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "intent/mig_config.h"

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
			mig_config_part_of(&layout, rows[i].index, VIEW(""), &is_uncertain);

		assert_ptr_equal(part, rows[i].found < 0 ? NULL : &rows[i].parts[rows[i].found]);
		assert_int_equal(is_uncertain, rows[i].is_uncertain);
	}
}

#define PCI_FILTER(...)                                                                       \
	{.is_for_all = true,                                                                  \
	 .filters = {(struct view[]){__VA_ARGS__},                                            \
		     ARRAY_SIZE(((const struct view[]){__VA_ARGS__})), true}}

TEST(a_filter_lets_the_devices_through_that_it_names)
{
	const struct {
		struct mig_config_part part;
		const char *id;
		enum { STOPS, MAY_PASS, PASSES } passing;
	} rows[] = {
		{PCI_FILTER(VIEW("0x20B010DE")), "0x20B010DE", PASSES},
		{PCI_FILTER(VIEW("0x20b010de")), "0x20B010DE", PASSES},
		{PCI_FILTER(VIEW("0X020B0")), "0x000020B0", PASSES},
		{PCI_FILTER(VIEW("0x20B010DE")), "0x20B110DE", STOPS},
		{PCI_FILTER(VIEW("0x20B010DE")), "0x20B010DF", STOPS},
		{PCI_FILTER(VIEW("0xA0B010DE")), "0x20B010DE", STOPS},
		{PCI_FILTER(VIEW("0xabcdef")), "0xABCDEF", PASSES},
		{PCI_FILTER(VIEW("0xA")), "0x0", STOPS},
		{PCI_FILTER(VIEW("0x10")), "0x8", STOPS},
		{PCI_FILTER(VIEW("0x233010DE"), VIEW("0x20B010DE")), "0x20B010DE", PASSES},
		{PCI_FILTER(VIEW("0x20B010DE"), VIEW("0x233010DE")), "0x20B010DE", PASSES},
		{PCI_FILTER(VIEW("0x233010DE"), VIEW("0x233110DE")), "0x20B010DE", STOPS},
		{PCI_FILTER(VIEW("0x20B010DE")), "", MAY_PASS},
		{PCI_FILTER(VIEW("0x20B010DE")), "A100", MAY_PASS},
		{PCI_FILTER(VIEW("A100")), "0x20B010DE", MAY_PASS},
		{PCI_FILTER(VIEW("")), "0x20B010DE", MAY_PASS},
		{PCI_FILTER(VIEW("0x")), "0x0", MAY_PASS},
		{PCI_FILTER(VIEW("0x0000000G")), "0x0", MAY_PASS},
		{PCI_FILTER(VIEW("0x020B010DE")), "0x20B010DE", MAY_PASS},
		{PCI_FILTER(VIEW("548409566")), "0x20B010DE", MAY_PASS},
		{PCI_FILTER(VIEW("A100"), VIEW("0x20B010DE")), "0x20B010DE", PASSES},
		{PCI_FILTER(VIEW("0x20B010DE"), VIEW("A100")), "0x20B010DE", PASSES},
		{PCI_FILTER(VIEW("A100"), VIEW("0x233010DE")), "0x20B010DE", MAY_PASS},
		{PCI_FILTER(VIEW("0x20B010DE:0x134F10DE")), "0x20B010DE", MAY_PASS},
		{PCI_FILTER(VIEW("0x20B010DE:0x134F10DE")), "0x233010DE", STOPS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct mig_config layout = {.parts = array_of(&rows[i].part, 1)};
		bool is_uncertain = rows[i].passing != MAY_PASS;
		const struct mig_config_part *part = mig_config_part_of(
			&layout, 0, view_from(rows[i].id), &is_uncertain);

		if ((part != NULL) != (rows[i].passing != STOPS) ||
		    is_uncertain != (rows[i].passing == MAY_PASS))
			fail_msg("row %zu", i);
	}
}

TEST(a_later_part_that_a_filter_keeps_from_a_device_overrides_nothing)
{
	static int64_t first[] = {0};
	static struct view unknown = VIEW_INIT("A100");
	const struct {
		struct mig_config_part parts[3];
		int found; /* -1: none */
		bool is_uncertain;
	} rows[] = {
		{{PCI_FILTER(VIEW("0x20B010DE")), PCI_FILTER(VIEW("0x233010DE"))}, 0, false},
		{{{.is_for_all = true}, PCI_FILTER(VIEW("0x233010DE"))}, 0, false},
		{{PCI_FILTER(VIEW("A100")), PCI_FILTER(VIEW("0x20B010DE"))}, 1, false},
		{{PCI_FILTER(VIEW("0x20B010DE")), PCI_FILTER(VIEW("A100"))}, 1, true},
		{{PCI_FILTER(VIEW("A100")), PCI_FILTER(VIEW("0x233010DE"))}, 0, true},
		{{PCI_FILTER(VIEW("0x233010DE")), PCI_FILTER(VIEW("0x233110DE"))}, -1, false},
		{{{.is_for_all = true}, {.is_for_all = true}, PCI_FILTER(VIEW("0x233010DE"))}, 1,
		 false},
		{{{.is_for_all = true},
		  {.indices = {first, 1, true}, .filters = {&unknown, 1, true}}},
		 0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const bool has_third = rows[i].parts[2].is_for_all;
		const struct mig_config layout = {
			.parts = array_of(rows[i].parts, has_third ? 3 : 2)};
		bool is_uncertain = !rows[i].is_uncertain;
		const struct mig_config_part *part = mig_config_part_of(
			&layout, 1, VIEW("0x20B010DE"), &is_uncertain);

		assert_ptr_equal(part, rows[i].found < 0 ? NULL : &rows[i].parts[rows[i].found]);
		assert_int_equal(is_uncertain, rows[i].is_uncertain);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_layout_is_found_by_its_name),
	cmocka_unit_test(the_last_part_that_is_for_a_device_counts),
	cmocka_unit_test(a_filter_lets_the_devices_through_that_it_names),
	cmocka_unit_test(a_later_part_that_a_filter_keeps_from_a_device_overrides_nothing),
};
TEST_MAIN(tests)
