/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/delivery.h"

static const struct delivery_config config = {.heartbeat_ms = 60000, .instance = 812345};

/* An agent and two replicas; most tests speak with the first one. */
struct fixture {
	struct delivery_pace pace;
	struct delivery one, other;
};

static void start(struct fixture *f)
{
	delivery_pace_init(&f->pace, &config, 1);
	delivery_init(&f->one, &f->pace);
	delivery_init(&f->other, &f->pace);
}

/* Makes the report that is due and gives it this answer. */
static enum delivery_verdict answer(struct delivery *delivery, int status, uint64_t now)
{
	const struct delivery_answer answer = {.status = status};
	delivery_make(delivery->pace, now);
	delivery_begin(delivery);
	return delivery_end(delivery, &answer, now, 900000);
}

static enum delivery_verdict answer_heartbeat(struct delivery *delivery, int64_t seconds, uint64_t now)
{
	const struct delivery_answer said = {.status = 200, .heartbeat_s = seconds};
	delivery_begin(delivery);
	return delivery_end(delivery, &said, now, 900000);
}

static void nothing_is_posted_before_there_is_something_to_say(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	assert_int_equal(delivery_next_at(&f.one), DELIVERY_NEVER);
	delivery_changed(&f.one, 1000);
	assert_int_equal(delivery_next_at(&f.one), 1000);
}

static void sequence_numbers_start_at_one_and_rise(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	for (int64_t i = 1; i < 10; i++) {
		assert_int_equal(delivery_make(&f.pace, 1000), i);
		delivery_begin(&f.one);
		const struct delivery_answer answer = {.status = i % 2 ? 200 : 503};
		delivery_end(&f.one, &answer, 1000, 900000);
	}
	assert_int_equal(f.pace.instance, 812345);
}

static void a_heartbeat_follows_a_success_with_a_tenth_of_jitter(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	uint64_t now = 1000, shortest = DELIVERY_NEVER, longest = 0;
	delivery_changed(&f.one, now);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(answer(&f.one, 200, now), DELIVERY_ACCEPTED);
		uint64_t wait = delivery_next_at(&f.one) - now;
		shortest = wait < shortest ? wait : shortest;
		longest = wait > longest ? wait : longest;
		now += wait;
	}
	assert_in_range(shortest, 54000, 54500);
	assert_in_range(longest, 65500, 66000);
}

static void the_controllers_heartbeat_is_adopted_within_reason(void **state)
{
	(void)state;
	static const struct {
		int64_t said;
		uint32_t adopted_ms;
	} rows[] = {
		{10, 10000}, {0, 60000}, {-5, 60000}, {1, 1000}, {3600, 3600000},
		{3601, 3600000}, {INT64_MAX, 3600000}, {INT64_MIN, 60000},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f;
		start(&f);
		answer_heartbeat(&f.one, rows[i].said, 1000);
		assert_int_equal(f.pace.heartbeat_ms, rows[i].adopted_ms);
	}
}

static void a_change_while_a_report_is_under_way_is_posted_right_after_it(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	delivery_changed(&f.one, 1000);
	delivery_begin(&f.one);
	delivery_changed(&f.one, 1001);
	assert_int_equal(delivery_next_at(&f.one), DELIVERY_NEVER);
	delivery_end(&f.one, &(struct delivery_answer){.status = 200}, 1010, 900000);
	assert_int_equal(delivery_next_at(&f.one), 1010);
}

static void every_status_has_its_meaning(void **state)
{
	(void)state;
	static const struct {
		int status;
		enum delivery_verdict verdict;
	} rows[] = {
		{0, DELIVERY_UNREACHABLE},   {200, DELIVERY_ACCEPTED},
		{204, DELIVERY_UNEXPECTED},  {302, DELIVERY_ELSEWHERE},
		{307, DELIVERY_ELSEWHERE},   {308, DELIVERY_ELSEWHERE},
		{400, DELIVERY_MALFORMED},   {401, DELIVERY_NO_IDENTITY},
		{403, DELIVERY_WRONG_NODE},  {404, DELIVERY_UNEXPECTED},
		{405, DELIVERY_MALFORMED},   {409, DELIVERY_OUTDATED},
		{411, DELIVERY_MALFORMED},   {413, DELIVERY_TOO_LARGE},
		{415, DELIVERY_MALFORMED},   {429, DELIVERY_THROTTLED},
		{500, DELIVERY_UNEXPECTED},  {503, DELIVERY_NOT_READY},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f;
		start(&f);
		assert_int_equal(answer(&f.one, rows[i].status, 1000), rows[i].verdict);
	}
}

