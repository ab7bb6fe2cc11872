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
	struct recall_debounced *doubts;
	result = debounce_close(book);
	doubts = arena_alloc(&arena, result.n_seen, sizeof(*doubts));
	assert_non_null(doubts);
	for (size_t i = 0; i < result.n_seen; i++) {
		doubts[i] = result.seen[i];
		doubts[i].age_ms += later_ms;
	}
	input.doubts = doubts;
	input.n_doubts = result.n_seen;
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
		for (size_t k = 0; k < input.n_doubts; k++)
			((struct recall_debounced *)(uintptr_t)input.doubts)[k].age_ms +=
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
		input.n_doubts = 0;
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
		input.doubts = &known;
		input.n_doubts = 1;
		input.report_age_ms = rows[i].report_age_ms;
		begin();
		assert_int_equal(debounce_counts(book, &fact), rows[i].counts);
		end(0);
		assert_int_equal(result.is_hearing_awaited, rows[i].is_awaited);
		assert_int_equal(result.again_in_ms, rows[i].again_in_ms);
	}
}

static void one_beyond_the_bound_counts_at_once_unless_the_node_is_silent(void **state)
{
	(void)state;
	char text[16];
	begin();
	for (unsigned i = 0; i < DEBOUNCE_MAX; i++) {
		snprintf(text, sizeof(text), "%u", i);
		assert_false(counts(text));
	}
	assert_true(counts("one more"));
	assert_false(counts("0"));
	end(999);
	assert_int_equal(result.n_seen, DEBOUNCE_MAX);
	begin();
	assert_true(counts("one more"));
	for (unsigned i = 0; i < DEBOUNCE_MAX; i++) {
		snprintf(text, sizeof(text), "%u", i);
		assert_false(counts(text));
	}
	end(1);
	assert_int_equal(result.again_in_ms, 1);
	assert_int_equal(result.n_seen, DEBOUNCE_MAX);
	begin();
	assert_true(counts("511"));
	input.report_age_ms = limits.report_stale_ms;
	begin();
	assert_false(counts("one more"));
}

static bool user_counts(const char *device, unsigned n)
{
	char text[16];
	struct debounce_subject fact;
	snprintf(text, sizeof(text), "%u", n);
	fact = fact_of(view_from(text));
	fact.kind = DEBOUNCE_USER;
	fact.device = view_from(device);
	return debounce_counts(book, &fact);
}

static unsigned count_users(const char *device, unsigned from, unsigned n)
{
	unsigned n_counting = 0;
	for (unsigned i = from; i < from + n; i++)
		n_counting += user_counts(device, i);
	return n_counting;
}

static void users_take_half_of_the_book_and_a_further_one_waits_for_room(void **state)
{
	(void)state;
	begin();
	assert_int_equal(count_users("GPU-0", 0, DEBOUNCE_MAX), 0);
	end(1000);
	assert_int_equal(result.n_seen, DEBOUNCE_MAX_USERS);
	assert_int_equal(result.again_in_ms, 1000);
	begin();
	assert_int_equal(count_users("GPU-0", 0, DEBOUNCE_MAX), DEBOUNCE_MAX_USERS);
	end(1000);
	/* There is no room: to look again would be no use. */
	assert_int_equal(result.again_in_ms, -1);
	begin();
	assert_int_equal(count_users("GPU-0", 1, DEBOUNCE_MAX - 1), DEBOUNCE_MAX_USERS - 1);
	end(0);
	/* One has left room. */
	assert_int_equal(result.again_in_ms, 0);
	begin();
	assert_int_equal(count_users("GPU-0", 1, DEBOUNCE_MAX - 1), DEBOUNCE_MAX_USERS - 1);
	end(999);
	assert_int_equal(result.again_in_ms, 1000);
	begin();
	assert_int_equal(count_users("GPU-0", 1, DEBOUNCE_MAX - 1), DEBOUNCE_MAX_USERS - 1);
	end(1);
	begin();
	assert_int_equal(count_users("GPU-0", 1, DEBOUNCE_MAX - 1), DEBOUNCE_MAX_USERS);
}

static void however_many_users_there_are_other_facts_have_half_of_the_book(void **state)
{
	(void)state;
	char text[16];
	begin();
	(void)count_users("GPU-0", 0, 2 * DEBOUNCE_MAX);
	for (unsigned i = 0; i < DEBOUNCE_MAX - DEBOUNCE_MAX_USERS; i++) {
		snprintf(text, sizeof(text), "%u", i);
		assert_false(counts(text));
	}
	assert_true(counts("one more"));
	end(0);
	assert_int_equal(result.n_seen, DEBOUNCE_MAX);
}

