/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "assess/process_set.h"

static void a_process_is_new_on_each_partition_once(void **state)
{
	static const struct report_process processes[] = {
		{.pid = 1},
		{.pid = 2},
		{.pid = 1, .kind = REPORT_PROCESS_GRAPHICS},
		{.pid = 1, .partition = VIEW_INIT("m1")},
		{.pid = 1, .partition = VIEW_INIT("m2")},
		{.pid = 1, .partition = VIEW_INIT("m1")},
		{.pid = 2},
		{.pid = 3},
		{.pid = 2},
	};
	static const bool are_new[] = {true, true, false, true, true, false, false, true, false};
	CLEANUP(arena_deinit) struct arena arena;
	struct keyed seen = {.arena = &arena};

	(void)state;
	arena_init(&arena, 1u << 20);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		assert_int_equal(process_set_add(&seen, &processes[i]), are_new[i]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_process_is_new_on_each_partition_once),
};
TEST_MAIN(tests)
