/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <inttypes.h>

#include "kubectl/failing.h"
#include "kubectl/remedy.h"
#include "lib/failing_malloc.h"

#define HEALTHY ATTRIBUTION_HEALTH_HEALTHY
#define DEGRADED ATTRIBUTION_HEALTH_DEGRADED
#define UNHEALTHY ATTRIBUTION_HEALTH_UNHEALTHY
#define UNKNOWN ATTRIBUTION_HEALTH_UNKNOWN
#define UNSET ATTRIBUTION_HEALTH_UNSET
#define CURRENT ATTRIBUTION_REPORT_CURRENT
#define STALE ATTRIBUTION_REPORT_STALE
#define NO_AGENT ATTRIBUTION_REPORT_NO_AGENT
#define PENDING ATTRIBUTION_REPORT_PENDING
#define MAX_DEVICES 8

struct made {
	struct view reason;
	struct condition condition;
	struct attribution device;
};

/* A device with one reason, "" being none, and a condition since `since`. */
static void make(struct made *made, int health, int report, const char *reason, int64_t since)
{
	made->reason = view_from(reason);
	made->condition = (struct condition){
		.type = VIEW("Healthy"),
		.status = health == HEALTHY   ? CONDITION_TRUE
			  : health == UNKNOWN ? CONDITION_UNKNOWN
					      : CONDITION_FALSE,
		.reason = view_from(reason),
		.last_transition_time = since,
	};
	made->device = (struct attribution){
		.status = {.report_state = report,
			   .health = {.state = health,
				      .reasons = array_of(&made->reason, made->reason.len > 0)},
			   .conditions = array_of(&made->condition, 1)}};
}

static void find(const struct attribution *const *devices, size_t n, struct arena *arena,
		 struct failing *ret)
{
	struct error err;
	arena_init(arena, 65536);
	assert_int_equal(failing_find(devices, n, arena, ret, &err), 0);
}

