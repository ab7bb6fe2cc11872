/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "kubectl/idle.h"
#include "lib/failing_malloc.h"

#define ACTIVE ATTRIBUTION_ACTIVITY_ACTIVE
#define IDLE ATTRIBUTION_ACTIVITY_IDLE
#define UNKNOWN ATTRIBUTION_ACTIVITY_UNKNOWN
#define UNSET ATTRIBUTION_ACTIVITY_UNSET
#define CURRENT ATTRIBUTION_REPORT_CURRENT
#define STALE ATTRIBUTION_REPORT_STALE

static void find(const struct attribution *const *devices, size_t n, bool is_all,
		 struct arena *arena, struct idle *ret)
{
	struct error err;
	arena_init(arena, 65536);
	assert_int_equal(idle_find(devices, n, is_all, arena, ret, &err), 0);
}

static void a_held_device_is_idle_or_not_or_that_is_not_known(void **state)
{
	(void)state;
	static const struct {
		int activity, report;
		int64_t n_tenants;
		bool is_all;
		size_t n_idle, n_unknown;
		bool is_measured;
	} rows[] = {
		{IDLE, CURRENT, 1, false, 1, 0, true},
		{IDLE, CURRENT, 0, false, 0, 0, false},
		{IDLE, CURRENT, 0, true, 1, 0, true},
		{IDLE, CURRENT, -1, false, 1, 0, true}, /* somebody may hold it */
		{ACTIVE, CURRENT, 1, true, 0, 0, true},
		{UNKNOWN, CURRENT, 1, false, 0, 1, false},
		{UNKNOWN, CURRENT, 0, false, 0, 0, false},
		{UNKNOWN, CURRENT, 0, true, 0, 1, false},
		{UNSET, CURRENT, 1, false, 0, 1, false},
		{IDLE, STALE, 1, false, 0, 1, false},
		{ACTIVE, STALE, 1, false, 0, 1, false},
		{IDLE, ATTRIBUTION_REPORT_UNSET, 1, false, 0, 1, false},
		{IDLE, ATTRIBUTION_REPORT_NO_AGENT, -1, false, 0, 1, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct idle idle;
		const struct attribution device = {.status = {.report_state = rows[i].report,
							      .tenant_count = rows[i].n_tenants,
							      .activity.state = rows[i].activity}};
		const struct attribution *const list[] = {&device};
		find(list, 1, rows[i].is_all, &arena, &idle);
		if (idle.n_rows != rows[i].n_idle || idle.n_unknown != rows[i].n_unknown ||
		    idle.is_any_measured != rows[i].is_measured)
			fail_msg("row %zu: %zu idle, %zu unknown, measured: %d", i, idle.n_rows,
				 idle.n_unknown, idle.is_any_measured);
	}
}

static void what_is_idle_for_longest_comes_first(void **state)
{
	(void)state;
	static const struct {
		int64_t idle_since, transition, since;
		size_t place;
	} rows[] = {{5000, 6000, 5000, 2}, {0, 0, 0, 5},	  {1000, 9000, 1000, 0},
		    {0, 2000, 2000, 1},	   {5000, 5000, 5000, 3}, {6000, 0, 6000, 4}};
	CLEANUP(arena_deinit) struct arena arena;
	struct attribution made[ARRAY_SIZE(rows)];
	const struct attribution *devices[ARRAY_SIZE(rows)];
	struct idle idle;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		made[i] = (struct attribution){
			.status = {.report_state = CURRENT,
				   .tenant_count = 1,
				   .activity = {.state = IDLE,
						.idle_since = rows[i].idle_since,
						.last_transition_time = rows[i].transition}}};
		devices[i] = &made[i];
	}
	find(devices, ARRAY_SIZE(rows), false, &arena, &idle);
	assert_int_equal(idle.n_rows, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_ptr_equal(idle.rows[rows[i].place].device, devices[i]);
		assert_int_equal(idle.rows[rows[i].place].since, rows[i].since);
		assert_true(idle.rows[i].is_first_of_device);
	}
}

static struct attribution_partition partitions[] = {
	{.uuid = VIEW_INIT("MIG-1"), .activity = {IDLE, 3000}},
	{.uuid = VIEW_INIT("MIG-2"), .activity = {ACTIVE, 0}},
	{.uuid = VIEW_INIT("MIG-3"), .activity = {IDLE, 1000}},
	{.uuid = VIEW_INIT("MIG-4"), .activity = {IDLE, 2000}},
};
static const struct view held_first = VIEW_INIT("MIG-1"), held_third = VIEW_INIT("MIG-3");

static struct attribution mig(struct attribution_tenant tenants[2], int activity)
{
	tenants[0] = (struct attribution_tenant){.pod_uid = VIEW("a"),
						 .partitions = array_of(&held_first, 1)};
	tenants[1] = (struct attribution_tenant){.pod_uid = VIEW("b"),
						 .partitions = array_of(&held_third, 1)};
	return (struct attribution){
		.status = {.report_state = CURRENT,
			   .tenant_count = 2,
			   .tenants = array_of(tenants, 2),
			   .partitions = array_of(partitions, ARRAY_SIZE(partitions)),
			   .activity = {.state = activity, .scope = ATTRIBUTION_SCOPE_PARTITION}}};
}

