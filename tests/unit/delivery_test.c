/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/delivery.h"

static const struct delivery_config config = {.heartbeat_ms = 60000, .instance = 812345};

static struct delivery fresh(void)
{
	struct delivery delivery;
	delivery_init(&delivery, &config, 1);
	return delivery;
}

/* Makes the report that is due and gives it this answer. */
static enum delivery_verdict answer(struct delivery *delivery, int status, uint64_t now)
{
	const struct delivery_answer answer = {.status = status};
	delivery_begin(delivery);
	return delivery_end(delivery, &answer, now, 900000);
}

static void nothing_is_posted_before_there_is_something_to_say(void **state)
{
	(void)state;
	struct delivery delivery = fresh();
	assert_int_equal(delivery_next_at(&delivery), DELIVERY_NEVER);
	delivery_changed(&delivery, 1000);
	assert_int_equal(delivery_next_at(&delivery), 1000);
}

static void sequence_numbers_start_at_one_and_rise(void **state)
{
	(void)state;
	struct delivery delivery = fresh();
	for (int64_t i = 1; i < 10; i++) {
		assert_int_equal(delivery_begin(&delivery), i);
		const struct delivery_answer answer = {.status = i % 2 ? 200 : 503};
		delivery_end(&delivery, &answer, 1000, 900000);
	}
	assert_int_equal(delivery.instance, 812345);
}

static void a_heartbeat_follows_a_success_with_a_tenth_of_jitter(void **state)
{
	(void)state;
	struct delivery delivery = fresh();
	uint64_t now = 1000, shortest = DELIVERY_NEVER, longest = 0;
	delivery_changed(&delivery, now);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(answer(&delivery, 200, now), DELIVERY_ACCEPTED);
		uint64_t wait = delivery_next_at(&delivery) - now;
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
		struct delivery delivery = fresh();
		const struct delivery_answer said = {.status = 200, .heartbeat_s = rows[i].said};
		delivery_begin(&delivery);
		delivery_end(&delivery, &said, 1000, 900000);
		assert_int_equal(delivery.heartbeat_ms, rows[i].adopted_ms);
	}
}

static void a_change_while_a_report_is_under_way_is_posted_right_after_it(void **state)
{
	(void)state;
	struct delivery delivery = fresh();
	delivery_changed(&delivery, 1000);
	delivery_begin(&delivery);
	delivery_changed(&delivery, 1001);
	assert_int_equal(delivery_next_at(&delivery), DELIVERY_NEVER);
	delivery_end(&delivery, &(struct delivery_answer){.status = 200}, 1010, 900000);
	assert_int_equal(delivery_next_at(&delivery), 1010);
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
		struct delivery delivery = fresh();
		assert_int_equal(answer(&delivery, rows[i].status, 1000), rows[i].verdict);
	}
}

static void whatever_fails_is_tried_again_within_30_s_with_growing_waits(void **state)
{
	(void)state;
	static const int statuses[] = {0, 204, 307, 400, 401, 403, 404, 409, 413, 429, 500, 503};
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct delivery delivery = fresh();
		uint64_t now = 1000, last = 0;
		delivery_changed(&delivery, now);
		for (unsigned k = 0; k < 20; k++) {
			answer(&delivery, statuses[i], now);
			uint64_t wait = delivery_next_at(&delivery) - now;
			assert_in_range(wait, 500, 8000);
			last = wait;
			now += wait;
		}
		assert_int_equal(last, 8000);
		answer(&delivery, 200, now);
		answer(&delivery, statuses[i], now);
		assert_in_range(delivery_next_at(&delivery) - now, 500, 1000);
	}
}

static void a_change_does_not_cut_a_back_off_short(void **state)
{
	(void)state;
	struct delivery delivery = fresh();
	for (unsigned i = 0; i < 10; i++)
		answer(&delivery, 0, 1000);
	uint64_t next = delivery_next_at(&delivery);
	delivery_changed(&delivery, 1001);
	assert_int_equal(delivery_next_at(&delivery), next);
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
		struct delivery delivery = fresh();
		const struct delivery_answer busy = {.status = 429, .retry_after_ms = rows[i].said};
		delivery_begin(&delivery);
		assert_int_equal(delivery_end(&delivery, &busy, 1000, 900000), DELIVERY_THROTTLED);
		assert_in_range(delivery_next_at(&delivery) - 1000, rows[i].low, rows[i].high);
	}
}

static void an_outdated_report_gets_a_higher_instance_and_starts_again_at_one(void **state)
{
	(void)state;
	struct delivery delivery = fresh();
	answer(&delivery, 200, 1000);
	assert_int_equal(answer(&delivery, 409, 1000), DELIVERY_OUTDATED);
	assert_int_equal(delivery.instance, 900000);
	assert_int_equal(delivery_begin(&delivery), 1);
}

static void the_instance_rises_even_when_the_clock_does_not(void **state)
{
	(void)state;
	struct delivery delivery = fresh();
	for (int64_t i = 0; i < 3; i++) {
		delivery_begin(&delivery);
		delivery_end(&delivery, &(struct delivery_answer){.status = 409}, 1000, 5);
		assert_int_equal(delivery.instance, 812346 + i);
	}
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
	cmocka_unit_test(what_an_operator_must_mend_comes_with_advice),
};
TEST_MAIN(tests)
