/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kube/reflector_wait.h"

static struct prng prng;
static struct reflector_wait wait;

static int set_up(void **state)
{
	(void)state;
	prng_init(&prng, 1);
	reflector_wait_init(&wait);
	return 0;
}

/* How long it waits after a failure. */
static uint64_t waits(enum error_kind kind, uint32_t retry_after_ms)
{
	const struct error why = {.kind = kind, .retry_after_ms = retry_after_ms};
	reflector_wait_back_off(&wait, &prng, &why, 1000);
	return wait.until - 1000;
}

static void failures_wait_longer_each_time_until_they_are_forgotten(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		assert_in_range(waits(ERROR_RETRY, 0), 800, 1600);
		assert_in_range(waits(ERROR_RETRY, 0), 1600, 3200);
		for (int i = 0; i < 10; i++)
			waits(ERROR_RETRY, 0);
		assert_in_range(waits(ERROR_RETRY, 0), 15000, 30000);
		reflector_wait_forget(&wait);
	}
}

static void a_server_that_says_when_is_heeded_ten_times(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		assert_in_range(waits(ERROR_THROTTLED, 100), 100, 300);
	assert_in_range(waits(ERROR_THROTTLED, 100), 800, 1600);
	assert_in_range(waits(ERROR_THROTTLED, 60000), 60000, 60200);
}

static void the_end_of_a_refusal_forgets_the_back_off_but_not_in_a_storm(void **state)
{
	(void)state;
	waits(ERROR_RETRY, 0);
	waits(ERROR_DENIED, 0);
	assert_in_range(waits(ERROR_EXPIRED, 0), 3200, 6400);
	waits(ERROR_DENIED, 0);
	assert_in_range(waits(ERROR_RETRY, 0), 800, 1600);
}

static void what_is_followed_again_after_a_refusal_begins_anew(void **state)
{
	(void)state;
	static const struct {
		enum error_kind kind; /* of the last failure */
		bool is_forgotten;
	} rows[] = {
		{ERROR_DENIED, true}, {ERROR_RETRY, false}, {ERROR_EXPIRED, false}, {ERROR_THROTTLED, false}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(state);
		waits(ERROR_RETRY, 0);
		waits(ERROR_RETRY, 0);
		waits(rows[i].kind, 0);
		uint64_t until = wait.until;
		reflector_wait_end_refusal(&wait);
		assert_int_equal(wait.until, until);
		uint64_t least = rows[i].is_forgotten ? 800 : 6400;
		assert_in_range(waits(ERROR_EXPIRED, 0), least, 2 * least);
	}
}

static void haste_shortens_what_waits_for_the_server(void **state)
{
	(void)state;
	static const struct {
		enum error_kind kind;
		uint32_t retry_after_ms;
		enum reflector_haste haste;
		bool is_shortened;
	} rows[] = {
		{ERROR_RETRY, 0, REFLECTOR_NO_DOUBT, true},
		{ERROR_RETRY, 0, REFLECTOR_RECOVERED, true},
		{ERROR_RETRY, 0, REFLECTOR_BACK, true},
		{ERROR_RETRY, 5000, REFLECTOR_BACK, false},
		{ERROR_THROTTLED, 5000, REFLECTOR_BACK, false},
		{ERROR_DENIED, 0, REFLECTOR_BACK, true},
		{ERROR_EXPIRED, 0, REFLECTOR_BACK, true},
		{ERROR_DENIED, 0, REFLECTOR_RECOVERED, false},
		{ERROR_EXPIRED, 0, REFLECTOR_NO_DOUBT, false},
		{ERROR_REJECTED, 0, REFLECTOR_BACK, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(state);
		waits(rows[i].kind, rows[i].retry_after_ms);
		reflector_wait_hasten(&wait, 1100, rows[i].haste, false);
		assert_int_equal(wait.until == 1100, rows[i].is_shortened);
	}
}

static void each_reason_but_the_server_s_return_works_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		waits(ERROR_RETRY, 0);
		reflector_wait_hasten(&wait, 1100, REFLECTOR_NO_DOUBT, false);
		assert_int_equal(wait.until == 1100, i == 0);
	}
	waits(ERROR_RETRY, 0);
	reflector_wait_hasten(&wait, 1100, REFLECTOR_RECOVERED, false);
	assert_int_equal(wait.until, 1100);
	for (int i = 0; i < 2; i++) {
		waits(ERROR_RETRY, 0);
		reflector_wait_hasten(&wait, 1100, REFLECTOR_BACK, false);
		assert_int_equal(wait.until, 1100);
	}
	waits(ERROR_RETRY, 0);
	reflector_wait_hasten(&wait, 1100, REFLECTOR_NO_DOUBT, false);
	assert_int_equal(wait.until, 1100);
}

static void haste_never_lengthens_and_leaves_a_request_alone(void **state)
{
	(void)state;
	waits(ERROR_RETRY, 0);
	uint64_t until = wait.until;
	reflector_wait_hasten(&wait, until + 1, REFLECTOR_BACK, false);
	assert_int_equal(wait.until, until);
	reflector_wait_hasten(&wait, 1100, REFLECTOR_BACK, true);
	assert_int_equal(wait.until, until);
	reflector_wait_shorten(&wait, until + 1);
	assert_int_equal(wait.until, until);
	reflector_wait_shorten(&wait, 1100);
	assert_int_equal(wait.until, 1100);
}

static void a_set_time_is_not_shortened_by_haste(void **state)
{
	(void)state;
	waits(ERROR_DENIED, 0);
	reflector_wait_until(&wait, 5000);
	reflector_wait_hasten(&wait, 1100, REFLECTOR_BACK, false);
	assert_int_equal(wait.until, 5000);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(failures_wait_longer_each_time_until_they_are_forgotten, set_up),
	cmocka_unit_test_setup(a_server_that_says_when_is_heeded_ten_times, set_up),
	cmocka_unit_test_setup(the_end_of_a_refusal_forgets_the_back_off_but_not_in_a_storm, set_up),
	cmocka_unit_test_setup(what_is_followed_again_after_a_refusal_begins_anew, set_up),
	cmocka_unit_test_setup(haste_shortens_what_waits_for_the_server, set_up),
	cmocka_unit_test_setup(each_reason_but_the_server_s_return_works_once, set_up),
	cmocka_unit_test_setup(haste_never_lengthens_and_leaves_a_request_alone, set_up),
	cmocka_unit_test_setup(a_set_time_is_not_shortened_by_haste, set_up),
};

TEST_MAIN(tests)