static void whatever_fails_is_tried_again_within_30_s_with_growing_waits(void **state)
{
	(void)state;
	static const int statuses[] = {0, 204, 307, 400, 401, 403, 404, 409, 413, 429, 500, 503};
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct fixture f;
		start(&f);
		uint64_t now = 1000, last = 0;
		delivery_changed(&f.one, now);
		for (unsigned k = 0; k < 20; k++) {
			answer(&f.one, statuses[i], now);
			uint64_t wait = delivery_next_at(&f.one) - now;
			assert_in_range(wait, 500, 8000);
			last = wait;
			now += wait;
		}
		assert_int_equal(last, 8000);
		answer(&f.one, 200, now);
		answer(&f.one, statuses[i], now);
		assert_in_range(delivery_next_at(&f.one) - now, 500, 1000);
	}
}

static void a_change_does_not_cut_a_back_off_short(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	for (unsigned i = 0; i < 10; i++)
		answer(&f.one, 0, 1000);
	uint64_t next = delivery_next_at(&f.one);
	delivery_changed(&f.one, 1001);
	assert_int_equal(delivery_next_at(&f.one), next);
}

static void retry_after_is_respected_spread_and_bounded(void **state)
{
	(void)state;
	static const struct {
		uint32_t said, low, high;
	} rows[] = {
		{1000, 1000, 1250}, {20000, 20000, 25000}, {UINT32_MAX, 300000, 375000},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f;
		start(&f);
		const struct delivery_answer busy = {.status = 429, .retry_after_ms = rows[i].said};
		delivery_begin(&f.one);
		assert_int_equal(delivery_end(&f.one, &busy, 1000, 900000), DELIVERY_THROTTLED);
		assert_in_range(delivery_next_at(&f.one) - 1000, rows[i].low, rows[i].high);
	}
}

static void an_outdated_report_gets_a_higher_instance_and_starts_again_at_one(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	answer(&f.one, 200, 1000);
	assert_int_equal(answer(&f.one, 409, 1000), DELIVERY_OUTDATED);
	assert_int_equal(f.pace.instance, 900000);
	assert_int_equal(delivery_make(&f.pace, 1000), 1);
}

static void the_instance_rises_even_when_the_clock_does_not(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	for (int64_t i = 0; i < 3; i++) {
		delivery_begin(&f.one);
		delivery_end(&f.one, &(struct delivery_answer){.status = 409}, 1000, 5);
		assert_int_equal(f.pace.instance, 812346 + i);
	}
}

/* Both are told of a change and accept it, which sets the heartbeat. */
static uint64_t settle(struct fixture *f, uint64_t now)
{
	delivery_changed(&f->one, now);
	delivery_changed(&f->other, now);
	delivery_make(&f->pace, now);
	answer_heartbeat(&f->one, 60, now);
	answer_heartbeat(&f->other, 0, now + 3);
	return f->pace.heartbeat_at;
}

static void heartbeats_of_all_replicas_are_due_at_one_moment(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	uint64_t now = 1000;
	for (unsigned i = 0; i < 100; i++) {
		now = i == 0 ? settle(&f, now) : delivery_next_at(&f.one);
		assert_int_equal(delivery_next_at(&f.one), now);
		assert_int_equal(delivery_next_at(&f.other), now);
		delivery_make(&f.pace, now);
		assert_int_equal(delivery_next_at(&f.other), DELIVERY_NEVER);
		answer_heartbeat(&f.other, 0, now + 2);
		answer_heartbeat(&f.one, 60, now + 5);
		assert_in_range(delivery_next_at(&f.one) - now, 54000, 66005);
	}
}

static void a_replica_that_is_away_neither_delays_nor_hastens_the_others(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	uint64_t heartbeat_at = settle(&f, 1000);
	delivery_make(&f.pace, heartbeat_at);
	answer_heartbeat(&f.one, 60, heartbeat_at);
	delivery_begin(&f.other);
	uint64_t next = delivery_next_at(&f.one);
	delivery_end(&f.other, &(struct delivery_answer){.status = 0}, heartbeat_at, 900000);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t now = delivery_next_at(&f.other);
		assert_in_range(now, heartbeat_at + 500, next);
		answer(&f.other, 0, now);
		assert_int_equal(delivery_next_at(&f.one), next);
	}
	/* It is back: the next heartbeat is for both again. */
	answer(&f.other, 200, delivery_next_at(&f.other));
	assert_int_equal(delivery_next_at(&f.one), next);
	assert_int_equal(delivery_next_at(&f.other), next);
}

