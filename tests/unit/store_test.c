/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "base/store.h"

struct record {
	struct store_entry entry;
	const char *key;
};

static struct view key_of(const struct table_node *node)
{
	return view_from(CONTAINER_OF(node, struct record, entry.node)->key);
}

static void add(struct store *store, struct record *record, uint64_t version)
{
	struct error err;
	assert_int_equal(store_add(store, &record->entry, version, &err), 0);
}

static void an_unknown_key_is_inserted_but_never_deleted(void **state)
{
	(void)state;
	CLEANUP(store_deinit) struct store store;
	store_init(&store, key_of);
	struct store_entry *entry;
	assert_int_equal(store_judge(&store, VIEW("a"), STORE_LISTED, 1, &entry), STORE_INSERT);
	assert_null(entry);
	assert_int_equal(store_judge(&store, VIEW("a"), STORE_UPSERT, 0, &entry), STORE_INSERT);
	assert_int_equal(store_judge(&store, VIEW("a"), STORE_DELETE, 9, &entry), STORE_IGNORE);
	assert_null(entry);
}

static void an_answer_that_comes_after_the_deletion_brings_nothing_back(void **state)
{
	struct store store;
	struct record record = {.key = "a"};
	struct store_entry *entry;

	(void)state;
	store_init(&store, key_of);
	add(&store, &record, 5);
	assert_int_equal(store_judge(&store, VIEW("a"), STORE_DELETE, 7, &entry), STORE_REMOVE);
	store_remove(&store, entry);
	assert_int_equal(store_judge(&store, VIEW("a"), STORE_UPSERT, 6, &entry), STORE_IGNORE);
	assert_int_equal(store_judge(&store, VIEW("a"), STORE_UPSERT, 8, &entry), STORE_INSERT);
	/* A list counts whatever its versions are, and so does what follows it. */
	assert_int_equal(store_judge(&store, VIEW("a"), STORE_LISTED, 6, &entry), STORE_INSERT);
	store_begin_replace(&store);
	assert_int_equal(store_judge(&store, VIEW("a"), STORE_UPSERT, 6, &entry), STORE_INSERT);
	store_deinit(&store);
}

