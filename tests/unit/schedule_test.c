/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "agent/schedule.h"

static const struct schedule_config config = {.interval_ms = 15000, .debounce_ms = 50};

/* A schedule at rest: the first sample was taken at 1000. */
static struct schedule at_rest(void)
{
	struct schedule schedule;
	schedule_init(&schedule, &config, 1000, 1);
	assert_int_equal(schedule_take_due(&schedule, 1000), SCHEDULE_ALL);
	return schedule;
}

static void the_first_sample_is_full_and_at_once(void **state)
{
	(void)state;
	struct schedule schedule;
	schedule_init(&schedule, &config, 1000, 1);
	assert_int_equal(schedule_next_at(&schedule), 1000);
	assert_int_equal(schedule_take_due(&schedule, 1000), SCHEDULE_ALL);
	assert_int_equal(schedule_take_due(&schedule, 1000), 0);
}

static void at_rest_there_is_one_full_sample_an_interval_with_jitter(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	uint64_t now = 1000, shortest = SCHEDULE_NEVER, longest = 0;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t next = schedule_next_at(&schedule);
		uint64_t wait = next - now;
		shortest = wait < shortest ? wait : shortest;
		longest = wait > longest ? wait : longest;
		now = next;
		assert_int_equal(schedule_take_due(&schedule, now - 1), 0);
		assert_int_equal(schedule_take_due(&schedule, now), SCHEDULE_ALL);
	}
	assert_in_range(shortest, 13500, 13700);
	assert_in_range(longest, 14800, 15000);
}

static void a_written_checkpoint_is_looked_at_after_the_debounce(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	schedule_checkpoint_written(&schedule, 5000);
	assert_int_equal(schedule_take_due(&schedule, 5049), 0);
	assert_int_equal(schedule_take_due(&schedule, 5050), SCHEDULE_ALLOCATION);
	assert_int_equal(schedule_take_due(&schedule, 5051), 0);
}

static void a_stream_of_signs_cannot_put_the_sample_off(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	unsigned n_samples = 0;
	for (uint64_t now = 5000; now < 6000; now++) {
		schedule_checkpoint_written(&schedule, now);
		n_samples += schedule_take_due(&schedule, now) == SCHEDULE_ALLOCATION;
	}
	assert_in_range(n_samples, 19, 20);
}

static void a_sign_during_a_sample_leads_to_another_one(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	schedule_checkpoint_written(&schedule, 5000);
	assert_int_equal(schedule_take_due(&schedule, 5050), SCHEDULE_ALLOCATION);
	schedule_checkpoint_written(&schedule, 5051);
	assert_int_equal(schedule_next_at(&schedule), 5101);
	assert_int_equal(schedule_take_due(&schedule, 5101), SCHEDULE_ALLOCATION);
}

static void a_quick_sample_is_followed_by_a_full_one(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	schedule_checkpoint_written(&schedule, 5000);
	assert_int_equal(schedule_take_due(&schedule, 5050), SCHEDULE_ALLOCATION);
	assert_int_equal(schedule_next_at(&schedule), 7050);
	assert_int_equal(schedule_take_due(&schedule, 7050), SCHEDULE_ALL);
	assert_in_range(schedule_next_at(&schedule), 7050 + 13500, 7050 + 15000);
}

static void a_full_sample_answers_a_sign_for_a_quick_one(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	schedule_checkpoint_written(&schedule, 5000);
	schedule_node_changed(&schedule, 5000);
	assert_int_equal(schedule_take_due(&schedule, 5050), SCHEDULE_ALL);
	assert_int_equal(schedule_take_due(&schedule, 5050), 0);
}

static void a_restarted_kubelet_is_asked_again_while_its_lists_may_be_short(void **state)
{
	(void)state;
	static const uint64_t expected[] = {5050, 5500, 7000, 10000, 20000};
	struct schedule schedule = at_rest();
	schedule_kubelet_restarted(&schedule, 5000);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(schedule_next_at(&schedule), expected[i]);
		assert_int_equal(schedule_take_due(&schedule, expected[i]), SCHEDULE_ALL);
	}
	assert_in_range(schedule_next_at(&schedule), 20000 + 13500, 20000 + 15000);
}