static void a_replica_that_joins_is_due_at_once_and_the_others_heartbeat_stays(void **state)
{
	(void)state;
	struct fixture f;
	struct delivery third;
	start(&f);
	uint64_t heartbeat_at = settle(&f, 1000);
	delivery_init(&third, &f.pace);
	delivery_join(&third, 2000);
	assert_int_equal(delivery_next_at(&third), 2000);
	assert_int_equal(delivery_next_at(&f.one), heartbeat_at);
	answer(&third, 0, 2000);
	assert_int_equal(delivery_next_at(&f.one), heartbeat_at);
	assert_in_range(delivery_next_at(&third), 2500, 3000);
	answer(&third, 200, 2500);
	assert_int_equal(delivery_next_at(&third), heartbeat_at);
}

TEST(a_report_that_is_overdue_when_the_connection_ends_waits_no_longer)
{
	struct fixture f;
	start(&f);
	settle(&f, 1000);
	delivery_changed(&f.one, 20000);
	assert_int_equal(delivery_wait(&f.one, 19990), 10);
	delivery_disconnected(&f.one, 20010);
	assert_int_equal(delivery_wait(&f.one, 20010), 0);
}

/* A report is accepted now on a new connection, which ends so much later: how long is the wait? */
static uint64_t wait_after_connection(struct delivery *delivery, uint64_t *now, uint64_t lasted)
{
	const struct delivery_answer new = {.status = 200, .is_new_connection = true};
	delivery_make(delivery->pace, *now);
	delivery_begin(delivery);
	delivery_end(delivery, &new, *now, 900000);
	*now += lasted;
	delivery_disconnected(delivery, *now);
	return delivery->due_at - *now;
}

TEST(when_the_connection_ends_a_report_is_due_within_a_second_to_that_replica_alone)
{
	struct fixture f;
	start(&f);
	uint64_t heartbeat_at = settle(&f, 1000), shortest = 1000, longest = 0;
	delivery_disconnected(&f.one, 20000);
	assert_in_range(delivery_next_at(&f.one), 20500, 21000);
	assert_int_equal(delivery_next_at(&f.other), heartbeat_at);
	answer(&f.one, 200, 21000);
	assert_int_equal(delivery_next_at(&f.one), heartbeat_at);
	/* Many nodes do not come in step. */
	for (unsigned i = 0; i < 100; i++) {
		uint64_t now = 1000;
		delivery_init(&f.one, &f.pace);
		uint64_t wait = wait_after_connection(&f.one, &now, 1000);
		shortest = wait < shortest ? wait : shortest;
		longest = wait > longest ? wait : longest;
	}
	assert_in_range(shortest, 500, 520);
	assert_in_range(longest, 980, 1000);
}

TEST(where_connections_do_not_last_each_wait_is_twice_as_long_up_to_a_heartbeat)
{
	struct fixture f;
	uint64_t now = 1000;
	start(&f);
	for (unsigned i = 0; i < 12; i++) {
		uint64_t wait = wait_after_connection(&f.one, &now, 20000);
		uint64_t least = 500u << i;
		if (2 * least < 40000)
			assert_in_range(wait, least, 2 * least);
		assert_true(wait <= 60000);
		now += wait;
	}
	/* A connection that lasted for a heartbeat since it was made is no sign of a proxy. */
	assert_in_range(wait_after_connection(&f.one, &now, 60000), 500, 1000);
}

TEST(how_long_a_connection_lasted_is_counted_from_when_it_was_made)
{
	struct fixture f;
	uint64_t now = 1000;
	start(&f);
	for (unsigned i = 0; i < 4; i++)
		now += wait_after_connection(&f.one, &now, 1000);
	delivery_begin(&f.one);
	delivery_end(&f.one, &(struct delivery_answer){.status = 200, .is_new_connection = true}, now, 1);
	/* Reports that are accepted on it make it no younger. */
	for (unsigned i = 0; i < 6; i++) {
		now += 10000;
		answer(&f.one, 200, now);
	}
	delivery_disconnected(&f.one, now);
	assert_in_range(delivery_next_at(&f.one) - now, 500, 1000);
	/* Nor does one that is accepted on a new connection make the next wait short again. */
	now = delivery_next_at(&f.one);
	assert_in_range(wait_after_connection(&f.one, &now, 1000), 1000, 2000);
}

