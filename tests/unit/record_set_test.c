/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"

#include <stdlib.h>

#include "model/record_set.h"

/* Objects with a name and a value; one of value 13 is refused. */
struct thing {
	struct record base;
	char name[16];
	char node[16];
	int value;
};

static struct node_state_set node_states;
static struct record_set set;
static unsigned n_things; /* that are not freed yet */
static char told[256];    /* what change() was told */

static struct thing *thing_of(const struct record *record)
{
	return record ? CONTAINER_OF((struct record *)(uintptr_t)record, struct thing, base) : NULL;
}

static bool are_equal(const struct record *a, const struct record *b)
{
	return thing_of(a)->value == thing_of(b)->value;
}

static void tell(const char *what, const struct record *old, const struct record *record,
		 const struct record_event *event)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%s %d>%d@%u%s ", what, old ? thing_of(old)->value : 0,
		 record ? thing_of(record)->value : 0, (unsigned)event->now_ms,
		 event->is_initial ? "!" : "");
}

static int admit(struct record_set *records, const struct record *record, const struct record *old,
		 struct error *err)
{
	assert_ptr_equal(records, &set);
	assert_ptr_equal(old, record_set_find(&set, record->key));
	if (thing_of(record)->value == 13)
		return error_set(err, ERROR_LIMIT, 0, "13");
	return 0;
}

/* By then the set has the one and not the other, and both are whole. */
static void change(struct record_set *records, struct record *old, struct record *record,
		   const struct record_event *event)
{
	assert_ptr_equal(record_set_find(records, (old ? old : record)->key), record);
	assert_int_equal(event->change == STORE_DELETE, !record);
	tell("change", old, record, event);
	if (record && record->node_state)
		list_append(&record->node_state->pods, &record->link);
}

static void free_thing(struct record_set *records, struct record *record)
{
	(void)records;
	n_things--;
	free(thing_of(record));
}

static const struct record_kind kind = {
	.are_equal = are_equal,
	.admit = admit,
	.change = change,
	.free = free_thing,
};
static const struct record_kind plain = {.change = change, .free = free_thing};

static int set_up(void **state)
{
	(void)state;
	node_state_set_init(&node_states);
	record_set_init(&set, &kind, &node_states);
	told[0] = '\0';
	return 0;
}

/* Nothing is left. */
static int tear_down(void **state)
{
	(void)state;
	record_set_deinit(&set);
	assert_int_equal(n_things, 0);
	assert_int_equal(node_states.by_name.count, 0);
	node_state_set_deinit(&node_states);
	return 0;
}

static int put_as(const char *name, const char *node, int value, const struct record_event *event,
		  struct error *err)
{
	struct thing *thing = calloc(1, sizeof(*thing));

	if (!thing)
		return error_no_memory(err);
	snprintf(thing->name, sizeof(thing->name), "%s", name);
	snprintf(thing->node, sizeof(thing->node), "%s", node);
	thing->value = value;
	thing->base.key = view_from(thing->name);
	n_things++;
	return record_set_put(&set, &thing->base, view_from(thing->node), event, err);
}

static void put(const char *name, const char *node, int value, const struct record_event *event)
{
	struct error err;

	assert_int_equal(put_as(name, node, value, event, &err), 0);
}

static const struct thing *find(const char *name)
{
	return thing_of(record_set_find(&set, view_from(name)));
}

static void assert_told(const char *text)
{
	assert_string_equal(told, text);
	told[0] = '\0';
}

TEST(what_is_not_newer_is_dropped)
{
	static const struct {
		enum store_change change;
		uint64_t version;
		int value, then;
	} rows[] = {
		{STORE_UPSERT, 5, 5, 5}, {STORE_UPSERT, 4, 4, 5}, {STORE_UPSERT, 5, 6, 5},
		{STORE_LISTED, 5, 6, 5}, {STORE_UPSERT, 7, 7, 7}, {STORE_LISTED, 6, 6, 6},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		put("a", "n", rows[i].value,
		    &(struct record_event){.change = rows[i].change, .version = rows[i].version});
		assert_int_equal(find("a")->value, rows[i].then);
		assert_int_equal(n_things, 1);
	}
	assert_told("change 0>5@0 change 5>7@0 change 7>6@0 ");
	assert_null(find("b"));
}

TEST(a_kind_is_told_what_came_what_changed_and_what_went)
{
	put("a", "", 1, LISTED_FIRST(1));
	put("a", "", 2, UPSERT_AT(2, 50));
	remove_record(&set, VIEW("a"), 70);
	assert_told("change 0>1@0! change 1>2@50 change 2>0@70 ");
	assert_null(find("a"));
	assert_int_equal(n_things, 0);
}

TEST(what_says_the_same_leaves_what_is_there)
{
	put("a", "n", 1, UPSERT(1));
	const struct thing *thing = find("a");
	told[0] = '\0';
	put("a", "n", 1, UPSERT_AT(2, 9));
	assert_told("");
	assert_ptr_equal(find("a"), thing);
	assert_int_equal(thing->base.entry.version, 2);
	put("a", "n", 1, LISTED(2));
	assert_told("");
}

