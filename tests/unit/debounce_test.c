/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/debounce.h"

/* Kinds, as a caller may have them. */
enum { ONE, OTHER, KEEPS_AGE };

static struct arena arena;
static struct debounce_round given;
static struct debounce_result result;
static struct debounce *book;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1u << 20);
	given = (struct debounce_round){.n_subjects = DEBOUNCE_MAX + 1, .report_age_ms = 500};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static void begin(void)
{
	struct error err;
	assert_int_equal(debounce_open(&given, &arena, &book, &err), 0);
}

/* The next join is given what this one has seen, so much later. */
static void end(int64_t later_ms)
{
	struct debounce_seen *debounced;
	result = debounce_close(book);
	debounced = arena_alloc(&arena, result.n_seen, sizeof(*debounced));
	assert_non_null(debounced);
	for (size_t i = 0; i < result.n_seen; i++) {
		debounced[i] = result.seen[i];
		debounced[i].age_ms += later_ms;
	}
	given.before = debounced;
	given.n_before = result.n_seen;
}

static struct debounce_subject fact_of(struct view subject)
{
	return (struct debounce_subject){
		.kind = ONE,
		.device = VIEW("GPU-0"),
		.pod_uid = VIEW("uid"),
		.subject = subject,
		.waits_ms = 1000,
	};
}

static bool counts(const char *subject)
{
	struct debounce_subject fact = fact_of(view_from(subject));
	return debounce_counts(book, &fact);
}

static void a_fact_counts_when_it_has_been_seen_for_so_long(void **state)
{
	(void)state;
	static const struct {
		int64_t later_ms;
		bool counts;
		int64_t again_in_ms;
	} rows[] = {{0, false, 1000}, {0, false, 1000}, {999, false, 1}, {1, true, -1},
		    {5000, true, -1}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t k = 0; k < given.n_before; k++)
			((struct debounce_seen *)(uintptr_t)given.before)[k].age_ms +=
				rows[i].later_ms;
		begin();
		assert_int_equal(counts("a"), rows[i].counts);
		end(0);
		assert_int_equal(result.again_in_ms, rows[i].again_in_ms);
		assert_int_equal(result.n_seen, 1);
	}
}

static void the_youngest_that_waits_says_when_to_look_again(void **state)
{
	(void)state;
	begin();
	assert_false(counts("a"));
	end(400);
	begin();
	assert_false(counts("b"));
	assert_false(counts("a"));
	end(0);
	assert_int_equal(result.again_in_ms, 600);
}

static void what_is_no_longer_seen_is_forgotten(void **state)
{
	(void)state;
	begin();
	counts("a");
	counts("b");
	end(1000);
	begin();
	assert_true(counts("b"));
	end(0);
	assert_int_equal(result.n_seen, 1);
	begin();
	assert_false(counts("a"));
	assert_true(counts("b"));
}

static void a_fact_is_another_in_any_part(void **state)
{
	(void)state;
	struct debounce_subject facts[] = {
		fact_of(VIEW("a")), fact_of(VIEW("a")), fact_of(VIEW("a")),
		fact_of(VIEW("a")), fact_of(VIEW("b")), fact_of(VIEW("")),
		fact_of(VIEW("a")),
	};
	facts[1].kind = OTHER;
	facts[2].device = VIEW("GPU-1");
	facts[3].pod_uid = VIEW("other");
	/* The same bytes, parted elsewhere. */
	facts[5].pod_uid = VIEW("uida");
	facts[6].kind = KEEPS_AGE;
	begin();
	assert_false(debounce_counts(book, &facts[0]));
	end(1000);
	begin();
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		assert_int_equal(debounce_counts(book, &facts[i]), i == 0);
	assert_true(debounce_counts(book, &facts[0]));
	end(0);
	assert_int_equal(result.n_seen, ARRAY_SIZE(facts));
}

static void what_was_published_counts_and_needs_no_key(void **state)
{
	(void)state;
	struct debounce_subject fact = fact_of(VIEW("a"));
	fact.is_published = true;
	given.is_silent = true;
	begin();
	assert_true(debounce_counts(book, &fact));
	end(0);
	assert_int_equal(result.n_seen, 0);
}

static void what_keeps_its_age_counts_at_once_when_it_is_published_no_more(void **state)
{
	(void)state;
	struct debounce_subject fact = fact_of(VIEW("a"));
	fact.is_published = fact.keeps_age = true;
	begin();
	assert_true(debounce_counts(book, &fact));
	end(0);
	assert_int_equal(result.n_seen, 1);
	fact.is_published = false;
	begin();
	assert_true(debounce_counts(book, &fact));
}

