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

static void what_is_given_back_can_be_drawn_again_and_is_not_saved_up(void **state)
{
	(void)state;
	struct credit credit = credit_full(rate, 0);
	assert_int_equal(draw_all(&credit, 0), 20);
	credit_return(&credit, 3);
	assert_int_equal(draw_all(&credit, 0), 3);
	credit_return(&credit, 100);
	assert_int_equal(draw_all(&credit, 0), 20);
}

static void who_asks_for_too_much_draws_nothing(void **state)
{
	(void)state;
	struct credit credit = credit_full(rate, 0);
	assert_false(credit_draw(&credit, rate, 21, 0));
	assert_true(credit_draw(&credit, rate, 20, 0));
	assert_false(credit_draw(&credit, rate, 1, 0));
}

static void who_waits_as_long_as_it_is_told_can_draw_and_not_before(void **state)
{
	(void)state;
	static const struct credit_rate rates[] = {{1, 5}, {3, 4}, {10, 26}, {1000, 1}};
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct credit credit = credit_full(rates[i], 0);
		uint64_t now_ms = 0;
		assert_int_equal(credit_wait_ms(credit, rates[i], 1, 0), 0);
		assert_true(credit_draw(&credit, rates[i], rates[i].per_second * rates[i].brim_s, 0));
		for (uint64_t n = 1; n <= rates[i].per_second; n++) {
			uint64_t wait_ms = credit_wait_ms(credit, rates[i], n, now_ms);
			assert_in_range(wait_ms, 1, 1000);
			assert_false(credit_draw(&credit, rates[i], n, now_ms + wait_ms - 1));
			assert_true(credit_draw(&credit, rates[i], n, now_ms + wait_ms));
			now_ms += wait_ms;
		}
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(it_begins_full_and_gives_no_more_than_its_rate_after_that),
	cmocka_unit_test(it_never_holds_more_than_its_brim),
	cmocka_unit_test(what_is_given_back_can_be_drawn_again_and_is_not_saved_up),
	cmocka_unit_test(who_asks_for_too_much_draws_nothing),
	cmocka_unit_test(who_waits_as_long_as_it_is_told_can_draw_and_not_before),
};
TEST_MAIN(tests)
