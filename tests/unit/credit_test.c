/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/credit.h"

static const struct credit_rate rate = {5, 4};

static unsigned draw_all(struct credit *credit, uint64_t now_ms)
{
	unsigned n = 0;
	while (n < 1000 && credit_draw(credit, rate, 1, now_ms))
		n++;
	return n;
}

static void it_begins_full_and_gives_no_more_than_its_rate_after_that(void **state)
{
	(void)state;
	struct credit credit = credit_full(rate, 1000);
	assert_int_equal(draw_all(&credit, 1000), 20);
	assert_int_equal(draw_all(&credit, 1199), 0);
	assert_int_equal(draw_all(&credit, 1200), 1);
	assert_int_equal(draw_all(&credit, 2200), 5);
}

static void it_never_holds_more_than_its_brim(void **state)
{
	(void)state;
	struct credit credit = credit_full(rate, 0);
	assert_int_equal(draw_all(&credit, UINT64_MAX / 2), 20);
}

static void who_asks_for_too_much_draws_nothing(void **state)
{
	(void)state;
	struct credit credit = credit_full(rate, 0);
	assert_false(credit_draw(&credit, rate, 21, 0));
	assert_true(credit_draw(&credit, rate, 20, 0));
	assert_false(credit_draw(&credit, rate, 1, 0));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(it_begins_full_and_gives_no_more_than_its_rate_after_that),
	cmocka_unit_test(it_never_holds_more_than_its_brim),
	cmocka_unit_test(who_asks_for_too_much_draws_nothing),
};
TEST_MAIN(tests)
