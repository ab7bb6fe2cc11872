/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/report_order.h"

static struct report_order_mark mark(const char *boot, int64_t instance, int64_t sequence)
{
	return (struct report_order_mark){view_from(boot), instance, sequence, 0};
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

/* Offers one report at an instant by the node's clock. */
static bool offer_at(struct report_order *order, const char *boot, int64_t sequence,
		     int64_t observed_at)
{
	const struct report_order_mark m = {view_from(boot), 1, sequence, observed_at};
	bool is_new = report_order_is_new(order, &m);
	if (is_new)
		report_order_accept(order, &m);
	return is_new;
}

static void restore(struct report_order *order, const char *boot, int64_t sequence,
		    int64_t observed_at)
{
	const struct report_order_mark m = {view_from(boot), 1, sequence, observed_at};
	report_order_restore(order, &m);
}

/* Both must say so: the Node may not have been written since the boot, a boot may set the clock. */
static void a_late_report_of_an_unseen_boot_is_old_where_node_and_clock_say_so(void **state)
{
	(void)state;
	static const struct {
		const char *named;
		int64_t observed_at;
		bool is_new;
	} rows[] = {
		{"b", 99, false}, {"b", 100, true}, {"b", 101, true}, {"", 99, true},
		{"a", 99, true},  {"c", 99, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report_order order = {0};
		report_order_set_named(&order, view_from(rows[i].named));
		assert_true(offer_at(&order, "b", 5, 100));
		assert_int_equal(offer_at(&order, "a", 900, rows[i].observed_at), rows[i].is_new);
		/* It is not locked out either. */
		assert_true(offer_at(&order, rows[i].is_new ? "a" : "b", 901, 200));
	}
}

static void a_boot_that_the_node_names_comes_back_above_its_own_last_report(void **state)
{
	(void)state;
	struct report_order order = {0};
	assert_true(offer_at(&order, "b", 5, 100));
	assert_true(offer_at(&order, "a", 900, 150));
	assert_false(offer_at(&order, "b", 6, 160));
	report_order_set_named(&order, VIEW("b"));
	assert_false(offer_at(&order, "b", 5, 160));
	assert_true(offer_at(&order, "b", 6, 160));
	assert_false(offer_at(&order, "a", 901, 999));
	/* The Node was behind: it names the other now. */
	report_order_set_named(&order, VIEW("a"));
	assert_false(offer_at(&order, "a", 900, 999));
	assert_true(offer_at(&order, "a", 901, 999));
	assert_false(offer_at(&order, "b", 7, 999));
}

static void a_boot_that_comes_back_takes_no_more_places_among_the_former_ones(void **state)
{
	(void)state;
	static const char *const boots[] = {"a", "b", "c", "d", "e"};
	struct report_order order = {0};
	for (size_t i = 0; i < ARRAY_SIZE(boots); i++)
		assert_true(offer(&order, boots[i], 1, 1));
	report_order_set_named(&order, VIEW("c"));
	assert_true(offer(&order, "c", 1, 2));
	report_order_set_named(&order, VIEW(""));
	for (size_t i = 0; i < ARRAY_SIZE(boots); i++)
		assert_int_equal(offer(&order, boots[i], 1, 3), boots[i][0] == 'c');
}

static void what_was_accepted_before_the_start_is_old(void **state)
{
	(void)state;
	struct report_order order = {0};
	restore(&order, "a", 41, 90);
	restore(&order, "a", 42, 100);
	restore(&order, "a", 40, 80);
	assert_false(offer_at(&order, "a", 41, 100));
	assert_false(offer_at(&order, "a", 42, 100));
	assert_true(offer_at(&order, "a", 43, 100));
	restore(&order, "a", 42, 100);
	assert_true(offer_at(&order, "a", 44, 100));
}

/* The objects of a node may rest on reports of different boots. */
static void of_two_boots_before_the_start_the_named_one_counts_else_the_later_one(void **state)
{
	(void)state;
	static const struct {
		const char *named, *last;
	} rows[] = {{"a", "a"}, {"b", "b"}, {"", "b"}, {"c", "b"}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (unsigned first = 0; first < 2; first++) {
			struct report_order order = {0};
			report_order_set_named(&order, view_from(rows[i].named));
			restore(&order, first ? "b" : "a", 5, first ? 200 : 100);
			restore(&order, first ? "a" : "b", 5, first ? 100 : 200);
			assert_true(report_order_is_instance(&order, view_from(rows[i].last), 1));
			/* Neither is closed. */
			assert_true(offer_at(&order, "a", 6, 300));
		}
	}
}

static void a_mark_without_a_boot_or_with_none_that_can_be_restores_nothing(void **state)
{
	(void)state;
	static const char too_long[LIMIT_TEXT_UUID + 2] =
		"0123456789012345678901234567890123456789012345678901234567890123x";
	const struct report_order none = {0};
	struct report_order order = {0};
	restore(&order, "", 5, 100);
	restore(&order, too_long, 5, 100);
	report_order_set_named(&order, view_from(too_long));
	assert_int_equal(order.boot.len, none.boot.len);
	assert_int_equal(order.named.len, none.named.len);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_late_report_of_an_unseen_boot_is_old_where_node_and_clock_say_so),
	cmocka_unit_test(a_boot_that_the_node_names_comes_back_above_its_own_last_report),
	cmocka_unit_test(a_boot_that_comes_back_takes_no_more_places_among_the_former_ones),
	cmocka_unit_test(what_was_accepted_before_the_start_is_old),
	cmocka_unit_test(of_two_boots_before_the_start_the_named_one_counts_else_the_later_one),
	cmocka_unit_test(a_mark_without_a_boot_or_with_none_that_can_be_restores_nothing),
	cmocka_unit_test(the_first_report_is_new_whatever_it_says),
	cmocka_unit_test(within_a_boot_instance_and_sequence_rise),
	cmocka_unit_test(a_new_boot_is_newer_than_any_sequence),
	cmocka_unit_test(the_last_four_boots_before_never_come_back),
	cmocka_unit_test(asking_changes_nothing),
	cmocka_unit_test(boots_differ_in_every_byte_of_their_length),
	cmocka_unit_test(an_instance_is_known_by_boot_and_number),
};
TEST_MAIN(tests)
