/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"
#include "lib/touches.h"

#include "model/resource_slice.h"

static struct node_state_set node_states;
static struct resource_slice_set set;

static int set_up(void **state)
{
	(void)state;
	node_state_set_init(&node_states);
	listen_to_touches(&node_states);
	memset(&set, 0x55, sizeof(set));
	resource_slice_set_init(&set, &node_states);
	forget_touches();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_set_deinit(&set.records);
	assert_int_equal(set.n_unplaced, 0);
	assert_int_equal(node_states.by_name.count, 0);
	node_state_set_deinit(&node_states);
	return 0;
}

static void start_anew(void)
{
	tear_down(NULL);
	set_up(NULL);
}

static int put_as(const char *name, const char *node, int64_t generation, uint64_t version,
		  struct error *err)
{
	const struct resource_slice_fields fields = {
		.slice.name = view_from(name), .slice.driver = VIEW("gpu.nvidia.com"), .slice.node = view_from(node),
		.slice.pool = VIEW("p"), .slice.generation = generation,
	};

	return record_set_put_copy(&set.records, &fields, UPSERT(version), err);
}

static void put(const char *name, const char *node, int64_t generation, uint64_t version)
{
	struct error err;

	assert_int_equal(put_as(name, node, generation, version, &err), 0);
}

static const struct resource_slice *first_of(const char *node)
{
	const struct node_state *node_state = node_state_find(&node_states, view_from(node));

	assert_non_null(node_state);
	assert_int_equal(node_state->n_slices, 1);
	return CONTAINER_OF(node_state->slices.next, struct record, link)->object;
}

TEST(a_slice_hangs_on_its_node_and_touches_that_and_the_one_before)
{
	static const struct {
		const char *node; /* of slice s1 */
		int64_t generation;
		const char *touched;
	} rows[] = {
		{"gpu-a", 1, "gpu-a "}, {"gpu-a", 1, ""}, /* says the same */
		{"gpu-a", 2, "gpu-a gpu-a "}, {"gpu-b", 2, "gpu-a gpu-b "}, {"", 2, "gpu-b "}, {"", 2, ""},
		{"a", 2, "a "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		put("s1", rows[i].node, rows[i].generation, i + 1);
		assert_touched(rows[i].touched);
		assert_int_equal(node_states.by_name.count, *rows[i].node ? 1 : 0);
		if (*rows[i].node) {
			assert_true(view_equal(first_of(rows[i].node)->name, VIEW("s1")));
			assert_int_equal(first_of(rows[i].node)->generation, rows[i].generation);
		}
	}
	remove_record(&set.records, VIEW("s1"), 0);
	assert_touched("a ");
	assert_null(node_state_find(&node_states, VIEW("a")));
	assert_int_equal(set.records.store.table.count, 0);
}

TEST(slices_of_gpus_of_no_single_node_are_counted)
{
	const struct resource_slice_fields foreign = {.slice.name = VIEW("nic")};
	const struct resource_slice_fields short_driver = {.slice.name = VIEW("s3"), .slice.driver = VIEW("d")};

	put("s1", "", 1, 1);
	assert_int_equal(set.n_unplaced, 1);
	put_record(&set.records, &foreign, UPSERT(2));
	assert_int_equal(set.n_unplaced, 1);
	put("s1", "gpu-a", 1, 3);
	assert_int_equal(set.n_unplaced, 0);
	put("s1", "", 1, 4);
	put("s2", "", 1, 5);
	assert_int_equal(set.n_unplaced, 2);
	remove_record(&set.records, VIEW("s1"), 0);
	assert_int_equal(set.n_unplaced, 1);
	put_record(&set.records, &short_driver, UPSERT(6));
	assert_int_equal(set.n_unplaced, 2);
}

TEST(a_node_has_room_for_so_many_slices)
{
	char name[16];
	struct error err;

	for (unsigned i = 0; i < RESOURCE_SLICE_SET_MAX_OF_NODE; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		put(name, "gpu-a", 1, 10 + i);
	}
	put("other", "gpu-b", 1, 1000);
	assert_int_equal(put_as("more", "gpu-a", 1, 1001, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(err.os_errno, 0);
	assert_null(record_set_find(&set.records, VIEW("more")));
	/* One that would move there stays where it is, and the new version is wanted again. */
	assert_int_equal(put_as("other", "gpu-a", 1, 1002, &err), -1);
	assert_true(view_equal(first_of("gpu-b")->name, VIEW("other")));
	assert_int_equal(record_set_find(&set.records, VIEW("other"))->entry.version, 1000);
	/* Those that are there may change, and make room. */
	put("s0", "gpu-a", 2, 1003);
	remove_record(&set.records, VIEW("s1"), 0);
	put("more", "gpu-a", 1, 1004);
}

TEST(before_the_first_sync_touches_are_initial)
{
	const struct resource_slice_fields fields = {
		.slice.name = VIEW("s1"), .slice.driver = VIEW("gpu.nvidia.com"), .slice.node = VIEW("gpu-a"),
	};

	put_record(&set.records, &fields, LISTED_FIRST(1));
	assert_touched("gpu-a? ");
	put("s1", "gpu-a", 7, 2);
	assert_touched("gpu-a gpu-a ");
	remove_record(&set.records, VIEW("s1"), 0);
	assert_touched("gpu-a ");
}

TEST(without_memory_a_new_slice_leaves_nothing_and_a_present_one_stays)
{
	bool failed = true;
	struct error err;

	for (unsigned k = 1; failed; k++) {
		start_anew();
		failing_malloc_at(k);
		int result = put_as("s1", "gpu-a", 1, 1, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(set.records.store.table.count + node_states.by_name.count,
				 failed ? 0 : 2);
	}
	failed = true;
	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		int result = put_as("s1", "gpu-b", 2, 2, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(record_set_find(&set.records, VIEW("s1"))->entry.version,
				 failed ? 1 : 2);
		assert_int_equal(first_of(failed ? "gpu-a" : "gpu-b")->generation, failed ? 1 : 2);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_slice_hangs_on_its_node_and_touches_that_and_the_one_before),
	cmocka_unit_test_set_up(slices_of_gpus_of_no_single_node_are_counted),
	cmocka_unit_test_set_up(a_node_has_room_for_so_many_slices),
	cmocka_unit_test_set_up(before_the_first_sync_touches_are_initial),
	cmocka_unit_test_set_up(without_memory_a_new_slice_leaves_nothing_and_a_present_one_stays),
};

TEST_MAIN(tests)
