/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "core/book.h"

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
	static struct roster roster;
	static struct census census;
	struct book book;
	struct error err;
	assert_int_equal(roster_make(&world.input, &world.arena, &roster, &err), 0);
	assert_int_equal(census_take(&world.input, &world.arena, &census, &err), 0);
	assert_int_equal(book_read(&census, &roster, &world.arena, &book, &err), 0);
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

static void entries_are_found_by_id_and_container(void **state)
{
	(void)state;
	static const char *const uids[] = {"a", "b", "c"};
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
		build_world_book(&world, uids[i], "main", VIEW("id-1"));
		build_world_book(&world, uids[i], "side", VIEW("id-1"));
		build_world_book(&world, uids[i], "main", VIEW("id-0"));
		build_world_book(&world, uids[i], "main", VIEW("id-2"));
	}
	struct book book = read_book();
	const struct book_entry *entry;
	size_t at = 0, n = 0;
	while ((entry = book_next(&book, VIEW("id-1"), VIEW("side"), &at)))
		expect_text(entry->said->pod_uid, uids[n++]);
	assert_int_equal(n, 3);
	at = 0;
	assert_null(book_next(&book, VIEW("id-1"), VIEW("init"), &at));
	assert_null(book_next(&book, VIEW("id"), VIEW("main"), &at));
	assert_null(book_next(&book, VIEW("id-3"), VIEW("main"), &at));
}

static void each_id_of_an_entry_leads_to_it(void **state)
{
	(void)state;
	static struct view ids[] = {VIEW_INIT("id-1"), VIEW_INIT("id-2")};
	build_world_book(&world, "a", "main", VIEW("id-0"))->device_ids =
		(struct array){ids, ARRAY_SIZE(ids), true};
	struct book book = read_book();
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		size_t at = 0;
		assert_ptr_equal(book_next(&book, ids[i], VIEW("main"), &at), &book.entries[0]);
	}
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
	size_t at = 0;
	assert_null(book_next(&book, VIEW("z"), VIEW("main"), &at));
	world.input.n_ended = 0;
	world.input.ended = world.ended;
	free(ended);
}

static void without_memory_there_is_no_book(void **state)
{
	(void)state;
	struct census census = {.input = &world.input};
	struct roster roster = {0};
	struct book book;
	struct error err = {0};
	struct arena small;
	arena_init(&small, 1);
	build_world_book(&world, "uid-a", "main", VIEW("id"))->device_ids.count = 0;
	assert_int_equal(book_read(&census, &roster, &small, &book, &err), -1);
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
	book.entries[0].is_supported = true;
	assert_true(book_has(&book, a, VIEW("main"), true));
	assert_false(book_has(&book, a, VIEW("side"), false));
	assert_false(book_has(&book, b, VIEW("main"), false));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(each_uid_has_its_standing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		whoever_was_published_as_a_tenant_was_known_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(entries_are_found_by_id_and_container, set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_id_of_an_entry_leads_to_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_not_in_a_list_is_looked_for_no_further_than_its_end, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_there_is_no_book, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pods_containers_are_found, set_up, tear_down),
};

TEST_MAIN(tests)
