/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"
#include "lib/touches.h"

#include "model/attribution_set.h"
#include "model/resource_slice.h"

static struct node_state_set node_states;
static struct device_reporters reporters;
static struct attribution_set set;
static int set_up(void **state)
{
	(void)state;
	node_state_set_init(&node_states);
	device_reporters_init(&reporters);
	attribution_set_init(&set, &node_states, &reporters);
	listen_to_touches(&node_states);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_set_deinit(&set.records);
	device_reporters_deinit(&reporters);
	node_state_set_deinit(&node_states);
	return 0;
}

/* An object of that name, on that node; all of its texts lie in an arena that the set takes. */
static int put_with(struct arena *arena, const char *name, const char *node, uint64_t version,
		    struct error *err)
{
	struct attribution object = {0};

	if (!arena_copy(arena, view_from(name), &object.name) ||
	    !arena_copy(arena, view_from(node), &object.status.node_name))
		return error_no_memory(err);
	object.uuid = object.name;
	return attribution_set_put(&set, &object, arena, UPSERT(version), err);
}

static void put(const char *name, const char *node, uint64_t version)
{
	struct arena arena;
	struct error err;

	arena_init(&arena, 4096);
	assert_int_equal(put_with(&arena, name, node, version, &err), 0);
	arena_deinit(&arena);
}

struct listener {
	unsigned n_new, n_changed, n_gone;
};

static void on_change(void *owner, const struct attribution *before, const struct attribution *now)
{
	struct listener *listener = owner;

	listener->n_new += !before;
	listener->n_changed += before && now;
	listener->n_gone += !now;
}

TEST(each_listener_is_told_until_it_leaves)
{
	struct listener first = {0}, second = {0}, third = {0};

	attribution_set_listen(&set, on_change, &first);
	attribution_set_listen(&set, on_change, &second);
	put("gpu-1", "a", 1);
	attribution_set_leave(&set, &first);
	attribution_set_leave(&set, &third); /* never was one */
	put("gpu-1", "a", 2);
	attribution_set_listen(&set, on_change, &third); /* there is room again */
	remove_record(&set.records, VIEW("gpu-1"), 0);
	assert_int_equal(first.n_new, 1);
	assert_int_equal(first.n_changed + first.n_gone, 0);
	assert_int_equal(second.n_new, 1);
	assert_int_equal(second.n_changed, 1);
	assert_int_equal(second.n_gone, 1);
	assert_int_equal(third.n_new + third.n_changed, 0);
	assert_int_equal(third.n_gone, 1);
	attribution_set_leave(&set, &second);
	attribution_set_leave(&set, &third);
}

static const struct node_state *node_state_of(const char *name)
{
	return attribution_set_find(&set, view_from(name))->base.node_state;
}

TEST(an_object_hangs_on_the_node_state_that_its_status_names)
{
	put("x", "n1", 1);
	put("y", "", 2);
	assert_true(view_equal(node_state_of("x")->name, VIEW("n1")));
	assert_null(node_state_of("y"));
	assert_null(attribution_set_find(&set, VIEW("z")));
	assert_touched("n1 ");
	put("x", "n", 3);
	assert_touched("n1 n ");
	assert_null(node_state_find(&node_states, VIEW("n1")));
	put("x", "n2", 4);
	assert_touched("n n2 ");
	put("x", "n3", 2);
	assert_touched("");
	assert_null(node_state_find(&node_states, VIEW("n3")));
	assert_null(node_state_find(&node_states, VIEW("n")));
	remove_record(&set.records, VIEW("x"), 0);
	assert_touched("n2 ");
	assert_int_equal(node_states.by_name.count, 0);
}

TEST(every_node_that_reports_the_device_is_touched_once)
{
	static struct report_device device = {.uuid = VIEW_INIT("GPU-AB")};
	const struct report report = {.devices = {&device, 1, true}};
	static const char *const names[] = {"n1", "n2", "n3"};
	struct node_state *reporting[ARRAY_SIZE(names)];
	struct error err;

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		reporting[i] = node_state_ensure(&node_states, view_from(names[i]), &err);
		assert_non_null(reporting[i]);
		reporting[i]->report = &report;
		assert_int_equal(device_reporters_add(&reporters, reporting[i], &report, 0, &err),
				 0);
	}
	put("gpu-ab", "n2", 1);
	assert_touched("n2 n1 n3 ");
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		device_reporters_drop(&reporters, reporting[i], &report, NULL);
		reporting[i]->report = NULL;
		node_state_release(&node_states, reporting[i]);
	}
}

static bool is_expected(void *owner, struct view node_name, const struct attribution *object)
{
	(void)object;
	return view_equal(node_name, view_from(owner));
}

TEST(a_node_that_expects_an_object_so_is_not_touched_and_others_are)
{
	static struct report_device device = {.uuid = VIEW_INIT("GPU-AB")};
	const struct report report = {.devices = {&device, 1, true}};
	struct node_state *reporting;
	struct error err;

	reporting = node_state_ensure(&node_states, VIEW("n2"), &err);
	assert_non_null(reporting);
	reporting->report = &report;
	assert_int_equal(device_reporters_add(&reporters, reporting, &report, 0, &err), 0);
	set.expected = is_expected;
	set.expected_owner = (void *)(uintptr_t)"n1";
	put("gpu-ab", "n1", 1);
	assert_touched("n2 ");
	put("gpu-ab", "n1", 2);
	assert_touched("n2 n2 "); /* of the object before, and of what it is now */
	set.expected_owner = (void *)(uintptr_t)"n2";
	put("gpu-ab", "n2", 3);
	assert_touched("n1 ");
	set.expected_owner = (void *)(uintptr_t)"n3";
	put("gpu-ab", "n2", 4);
	assert_touched("n2 n2 ");
	device_reporters_drop(&reporters, reporting, &report, NULL);
	reporting->report = NULL;
	node_state_release(&node_states, reporting);
}