static void the_users_of_one_device_leave_room_for_those_of_another(void **state)
{
	(void)state;
	static const struct report_device devices[8];
	const unsigned share = DEBOUNCE_MAX_USERS / ARRAY_SIZE(devices);
	begin();
	(void)count_users("GPU-0", 0, DEBOUNCE_MAX);
	end(1000);
	/* The others of these are new. */
	report.devices = (struct array){(void *)(uintptr_t)devices, ARRAY_SIZE(devices), true};
	begin();
	assert_int_equal(count_users("GPU-0", 0, DEBOUNCE_MAX), share);
	assert_int_equal(count_users("GPU-1", 0, 1), 0);
	end(1000);
	assert_int_equal(result.n_seen, share + 1);
	begin();
	assert_int_equal(count_users("GPU-0", 0, DEBOUNCE_MAX), share);
	assert_int_equal(count_users("GPU-1", 0, 1), 1);
	assert_int_equal(count_users("GPU-2", 0, DEBOUNCE_MAX), 0);
	end(1000);
	assert_int_equal(result.n_seen, 2 * share + 1);
	report.devices = (struct array){0};
}

/* Otherwise they and the new ones would take more than half of the book. */
static void the_users_of_a_device_that_is_gone_leave_their_room_to_the_next_join(void **state)
{
	(void)state;
	begin();
	(void)count_users("GPU-0", 0, DEBOUNCE_MAX);
	end(1000);
	begin();
	assert_false(user_counts("GPU-1", 0));
	assert_false(counts("a"));
	end(1000);
	assert_int_equal(result.n_seen, 1);
	assert_int_equal(result.again_in_ms, 0);
	begin();
	assert_false(user_counts("GPU-1", 0));
	end(1000);
	assert_int_equal(result.n_seen, 1);
	begin();
	assert_true(user_counts("GPU-1", 0));
}

static void whose_time_runs_keeps_its_room_whoever_is_new(void **state)
{
	(void)state;
	begin();
	assert_false(user_counts("GPU-0", DEBOUNCE_MAX));
	end(1000);
	begin();
	assert_int_equal(count_users("GPU-0", 0, DEBOUNCE_MAX), 0);
	assert_true(user_counts("GPU-0", DEBOUNCE_MAX));
}

static void a_user_beyond_the_bound_of_a_silent_node_starts_nothing(void **state)
{
	(void)state;
	begin();
	(void)user_counts("GPU-0", DEBOUNCE_MAX);
	end(0);
	input.report_age_ms = limits.report_stale_ms;
	begin();
	assert_int_equal(count_users("GPU-0", 0, DEBOUNCE_MAX), 0);
	end(0);
	assert_int_equal(result.again_in_ms, -1);
}

static void a_book_is_as_large_as_it_need_be(void **state)
{
	(void)state;
	static const struct recall_debounced known = {.key = 1};
	struct error err;
	assert_int_equal(debounce_open(&input, 0, &arena, &book, &err), 0);
	assert_true(counts("a"));
	input.doubts = &known;
	input.n_doubts = 1;
	assert_int_equal(debounce_open(&input, 1, &arena, &book, &err), 0);
	assert_false(counts("a"));
	assert_true(counts("b"));
	input.n_doubts = 0;
	for (size_t n_facts = DEBOUNCE_MAX - 1; n_facts <= DEBOUNCE_MAX + 1; n_facts++) {
		size_t n_waiting = 0;
		assert_int_equal(debounce_open(&input, n_facts, &arena, &book, &err), 0);
		for (unsigned i = 0; i <= DEBOUNCE_MAX; i++) {
			char text[16];
			snprintf(text, sizeof(text), "%u", i);
			n_waiting += !counts(text);
		}
		assert_int_equal(n_waiting, n_facts < DEBOUNCE_MAX ? n_facts : DEBOUNCE_MAX);
	}
}

/* There are five slots for these two, and both belong into the first. */
static void doubts_that_belong_into_one_slot_find_another(void **state)
{
	(void)state;
	static const struct recall_debounced known[] = {{.key = 10, .age_ms = 1}, {.key = 20, .age_ms = 2}};
	struct error err;
	input.doubts = known;
	input.n_doubts = ARRAY_SIZE(known);
	assert_int_equal(debounce_open(&input, 0, &arena, &book, &err), 0);
	assert_true(counts("there is no room for a third"));
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
	cmocka_unit_test_setup_teardown(
		one_beyond_the_bound_counts_at_once_unless_the_node_is_silent, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		users_take_half_of_the_book_and_a_further_one_waits_for_room, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		however_many_users_there_are_other_facts_have_half_of_the_book, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_users_of_one_device_leave_room_for_those_of_another,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_users_of_a_device_that_is_gone_leave_their_room_to_the_next_join, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(whose_time_runs_keeps_its_room_whoever_is_new, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_user_beyond_the_bound_of_a_silent_node_starts_nothing,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_book_is_as_large_as_it_need_be, set_up, tear_down),
	cmocka_unit_test_setup_teardown(doubts_that_belong_into_one_slot_find_another, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_number_left_out_does_not_fall_while_as_many_wait,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_there_is_no_book, set_up, tear_down),
};

TEST_MAIN(tests)
