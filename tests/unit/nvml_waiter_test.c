/* SPDX-License-Identifier: Apache-2.0 */

/* A driver whose waits return when the test says so. The n-th event is XID n. */

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
	int codes[MANY]; /* of the next waits; an XID has the number of its wait */
	uint64_t type;   /* of events; 0: an XID error */
	struct nvml_abi_device *device; /* of events */
	uint64_t n_codes, n_given;
	unsigned n_begun, n_told;
	bool is_inside;
	bool is_hasty; /* returns at once, always */
} driver;

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define OTHER_UUID "GPU-22222222-2222-4222-8222-222222222222"
#define HANDLE ((struct nvml_abi_device *)&driver.codes[0])
#define OTHER_HANDLE ((struct nvml_abi_device *)&driver.codes[1])

static struct nvml_waiter *waiter;
static struct nvml_ring *ring;
static struct nvml_ring_reader reader;
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
		ret_event->device = driver.device;
		ret_event->type = driver.type ? driver.type : NVML_ABI_EVENT_XID;
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
	(void)state;
	ring = nvml_ring_new();
	reader = (struct nvml_ring_reader){0};
	assert_non_null(ring);
	const struct nvml_waiter_config config = {
		.wait_ms = WAIT_MS, .ring = ring, .told = note_told, .owner = &driver};
	driver = (struct driver){.lock = PTHREAD_MUTEX_INITIALIZER,
				 .changed = PTHREAD_COND_INITIALIZER,
				 .device = HANDLE};
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
	nvml_ring_free(ring);
	return 0;
}

static void name(unsigned index, const struct nvml_abi_device *handle, const char *text)
{
	char uuid[NVML_ABI_UUID_SIZE] = "";
	memcpy(uuid, text, strlen(text));
	nvml_waiter_name(waiter, index, handle, uuid);
}

static void watch(void)
{
	name(0, HANDLE, UUID);
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

static struct nvml_ring_taken taken;

static void take(void)
{
	nvml_ring_take(ring, &reader, &taken);
}

/* These are the XIDs that came since, ascending; -1 ends them. */
static void assert_came(const int *xids)
{
	take();
	for (uint32_t i = 0; i < taken.n; i++)
		assert_int_equal(taken.items[i].code, xids[i]);
	assert_int_equal(xids[taken.n], -1);
}

#define ASSERT_CAME(...) assert_came((const int[]){__VA_ARGS__, -1})
#define ASSERT_NOTHING_CAME() assert_came((const int[]){-1})

static void assert_fares(int code, bool has_new_state)
{
	bool has = !has_new_state;
	assert_int_equal(nvml_waiter_ask(waiter, &has), code);
	assert_int_equal(has, has_new_state);
}

static void nothing_is_waited_for_before_there_is_a_set(void **state)
{
	(void)state;
	assert_fares(NVML_ABI_TIMEOUT, false);
	nvml_waiter_leave(waiter);
	ASSERT_NOTHING_CAME();
	assert_int_equal(read_count(&driver.n_begun), 0);
}

static void events_are_told_and_taken_in_their_order(void **state)
{
	(void)state;
	watch();
	give(NVML_ABI_SUCCESS);
	give(NVML_ABI_TIMEOUT);
	give(NVML_ABI_SUCCESS);
	await(&driver.n_begun, 4);
	assert_int_equal(read_count(&driver.n_told), 2);
	ASSERT_CAME(0, 2);
	assert_string_equal(taken.raw[0].uuid, UUID);
	give(NVML_ABI_SUCCESS);
	await(&driver.n_told, 3);
	ASSERT_CAME(3);
	assert_fares(NVML_ABI_TIMEOUT, false);
}

static void an_event_is_of_the_device_that_has_its_handle(void **state)
{
	(void)state;
	watch();
	name(1, OTHER_HANDLE, OTHER_UUID);
	driver.device = OTHER_HANDLE;
	give(NVML_ABI_SUCCESS);
	await(&driver.n_begun, 2);
	ASSERT_CAME(0);
	assert_string_equal(taken.raw[0].uuid, OTHER_UUID);
	/* The handle goes to another index: it means what was told last. */
	name(3, OTHER_HANDLE, UUID);
	give(NVML_ABI_SUCCESS);
	await(&driver.n_begun, 3);
	ASSERT_CAME(1);
	assert_string_equal(taken.raw[0].uuid, UUID);
	/* The index goes to another handle: nobody has that one any more. */
	name(3, HANDLE, UUID);
	give(NVML_ABI_SUCCESS);
	await(&driver.n_begun, 4);
	ASSERT_NOTHING_CAME();
	assert_int_equal(read_count(&driver.n_told), 2);
}

static void other_events_say_that_something_reads_differently(void **state)
{
	static const struct {
		uint64_t type;
		bool has_new_state;
	} rows[] = {
		{NVML_ABI_EVENT_RECOVERY_ACTION, true},
		{NVML_ABI_EVENT_GPU_UNAVAILABLE, true},
		{NVML_ABI_EVENT_DOUBLE_BIT_ECC, false},
	};
	(void)state;
	watch();
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		const unsigned n_told = read_count(&driver.n_told);
		await(&driver.n_begun, i + 1);
		driver.type = rows[i].type;
		give(NVML_ABI_SUCCESS);
		await(&driver.n_begun, i + 2);
		assert_int_equal(read_count(&driver.n_told), n_told + rows[i].has_new_state);
		assert_fares(NVML_ABI_TIMEOUT, rows[i].has_new_state);
		assert_fares(NVML_ABI_TIMEOUT, false);
	}
	ASSERT_NOTHING_CAME();
}

