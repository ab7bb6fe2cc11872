/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"
#include "lib/twins.h"

#include <stdlib.h>

#include "join/book.h"

static struct build_world world;

static int set_up(void **state)
{
	(void)state;
	build_world_init(&world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	build_world_deinit(&world);
	return 0;
}

static struct book read_book(void)
{
	static struct devices devices;
	static struct node_pods node_pods;
	static struct past past;
	struct book book;
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(node_pods_take(&world.input, &world.arena, &node_pods, &err), 0);
	assert_int_equal(past_read(&devices, &world.arena, &past, &err), 0);
	assert_int_equal(book_read(&node_pods, &past, &world.arena, &book, &err), 0);
	return book;
}

static void each_uid_has_its_standing(void **state)
{
	(void)state;
	static const struct {
		const char *uid;
		enum book_standing standing;
		bool has_pod;
	} rows[] = {
		{"uid-live", BOOK_LIVE, true},
		{"uid-over", BOOK_ENDED, true},
		{"uid-ended", BOOK_ENDED, false},
		{"uid-away", BOOK_REFUSED, false},
		{"uid-new", BOOK_UNKNOWN, false},
	};
	build_world_pod(&world, (struct build_pod){.name = "live"});
	build_world_pod(&world, (struct build_pod){.name = "over", .phase = POD_PHASE_FAILED});
	build_world_end(&world, "uid-ended");
	build_world_move_away(&world, "uid-away");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		build_world_book(&world, rows[i].uid, "main", VIEW("id"));
	struct book book = read_book();
	assert_int_equal(book.n_entries, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(book.entries[i].standing, rows[i].standing);
		assert_int_equal(book.entries[i].pod != NULL, rows[i].has_pod);
		assert_false(book.entries[i].is_supported);
	}
}

static void whoever_was_published_as_a_tenant_was_known_once(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "tenant"},
			build_world_replica(&world, 0, 0));
	build_world_run(&world, (struct build_pod){.name = "past"},
			build_world_replica(&world, 0, 1));
	build_world_run(&world, (struct build_pod){.name = "gone"},
			build_world_replica(&world, 0, 3));
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "other"}, build_world_uuid(&world, 1));
	build_world_list(&world, "pending", "main", build_world_replica(&world, 0, 2));
	build_world_book(&world, "uid-pending", "main", build_world_replica(&world, 0, 2));
	build_world_publish(&world);
	build_world_remove_pod(&world, "uid-past");
	build_world_remove_pod(&world, "uid-gone");
	build_world_publish(&world);
	build_world_remove_pod(&world, "uid-tenant");
	build_world_remove_pod(&world, "uid-other");
	world.input.n_ended = 0; /* as after a restart of the controller */
	struct book book = read_book();
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(book.entries[i].standing, BOOK_ENDED);
	assert_int_equal(book.entries[4].standing, BOOK_UNKNOWN);
}

static unsigned bit(enum book_standing standing)
{
	return 1u << standing;
}

static void standings_are_found_by_id_and_container(void **state)
{
	(void)state;
	build_world_pod(&world, (struct build_pod){.name = "live"});
	build_world_end(&world, "uid-ended");
	build_world_book(&world, "uid-live", "main", VIEW("id-1"));
	build_world_book(&world, "uid-live", "side", VIEW("id-1"));
	build_world_book(&world, "uid-ended", "main", VIEW("id-1"));
	build_world_book(&world, "uid-new", "side", VIEW("id-2"));
	build_world_book(&world, "uid-newer", "side", VIEW("id-2"));
	struct book book = read_book();
	assert_int_equal(book_standings(&book, VIEW("id-1"), VIEW("main")),
			 bit(BOOK_LIVE) | bit(BOOK_ENDED));
	assert_int_equal(book_standings(&book, VIEW("id-1"), VIEW("side")), bit(BOOK_LIVE));
	assert_int_equal(book_standings(&book, VIEW("id-2"), VIEW("side")), bit(BOOK_UNKNOWN));
	assert_int_equal(book_standings(&book, VIEW("id-2"), VIEW("main")), 0);
	assert_int_equal(book_standings(&book, VIEW("id-1"), VIEW("init")), 0);
	assert_int_equal(book_standings(&book, VIEW("id"), VIEW("main")), 0);
	assert_int_equal(book_standings(&book, VIEW("id-3"), VIEW("main")), 0);
}

