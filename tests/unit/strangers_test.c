/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "io/strangers.h"
#include "lib/failing_malloc.h"

#define CAP 6
#define CAP_OF_NETWORK 2

static enum strangers_step ask(const struct strangers *strangers, const char *network,
			       struct stranger **ret_first)
{
	*ret_first = NULL;
	return strangers_ask(strangers, view_from(network), ret_first);
}

static void enter(struct strangers *strangers, struct stranger *stranger, const char *network)
{
	struct stranger *first;
	assert_int_equal(ask(strangers, network, &first), STRANGERS_ROOM);
	assert_true(strangers_enter(strangers, stranger, view_from(network)));
}

static void of_a_network_that_is_full_who_came_first_goes(void **state)
{
	(void)state;
	struct strangers strangers;
	struct stranger items[3] = {0}, *first;
	strangers_init(&strangers, CAP, CAP_OF_NETWORK);
	enter(&strangers, &items[0], "b");
	enter(&strangers, &items[1], "a");
	enter(&strangers, &items[2], "a");
	assert_int_equal(ask(&strangers, "a", &first), STRANGERS_EVICT);
	assert_ptr_equal(first, &items[1]);
	assert_int_equal(ask(&strangers, "b", &first), STRANGERS_ROOM);
	strangers_leave(&strangers, &items[1]);
	assert_int_equal(ask(&strangers, "a", &first), STRANGERS_ROOM);
	strangers_leave(&strangers, &items[0]);
	strangers_leave(&strangers, &items[2]);
	assert_int_equal(strangers.networks.count, 0);
	strangers_deinit(&strangers);
}

static void when_all_are_full_who_came_first_of_all_goes(void **state)
{
	(void)state;
	static const char *const networks[CAP] = {"a", "a", "b", "b", "c", "c"};
	struct strangers strangers;
	struct stranger items[CAP] = {0}, *first;
	strangers_init(&strangers, CAP, CAP_OF_NETWORK);
	for (int i = 0; i < CAP; i++)
		enter(&strangers, &items[i], networks[i]);
	assert_int_equal(ask(&strangers, "new", &first), STRANGERS_EVICT);
	assert_ptr_equal(first, &items[0]);
	assert_int_equal(ask(&strangers, "c", &first), STRANGERS_EVICT);
	assert_ptr_equal(first, &items[4]);
	for (int i = 0; i < CAP; i++)
		strangers_leave(&strangers, &items[i]);
	assert_null(strangers_first(&strangers));
	strangers_deinit(&strangers);
}

static void who_is_held_counts_and_does_not_go(void **state)
{
	(void)state;
	struct strangers strangers;
	struct stranger items[2] = {0}, *first;
	strangers_init(&strangers, CAP, CAP_OF_NETWORK);
	enter(&strangers, &items[0], "a");
	enter(&strangers, &items[1], "a");
	strangers_hold(&items[0]);
	assert_int_equal(ask(&strangers, "a", &first), STRANGERS_EVICT);
	assert_ptr_equal(first, &items[1]);
	strangers_hold(&items[1]);
	assert_int_equal(ask(&strangers, "a", &first), STRANGERS_FULL);
	strangers_release(&strangers, &items[1]);
	strangers_release(&strangers, &items[0]);
	strangers_release(&strangers, &items[0]);
	assert_ptr_equal(strangers_first(&strangers), &items[1]);
	strangers_leave(&strangers, &items[1]);
	strangers_hold(&items[0]);
	strangers_leave(&strangers, &items[0]);
	/* Who is none has nothing to leave. */
	strangers_leave(&strangers, &items[0]);
	strangers_hold(&items[0]);
	strangers_release(&strangers, &items[0]);
	assert_int_equal(strangers.count, 0);
	strangers_deinit(&strangers);
}

static void without_memory_nobody_enters(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct strangers strangers;
		struct stranger item = {0};
		strangers_init(&strangers, CAP, CAP_OF_NETWORK);
		failing_malloc_at(k);
		bool entered = strangers_enter(&strangers, &item, VIEW("a"));
		failed = failing_malloc_off();
		assert_int_equal(entered, !failed);
		assert_int_equal(strangers.count, entered);
		strangers_leave(&strangers, &item);
		strangers_deinit(&strangers);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(of_a_network_that_is_full_who_came_first_goes),
	cmocka_unit_test(when_all_are_full_who_came_first_of_all_goes),
	cmocka_unit_test(who_is_held_counts_and_does_not_go),
	cmocka_unit_test(without_memory_nobody_enters),
};
TEST_MAIN(tests)