static void only_newer_events_and_any_list_change_a_record(void **state)
{
	(void)state;
	static const struct {
		enum store_change change;
		uint64_t present, arriving;
		enum store_verdict verdict;
		uint64_t after;
	} rows[] = {
		{STORE_UPSERT, 5, 6, STORE_UPDATE, 6},
		{STORE_UPSERT, 5, 5, STORE_IGNORE, 5},
		{STORE_UPSERT, 5, 4, STORE_IGNORE, 5},
		{STORE_UPSERT, 5, 0, STORE_UPDATE, 0},
		{STORE_UPSERT, 0, 1, STORE_UPDATE, 1},
		{STORE_UPSERT, 0, 0, STORE_UPDATE, 0},
		{STORE_UPSERT, UINT64_MAX - 1, UINT64_MAX, STORE_UPDATE, UINT64_MAX},
		{STORE_DELETE, 5, 6, STORE_REMOVE, 5},
		{STORE_DELETE, 5, 5, STORE_IGNORE, 5},
		{STORE_DELETE, 5, 4, STORE_IGNORE, 5},
		{STORE_DELETE, 5, 0, STORE_REMOVE, 5},
		{STORE_DELETE, 0, 1, STORE_REMOVE, 0},
		{STORE_LISTED, 5, 6, STORE_UPDATE, 6},
		{STORE_LISTED, 5, 5, STORE_SAME, 5},
		{STORE_LISTED, 5, 4, STORE_UPDATE, 4},
		{STORE_LISTED, 5, 0, STORE_UPDATE, 0},
		{STORE_LISTED, 0, 0, STORE_UPDATE, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(store_deinit) struct store store;
		store_init(&store, key_of);
		struct record record = {.key = "a"};
		struct store_entry *entry;
		add(&store, &record, rows[i].present);
		assert_int_equal(store_judge(&store, VIEW("a"), rows[i].change, rows[i].arriving,
					     &entry),
				 rows[i].verdict);
		assert_ptr_equal(entry, &record.entry);
		assert_true(record.entry.version == rows[i].after);
	}
}

static void what_a_complete_list_did_not_name_is_swept(void **state)
{
	(void)state;
	CLEANUP(store_deinit) struct store store;
	store_init(&store, key_of);
	struct record kept = {.key = "kept"}, same = {.key = "same"}, gone = {.key = "gone"};
	struct record fresh = {.key = "fresh"}, also_gone = {.key = "also gone"};
	struct store_entry *entry;
	add(&store, &kept, 1);
	add(&store, &same, 2);
	add(&store, &gone, 3);
	add(&store, &also_gone, 4);
	store_begin_replace(&store);
	store_judge(&store, VIEW("kept"), STORE_LISTED, 7, &entry);
	store_judge(&store, VIEW("same"), STORE_LISTED, 2, &entry);
	add(&store, &fresh, 8);
	unsigned n_swept = 0;
	for (entry = store_sweep(&store); entry; entry = store_sweep(&store)) {
		assert_true(entry == &gone.entry || entry == &also_gone.entry);
		store_remove(&store, entry);
		n_swept++;
	}
	assert_int_equal(n_swept, 2);
	assert_int_equal(store.table.count, 3);
	assert_null(store_find(&store, VIEW("gone")));
	assert_null(store_sweep(&store));
}

static void events_during_a_list_keep_their_records(void **state)
{
	(void)state;
	CLEANUP(store_deinit) struct store store;
	store_init(&store, key_of);
	struct record newer = {.key = "newer"}, equal = {.key = "equal"}, stale = {.key = "stale"};
	struct store_entry *entry;
	add(&store, &newer, 5);
	add(&store, &equal, 5);
	add(&store, &stale, 5);
	store_begin_replace(&store);
	store_judge(&store, VIEW("newer"), STORE_UPSERT, 6, &entry);
	store_judge(&store, VIEW("equal"), STORE_UPSERT, 5, &entry);
	store_judge(&store, VIEW("stale"), STORE_UPSERT, 4, &entry);
	entry = store_sweep(&store);
	assert_ptr_equal(entry, &stale.entry);
	store_remove(&store, entry);
	assert_null(store_sweep(&store));
}

static void a_list_that_broke_off_is_forgotten(void **state)
{
	(void)state;
	CLEANUP(store_deinit) struct store store;
	store_init(&store, key_of);
	struct record a = {.key = "a"}, b = {.key = "b"};
	struct store_entry *entry;
	add(&store, &a, 1);
	add(&store, &b, 1);
	store_begin_replace(&store);
	store_judge(&store, VIEW("a"), STORE_LISTED, 1, &entry);
	store_begin_replace(&store);
	store_judge(&store, VIEW("b"), STORE_LISTED, 1, &entry);
	entry = store_sweep(&store);
	assert_ptr_equal(entry, &a.entry);
	store_remove(&store, entry);
	assert_null(store_sweep(&store));
	assert_ptr_equal(store_find(&store, VIEW("b")), &b.entry);
}

static void what_is_noted_is_not_swept_and_keeps_its_version(void **state)
{
	(void)state;
	CLEANUP(store_deinit) struct store store;
	store_init(&store, key_of);
	struct record a = {.key = "a"}, b = {.key = "b"};
	add(&store, &a, 1);
	add(&store, &b, 2);
	store_begin_replace(&store);
	store_note(&store, &a.entry);
	assert_ptr_equal(store_sweep(&store), &b.entry);
	store_remove(&store, &b.entry);
	assert_null(store_sweep(&store));
	assert_int_equal(a.entry.version, 1);
}

static void nothing_is_swept_outside_a_list(void **state)
{
	(void)state;
	CLEANUP(store_deinit) struct store store;
	store_init(&store, key_of);
	struct record a = {.key = "a"};
	add(&store, &a, 1);
	assert_null(store_sweep(&store));
	assert_ptr_equal(store_find(&store, VIEW("a")), &a.entry);
}

static void lack_of_memory_leaves_the_record_with_the_caller(void **state)
{
	(void)state;
	CLEANUP(store_deinit) struct store store;
	store_init(&store, key_of);
	struct record a = {.key = "a"};
	struct error err;
	failing_malloc_at(1);
	assert_int_equal(store_add(&store, &a.entry, 3, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(err.kind, ERROR_NO_MEMORY);
	assert_null(store_find(&store, VIEW("a")));
	assert_int_equal(a.entry.version, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_answer_that_comes_after_the_deletion_brings_nothing_back),
	cmocka_unit_test(an_unknown_key_is_inserted_but_never_deleted),
	cmocka_unit_test(only_newer_events_and_any_list_change_a_record),
	cmocka_unit_test(what_a_complete_list_did_not_name_is_swept),
	cmocka_unit_test(events_during_a_list_keep_their_records),
	cmocka_unit_test(a_list_that_broke_off_is_forgotten),
	cmocka_unit_test(what_is_noted_is_not_swept_and_keeps_its_version),
	cmocka_unit_test(nothing_is_swept_outside_a_list),
	cmocka_unit_test(lack_of_memory_leaves_the_record_with_the_caller),
};
TEST_MAIN(tests)
