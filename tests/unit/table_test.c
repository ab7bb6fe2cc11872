/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "base/prng.h"
#include "base/table.h"

#define N_RECORDS 1000

struct record {
	struct table_node node;
	char key[24];
	bool added;
};

static struct view key_of(const struct table_node *node)
{
	return view_from(CONTAINER_OF(node, struct record, node)->key);
}

static void make_records(struct record *records, size_t n)
{
	memset(records, 0, n * sizeof(*records));
	for (size_t i = 0; i < n; i++)
		snprintf(records[i].key, sizeof(records[i].key), "%zu", i);
}

static void add(struct table *table, struct record *record)
{
	struct error err;
	assert_int_equal(table_add(table, &record->node, &err), 0);
	record->added = true;
}

static void an_empty_table_finds_nothing(void **state)
{
	(void)state;
	CLEANUP(table_deinit) struct table table;
	table_init(&table, key_of);
	assert_null(table_find(&table, VIEW("0")));
	assert_null(table_next(&table, NULL));
}

static void random_changes_agree_with_a_plain_array(void **state)
{
	(void)state;
	static struct record records[N_RECORDS];
	make_records(records, N_RECORDS);
	struct prng prng;
	prng_init(&prng, 7);
	CLEANUP(table_deinit) struct table table;
	table_init(&table, key_of);
	for (int step = 0; step < 20000; step++) {
		struct record *record = &records[prng_between(&prng, 0, N_RECORDS - 1)];
		struct table_node *found = table_find(&table, view_from(record->key));
		assert_ptr_equal(found, record->added ? &record->node : NULL);
		if (record->added)
			table_remove(&table, &record->node);
		else
			add(&table, record);
		record->added = !found;
	}
	size_t n_added = 0;
	for (size_t i = 0; i < N_RECORDS; i++)
		n_added += records[i].added;
	assert_int_equal(table.count, n_added);
}

static void a_walk_meets_each_record_once(void **state)
{
	(void)state;
	static struct record records[N_RECORDS];
	make_records(records, N_RECORDS);
	CLEANUP(table_deinit) struct table table;
	table_init(&table, key_of);
	for (size_t i = 0; i < N_RECORDS; i++)
		add(&table, &records[i]);
	size_t met = 0;
	for (struct table_node *n = table_next(&table, NULL); n; n = table_next(&table, n)) {
		struct record *record = CONTAINER_OF(n, struct record, node);
		assert_true(record->added);
		record->added = false;
		met++;
	}
	assert_int_equal(met, N_RECORDS);
}

static void a_walk_survives_removal_of_what_it_returned(void **state)
{
	(void)state;
	static struct record records[N_RECORDS];
	make_records(records, N_RECORDS);
	CLEANUP(table_deinit) struct table table;
	table_init(&table, key_of);
	for (size_t i = 0; i < N_RECORDS; i++)
		add(&table, &records[i]);
	struct table_node *node = table_next(&table, NULL);
	while (node) {
		struct table_node *next = table_next(&table, node);
		table_remove(&table, node);
		node = next;
	}
	assert_int_equal(table.count, 0);
	assert_null(table_next(&table, NULL));
}

struct hashed {
	uint32_t hash;
	uint32_t number;
};

static int compare_hashes(const void *a, const void *b)
{
	uint32_t x = ((const struct hashed *)a)->hash, y = ((const struct hashed *)b)->hash;
	return (x > y) - (x < y);
}

static void keys_of_one_hash_are_told_apart(void **state)
{
	(void)state;
	/* Among so many keys some 18 pairs share a hash; that none does happens once in 10^8 runs. */
	static struct hashed hashed[400000];
	for (uint32_t i = 0; i < ARRAY_SIZE(hashed); i++) {
		char key[24];
		snprintf(key, sizeof(key), "%u", i);
		hashed[i] = (struct hashed){view_hash(view_from(key)), i};
	}
	qsort(hashed, ARRAY_SIZE(hashed), sizeof(hashed[0]), compare_hashes);
	size_t n_pairs = 0;
	for (size_t i = 1; i < ARRAY_SIZE(hashed); i++) {
		if (hashed[i].hash != hashed[i - 1].hash)
			continue;
		struct record records[2] = {0};
		CLEANUP(table_deinit) struct table table;
		table_init(&table, key_of);
		snprintf(records[0].key, sizeof(records[0].key), "%u", hashed[i - 1].number);
		snprintf(records[1].key, sizeof(records[1].key), "%u", hashed[i].number);
		add(&table, &records[0]);
		assert_null(table_find(&table, view_from(records[1].key)));
		add(&table, &records[1]);
		for (size_t k = 0; k < 2; k++)
			assert_ptr_equal(table_find(&table, view_from(records[k].key)),
					 &records[k].node);
		n_pairs++;
	}
	assert_true(n_pairs > 0);
}

static void lack_of_memory_changes_nothing(void **state)
{
	(void)state;
	static struct record records[N_RECORDS];
	make_records(records, N_RECORDS);
	CLEANUP(table_deinit) struct table table;
	table_init(&table, key_of);
	for (size_t i = 0; i < N_RECORDS; i++) {
		struct error err = {0};
		failing_malloc_at(1);
		int result = table_add(&table, &records[i].node, &err);
		if (failing_malloc_off()) {
			assert_int_equal(result, -1);
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_int_equal(table.count, i);
			assert_null(table_find(&table, view_from(records[i].key)));
			add(&table, &records[i]);
		}
		assert_ptr_equal(table_find(&table, view_from(records[i].key)), &records[i].node);
	}
}

static void where_there_is_room_adding_needs_no_memory(void **state)
{
	(void)state;
	static struct record records[100];
	make_records(records, ARRAY_SIZE(records));
	CLEANUP(table_deinit) struct table table;
	table_init(&table, key_of);
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct error err = {0};
		failing_malloc_at(1);
		int result = table_reserve(&table, &err);
		bool failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		assert_int_equal(table_reserve(&table, &err), 0);
		failing_malloc_at(1);
		add(&table, &records[i]);
		assert_false(failing_malloc_off());
	}
	assert_int_equal(table.count, ARRAY_SIZE(records));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_empty_table_finds_nothing),
	cmocka_unit_test(random_changes_agree_with_a_plain_array),
	cmocka_unit_test(a_walk_meets_each_record_once),
	cmocka_unit_test(a_walk_survives_removal_of_what_it_returned),
	cmocka_unit_test(keys_of_one_hash_are_told_apart),
	cmocka_unit_test(lack_of_memory_changes_nothing),
	cmocka_unit_test(where_there_is_room_adding_needs_no_memory),
};
TEST_MAIN(tests)
