/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "io/fetch_lookups.h"

static struct error err;

static struct fetch_lookups left(unsigned n, uint64_t at)
{
	struct fetch_lookups lookups = {0};
	for (unsigned i = 0; i < n; i++)
		fetch_lookups_leave(&lookups, at + i);
	return lookups;
}

static void a_lookup_may_begin_while_few_were_left(void **state)
{
	(void)state;
	const struct fetch_lookups none = {0};
	const struct fetch_lookups few = left(FETCH_LOOKUPS_LEFT - 1, 1000);
	assert_int_equal(fetch_lookups_check(&none, 1, &err), 0);
	assert_int_equal(fetch_lookups_check(&few, 1100, &err), 0);
}

static void no_lookup_begins_after_too_many_were_left(void **state)
{
	(void)state;
	const struct fetch_lookups many = left(FETCH_LOOKUPS_LEFT, 1000);
	assert_int_equal(fetch_lookups_check(&many, 1000 + 119999, &err), -1);
	assert_int_equal(err.kind, ERROR_RETRY);
	assert_string_equal(err.text,
			    "no name server answers: 16 lookups were given up in the last 120 s");
}

static void a_lookup_may_begin_when_the_oldest_is_two_minutes_old(void **state)
{
	(void)state;
	struct fetch_lookups many = left(FETCH_LOOKUPS_LEFT, 1000);
	assert_int_equal(fetch_lookups_check(&many, 1000 + 120000, &err), 0);
	fetch_lookups_leave(&many, 1000 + 120000);
	/* Now the second is the oldest. */
	assert_int_equal(fetch_lookups_check(&many, 1000 + 120000, &err), -1);
	assert_int_equal(fetch_lookups_check(&many, 1000 + 120001, &err), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_lookup_may_begin_while_few_were_left),
	cmocka_unit_test(no_lookup_begins_after_too_many_were_left),
	cmocka_unit_test(a_lookup_may_begin_when_the_oldest_is_two_minutes_old),
};

TEST_MAIN(tests)
