/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/report_order.h"

static struct report_order_mark mark(const char *boot, int64_t instance, int64_t sequence)
{
	return (struct report_order_mark){view_from(boot), instance, sequence};
}

static bool offer(struct report_order *order, const char *boot, int64_t instance, int64_t sequence)
{
	const struct report_order_mark m = mark(boot, instance, sequence);
	bool is_new = report_order_is_new(order, &m);
	if (is_new)
		report_order_accept(order, &m);
	return is_new;
}

static void the_first_report_is_new_whatever_it_says(void **state)
{
	(void)state;
	struct report_order order = {0};
	assert_true(offer(&order, "boot-a", 0, 0));
	struct report_order other = {0};
	assert_true(offer(&other, "boot-a", INT64_MAX, INT64_MAX));
}

static void within_a_boot_instance_and_sequence_rise(void **state)
{
	(void)state;
	static const struct {
		int64_t instance, sequence;
		bool is_new;
	} rows[] = {
		{5, 5, true},  {5, 5, false}, {5, 4, false}, {5, 6, true},  {5, 900, true},
		{4, 1000, false}, {6, 1, true}, {5, 901, false}, {6, 1, false}, {6, 2, true},
	};
	struct report_order order = {0};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(offer(&order, "boot", rows[i].instance, rows[i].sequence),
				 rows[i].is_new);
}

static void a_new_boot_is_newer_than_any_sequence(void **state)
{
	(void)state;
	struct report_order order = {0};
	assert_true(offer(&order, "a", 100, 100));
	assert_true(offer(&order, "b", 1, 1));
	assert_false(offer(&order, "b", 1, 1));
	assert_true(offer(&order, "b", 1, 2));
}

static void the_last_four_boots_before_never_come_back(void **state)
{
	(void)state;
	static const char *const boots[] = {"a", "b", "c", "d", "e"};
	struct report_order order = {0};
	for (size_t i = 0; i < ARRAY_SIZE(boots); i++)
		assert_true(offer(&order, boots[i], 1, 1));
	for (size_t i = 0; i + 1 < ARRAY_SIZE(boots); i++)
		assert_false(offer(&order, boots[i], 1000, 1000));
	assert_true(offer(&order, "f", 1, 1));
	assert_false(offer(&order, "e", 1000, 1000));
	assert_false(offer(&order, "b", 1000, 1000));
	/* The fifth is forgotten: a node has to be bounded somewhere. */
	assert_true(offer(&order, "a", 1, 1));
}

static void asking_changes_nothing(void **state)
{
	(void)state;
	struct report_order order = {0};
	assert_true(offer(&order, "a", 1, 1));
	const struct report_order before = order;
	const struct report_order_mark next = mark("b", 2, 2);
	assert_true(report_order_is_new(&order, &next));
	assert_memory_equal(&order, &before, sizeof(order));
}

static void boots_differ_in_every_byte_of_their_length(void **state)
{
	(void)state;
	struct report_order order = {0};
	assert_true(offer(&order, "boot", 9, 9));
	assert_true(offer(&order, "boo", 1, 1));
	assert_true(offer(&order, "boot2", 1, 1));
	assert_false(offer(&order, "boo", 2, 2));
}

static void an_instance_is_known_by_boot_and_number(void **state)
{
	(void)state;
	struct report_order order = {0};
	assert_false(report_order_is_instance(&order, VIEW(""), 0));
	assert_true(offer(&order, "a", 7, 1));
	assert_true(report_order_is_instance(&order, VIEW("a"), 7));
	assert_false(report_order_is_instance(&order, VIEW("a"), 8));
	assert_false(report_order_is_instance(&order, VIEW("b"), 7));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_first_report_is_new_whatever_it_says),
	cmocka_unit_test(within_a_boot_instance_and_sequence_rise),
	cmocka_unit_test(a_new_boot_is_newer_than_any_sequence),
	cmocka_unit_test(the_last_four_boots_before_never_come_back),
	cmocka_unit_test(asking_changes_nothing),
	cmocka_unit_test(boots_differ_in_every_byte_of_their_length),
	cmocka_unit_test(an_instance_is_known_by_boot_and_number),
};
TEST_MAIN(tests)