/* The node's only slice describes that device. */
static struct node_state *slice(const char *node, struct record *record)
{
	static struct resource_slice_device device = {.uuid = VIEW_INIT("GPU-AB")};
	static struct resource_slice contents = {.devices = {&device, 1, true}};
	struct error err;
	struct node_state *node_state = node_state_ensure(&node_states, view_from(node), &err);

	assert_non_null(node_state);
	record->object = &contents;
	list_init(&record->link);
	list_append(&node_state->slices, &record->link);
	return node_state;
}

TEST(who_has_no_agent_and_a_slice_of_a_removed_objects_device_is_touched)
{
	static struct report_device device = {.uuid = VIEW_INIT("GPU-AB")};
	static const struct {
		const char *object, *holder;
		bool is_holder_sliced, has_holder_agent, is_reported, has_agent;
		const char *touched;
	} rows[] = {
		{"gpu-ab", "n1", false, false, false, false, "n1 n2 "},
		{"gpu-ab", "", false, false, false, false, "n2 "},
		{"gpu-ab", "n2", false, false, false, false, "n2 "},
		{"gpu-ac", "n1", false, false, false, false, "n1 "},
		{"gpu-ab", "n1", true, false, false, false, "n1 "}, /* it shows it again */
		{"gpu-ab", "n1", true, true, false, false, "n1 n2 "}, /* its agent would */
		{"gpu-ab", "n1", false, false, true, false, "n1 n3 "},
		{"gpu-ab", "n1", false, false, false, true, "n1 "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct report said = {.devices = {&device, 1, true}}, silent = {0};
		struct record records[2] = {0};
		struct node_state *sliced = slice("n2", &records[0]), *reporting;
		struct error err;

		reporting = node_state_ensure(&node_states, VIEW("n3"), &err);
		assert_non_null(reporting);
		reporting->report = &said;
		sliced->report = rows[i].has_agent ? &silent : NULL;
		if (rows[i].is_holder_sliced)
			slice("n1", &records[1])->report =
				rows[i].has_holder_agent ? &silent : NULL;
		if (rows[i].is_reported)
			assert_int_equal(
				device_reporters_add(&reporters, reporting, &said, 0, &err), 0);
		put(rows[i].object, rows[i].holder, 1);
		forget_touches();
		remove_record(&set.records, view_from(rows[i].object), 0);
		assert_touched(rows[i].touched);
		device_reporters_drop(&reporters, reporting, &said, NULL);
		reporting->report = NULL;
		sliced->report = NULL;
		node_state_release(&node_states, reporting);
		for (size_t k = 0; k < ARRAY_SIZE(records); k++) {
			struct node_state *node_state = node_state_find(
				&node_states, k ? VIEW("n1") : VIEW("n2"));

			if (!node_state)
				continue;
			list_remove(&records[k].link);
			node_state->report = NULL;
			node_state_release(&node_states, node_state);
		}
	}
}

TEST(only_what_is_put_empties_the_arena)
{
	struct arena arena;
	struct error err;

	put("x", "n1", 5);
	arena_init(&arena, 4096);
	assert_int_equal(put_with(&arena, "x", "n1", 4, &err), 0);
	assert_int_not_equal(arena.allocated, 0);
	assert_int_equal(put_with(&arena, "x", "n1", 6, &err), 0);
	assert_int_equal(arena.allocated, 0);
	arena_deinit(&arena);
}

TEST(without_memory_what_is_there_stays)
{
	static const char *const names[] = {"x", "y"};

	put("x", "n1", 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool failed = true;

		for (unsigned k = 1; failed; k++) {
			struct arena arena;
			struct error err = {0};
			struct attribution object = {.name = view_from(names[i]),
						     .status.node_name = VIEW("n2")};

			arena_init(&arena, 4096);
			failing_malloc_at(k);
			int result = attribution_set_put(&set, &object, &arena, UPSERT(2), &err);
			failed = failing_malloc_off();
			arena_deinit(&arena);
			assert_int_equal(result, failed ? -1 : 0);
			if (!failed)
				break;
			assert_true(
				view_equal(node_state_of("x")->name, i ? VIEW("n2") : VIEW("n1")));
			assert_int_equal(set.records.store.table.count, 1);
			assert_int_equal(node_states.by_name.count, 1);
		}
	}
	assert_int_equal(set.records.store.table.count, 2);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(each_listener_is_told_until_it_leaves),
	cmocka_unit_test_set_up(every_node_that_reports_the_device_is_touched_once),
	cmocka_unit_test_set_up(a_node_that_expects_an_object_so_is_not_touched_and_others_are),
	cmocka_unit_test_set_up(an_object_hangs_on_the_node_state_that_its_status_names),
	cmocka_unit_test_set_up(who_has_no_agent_and_a_slice_of_a_removed_objects_device_is_touched),
	cmocka_unit_test_set_up(only_what_is_put_empties_the_arena),
	cmocka_unit_test_set_up(without_memory_what_is_there_stays),
};

TEST_MAIN(tests)
