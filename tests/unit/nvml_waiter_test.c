/* SPDX-License-Identifier: Apache-2.0 */

/* A driver whose waits return when the test says so. */

#include "lib/test_main.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "agent/nvml_waiter.h"
#include "base/clock.h"
#include "base/limits.h"

#define WAIT_MS 40
#define MANY (LIMIT_NVML_EVENTS + 8)

static struct driver {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int codes[MANY]; /* of the next waits; an event has the number of its wait */
	uint64_t n_codes, n_given;
	unsigned n_begun, n_told;
	bool is_inside;
	bool is_hasty; /* returns at once, always */
} driver;

static struct nvml_waiter *waiter;
static struct error err;

static struct timespec in_ms(long ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

/* Has no end of its own: the test gives each wait its code. */
static int wait_in_driver(struct nvml_abi_event_set *set, struct nvml_abi_event *ret_event,
			  unsigned timeout_ms)
{
	assert_ptr_equal(set, &driver);
	assert_int_equal(timeout_ms, WAIT_MS);
	pthread_mutex_lock(&driver.lock);
	driver.n_begun++;
	driver.is_inside = true;
	pthread_cond_broadcast(&driver.changed);
	while (driver.n_given == driver.n_codes && !driver.is_hasty)
		pthread_cond_wait(&driver.changed, &driver.lock);
	int code = NVML_ABI_TIMEOUT;
	if (driver.n_given < driver.n_codes) {
		ret_event->data = driver.n_given;
		code = driver.codes[driver.n_given++];
	}
	driver.is_inside = false;
	pthread_cond_broadcast(&driver.changed);
	pthread_mutex_unlock(&driver.lock);
	return code;
}

static void note_told(void *owner)
{
	assert_ptr_equal(owner, &driver);
	pthread_mutex_lock(&driver.lock);
	driver.n_told++;
	pthread_cond_broadcast(&driver.changed);
	pthread_mutex_unlock(&driver.lock);
}

static int setup(void **state)
{
	const struct nvml_waiter_config config = {
		.wait_ms = WAIT_MS, .told = note_told, .owner = &driver};
	(void)state;
	driver = (struct driver){.lock = PTHREAD_MUTEX_INITIALIZER,
				 .changed = PTHREAD_COND_INITIALIZER};
	return nvml_waiter_new(&config, &waiter, &err);
}

static void give(int code)
{
	pthread_mutex_lock(&driver.lock);
	driver.codes[driver.n_codes++] = code;
	pthread_cond_broadcast(&driver.changed);
	pthread_mutex_unlock(&driver.lock);
}

/* A wait that is under way is let go: nothing else ends it. */
static int teardown(void **state)
{
	(void)state;
	pthread_mutex_lock(&driver.lock);
	driver.is_hasty = true;
	pthread_cond_broadcast(&driver.changed);
	pthread_mutex_unlock(&driver.lock);
	nvml_waiter_free(waiter);
	return 0;
}

static void watch(void)
{
	nvml_waiter_watch(waiter, wait_in_driver, (struct nvml_abi_event_set *)&driver);
}

static void await(const unsigned *count, unsigned n)
{
	pthread_mutex_lock(&driver.lock);
	while (*count < n)
		pthread_cond_wait(&driver.changed, &driver.lock);
	pthread_mutex_unlock(&driver.lock);
}

static unsigned read_count(const unsigned *count)
{
	pthread_mutex_lock(&driver.lock);
	unsigned n = *count;
	pthread_mutex_unlock(&driver.lock);
	return n;
}

static void assert_next(int code, uint64_t data)
{
	struct nvml_abi_event event = {.data = 4711};
	assert_int_equal(nvml_waiter_next(waiter, &event), code);
	assert_int_equal(event.data, data);
}

static void nothing_is_waited_for_before_there_is_a_set(void **state)
{
	(void)state;
	assert_next(NVML_ABI_TIMEOUT, 4711);
	nvml_waiter_leave(waiter);
	assert_int_equal(read_count(&driver.n_begun), 0);
}

static void events_are_told_and_taken_in_their_order(void **state)
{
	(void)state;
	watch();
	give(NVML_ABI_SUCCESS);
	give(NVML_ABI_TIMEOUT);
	give(NVML_ABI_SUCCESS);
	await(&driver.n_told, 1);
	await(&driver.n_begun, 4);
	/* Once for all that lie there. */
	assert_int_equal(read_count(&driver.n_told), 1);
	assert_next(NVML_ABI_SUCCESS, 0);
	assert_next(NVML_ABI_SUCCESS, 2);
	assert_next(NVML_ABI_TIMEOUT, 4711);
	give(NVML_ABI_SUCCESS);
	await(&driver.n_told, 2);
	assert_next(NVML_ABI_SUCCESS, 3);
}

static void a_failure_is_said_once_after_the_events_before_it_and_ends_the_watch(void **state)
{
	(void)state;
	watch();
	give(NVML_ABI_SUCCESS);
	give(NVML_ABI_UNKNOWN);
	await(&driver.n_told, 2);
	assert_next(NVML_ABI_SUCCESS, 0);
	assert_next(NVML_ABI_UNKNOWN, 4711);
	assert_next(NVML_ABI_TIMEOUT, 4711);
	assert_int_equal(read_count(&driver.n_begun), 2);
	/* There can be another. */
	watch();
	give(NVML_ABI_SUCCESS);
	await(&driver.n_told, 3);
	assert_next(NVML_ABI_SUCCESS, 2);
}

static void the_driver_keeps_what_there_is_no_room_for(void **state)
{
	(void)state;
	watch();
	for (unsigned i = 0; i < MANY; i++)
		give(NVML_ABI_SUCCESS);
	await(&driver.n_begun, LIMIT_NVML_EVENTS);
	assert_next(NVML_ABI_SUCCESS, 0);
	await(&driver.n_begun, LIMIT_NVML_EVENTS + 1);
	for (unsigned i = 1; i < MANY; i++) {
		await(&driver.n_begun, i + 1);
		struct nvml_abi_event event;
		while (nvml_waiter_next(waiter, &event) == NVML_ABI_TIMEOUT)
			;
		assert_int_equal(event.data, i);
	}
}

static void *let_go_later(void *arg)
{
	const struct timespec pause = {.tv_nsec = *(long *)arg * 1000000};
	nanosleep(&pause, NULL);
	give(NVML_ABI_SUCCESS);
	return NULL;
}

static void leaving_lasts_until_nobody_is_in_the_driver_and_keeps_what_came(void **state)
{
	(void)state;
	long ms = 20;
	pthread_t other;
	watch();
	await(&driver.n_begun, 1);
	assert_int_equal(pthread_create(&other, NULL, let_go_later, &ms), 0);
	nvml_waiter_leave(waiter);
	pthread_mutex_lock(&driver.lock);
	assert_false(driver.is_inside);
	pthread_mutex_unlock(&driver.lock);
	assert_next(NVML_ABI_SUCCESS, 0);
	assert_next(NVML_ABI_TIMEOUT, 4711);
	assert_int_equal(read_count(&driver.n_begun), 1);
	pthread_join(other, NULL);
}

static void while_the_wait_hangs_nothing_is_answered(void **state)
{
	(void)state;
	const struct timespec longer_than_a_wait = {.tv_nsec = 3 * WAIT_MS * 1000000L};
	long ms = WAIT_MS;
	pthread_t other;
	struct nvml_abi_event event;
	watch();
	await(&driver.n_begun, 1);
	nanosleep(&longer_than_a_wait, NULL);
	assert_int_equal(pthread_create(&other, NULL, let_go_later, &ms), 0);
	assert_int_equal(nvml_waiter_next(waiter, &event), NVML_ABI_SUCCESS);
	assert_int_equal(event.data, 0);
	pthread_join(other, NULL);
}

static void a_driver_that_does_not_wait_is_asked_now_and_then(void **state)
{
	(void)state;
	const struct timespec until = in_ms(3 * WAIT_MS);
	driver.is_hasty = true;
	watch();
	pthread_mutex_lock(&driver.lock);
	while (pthread_cond_timedwait(&driver.changed, &driver.lock, &until) == 0)
		;
	/* Twelve quarters; a slow machine has fewer. */
	assert_in_range(driver.n_begun, 1, 14);
	pthread_mutex_unlock(&driver.lock);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(nothing_is_waited_for_before_there_is_a_set, setup, teardown),
	cmocka_unit_test_setup_teardown(events_are_told_and_taken_in_their_order, setup, teardown),
	cmocka_unit_test_setup_teardown(
		a_failure_is_said_once_after_the_events_before_it_and_ends_the_watch, setup, teardown),
	cmocka_unit_test_setup_teardown(the_driver_keeps_what_there_is_no_room_for, setup, teardown),
	cmocka_unit_test_setup_teardown(
		leaving_lasts_until_nobody_is_in_the_driver_and_keeps_what_came, setup, teardown),
	cmocka_unit_test_setup_teardown(while_the_wait_hangs_nothing_is_answered, setup, teardown),
	cmocka_unit_test_setup_teardown(a_driver_that_does_not_wait_is_asked_now_and_then, setup,
					teardown),
};
TEST_MAIN(tests)