static void an_answer_without_a_heartbeat_leaves_what_the_leader_said(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	delivery_changed(&f.one, 1000);
	delivery_changed(&f.other, 1000);
	delivery_make(&f.pace, 1000);
	/* Who does not lead is quicker: the time that it leads to is that of the flag. */
	answer_heartbeat(&f.other, 0, 1001);
	assert_in_range(delivery_next_at(&f.other), 55001, 67001);
	answer_heartbeat(&f.one, 10, 1002);
	assert_int_equal(f.pace.heartbeat_ms, 10000);
	assert_in_range(delivery_next_at(&f.one), 10002, 12002);
	assert_int_equal(delivery_next_at(&f.other), delivery_next_at(&f.one));
	uint64_t now = delivery_next_at(&f.one);
	delivery_make(&f.pace, now);
	answer_heartbeat(&f.other, 0, now);
	assert_int_equal(f.pace.heartbeat_ms, 10000);
	uint64_t next = delivery_next_at(&f.other);
	assert_in_range(next - now, 9000, 11000);
	/* A longer one counts from the next one on. */
	answer_heartbeat(&f.one, 3600, now + 1);
	assert_int_equal(f.pace.heartbeat_ms, 3600000);
	assert_int_equal(delivery_next_at(&f.one), next);
}

static void a_report_that_two_refuse_as_old_is_renumbered_once_for_both(void **state)
{
	(void)state;
	struct fixture f;
	start(&f);
	const struct delivery_answer old = {.status = 409};
	delivery_make(&f.pace, 1000);
	delivery_begin(&f.one);
	delivery_begin(&f.other);
	delivery_end(&f.one, &old, 1000, 900000);
	assert_int_equal(delivery_make(&f.pace, 1500), 1);
	delivery_begin(&f.one);
	delivery_end(&f.other, &old, 1600, 900600);
	assert_int_equal(f.pace.instance, 900000);
	assert_int_equal(delivery_make(&f.pace, 2100), 2);
	/* That report of the new instance is refused, too. */
	delivery_end(&f.one, &old, 2200, 901200);
	assert_int_equal(f.pace.instance, 901200);
}

static void what_an_operator_must_mend_comes_with_advice(void **state)
{
	(void)state;
	for (int verdict = DELIVERY_ACCEPTED; verdict <= DELIVERY_UNEXPECTED; verdict++) {
		bool passes_by_itself = verdict == DELIVERY_ACCEPTED ||
					verdict == DELIVERY_NOT_READY ||
					verdict == DELIVERY_THROTTLED ||
					verdict == DELIVERY_ELSEWHERE;
		const char *advice = delivery_advice((enum delivery_verdict)verdict);
		assert_int_equal(advice == NULL, passes_by_itself);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(nothing_is_posted_before_there_is_something_to_say),
	cmocka_unit_test(sequence_numbers_start_at_one_and_rise),
	cmocka_unit_test(a_heartbeat_follows_a_success_with_a_tenth_of_jitter),
	cmocka_unit_test(the_controllers_heartbeat_is_adopted_within_reason),
	cmocka_unit_test(a_change_while_a_report_is_under_way_is_posted_right_after_it),
	cmocka_unit_test(every_status_has_its_meaning),
	cmocka_unit_test(whatever_fails_is_tried_again_within_30_s_with_growing_waits),
	cmocka_unit_test(a_change_does_not_cut_a_back_off_short),
	cmocka_unit_test(retry_after_is_respected_spread_and_bounded),
	cmocka_unit_test(an_outdated_report_gets_a_higher_instance_and_starts_again_at_one),
	cmocka_unit_test(the_instance_rises_even_when_the_clock_does_not),
	cmocka_unit_test(heartbeats_of_all_replicas_are_due_at_one_moment),
	cmocka_unit_test(a_replica_that_is_away_neither_delays_nor_hastens_the_others),
	cmocka_unit_test(a_replica_that_joins_is_due_at_once_and_the_others_heartbeat_stays),
	cmocka_unit_test(when_the_connection_ends_a_report_is_due_within_a_second_to_that_replica_alone),
	cmocka_unit_test(a_report_that_is_overdue_when_the_connection_ends_waits_no_longer),
	cmocka_unit_test(where_connections_do_not_last_each_wait_is_twice_as_long_up_to_a_heartbeat),
	cmocka_unit_test(how_long_a_connection_lasted_is_counted_from_when_it_was_made),
	cmocka_unit_test(an_answer_without_a_heartbeat_leaves_what_the_leader_said),
	cmocka_unit_test(a_report_that_two_refuse_as_old_is_renumbered_once_for_both),
	cmocka_unit_test(what_an_operator_must_mend_comes_with_advice),
};
TEST_MAIN(tests)
