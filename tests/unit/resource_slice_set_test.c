/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"

#include "model/resource_slice.h"

static struct place_book places;
static struct resource_slice_set set;
static char touched[256];
static bool was_initial;

static void on_touch(void *owner, struct view node_name, bool initial)
{
	size_t len = strlen(touched);

	(void)owner;
	was_initial = initial;
	snprintf(touched + len, sizeof(touched) - len, "%.*s ", VIEW_ARG(node_name));
}

static void assert_touched(const char *nodes)
{
	assert_string_equal(touched, nodes);
	touched[0] = '\0';
}

static int set_up(void **state)
{
	(void)state;
	place_book_init(&places);
	places.touch = on_touch;
	memset(&set, 0x55, sizeof(set));
	resource_slice_set_init(&set, &places);
	touched[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_set_deinit(&set.records);
	assert_int_equal(set.n_unplaced, 0);
	assert_int_equal(places.by_name.count, 0);
	place_book_deinit(&places);
	return 0;
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
	const struct place *place = place_find(&places, view_from(node));

	assert_non_null(place);
	assert_int_equal(place->n_slices, 1);
	return CONTAINER_OF(place->slices.next, struct record, link)->object;
}

static void a_slice_hangs_on_its_node_and_touches_it(void **state)
{
	(void)state;
	put("s1", "gpu-a", 1, 1);
	assert_touched("gpu-a ");
	assert_true(view_equal(first_of("gpu-a")->name, VIEW("s1")));
	put("s1", "gpu-a", 2, 2);
	assert_touched("gpu-a gpu-a ");
	assert_int_equal(first_of("gpu-a")->generation, 2);
	put("s2", "b", 1, 3);
	assert_touched("b ");
}

static void an_event_that_changes_no_fact_touches_nothing(void **state)
{
	(void)state;
	put("s1", "gpu-a", 1, 1);
	touched[0] = '\0';
	put("s1", "gpu-a", 1, 2);
	assert_touched("");
}

static void a_slice_that_moves_touches_both_nodes_and_leaves_the_first(void **state)
{
	(void)state;
	put("s1", "gpu-a", 1, 1);
	touched[0] = '\0';
	put("s1", "gpu-b", 1, 2);
	assert_touched("gpu-a gpu-b ");
	assert_null(place_find(&places, VIEW("gpu-a")));
	assert_true(view_equal(first_of("gpu-b")->name, VIEW("s1")));
	put("s1", "", 1, 3);
	assert_touched("gpu-b ");
	assert_null(place_find(&places, VIEW("gpu-b")));
	put("s1", "gpu-a", 1, 4);
	assert_touched("gpu-a ");
}

static void a_slice_that_goes_touches_its_node(void **state)
{
	(void)state;
	put("s1", "gpu-a", 1, 1);
	touched[0] = '\0';
	remove_record(&set.records, VIEW("s1"), 0);
	assert_touched("gpu-a ");
	assert_null(place_find(&places, VIEW("gpu-a")));
	assert_int_equal(set.records.store.table.count, 0);
}

static void slices_of_gpus_of_no_single_node_are_counted(void **state)
{
	(void)state;
	const struct resource_slice_fields foreign = {.slice.name = VIEW("nic")};
	const struct resource_slice_fields short_driver = {.slice.name = VIEW("s3"), .slice.driver = VIEW("d")};
	struct error err;

	put("s1", "", 1, 1);
	assert_int_equal(set.n_unplaced, 1);
	assert_int_equal(record_set_put_copy(&set.records, &foreign, UPSERT(2), &err), 0);
	assert_int_equal(set.n_unplaced, 1);
	put("s1", "gpu-a", 1, 3);
	assert_int_equal(set.n_unplaced, 0);
	put("s1", "", 1, 4);
	put("s2", "", 1, 5);
	assert_int_equal(set.n_unplaced, 2);
	remove_record(&set.records, VIEW("s1"), 0);
	assert_int_equal(set.n_unplaced, 1);
	assert_int_equal(
		record_set_put_copy(&set.records, &short_driver, UPSERT(6), &err), 0);
	assert_int_equal(set.n_unplaced, 2);
}

static void a_node_has_room_for_so_many_slices(void **state)
{
	(void)state;
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

static void before_the_first_sync_touches_are_initial(void **state)
{
	(void)state;
	const struct resource_slice_fields fields = {
		.slice.name = VIEW("s1"), .slice.driver = VIEW("gpu.nvidia.com"), .slice.node = VIEW("gpu-a"),
	};
	struct error err;

	assert_int_equal(record_set_put_copy(&set.records, &fields, LISTED_FIRST(1), &err), 0);
	assert_true(was_initial);
	put("s1", "gpu-a", 7, 2);
	assert_false(was_initial);
	was_initial = true;
	remove_record(&set.records, VIEW("s1"), 0);
	assert_false(was_initial);
}

static void without_memory_a_new_slice_leaves_nothing_and_a_present_one_stays(void **state)
{
	(void)state;
	bool failed = true;
	struct error err;

	for (unsigned k = 1; failed; k++) {
		tear_down(NULL);
		set_up(NULL);
		failing_malloc_at(k);
		int result = put_as("s1", "gpu-a", 1, 1, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(set.records.store.table.count + places.by_name.count,
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
	cmocka_unit_test_setup_teardown(
		a_slice_hangs_on_its_node_and_touches_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_event_that_changes_no_fact_touches_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_slice_that_moves_touches_both_nodes_and_leaves_the_first, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_slice_that_goes_touches_its_node, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		slices_of_gpus_of_no_single_node_are_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_node_has_room_for_so_many_slices, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		before_the_first_sync_touches_are_initial, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_a_new_slice_leaves_nothing_and_a_present_one_stays, set_up, tear_down),
};

TEST_MAIN(tests)