static void each_id_of_an_entry_leads_to_it(void **state)
{
	(void)state;
	static struct view ids[] = {VIEW_INIT("id-1"), VIEW_INIT("id-2"), VIEW_INIT("id-1")};
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		build_world_book_nothing(&world);
		build_world_book(&world, "a", "main", VIEW("id-0"))->device_ids =
			(struct array){ids, ARRAY_SIZE(ids), true};
		struct book book = read_book();
		book_support(&book, ids[i], VIEW("main"), NULL);
		book_settle(&book);
		assert_true(book.entries[0].is_supported);
	}
}

static void the_list_supports_the_entries_of_the_pod_it_is_said_of(void **state)
{
	(void)state;
	const struct pod *a = build_world_pod(&world, (struct build_pod){.name = "a"});
	const struct pod *b = build_world_pod(&world, (struct build_pod){.name = "b"});
	const struct pod *c = build_world_pod(&world, (struct build_pod){.name = "c"});
	static const struct {
		const char *uid, *container, *id;
	} rows[] = {
		{"uid-a", "main", "id-1"}, {"uid-b", "main", "id-1"}, {"uid-a", "side", "id-1"},
		{"uid-a", "main", "id-2"}, {"new", "main", "id-1"},   {"newer", "main", "id-1"},
	};
	const struct {
		const struct pod *pod;
		const char *supported; /* by row */
	} cases[] = {{a, "+....."}, {b, ".+...."}, {c, "......"}, {NULL, "....++"}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		build_world_book(&world, rows[i].uid, rows[i].container, view_from(rows[i].id));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct book book = read_book();
		book_support(&book, VIEW("id-1"), VIEW("main"), cases[i].pod);
		book_support(&book, VIEW("id-3"), VIEW("main"), cases[i].pod);
		book_settle(&book);
		for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
			assert_int_equal(book.entries[k].is_supported,
					 cases[i].supported[k] == '+');
	}
}

static void an_entry_that_comes_twice_is_supported_twice(void **state)
{
	(void)state;
	const struct pod *a = build_world_pod(&world, (struct build_pod){.name = "a"});
	for (int i = 0; i < 2; i++)
		build_world_book(&world, "uid-a", "main", VIEW("id-1"));
	struct book book = read_book();
	book_support(&book, VIEW("id-1"), VIEW("main"), a);
	book_settle(&book);
	for (int i = 0; i < 2; i++)
		assert_true(book.entries[i].is_supported);
	assert_true(book_has(&book, a, VIEW("main"), true));
}

static void an_id_in_the_hands_of_a_pod_is_found(void **state)
{
	(void)state;
	const struct pod *a = build_world_pod(&world, (struct build_pod){.name = "a"});
	const struct pod *b = build_world_pod(&world, (struct build_pod){.name = "b"});
	const struct pod *c = build_world_pod(&world, (struct build_pod){.name = "c"});
	const struct {
		const struct pod *pod;
		const char *id, *container;
		bool is_named;
	} rows[] = {
		{a, "id-1", "main", true},  {a, "id-1", "side", false}, {a, "id-2", "main", false},
		{a, "id-3", "main", false}, {b, "id-1", "main", true},  {b, "id-2", "side", true},
		{c, "id-1", "main", false}, {c, "id-3", "main", false},
	};
	build_world_book(&world, "uid-a", "main", VIEW("id-1"));
	build_world_book(&world, "uid-b", "main", VIEW("id-1"));
	build_world_book(&world, "uid-b", "side", VIEW("id-2"));
	build_world_book(&world, "uid-new", "main", VIEW("id-3"));
	struct book book = read_book();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(book_names(&book, view_from(rows[i].id),
					    view_from(rows[i].container), rows[i].pod),
				 rows[i].is_named);
}

static void whose_hash_is_the_same_is_told_apart(void **state)
{
	(void)state;
	struct twins t = twins_find();
	const struct pod *a = build_world_pod(&world, (struct build_pod){.uid = t.one.ptr});
	const struct pod *b = build_world_pod(&world, (struct build_pod){.uid = t.other.ptr});
	build_world_end(&world, t.one.ptr);
	build_world_book(&world, t.one.ptr, "main", t.one);
	build_world_book(&world, t.one.ptr, t.one.ptr, VIEW("id"));
	struct book book = read_book();
	assert_true(book_names(&book, t.one, VIEW("main"), a));
	assert_false(book_names(&book, t.other, VIEW("main"), a));
	assert_false(book_names(&book, t.one, VIEW("main"), b));
	assert_true(book_names(&book, VIEW("id"), t.one, a));
	assert_false(book_names(&book, VIEW("id"), t.other, a));
	assert_true(book_has(&book, a, t.one, false));
	assert_false(book_has(&book, a, t.other, false));
	assert_false(book_has(&book, b, t.one, false));
	/* The one that is known to have ended, and one that is not known. */
	build_world_remove_pod(&world, t.one.ptr);
	build_world_remove_pod(&world, t.other.ptr);
	build_world_book(&world, t.other.ptr, "main", VIEW("id"));
	book = read_book();
	assert_int_equal(book.entries[0].standing, BOOK_ENDED);
	assert_int_equal(book.entries[2].standing, BOOK_UNKNOWN);
}

