/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/heap.h"
#include "base/prng.h"

#define N_NODES 200

static void set(struct heap *heap, struct heap_node *node, uint64_t deadline)
{
	struct error err;
	assert_int_equal(heap_set(heap, node, deadline, &err), 0);
}

static void an_empty_heap_has_no_first(void **state)
{
	(void)state;
	CLEANUP(heap_deinit) struct heap heap = {0};
	struct heap_node node = {0};
	assert_null(heap_first(&heap));
	assert_false(heap_contains(&node));
	heap_remove(&heap, &node);
}

static void equals_come_out_in_the_order_they_went_in(void **state)
{
	(void)state;
	CLEANUP(heap_deinit) struct heap heap;
	heap_init(&heap);
	struct heap_node nodes[N_NODES] = {0};
	for (size_t i = 0; i < N_NODES; i++)
		set(&heap, &nodes[i], i % 3);
	for (size_t deadline = 0; deadline < 3; deadline++) {
		for (size_t i = deadline; i < N_NODES; i += 3) {
			assert_ptr_equal(heap_first(&heap), &nodes[i]);
			heap_remove(&heap, &nodes[i]);
			assert_false(heap_contains(&nodes[i]));
		}
	}
	assert_null(heap_first(&heap));
}

static const struct heap_node *smallest(const struct heap_node *nodes)
{
	const struct heap_node *best = NULL;
	for (size_t i = 0; i < N_NODES; i++) {
		const struct heap_node *node = &nodes[i];
		if (!heap_contains(node))
			continue;
		if (!best || node->deadline < best->deadline ||
		    (node->deadline == best->deadline && node->ticket < best->ticket))
			best = node;
	}
	return best;
}

static void random_changes_agree_with_a_linear_search(void **state)
{
	(void)state;
	CLEANUP(heap_deinit) struct heap heap;
	heap_init(&heap);
	struct heap_node nodes[N_NODES] = {0};
	struct prng prng;
	prng_init(&prng, 3);
	for (int step = 0; step < 20000; step++) {
		struct heap_node *node = &nodes[prng_between(&prng, 0, N_NODES - 1)];
		if (prng_between(&prng, 0, 2) == 0)
			heap_remove(&heap, node);
		else
			set(&heap, node, prng_between(&prng, 0, 50));
		assert_ptr_equal(heap_first(&heap), smallest(nodes));
	}
}

static void a_node_set_again_moves_behind_its_equals(void **state)
{
	(void)state;
	CLEANUP(heap_deinit) struct heap heap;
	heap_init(&heap);
	struct heap_node a = {0}, b = {0};
	set(&heap, &a, 1);
	set(&heap, &b, 1);
	set(&heap, &a, 1);
	assert_ptr_equal(heap_first(&heap), &b);
	assert_int_equal(heap.count, 2);
}

static void lack_of_memory_leaves_the_node_out(void **state)
{
	(void)state;
	CLEANUP(heap_deinit) struct heap heap;
	heap_init(&heap);
	struct heap_node a = {0};
	struct error err;
	failing_malloc_at(1);
	assert_int_equal(heap_set(&heap, &a, 1, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_false(heap_contains(&a));
	assert_null(heap_first(&heap));
	set(&heap, &a, 1);
	/* Moving what is in needs no memory. */
	failing_malloc_at(1);
	set(&heap, &a, 9);
	assert_false(failing_malloc_off());
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_empty_heap_has_no_first),
	cmocka_unit_test(equals_come_out_in_the_order_they_went_in),
	cmocka_unit_test(random_changes_agree_with_a_linear_search),
	cmocka_unit_test(a_node_set_again_moves_behind_its_equals),
	cmocka_unit_test(lack_of_memory_leaves_the_node_out),
};
TEST_MAIN(tests)
