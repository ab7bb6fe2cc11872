/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "schema/quantity.h"

static void whole_amounts_are_read_in_every_notation(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t amount;
	} rows[] = {
		{"0", 0},         {"8", 8},         {"1k", 1000},
		{"12M", 12000000}, {"2Ki", 2048},    {"1Ei", INT64_C(1) << 60},
		{"12e3", 12000},  {"1E2", 100},     {"9E", INT64_C(9000000000000000000)},
		{"5e0", 5},       {"9223372036854775807", INT64_MAX},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t amount = -1;
		assert_true(quantity_parse(view_from(rows[i].text), &amount));
		assert_int_equal(amount, rows[i].amount);
	}
}

static void everything_else_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"", "k", "-1", "+1", "1.5k", "500m", "1 ", " 1", "1K", "1kk", "0x10", "1e", "1e-3",
		"1e19", "8Ei", "10E", "9223372036854775808", "99999999999999999999", "1e3k",
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t amount = 77;
		if (quantity_parse(view_from(rows[i]), &amount))
			fail_msg("'%s' was read as %lld", rows[i], (long long)amount);
		assert_int_equal(amount, 77);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(whole_amounts_are_read_in_every_notation),
	cmocka_unit_test(everything_else_is_refused_and_changes_nothing),
};

TEST_MAIN(tests)
