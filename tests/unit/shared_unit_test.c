/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/shared_unit.h"

static void a_unit_is_shared_that_two_pods_have_of_which_one_is_kept(void **state)
{
	static const struct {
		const char *what;
		struct shared_unit_seat seats[4];
		size_t n;
		bool is_shared;
	} rows[] = {
		{"nobody", {{{0}}}, 0, false},
		{"one pod", {{VIEW_INIT("m1"), VIEW_INIT("a"), true}}, 1, false},
		{"two containers of a pod",
		 {{VIEW_INIT("m1"), VIEW_INIT("a"), true}, {VIEW_INIT("m1"), VIEW_INIT("a"), false}}, 2, false},
		{"two that are seen",
		 {{VIEW_INIT("m1"), VIEW_INIT("a"), false}, {VIEW_INIT("m1"), VIEW_INIT("b"), false}}, 2, false},
		{"the first is kept",
		 {{VIEW_INIT("m1"), VIEW_INIT("a"), true}, {VIEW_INIT("m1"), VIEW_INIT("b"), false}}, 2, true},
		{"the last is kept",
		 {{VIEW_INIT("m1"), VIEW_INIT("a"), false}, {VIEW_INIT("m1"), VIEW_INIT("b"), true}}, 2, true},
		{"of the whole device", {{{0}, VIEW_INIT("b"), true}, {{0}, VIEW_INIT("a"), true}}, 2, true},
		{"different units",
		 {{VIEW_INIT("m1"), VIEW_INIT("a"), true}, {VIEW_INIT("m2"), VIEW_INIT("b"), true}}, 2, false},
		{"kept in one unit, two in another",
		 {{VIEW_INIT("m1"), VIEW_INIT("a"), true},
		  {VIEW_INIT("m2"), VIEW_INIT("a"), false},
		  {VIEW_INIT("m2"), VIEW_INIT("b"), false},
		  {VIEW_INIT("m3"), VIEW_INIT("b"), true}},
		 4, false},
		{"in any order",
		 {{VIEW_INIT("m2"), VIEW_INIT("b"), false},
		  {VIEW_INIT("m1"), VIEW_INIT("c"), false},
		  {VIEW_INIT("m2"), VIEW_INIT("a"), true}},
		 3, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct shared_unit_seat seats[4];
		memcpy(seats, rows[i].seats, sizeof(seats));
		if (shared_unit_is_any(seats, rows[i].n) != rows[i].is_shared)
			fail_msg("%s", rows[i].what);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_unit_is_shared_that_two_pods_have_of_which_one_is_kept),
};
TEST_MAIN(tests)