static void a_silent_node_starts_nothing_new_and_is_not_looked_at_again(void **state)
{
	(void)state;
	for (int is_silent = 0; is_silent < 2; is_silent++) {
		given.is_silent = is_silent;
		given.n_before = 0;
		begin();
		counts("a");
		end(2000);
		assert_int_equal(result.again_in_ms, is_silent ? -1 : 1000);
		begin();
		assert_int_equal(counts("a"), !is_silent);
		end(0);
		assert_int_equal(result.n_seen, 1);
	}
	given.is_silent = false;
	begin();
	assert_true(counts("a"));
}

static void what_needs_a_report_waits_for_a_heartbeat_and_not_for_the_time(void **state)
{
	(void)state;
	static const struct {
		int64_t age_ms, report_age_ms;
		bool counts, is_awaited;
		int64_t again_in_ms;
	} rows[] = {
		{0, 0, false, false, 1000},   {999, 0, false, false, 1}, {1000, 0, true, false, -1},
		{1000, 1, false, true, -1},   {1500, 501, false, true, -1},
		{1500, 500, true, false, -1},
	};
	struct debounce_subject fact = fact_of(VIEW("a"));
	fact.needs_report = true;
	begin();
	(void)debounce_counts(book, &fact);
	end(0);
	struct debounce_seen known = result.seen[0];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		known.age_ms = rows[i].age_ms;
		given.before = &known;
		given.n_before = 1;
		given.report_age_ms = rows[i].report_age_ms;
		begin();
		assert_int_equal(debounce_counts(book, &fact), rows[i].counts);
		end(0);
		assert_int_equal(result.is_hearing_awaited, rows[i].is_awaited);
		assert_int_equal(result.again_in_ms, rows[i].again_in_ms);
	}
}

static const char *name_of(unsigned n)
{
	static char text[16];
	snprintf(text, sizeof(text), "%u", n);
	return text;
}

/* Of any kind; but what the last join has said keeps its room. */
static void one_that_finds_no_room_does_not_count_and_is_counted(void **state)
{
	(void)state;
	static const unsigned char kinds[] = {ONE, OTHER, KEEPS_AGE};
	begin();
	for (unsigned i = 0; i < DEBOUNCE_MAX; i++)
		assert_false(counts(name_of(i)));
	assert_false(counts("0"));
	end(1000);
	assert_int_equal(result.n_seen, DEBOUNCE_MAX);
	assert_int_equal(result.n_left_out, 0);
	begin();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct debounce_subject subject = fact_of(VIEW("one more"));
		subject.kind = kinds[i];
		assert_false(debounce_counts(book, &subject));
	}
	for (unsigned i = 0; i < DEBOUNCE_MAX; i++)
		assert_true(counts(name_of(i)));
	end(1000);
	assert_int_equal(result.n_left_out, ARRAY_SIZE(kinds));
	/* There is no room: to look again would be no use. */
	assert_int_equal(result.again_in_ms, -1);
}

static void what_had_no_room_is_said_and_may_be_counted_again(void **state)
{
	(void)state;
	struct debounce_subject subject = fact_of(VIEW("one more"));
	begin();
	for (unsigned i = 0; i < DEBOUNCE_MAX; i++) {
		const struct debounce_subject waits = fact_of(view_from(name_of(i)));
		assert_int_equal(debounce_ask(book, &waits), DEBOUNCE_WAITS);
	}
	assert_int_equal(debounce_ask(book, &subject), DEBOUNCE_NO_ROOM);
	subject.is_published = true;
	assert_int_equal(debounce_ask(book, &subject), DEBOUNCE_COUNTS);
	debounce_leave_out(book, 2);
	assert_int_equal(debounce_close(book).n_left_out, 3);
}

/* All devices of a node may be judged twice. */
static void one_that_finds_no_room_is_counted_once_if_a_join_begins_anew(void **state)
{
	(void)state;
	begin();
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < DEBOUNCE_MAX; i++)
			assert_false(counts(name_of(i)));
		assert_false(counts("one more"));
		if (pass == 0)
			debounce_begin_anew(book);
	}
	result = debounce_close(book);
	assert_int_equal(result.n_seen, DEBOUNCE_MAX);
	assert_int_equal(result.n_left_out, 1);
}

