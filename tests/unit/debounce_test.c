/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "join/debounce.h"

static struct arena arena;
static struct report report;
static struct join_limits limits;
static struct join_input input;
static struct debounce_result result;
static struct debounce *book;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1u << 20);
	limits = (struct join_limits){.report_stale_ms = 120000};
	input = (struct join_input){.report = &report, .report_age_ms = 500, .limits = &limits};
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
	assert_int_equal(debounce_open(&input, DEBOUNCE_MAX + 1, &arena, &book, &err), 0);
}

/* The next join is given what this one has seen, so much later. */
static void end(int64_t later_ms)
{
	struct recall_debounced *debounced;
	result = debounce_close(book);
	debounced = arena_alloc(&arena, result.n_seen, sizeof(*debounced));
	assert_non_null(debounced);
	for (size_t i = 0; i < result.n_seen; i++) {
		debounced[i] = result.seen[i];
		debounced[i].age_ms += later_ms;
	}
	input.debounced = debounced;
	input.n_debounced = result.n_seen;
}

static struct debounce_subject fact_of(struct view subject)
{
	return (struct debounce_subject){
		.kind = DEBOUNCE_UNPLACED,
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
		for (size_t k = 0; k < input.n_debounced; k++)
			((struct recall_debounced *)(uintptr_t)input.debounced)[k].age_ms +=
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
	facts[1].kind = DEBOUNCE_USER;
	facts[2].device = VIEW("GPU-1");
	facts[3].pod_uid = VIEW("other");
	/* The same bytes, parted elsewhere. */
	facts[5].pod_uid = VIEW("uida");
	facts[6].kind = DEBOUNCE_OVERLAP;
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
	input.report_age_ms = limits.report_stale_ms;
	begin();
	assert_true(debounce_counts(book, &fact));
	end(0);
	assert_int_equal(result.n_seen, 0);
}

static void a_silent_node_starts_nothing_new_and_is_not_looked_at_again(void **state)
{
	(void)state;
	for (unsigned has_report = 0; has_report < 2; has_report++) {
		input.report = has_report ? &report : NULL;
		input.report_age_ms = limits.report_stale_ms;
		input.n_debounced = 0;
		begin();
		counts("a");
		end(2000);
		assert_int_equal(result.again_in_ms, has_report ? -1 : 1000);
		begin();
		assert_int_equal(counts("a"), !has_report);
		end(0);
		assert_int_equal(result.n_seen, 1);
	}
	input.report = &report;
	input.report_age_ms = limits.report_stale_ms - 1;
	begin();
	assert_true(counts("a"));
}

static void what_is_to_be_heard_waits_for_a_heartbeat_and_not_for_the_time(void **state)
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
	fact.is_to_be_heard = true;
	begin();
	(void)debounce_counts(book, &fact);
	end(0);
	struct recall_debounced known = result.seen[0];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		known.age_ms = rows[i].age_ms;
		input.debounced = &known;
		input.n_debounced = 1;
		input.report_age_ms = rows[i].report_age_ms;
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
	static const enum debounce_kind kinds[] = {DEBOUNCE_DISAGREEMENT, DEBOUNCE_UNPLACED,
						   DEBOUNCE_USER,	  DEBOUNCE_UNKNOWN,
						   DEBOUNCE_OVERLAP};
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
		input.report_age_ms = is_silent ? limits.report_stale_ms : 0;
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
		assert_int_equal(debounce_open(&input, numbers[i], &arena, &book, &err), 0);
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
	static const struct recall_debounced known[] = {{.key = 10, .age_ms = 1}, {.key = 20, .age_ms = 2}};
	struct error err;
	input.debounced = known;
	input.n_debounced = ARRAY_SIZE(known);
	assert_int_equal(debounce_open(&input, 0, &arena, &book, &err), 0);
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
		failed = debounce_open(&input, 8, &arena, &book, &err) < 0;
		assert_true(!failed || err.kind == ERROR_NO_MEMORY);
		assert_true(failed || cap > 8 * sizeof(struct recall_debounced));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_fact_counts_when_it_has_been_seen_for_so_long, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_youngest_that_waits_says_when_to_look_again, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_is_no_longer_seen_is_forgotten, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_fact_is_another_in_any_part, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_was_published_counts_and_needs_no_key, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_silent_node_starts_nothing_new_and_is_not_looked_at_again,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_to_be_heard_waits_for_a_heartbeat_and_not_for_the_time, set_up, tear_down),
	cmocka_unit_test_setup_teardown(one_that_finds_no_room_does_not_count_and_is_counted,
					set_up, tear_down),
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