static void a_device_fails_or_is_healthy_or_is_not_known(void **state)
{
	(void)state;
	static const struct {
		int health, report;
		const char *reason;
		size_t n_failing, n_unknown, n_silent;
	} rows[] = {
		{HEALTHY, CURRENT, "", 0, 0, 0},
		{DEGRADED, CURRENT, "RowRemapPending", 1, 0, 0},
		{UNHEALTHY, CURRENT, "XID79", 1, 0, 0},
		{UNHEALTHY, CURRENT, "", 1, 0, 0},
		{UNKNOWN, CURRENT, "DeviceMissing", 1, 0, 0},
		{UNKNOWN, CURRENT, "NVMLHangs", 1, 0, 0},
		{UNKNOWN, CURRENT, "", 0, 1, 0},
		{UNSET, CURRENT, "", 0, 1, 0},
		{UNSET, CURRENT, "XID79", 0, 1, 0}, /* a word of a later release */
		{HEALTHY, STALE, "", 0, 1, 0},
		{HEALTHY, NO_AGENT, "", 0, 1, 0},
		{HEALTHY, PENDING, "", 0, 1, 0},
		{HEALTHY, ATTRIBUTION_REPORT_UNSET, "", 0, 1, 0},
		{DEGRADED, STALE, "XID48", 1, 0, 1},
		{UNHEALTHY, NO_AGENT, "XID79", 1, 0, 1},
		{UNKNOWN, STALE, "DeviceMissing", 1, 0, 1},
		{UNKNOWN, STALE, "", 0, 1, 0},
		{UNKNOWN, NO_AGENT, "NoAgent", 0, 1, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct failing failing;
		struct made made;
		const struct attribution *device = &made.device;
		make(&made, rows[i].health, rows[i].report, rows[i].reason, 1000);
		find(&device, 1, &arena, &failing);
		if (failing.n_rows != rows[i].n_failing || failing.n_unknown != rows[i].n_unknown ||
		    failing.n_silent != rows[i].n_silent)
			fail_msg("row %zu: %zu fail, %zu unknown, %zu silent", i, failing.n_rows,
				 failing.n_unknown, failing.n_silent);
	}
}

static void the_worst_comes_first_and_then_what_has_failed_for_longest(void **state)
{
	(void)state;
	static const struct {
		int health;
		int64_t since;
		size_t place;
	} rows[MAX_DEVICES] = {
		{UNKNOWN, 1000, 6},   {DEGRADED, 9000, 5},  {DEGRADED, 1000, 4},
		{UNHEALTHY, 0, 3},    {UNKNOWN, 5000, 7},   {UNHEALTHY, 8000, 0},
		{UNHEALTHY, 9000, 1}, {UNHEALTHY, 9000, 2},
	};
	CLEANUP(arena_deinit) struct arena arena;
	struct failing failing;
	struct made made[MAX_DEVICES];
	const struct attribution *devices[MAX_DEVICES];
	for (size_t i = 0; i < MAX_DEVICES; i++) {
		make(&made[i], rows[i].health, CURRENT, "GPULost", rows[i].since);
		devices[i] = &made[i].device;
	}
	find(devices, MAX_DEVICES, &arena, &failing);
	assert_int_equal(failing.n_rows, MAX_DEVICES);
	for (size_t i = 0; i < MAX_DEVICES; i++)
		assert_ptr_equal(failing.rows[rows[i].place].device, devices[i]);
}

static void the_event_is_the_newest_of_the_worst_reason_or_of_what_the_driver_asks_for(void **state)
{
	(void)state;
	static const struct attribution_health_event events[] = {
		{.xid = 9, .event_time = 9000},
		{.xid = 95, .event_time = 8000, .class = ATTRIBUTION_EVENT_NEEDS_RESET},
		{.xid = 95, .event_time = 7000, .class = ATTRIBUTION_EVENT_NEEDS_RESET},
		{.xid = 79, .event_time = 6000, .class = ATTRIBUTION_EVENT_NEEDS_REBOOT}};
	static const struct {
		const char *worst, *next; /* "": there is none */
		int event;                /* index; -1: none */
		int action;
	} rows[] = {{"ResetRequired", "XID95", 1, ATTRIBUTION_RECOVERY_RESET},
		    {"RebootRequired", "XID95", -1, ATTRIBUTION_RECOVERY_REBOOT},
		    {"RebootRequired", "XID79", 3, ATTRIBUTION_RECOVERY_REBOOT},
		    {"RowRemapFailed", "XID95", -1, ATTRIBUTION_RECOVERY_REPLACE},
		    {"XID95", "", 1},
		    {"XID79", "", 3},
		    {"XID9", "", 0},
		    {"XID79", "XID95", 3},
		    {"XID95", "XID9", 1},
		    {"RowRemapFailed", "XID95", -1},
		    {"XID48", "XID95", -1},
		    {"XID", "", -1},
		    {"XID5", "", -1},
		    {"", "", -1},
		    {"xid95", "", -1},
		    {"XID951", "", -1},
		    {"RowRemapPending", "", -1}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct failing failing;
		struct made made;
		const struct attribution *device = &made.device;
		const struct view reasons[] = {view_from(rows[i].worst), view_from(rows[i].next)};
		make(&made, UNHEALTHY, CURRENT, rows[i].worst, 1000);
		made.device.status.health.reasons.items = (void *)(uintptr_t)reasons;
		made.device.status.health.reasons.count += reasons[1].len > 0;
		made.device.status.health.events = array_of(events, ARRAY_SIZE(events));
		made.device.status.health.recovery_action = rows[i].action;
		find(&device, 1, &arena, &failing);
		if (failing.rows[0].event != (rows[i].event < 0 ? NULL : &events[rows[i].event]))
			fail_msg("row %zu", i);
	}
}

/* What the condition says of the silence is not taken for the time of the failure. */
static void the_time_is_that_of_the_condition_or_else_of_the_event(void **state)
{
	(void)state;
	static const struct attribution_health_event event = {.xid = 95, .event_time = 7000};
	static const struct {
		int health, report, condition; /* -1: there is none */
		const char *reason;
		int64_t since;
	} rows[] = {
		{UNHEALTHY, CURRENT, CONDITION_FALSE, "XID95", 1000},
		{UNHEALTHY, CURRENT, -1, "XID95", 7000},
		{UNHEALTHY, STALE, CONDITION_UNKNOWN, "XID95", 7000},
		{UNHEALTHY, STALE, CONDITION_FALSE, "XID95", 1000},
		{DEGRADED, STALE, CONDITION_UNKNOWN, "RowRemapPending", 0},
		{UNKNOWN, CURRENT, CONDITION_UNKNOWN, "DeviceMissing", 1000},
		{UNKNOWN, STALE, CONDITION_UNKNOWN, "DeviceMissing", 0},
		{DEGRADED, CURRENT, CONDITION_TRUE, "RowRemapPending", 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct failing failing;
		struct made made;
		const struct attribution *device = &made.device;
		make(&made, rows[i].health, rows[i].report, rows[i].reason, 1000);
		made.device.status.health.events = array_of(&event, 1);
		made.condition.status = rows[i].condition;
		made.device.status.conditions.count = rows[i].condition >= 0;
		find(&device, 1, &arena, &failing);
		if (failing.rows[0].since != rows[i].since)
			fail_msg("row %zu: %" PRId64, i, failing.rows[0].since);
	}
}

static void the_reason_is_the_worst_one_or_else_that_of_the_condition(void **state)
{
	(void)state;
	struct made made;
	make(&made, DEGRADED, CURRENT, "XID48", 1000);
	made.condition.reason = VIEW("Other");
	assert_true(view_equal(remedy_reason(&made.device.status), VIEW("XID48")));
	made.device.status.health.reasons.count = 0;
	assert_true(view_equal(remedy_reason(&made.device.status), VIEW("Other")));
	made.condition.status = CONDITION_UNKNOWN; /* it tells of the silence */
	assert_int_equal(remedy_reason(&made.device.status).len, 0);
	made.device.status.conditions.count = 0;
	assert_int_equal(remedy_reason(&made.device.status).len, 0);
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	struct made made;
	const struct attribution *device = &made.device;
	bool has_failed = true;
	make(&made, DEGRADED, CURRENT, "XID48", 1000);
	for (unsigned k = 1; has_failed; k++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct failing failing;
		struct error err;
		arena_init(&arena, 65536);
		failing_malloc_at(k);
		int result = failing_find(&device, 1, &arena, &failing, &err);
		has_failed = failing_malloc_off();
		assert_int_equal(result, has_failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_device_fails_or_is_healthy_or_is_not_known),
	cmocka_unit_test(the_worst_comes_first_and_then_what_has_failed_for_longest),
	cmocka_unit_test(
		the_event_is_the_newest_of_the_worst_reason_or_of_what_the_driver_asks_for),
	cmocka_unit_test(the_time_is_that_of_the_condition_or_else_of_the_event),
	cmocka_unit_test(the_reason_is_the_worst_one_or_else_that_of_the_condition),
	cmocka_unit_test(missing_memory_is_said),
};
TEST_MAIN(tests)
