/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "io/known_addresses.h"
#include "lib/failing_malloc.h"

static struct view address(char last)
{
	static char bytes[128][KNOWN_ADDRESSES_SIZE];
	bytes[(int)last][15] = last;
	return (struct view){bytes[(int)last], KNOWN_ADDRESSES_SIZE};
}

static void an_address_is_known_for_an_hour_after_the_last_good_client(void **state)
{
	(void)state;
	struct known_addresses known;
	known_addresses_init(&known, 10);
	assert_false(known_addresses_has(&known, address(1), 0));
	known_addresses_add(&known, address(1), 5);
	assert_true(known_addresses_has(&known, address(1), 5 + KNOWN_ADDRESSES_FOR_MS - 1));
	assert_false(known_addresses_has(&known, address(1), 5 + KNOWN_ADDRESSES_FOR_MS));
	assert_false(known_addresses_has(&known, address(2), 5));
	known_addresses_add(&known, address(1), 100);
	assert_true(known_addresses_has(&known, address(1), 100 + KNOWN_ADDRESSES_FOR_MS - 1));
	assert_int_equal(known.table.count, 1);
	known_addresses_deinit(&known);
}

static void the_one_used_longest_ago_makes_room(void **state)
{
	(void)state;
	struct known_addresses known;
	known_addresses_init(&known, 3);
	for (char i = 1; i <= 3; i++)
		known_addresses_add(&known, address(i), 1);
	known_addresses_add(&known, address(1), 2);
	known_addresses_add(&known, address(4), 3);
	assert_true(known_addresses_has(&known, address(1), 3));
	assert_false(known_addresses_has(&known, address(2), 3));
	assert_true(known_addresses_has(&known, address(3), 3));
	assert_true(known_addresses_has(&known, address(4), 3));
	known_addresses_deinit(&known);
}

static void with_no_room_at_all_nobody_is_known(void **state)
{
	(void)state;
	struct known_addresses known;
	known_addresses_init(&known, 0);
	known_addresses_add(&known, address(1), 1);
	assert_false(known_addresses_has(&known, address(1), 1));
	known_addresses_deinit(&known);
}

static void without_memory_it_is_not_remembered(void **state)
{
	(void)state;
	bool failed = true;
	for (unsigned k = 1; failed; k++) {
		struct known_addresses known;
		known_addresses_init(&known, 3);
		failing_malloc_at(k);
		known_addresses_add(&known, address(1), 1);
		failed = failing_malloc_off();
		assert_int_equal(known_addresses_has(&known, address(1), 1), !failed);
		known_addresses_deinit(&known);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_address_is_known_for_an_hour_after_the_last_good_client),
	cmocka_unit_test(the_one_used_longest_ago_makes_room),
	cmocka_unit_test(with_no_room_at_all_nobody_is_known),
	cmocka_unit_test(without_memory_it_is_not_remembered),
};
TEST_MAIN(tests)