TEST(a_kind_may_have_nothing_to_say)
{
	set.kind = &plain;
	put("a", "n", 13, UPSERT(1));
	put("a", "n", 13, UPSERT(2));
	assert_told("change 0>13@0 change 13>13@0 ");
	assert_int_equal(n_things, 1);
}

TEST(a_record_hangs_on_its_node_state_and_a_node_state_that_the_last_leaves_is_gone)
{
	put("a", "n1", 1, UPSERT(1));
	assert_ptr_equal(find("a")->base.node_state, node_state_find(&node_states, VIEW("n1")));
	put("a", "n1", 2, UPSERT(2));
	assert_ptr_equal(find("a")->base.node_state, node_state_find(&node_states, VIEW("n1")));
	assert_ptr_equal(list_first(&find("a")->base.node_state->pods), &find("a")->base.link);
	put("a", "n2", 2, UPSERT(3));
	assert_null(node_state_find(&node_states, VIEW("n1")));
	put("a", "", 2, UPSERT(4));
	assert_null(find("a")->base.node_state);
	assert_int_equal(node_states.by_name.count, 0);
	put("a", "n1", 2, UPSERT(5));
	put("a", "n3", 9, UPSERT(4)); /* late: not even its node state is made */
	assert_null(node_state_find(&node_states, VIEW("n3")));
	remove_record(&set, VIEW("a"), 0);
	assert_int_equal(node_states.by_name.count, 0);
}

TEST(what_is_refused_changes_nothing_and_may_come_again)
{
	struct error err = {0};

	assert_int_equal(put_as("a", "n1", 13, UPSERT(1), &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(n_things + node_states.by_name.count, 0);
	put("a", "n1", 1, UPSERT(2));
	told[0] = '\0';
	assert_int_equal(put_as("a", "n2", 13, LISTED(3), &err), -1);
	assert_told("");
	assert_int_equal(find("a")->value, 1);
	assert_int_equal(find("a")->base.entry.version, 2);
	assert_null(node_state_find(&node_states, VIEW("n2")));
	put("a", "n2", 3, LISTED(3));
	assert_int_equal(find("a")->value, 3);
}

TEST(without_memory_nothing_changes)
{
	static const char *const names[] = {"a", "b"};

	put("a", "n1", 1, UPSERT(1));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool failed = true;

		/* From the second on: the first is the record itself. */
		for (unsigned k = 2; failed; k++) {
			struct error err = {0};

			told[0] = '\0';
			failing_malloc_at(k);
			int result = put_as(names[i], "n2", 2, UPSERT(2), &err);
			failed = failing_malloc_off();
			assert_int_equal(result, failed ? -1 : 0);
			if (!failed)
				break;
			assert_told("");
			assert_int_equal(err.kind, ERROR_NO_MEMORY);
			assert_int_equal(find("a")->base.entry.version, i ? 2 : 1);
			assert_null(find("b"));
			assert_int_equal(node_states.by_name.count, 1);
		}
	}
	assert_int_equal(n_things, 2);
}

/* The one that goes leaves its room. */
TEST(a_change_needs_no_room)
{
	for (int value = 1; value < 3; value++)
		for (unsigned i = 0; i < 16; i++) { /* as many as there are buckets */
			const char name[] = {(char)('a' + i), '\0'};

			failing_malloc_at(value == 1 ? 100 : 2); /* the first is the record's */
			put(name, "", value, UPSERT((unsigned)value));
			assert_false(failing_malloc_off());
		}
	assert_int_equal(n_things, 16);
}

TEST(a_walk_meets_each_and_the_end_frees_all)
{
	enum { N = 40 };
	unsigned met[N] = {0};

	assert_null(record_set_next(&set, NULL));
	for (int i = 0; i < N; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		put(name, i % 2 ? "n1" : "", i + 20, UPSERT((uint64_t)i + 1));
	}
	for (const struct record *record = record_set_next(&set, NULL); record;
	     record = record_set_next(&set, record))
		met[thing_of(record)->value - 20]++;
	for (int i = 0; i < N; i++)
		assert_int_equal(met[i], 1);
	assert_int_equal(n_things, N);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(what_is_not_newer_is_dropped),
	cmocka_unit_test_set_up(a_kind_is_told_what_came_what_changed_and_what_went),
	cmocka_unit_test_set_up(what_says_the_same_leaves_what_is_there),
	cmocka_unit_test_set_up(a_kind_may_have_nothing_to_say),
	cmocka_unit_test_set_up(a_record_hangs_on_its_node_state_and_a_node_state_that_the_last_leaves_is_gone),
	cmocka_unit_test_set_up(what_is_refused_changes_nothing_and_may_come_again),
	cmocka_unit_test_set_up(a_change_needs_no_room),
	cmocka_unit_test_set_up(without_memory_nothing_changes),
	cmocka_unit_test_set_up(a_walk_meets_each_and_the_end_frees_all),
};

TEST_MAIN(tests)
