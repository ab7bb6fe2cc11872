/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/sort.h"

#define N 64

struct item {
	int key, place;
};

static unsigned n_compared;

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	n_compared++;
	return (x->key > y->key) - (x->key < y->key);
}

static void items_are_put_in_order_whatever_they_were_in(void **state)
{
	(void)state;
	for (int swapped = 0; swapped < N; swapped++) {
		struct item items[N];
		for (int i = 0; i < N; i++)
			items[i] = (struct item){i, i};
		items[swapped].key = items[N - 1 - swapped].key;
		items[N - 1 - swapped].key = swapped;
		sort_items(items, N, sizeof(items[0]), by_key);
		for (int i = 0; i < N; i++)
			assert_int_equal(items[i].key, i);
	}
}

static void items_in_order_cost_one_pass_and_equal_ones_stay(void **state)
{
	(void)state;
	struct item items[N];
	for (int i = 0; i < N; i++)
		items[i] = (struct item){i / 8, i};
	n_compared = 0;
	sort_items(items, N, sizeof(items[0]), by_key);
	assert_int_equal(n_compared, N - 1);
	for (int i = 0; i < N; i++)
		assert_int_equal(items[i].place, i);
}

static void nothing_and_one_item_are_in_order(void **state)
{
	(void)state;
	struct item item = {3, 4};
	n_compared = 0;
	sort_items(NULL, 0, sizeof(item), by_key);
	sort_items(&item, 1, sizeof(item), by_key);
	assert_int_equal(n_compared, 0);
	assert_int_equal(item.place, 4);
}

/* Each of 0, 2, ..., 2 * k as often as it says. */
static void all_that_equal_the_key_are_found_and_no_others(void **state)
{
	(void)state;
	for (int often = 1; often < 6; often++) {
		struct item items[N];
		const int n = N / often * often;
		for (int i = 0; i < n; i++)
			items[i] = (struct item){i / often * 2, i};
		for (int key = -1; key <= n / often * 2; key++) {
			const struct item asked = {key, 0};
			size_t n_found;
			const struct item *found =
				sort_find(&asked, items, (size_t)n, sizeof(items[0]), by_key, &n_found);
			const bool is_there = key >= 0 && key % 2 == 0 && key < n / often * 2;
			assert_int_equal(n_found, is_there ? often : 0);
			assert_ptr_equal(found, is_there ? &items[key / 2 * often] : NULL);
		}
	}
}

static void among_nothing_nothing_is_found(void **state)
{
	(void)state;
	const struct item asked = {1, 0};
	size_t n_found = 7;
	assert_null(sort_find(&asked, NULL, 0, sizeof(asked), by_key, &n_found));
	assert_int_equal(n_found, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(items_are_put_in_order_whatever_they_were_in),
	cmocka_unit_test(items_in_order_cost_one_pass_and_equal_ones_stay),
	cmocka_unit_test(nothing_and_one_item_are_in_order),
	cmocka_unit_test(all_that_equal_the_key_are_found_and_no_others),
	cmocka_unit_test(among_nothing_nothing_is_found),
};
TEST_MAIN(tests)