static void whose_hash_is_the_same_as_of_those_before_is_found(void **state)
{
	(void)state;
	struct twins t = twins_find();
	struct view both[] = {t.one, t.other};
	const struct pod *pods[2];
	for (int i = 0; i < 2; i++) {
		pods[i] = build_world_pod(&world, (struct build_pod){.uid = both[i].ptr});
		build_world_book(&world, both[i].ptr, "main", VIEW("id"));
		build_world_book(&world, both[i].ptr, "main", both[i]);
	}
	struct book book = read_book();
	for (int i = 0; i < 2; i++) {
		assert_true(book_names(&book, VIEW("id"), VIEW("main"), pods[i]));
		assert_true(book_names(&book, both[i], VIEW("main"), pods[i]));
		assert_false(book_names(&book, both[i], VIEW("main"), pods[1 - i]));
		assert_true(book_has(&book, pods[i], VIEW("main"), false));
		build_world_remove_pod(&world, both[i].ptr);
		build_world_end(&world, both[i].ptr);
	}
	book = read_book();
	for (int i = 0; i < 4; i++)
		assert_int_equal(book.entries[i].standing, BOOK_ENDED);
}

/* In memory of its own, where a sanitizer sees who reads past the end. */
static void what_is_not_in_a_list_is_looked_for_no_further_than_its_end(void **state)
{
	(void)state;
	struct view *ended = malloc(sizeof(*ended));
	assert_non_null(ended);
	*ended = VIEW("uid-ended");
	build_world_book(&world, "uid-new", "main", VIEW("id"));
	world.input.ended = ended;
	world.input.n_ended = 1;
	struct book book = read_book();
	assert_int_equal(book.entries[0].standing, BOOK_UNKNOWN);
	assert_int_equal(book_standings(&book, VIEW("z"), VIEW("main")), 0);
	world.input.n_ended = 0;
	world.input.ended = world.ended;
	free(ended);
}

static void without_memory_there_is_no_book(void **state)
{
	(void)state;
	struct node_pods node_pods = {.input = &world.input};
	struct past past = {0};
	struct book book;
	struct error err = {0};
	struct arena small;
	arena_init(&small, 1);
	build_world_book(&world, "uid-a", "main", VIEW("id"))->device_ids.count = 0;
	assert_int_equal(book_read(&node_pods, &past, &small, &book, &err), -1);
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	arena_deinit(&small);
}

static void a_pods_containers_are_found(void **state)
{
	(void)state;
	const struct pod *a = build_world_pod(&world, (struct build_pod){.name = "a"});
	const struct pod *b = build_world_pod(&world, (struct build_pod){.name = "b"});
	build_world_book(&world, "uid-a", "main", VIEW("id"));
	struct book book = read_book();
	assert_true(book_has(&book, a, VIEW("main"), false));
	assert_false(book_has(&book, a, VIEW("main"), true));
	book_support(&book, VIEW("id"), VIEW("main"), a);
	book_settle(&book);
	assert_true(book_has(&book, a, VIEW("main"), true));
	assert_false(book_has(&book, a, VIEW("side"), false));
	assert_false(book_has(&book, b, VIEW("main"), false));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(each_uid_has_its_standing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		whoever_was_published_as_a_tenant_was_known_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_list_supports_the_entries_of_the_pod_it_is_said_of,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_entry_that_comes_twice_is_supported_twice, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(an_id_in_the_hands_of_a_pod_is_found, set_up, tear_down),
	cmocka_unit_test_setup_teardown(whose_hash_is_the_same_is_told_apart, set_up, tear_down),
	cmocka_unit_test_setup_teardown(whose_hash_is_the_same_as_of_those_before_is_found, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(standings_are_found_by_id_and_container, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_id_of_an_entry_leads_to_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_not_in_a_list_is_looked_for_no_further_than_its_end, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_there_is_no_book, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pods_containers_are_found, set_up, tear_down),
};

TEST_MAIN(tests)
