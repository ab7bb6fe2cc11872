/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/event_quota.h"

#define MINUTE UINT64_C(60000)
#define PER_MINUTE 3

static struct event_quota quota;

static int set_up(void **state)
{
	(void)state;
	event_quota_init(&quota, PER_MINUTE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	event_quota_deinit(&quota);
	return 0;
}

static void a_node_may_write_so_often_in_any_minute(void **state)
{
	struct event_quota_node *node = event_quota_use(&quota, VIEW("a"), 0);

	(void)state;
	for (uint64_t i = 0; i < PER_MINUTE; i++) {
		assert_true(event_quota_allowed_at(node) == 0);
		event_quota_count(&quota, node, 1000 * i);
	}
	assert_in_range(event_quota_allowed_at(node), MINUTE, MINUTE + 1);
	event_quota_count(&quota, node, MINUTE + 1);
	assert_int_equal(event_quota_allowed_at(node), MINUTE + 1000);
	event_quota_leave(&quota, node);
}

static void who_leaves_a_node_and_comes_back_finds_its_writes(void **state)
{
	uint64_t now = 1;

	(void)state;
	for (unsigned i = 0; i < PER_MINUTE; i++, now += 1000) {
		struct event_quota_node *node = event_quota_use(&quota, VIEW("a"), now);

		assert_true(event_quota_allowed_at(node) <= now);
		event_quota_count(&quota, node, now);
		event_quota_leave(&quota, node);
	}
	struct event_quota_node *node = event_quota_use(&quota, VIEW("a"), now);
	assert_int_equal(event_quota_allowed_at(node), 1 + MINUTE);
	event_quota_leave(&quota, node);
}

static void a_node_that_is_not_used_is_forgotten_a_minute_after_its_last_write(void **state)
{
	struct event_quota_node *node = event_quota_use(&quota, VIEW("a"), 1);

	(void)state;
	event_quota_leave(&quota, node); /* it wrote nothing */
	assert_int_equal(quota.nodes.count, 0);
	node = event_quota_use(&quota, VIEW("a"), 1);
	event_quota_count(&quota, node, 1);
	event_quota_leave(&quota, node);
	event_quota_leave(&quota, event_quota_use(&quota, VIEW("b"), MINUTE));
	assert_int_equal(quota.nodes.count, 1);
	event_quota_leave(&quota, event_quota_use(&quota, VIEW("b"), MINUTE + 1));
	assert_int_equal(quota.nodes.count, 0);
}

static void a_node_that_is_used_stays(void **state)
{
	struct event_quota_node *node = event_quota_use(&quota, VIEW("a"), 1);

	(void)state;
	assert_ptr_equal(event_quota_use(&quota, VIEW("a"), 1), node);
	event_quota_count(&quota, node, 1);
	event_quota_leave(&quota, node);
	assert_ptr_equal(event_quota_use(&quota, VIEW("a"), 9 * MINUTE), node);
	event_quota_leave(&quota, node);
	event_quota_leave(&quota, node);
}

static void nodes_are_bounded(void **state)
{
	struct event_quota_node *first = NULL;
	char name[16];

	(void)state;
	for (unsigned i = 0; i < LIMIT_EVENT_SERIES; i++) {
		snprintf(name, sizeof(name), "node-%u", i);
		struct event_quota_node *node = event_quota_use(&quota, view_from(name), 1);

		assert_non_null(node);
		first = first ? first : node;
		event_quota_count(&quota, node, 1);
		event_quota_leave(&quota, node);
	}
	assert_null(event_quota_use(&quota, VIEW("more"), 1));
	assert_ptr_equal(event_quota_use(&quota, VIEW("node-0"), 1), first);
	event_quota_leave(&quota, first);
}

static void without_memory_there_is_no_node(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= 2; k++) {
		failing_malloc_at(k);
		assert_null(event_quota_use(&quota, VIEW("a"), 1));
		assert_true(failing_malloc_off());
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_node_may_write_so_often_in_any_minute),
	cmocka_unit_test_set_up(who_leaves_a_node_and_comes_back_finds_its_writes),
	cmocka_unit_test_set_up(a_node_that_is_not_used_is_forgotten_a_minute_after_its_last_write),
	cmocka_unit_test_set_up(a_node_that_is_used_stays),
	cmocka_unit_test_set_up(nodes_are_bounded),
	cmocka_unit_test_set_up(without_memory_there_is_no_node),
};
TEST_MAIN(tests)