static void samples_that_were_missed_after_a_restart_are_not_made_up_for(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	schedule_kubelet_restarted(&schedule, 5000);
	assert_int_equal(schedule_take_due(&schedule, 8000), SCHEDULE_ALL);
	assert_int_equal(schedule_next_at(&schedule), 10000);
}

static void a_second_restart_starts_the_series_anew(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	schedule_kubelet_restarted(&schedule, 5000);
	assert_int_equal(schedule_take_due(&schedule, 5050), SCHEDULE_ALL);
	schedule_kubelet_restarted(&schedule, 5100);
	assert_int_equal(schedule_take_due(&schedule, 5150), SCHEDULE_ALL);
	assert_int_equal(schedule_next_at(&schedule), 5600);
}

static uint64_t next_list_at(struct schedule *schedule)
{
	uint64_t at;
	do {
		at = schedule_next_at(schedule);
	} while (!(schedule_take_due(schedule, at) & SCHEDULE_LIST));
	return at;
}

static void the_kubelets_rate_limit_is_respected_with_growing_waits(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	uint64_t now = 5000, longest = 0;
	for (unsigned i = 0; i < 20; i++) {
		schedule_kubelet_answered(&schedule, true, now);
		schedule_checkpoint_written(&schedule, now);
		uint64_t at = next_list_at(&schedule);
		assert_in_range(at - now, 1000, 30000);
		longest = at - now > longest ? at - now : longest;
		now = at;
	}
	assert_int_equal(longest, 30000);
	schedule_kubelet_answered(&schedule, false, now);
	schedule_kubelet_answered(&schedule, true, now);
	assert_in_range(next_list_at(&schedule) - now, 1000, 2000);
}

/* Nor the driver: neither has that limit. */
static void the_checkpoint_does_not_wait_for_the_kubelets_rate_limit(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	for (unsigned i = 0; i < 10; i++)
		schedule_kubelet_answered(&schedule, true, 5000);
	schedule_checkpoint_written(&schedule, 5000);
	assert_int_equal(schedule_take_due(&schedule, 5050), SCHEDULE_CHECKPOINT);
	assert_int_equal(schedule_take_due(&schedule, 7049), 0);
	assert_int_equal(schedule_take_due(&schedule, 7050),
			 SCHEDULE_CHECKPOINT | SCHEDULE_HARDWARE);
	/* Then it is asked, and soon for what it was not asked for meanwhile. */
	uint64_t open_at = schedule.kubelet_open_at;
	for (uint64_t at; (at = schedule_next_at(&schedule)) < open_at;)
		assert_false(schedule_take_due(&schedule, at) & SCHEDULE_LIST);
	assert_int_equal(schedule_take_due(&schedule, open_at), SCHEDULE_ALLOCATION);
	assert_int_equal(schedule_take_due(&schedule, open_at + 2000), SCHEDULE_ALL);
}

static void a_restarted_kubelet_has_forgotten_its_rate_limit(void **state)
{
	(void)state;
	struct schedule schedule = at_rest();
	for (unsigned i = 0; i < 10; i++)
		schedule_kubelet_answered(&schedule, true, 5000);
	schedule_kubelet_restarted(&schedule, 5100);
	assert_int_equal(schedule_next_at(&schedule), 5150);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_first_sample_is_full_and_at_once),
	cmocka_unit_test(at_rest_there_is_one_full_sample_an_interval_with_jitter),
	cmocka_unit_test(a_written_checkpoint_is_looked_at_after_the_debounce),
	cmocka_unit_test(a_stream_of_signs_cannot_put_the_sample_off),
	cmocka_unit_test(a_sign_during_a_sample_leads_to_another_one),
	cmocka_unit_test(a_quick_sample_is_followed_by_a_full_one),
	cmocka_unit_test(a_full_sample_answers_a_sign_for_a_quick_one),
	cmocka_unit_test(a_restarted_kubelet_is_asked_again_while_its_lists_may_be_short),
	cmocka_unit_test(samples_that_were_missed_after_a_restart_are_not_made_up_for),
	cmocka_unit_test(a_second_restart_starts_the_series_anew),
	cmocka_unit_test(the_kubelets_rate_limit_is_respected_with_growing_waits),
	cmocka_unit_test(the_checkpoint_does_not_wait_for_the_kubelets_rate_limit),
	cmocka_unit_test(a_restarted_kubelet_has_forgotten_its_rate_limit),
};
TEST_MAIN(tests)
