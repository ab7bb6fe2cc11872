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

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(items_are_put_in_order_whatever_they_were_in),
	cmocka_unit_test(items_in_order_cost_one_pass_and_equal_ones_stay),
	cmocka_unit_test(nothing_and_one_item_are_in_order),
};
TEST_MAIN(tests)