static void a_failure_is_said_once_and_ends_the_watch(void **state)
{
	(void)state;
	watch();
	give(NVML_ABI_SUCCESS);
	give(NVML_ABI_UNKNOWN);
	await(&driver.n_told, 2);
	ASSERT_CAME(0);
	assert_fares(NVML_ABI_UNKNOWN, false);
	assert_fares(NVML_ABI_TIMEOUT, false);
	assert_int_equal(read_count(&driver.n_begun), 2);
	/* There can be another. */
	watch();
	give(NVML_ABI_SUCCESS);
	await(&driver.n_told, 3);
	ASSERT_CAME(2);
}

static void the_driver_keeps_what_there_is_no_room_for(void **state)
{
	(void)state;
	watch();
	for (unsigned i = 0; i < MANY; i++)
		give(NVML_ABI_SUCCESS);
	await(&driver.n_told, LIMIT_NVML_EVENTS);
	const struct timespec a_while = {.tv_nsec = 2 * WAIT_MS * 1000000L};
	nanosleep(&a_while, NULL);
	assert_int_equal(read_count(&driver.n_begun), LIMIT_NVML_EVENTS);
	uint32_t n = 0;
	while (n < MANY) {
		take();
		for (uint32_t i = 0; i < taken.n; i++)
			assert_int_equal(taken.items[i].code, n++);
	}
}

static void *let_go_later(void *arg)
{
	const struct timespec pause = {.tv_nsec = *(long *)arg * 1000000};
	nanosleep(&pause, NULL);
	give(NVML_ABI_SUCCESS);
	return NULL;
}

static void leaving_lasts_until_nobody_is_in_the_driver_and_tells_what_came(void **state)
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
	ASSERT_CAME(0);
	assert_fares(NVML_ABI_TIMEOUT, false);
	assert_int_equal(read_count(&driver.n_begun), 1);
	pthread_join(other, NULL);
}

static void handles_are_forgotten_with_the_watch(void **state)
{
	(void)state;
	long ms = 20;
	pthread_t other;
	watch();
	name(1, OTHER_HANDLE, OTHER_UUID);
	await(&driver.n_begun, 1);
	assert_int_equal(pthread_create(&other, NULL, let_go_later, &ms), 0);
	nvml_waiter_leave(waiter);
	pthread_join(other, NULL);
	ASSERT_CAME(0);
	driver.device = OTHER_HANDLE;
	watch();
	give(NVML_ABI_SUCCESS);
	await(&driver.n_begun, 3);
	ASSERT_NOTHING_CAME();
}

static void while_the_wait_hangs_nothing_is_answered(void **state)
{
	(void)state;
	const struct timespec longer_than_a_wait = {.tv_nsec = 3 * WAIT_MS * 1000000L};
	long ms = WAIT_MS;
	pthread_t other;
	bool has_new_state;
	watch();
	await(&driver.n_begun, 1);
	nanosleep(&longer_than_a_wait, NULL);
	assert_int_equal(pthread_create(&other, NULL, let_go_later, &ms), 0);
	assert_int_equal(nvml_waiter_ask(waiter, &has_new_state), NVML_ABI_TIMEOUT);
	assert_int_equal(read_count(&driver.n_told), 1);
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
		a_failure_is_said_once_and_ends_the_watch, setup, teardown),
	cmocka_unit_test_setup_teardown(an_event_is_of_the_device_that_has_its_handle, setup, teardown),
	cmocka_unit_test_setup_teardown(handles_are_forgotten_with_the_watch, setup, teardown),
	cmocka_unit_test_setup_teardown(other_events_say_that_something_reads_differently, setup,
					teardown),
	cmocka_unit_test_setup_teardown(the_driver_keeps_what_there_is_no_room_for, setup, teardown),
	cmocka_unit_test_setup_teardown(
		leaving_lasts_until_nobody_is_in_the_driver_and_tells_what_came, setup, teardown),
	cmocka_unit_test_setup_teardown(while_the_wait_hangs_nothing_is_answered, setup, teardown),
	cmocka_unit_test_setup_teardown(a_driver_that_does_not_wait_is_asked_now_and_then, setup,
					teardown),
};
TEST_MAIN(tests)
