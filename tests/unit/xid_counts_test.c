/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <string.h>

#include "base/limits.h"
#include "controller/xid_counts.h"
#include "lib/failing_malloc.h"

#define MAX_DEVICES 2

static struct xid_counts *counts;
static struct attribution_health_event old_events[LIMIT_HEALTH_EVENTS], events[LIMIT_HEALTH_EVENTS];
static struct attribution before, object;

static int setup(void **state)
{
	struct error err;

	(void)state;
	before = object = (struct attribution){.name = VIEW_INIT("gpu-1")};
	before.status.health.events = (struct array){old_events, 0, true};
	object.status.health.events = (struct array){events, 0, true};
	return xid_counts_new(MAX_DEVICES, &counts, &err);
}

static int teardown(void **state)
{
	(void)state;
	xid_counts_free(counts);
	return 0;
}

/* The status gets that error, as its newest. */
static void err_again(int64_t xid, int64_t time)
{
	struct array *list = &object.status.health.events;

	memmove(&events[1], &events[0], (LIMIT_HEALTH_EVENTS - 1) * sizeof(events[0]));
	events[0] = (struct attribution_health_event){.xid = xid, .event_time = time};
	list->count += list->count < LIMIT_HEALTH_EVENTS;
}

/* It becomes what was published before. */
static void publish(void)
{
	struct error err;

	assert_int_equal(xid_counts_publish(counts, &before, &object, &err), 0);
	memcpy(old_events, events, sizeof(events));
	before.status.health.events.count = object.status.health.events.count;
}

static void publish_first(void)
{
	struct error err;

	assert_int_equal(xid_counts_publish(counts, NULL, &object, &err), 0);
	memcpy(old_events, events, sizeof(events));
	before.status.health.events.count = object.status.health.events.count;
}

static void assert_count(int64_t xid, uint64_t expected)
{
	size_t n;
	const struct xid_count *found = xid_counts_of(counts, object.name, &n);

	for (size_t i = 0; i < n; i++)
		if (found[i].xid == xid) {
			assert_int_equal(found[i].count, expected);
			return;
		}
	fail_msg("XID %lld is not counted", (long long)xid);
}

static void an_error_counts_when_it_is_first_published(void **state)
{
	(void)state;
	publish_first();
	err_again(48, 1000);
	publish();
	assert_count(48, 1);
	publish();
	assert_count(48, 1);
	err_again(48, 2000);
	err_again(79, 2000);
	publish();
	assert_count(48, 2);
	assert_count(79, 1);
}

static void errors_that_no_longer_fit_into_the_list_stay_counted(void **state)
{
	(void)state;
	publish_first();
	for (int i = 0; i < 40; i++) {
		err_again(31, 1000 + i);
		publish();
	}
	assert_int_equal(object.status.health.events.count, LIMIT_HEALTH_EVENTS);
	assert_count(31, 40);
}

static void what_an_earlier_controller_published_does_not_count(void **state)
{
	(void)state;
	err_again(79, 1000);
	publish_first();
	assert_count(79, 0);
	err_again(79, 2000);
	publish();
	assert_count(79, 1);
}

static void an_object_that_is_made_anew_has_no_new_errors(void **state)
{
	(void)state;
	publish_first();
	err_again(79, 1000);
	publish();
	const struct array told = object.status.health.events;
	object.status.health.events.count = 0;
	publish_first(); /* created, without a status */
	object.status.health.events = told;
	publish();
	assert_count(79, 1);
	err_again(79, 3000);
	publish();
	assert_count(79, 2);
}

static void two_partitions_have_errors_of_their_own(void **state)
{
	(void)state;
	publish_first();
	err_again(31, 1000);
	events[0].partition = VIEW("MIG-1");
	publish();
	err_again(31, 1000);
	events[0].partition = VIEW("MIG-2");
	publish();
	assert_count(31, 2);
}

static void too_many_numbers_count_together(void **state)
{
	size_t n;

	(void)state;
	publish_first();
	for (int i = 0; i < 100; i++) {
		err_again(1000 + i, i);
		publish();
	}
	(void)xid_counts_of(counts, object.name, &n);
	assert_int_equal(n, LIMIT_XID_NUMBERS + 1);
	assert_count(1000, 1);
	assert_count(-1, 100 - LIMIT_XID_NUMBERS);
}

static void the_device_whose_errors_are_oldest_makes_room(void **state)
{
	static const char *const names[] = {"gpu-1", "gpu-2", "gpu-3"};
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		object.name = view_from(names[i]);
		object.status.health.events.count = before.status.health.events.count = 0;
		err_again(79, 1000);
		publish();
	}
	assert_count(79, 1);
	assert_null(xid_counts_of(counts, VIEW("gpu-1"), &n));
	assert_int_equal(n, 0);
	assert_non_null(xid_counts_of(counts, VIEW("gpu-2"), &n));
}

static void without_memory_nothing_changes(void **state)
{
	struct error err;
	bool failed = true;
	size_t n;

	(void)state;
	err_again(79, 1000);
	for (unsigned k = 1; failed; k++) {
		assert_null(xid_counts_of(counts, object.name, &n));
		failing_malloc_at(k);
		int result = xid_counts_publish(counts, &before, &object, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
	}
	assert_count(79, 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(an_error_counts_when_it_is_first_published, setup, teardown),
	cmocka_unit_test_setup_teardown(errors_that_no_longer_fit_into_the_list_stay_counted, setup,
					teardown),
	cmocka_unit_test_setup_teardown(what_an_earlier_controller_published_does_not_count, setup,
					teardown),
	cmocka_unit_test_setup_teardown(an_object_that_is_made_anew_has_no_new_errors, setup,
					teardown),
	cmocka_unit_test_setup_teardown(two_partitions_have_errors_of_their_own, setup, teardown),
	cmocka_unit_test_setup_teardown(too_many_numbers_count_together, setup, teardown),
	cmocka_unit_test_setup_teardown(the_device_whose_errors_are_oldest_makes_room, setup,
					teardown),
	cmocka_unit_test_setup_teardown(without_memory_nothing_changes, setup, teardown),
};
TEST_MAIN(tests)