static void assert_partitions(const struct attribution *device, bool is_all, const char *expected,
			      size_t n_unknown)
{
	CLEANUP(arena_deinit) struct arena arena;
	struct idle idle;
	char found[64] = "";
	find(&device, 1, is_all, &arena, &idle);
	for (size_t i = 0; i < idle.n_rows; i++)
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%.*s", i ? " " : "",
			 VIEW_ARG(idle.rows[i].partition ? idle.rows[i].partition->uuid
							 : VIEW("device")));
	assert_string_equal(found, expected);
	assert_int_equal(idle.n_unknown, n_unknown);
	for (size_t i = 0; i < idle.n_rows; i++)
		assert_int_equal(idle.rows[i].is_first_of_device, i == 0);
}

static void idle_partitions_of_a_device_that_works_are_listed_if_they_are_held(void **state)
{
	(void)state;
	struct attribution_tenant tenants[2];
	struct attribution device = mig(tenants, ACTIVE);
	assert_partitions(&device, false, "MIG-3 MIG-1", 0);
	assert_partitions(&device, true, "MIG-3 MIG-4 MIG-1", 0);
	device = mig(tenants, IDLE);
	assert_partitions(&device, false, "device", 0);
	device = mig(tenants, UNKNOWN); /* something else of it is not known */
	assert_partitions(&device, false, "MIG-3 MIG-1", 1);
	device.status.activity.scope = ATTRIBUTION_SCOPE_DEVICE;
	assert_partitions(&device, false, "", 1);
	device.status.report_state = STALE;
	assert_partitions(&device, false, "", 1);
	device = mig(tenants, ACTIVE);
	tenants[1].role = ATTRIBUTION_ROLE_MONITOR; /* it watches, and holds nothing */
	assert_partitions(&device, false, "MIG-1", 0);
}

/* A tenant whose partitions are not all listed may hold any. */
static void a_partition_that_may_be_held_is_listed(void **state)
{
	(void)state;
	struct attribution_tenant tenants[2];
	struct attribution device = mig(tenants, ACTIVE);
	tenants[1].partitions_left_out = 1;
	assert_partitions(&device, false, "MIG-3 MIG-4 MIG-1", 0);
	device = mig(tenants, ACTIVE);
	tenants[1].partitions.count = 0;
	assert_partitions(&device, false, "MIG-3 MIG-4 MIG-1", 0);
	device = mig(tenants, ACTIVE);
	device.status.tenants_left_out = 1;
	assert_partitions(&device, false, "MIG-3 MIG-4 MIG-1", 0);
	device = mig(tenants, ACTIVE);
	device.status.tenant_count = -1;
	assert_partitions(&device, false, "MIG-3 MIG-4 MIG-1", 0);
}

static void a_held_partition_of_which_nothing_is_known_is_counted(void **state)
{
	(void)state;
	struct attribution_tenant tenants[2];
	struct attribution device = mig(tenants, ACTIVE);
	struct attribution_partition other[ARRAY_SIZE(partitions)];
	memcpy(other, partitions, sizeof(other));
	device.status.partitions = array_of(other, ARRAY_SIZE(other));
	other[0].activity.state = UNKNOWN;
	assert_partitions(&device, false, "MIG-3", 1);
	other[0].activity.state = UNSET;
	assert_partitions(&device, false, "MIG-3", 1);
	other[0].activity.state = ACTIVE;
	other[3].activity.state = UNKNOWN; /* nobody holds it */
	assert_partitions(&device, false, "MIG-3", 0);
	assert_partitions(&device, true, "MIG-3", 1);
}

static void a_device_is_measured_in_part_if_a_held_partition_is(void **state)
{
	(void)state;
	static const struct {
		int device, first, third; /* the partitions that are held */
		bool is_measured;
	} rows[] = {
		{ACTIVE, UNKNOWN, UNKNOWN, false}, /* another partition works */
		{ACTIVE, ACTIVE, UNKNOWN, true},   {UNKNOWN, UNKNOWN, ACTIVE, true},
		{UNKNOWN, UNKNOWN, IDLE, true},	   {UNKNOWN, UNSET, UNKNOWN, false},
		{ACTIVE, ACTIVE, ACTIVE, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct attribution_tenant tenants[2];
		struct attribution made = mig(tenants, rows[i].device), *device = &made;
		struct attribution_partition other[ARRAY_SIZE(partitions)];
		struct idle idle;
		memcpy(other, partitions, sizeof(other));
		other[0].activity.state = rows[i].first;
		other[2].activity.state = rows[i].third;
		made.status.partitions = array_of(other, ARRAY_SIZE(other));
		find((const struct attribution *const *)&device, 1, false, &arena, &idle);
		if (idle.is_any_measured != rows[i].is_measured)
			fail_msg("row %zu", i);
	}
}

static void missing_memory_is_said(void **state)
{
	(void)state;
	struct attribution_tenant tenants[2];
	const struct attribution made = mig(tenants, ACTIVE), *device = &made;
	bool has_failed = true;
	for (unsigned k = 1; has_failed; k++) {
		CLEANUP(arena_deinit) struct arena arena;
		struct idle idle;
		struct error err;
		arena_init(&arena, 65536);
		failing_malloc_at(k);
		int result = idle_find(&device, 1, false, &arena, &idle, &err);
		has_failed = failing_malloc_off();
		assert_int_equal(result, has_failed ? -1 : 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_held_device_is_idle_or_not_or_that_is_not_known),
	cmocka_unit_test(what_is_idle_for_longest_comes_first),
	cmocka_unit_test(idle_partitions_of_a_device_that_works_are_listed_if_they_are_held),
	cmocka_unit_test(a_partition_that_may_be_held_is_listed),
	cmocka_unit_test(a_held_partition_of_which_nothing_is_known_is_counted),
	cmocka_unit_test(a_device_is_measured_in_part_if_a_held_partition_is),
	cmocka_unit_test(missing_memory_is_said),
};
TEST_MAIN(tests)