static void what_is_seen_no_more_leaves_its_room_to_the_next_join(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < DEBOUNCE_MAX; i++)
		assert_false(counts(name_of(i)));
	end(0);
	for (int is_silent = 1; is_silent >= 0; is_silent--) {
		given.is_silent = is_silent;
		begin();
		for (unsigned i = 1; i < DEBOUNCE_MAX; i++)
			assert_false(counts(name_of(i)));
		assert_false(counts("one more"));
		result = debounce_close(book);
		assert_int_equal(result.n_seen, DEBOUNCE_MAX - 1);
		assert_int_equal(result.n_left_out, 1);
		assert_int_equal(result.again_in_ms, 0);
	}
	end(0);
	begin();
	assert_false(counts("one more"));
	end(1000);
	assert_int_equal(result.n_left_out, 0);
	begin();
	assert_true(counts("one more"));
}

static void there_is_room_for_as_many_as_there_can_be(void **state)
{
	(void)state;
	static const size_t numbers[] = {0, 1, DEBOUNCE_MAX - 1, DEBOUNCE_MAX, DEBOUNCE_MAX + 1};
	struct error err;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		size_t n_max = numbers[i] < DEBOUNCE_MAX ? numbers[i] : DEBOUNCE_MAX;
		given.n_subjects = numbers[i];
		assert_int_equal(debounce_open(&given, &arena, &book, &err), 0);
		for (unsigned k = 0; k <= DEBOUNCE_MAX; k++)
			assert_false(counts(name_of(k)));
		result = debounce_close(book);
		assert_int_equal(result.n_seen, n_max);
		assert_int_equal(result.n_left_out, DEBOUNCE_MAX + 1 - n_max);
	}
}

/* There are five slots for these two, and both belong into the first. */
static void doubts_that_belong_into_one_slot_find_another(void **state)
{
	(void)state;
	static const struct debounce_seen known[] = {{.key = 10, .age_ms = 1}, {.key = 20, .age_ms = 2}};
	struct error err;
	given.before = known;
	given.n_before = ARRAY_SIZE(known);
	given.n_subjects = 0;
	assert_int_equal(debounce_open(&given, &arena, &book, &err), 0);
	assert_false(counts("there is no room for a third"));
}

static void the_number_left_out_does_not_fall_while_as_many_wait(void **state)
{
	(void)state;
	static const struct {
		int64_t left_out, n_waiting, before, is;
	} rows[] = {{0, 0, 0, 0}, {0, 5, 0, 0}, {0, 6, 6, 6}, {0, 4, 6, 4}, {2, 9, 6, 6},
		    {7, 3, 6, 7}, {6, 3, 6, 6}, {0, 0, 6, 0}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(
			debounce_left_out(rows[i].left_out, rows[i].n_waiting, rows[i].before),
			rows[i].is);
}

static void without_memory_there_is_no_book(void **state)
{
	(void)state;
	struct error err;
	bool failed = true;
	for (size_t cap = 0; failed; cap += 16) {
		assert_true(cap < 65536);
		arena_deinit(&arena);
		arena_init(&arena, cap);
		given.n_subjects = 8;
		failed = debounce_open(&given, &arena, &book, &err) < 0;
		assert_true(!failed || err.kind == ERROR_NO_MEMORY);
		assert_true(failed || cap > 8 * sizeof(struct debounce_seen));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_fact_counts_when_it_has_been_seen_for_so_long, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_youngest_that_waits_says_when_to_look_again, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_is_no_longer_seen_is_forgotten, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_keeps_its_age_counts_at_once_when_it_is_published_no_more, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_fact_is_another_in_any_part, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_was_published_counts_and_needs_no_key, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_silent_node_starts_nothing_new_and_is_not_looked_at_again,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_needs_a_report_waits_for_a_heartbeat_and_not_for_the_time, set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_that_finds_no_room_does_not_count_and_is_counted,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_had_no_room_is_said_and_may_be_counted_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_that_finds_no_room_is_counted_once_if_a_join_begins_anew,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_is_seen_no_more_leaves_its_room_to_the_next_join,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(there_is_room_for_as_many_as_there_can_be,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(doubts_that_belong_into_one_slot_find_another, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_number_left_out_does_not_fall_while_as_many_wait,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_there_is_no_book, set_up, tear_down),
};

TEST_MAIN(tests)
