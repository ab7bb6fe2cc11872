/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/event_idle.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define START INT64_C(1767268800000)

struct world {
	struct inventory *inventory;
	struct event_idle idle;
	struct attribution_tenant tenants[2];
	struct attribution_partition partitions[2];
	struct attribution object;
	uint64_t version;
	unsigned n_told;
	char note[LIMIT_EVENT_NOTE + 1]; /* the last one */
};

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	world = (struct world){
		.tenants = {{.pod_uid = VIEW("p1"), .pod_namespace = VIEW("team"),
			     .pod_name = VIEW("a"), .container = VIEW("main"),
			     .role = ATTRIBUTION_ROLE_WORKLOAD, .start_time = START - 5 * MINUTE},
			    {.pod_uid = VIEW("p2"), .pod_namespace = VIEW("team"),
			     .pod_name = VIEW("b"), .container = VIEW("main"),
			     .role = ATTRIBUTION_ROLE_WORKLOAD, .start_time = START + 30 * MINUTE}},
		.object = {.name = VIEW("gpu-1"), .uid = VIEW("u1"),
			   .status = {.node_name = VIEW("node-1"),
				      .activity = {.state = ATTRIBUTION_ACTIVITY_IDLE,
						   .idle_since = START}}},
	};
	world.object.status.tenants = array_of(world.tenants, 1);
	*state = &world;
	if (inventory_new(0, &world.inventory, &err) < 0)
		return -1;
	return event_idle_init(&world.idle, HOUR, START, &err);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	event_idle_deinit(&world->idle);
	inventory_free(world->inventory);
	return 0;
}

static void tell(void *owner, struct view node_name, const struct event_change *change)
{
	struct world *world = owner;

	assert_true(view_equal(node_name, VIEW("node-1")));
	assert_int_equal(change->type, EVENT_GPU_IDLE);
	snprintf(world->note, sizeof(world->note), "%.*s", VIEW_ARG(change->note));
	world->n_told++;
}

static void publish(struct world *world)
{
	static char version[16];
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct error err;

	arena_init(&arena, LIMIT_MIB);
	snprintf(version, sizeof(version), "%u", (unsigned)world->version + 1);
	world->object.resource_version = view_from(version);
	assert_int_equal(inventory_put_attribution(world->inventory, &world->object, &arena,
						   STORE_UPSERT, ++world->version, &err), 0);
}

/* How much is told when it looks at that time. */
static unsigned look(struct world *world, int64_t at)
{
	unsigned before = world->n_told;

	event_idle_look(&world->idle, world->inventory, at, tell, world);
	return world->n_told - before;
}

static void a_gpu_that_is_held_and_idle_for_an_hour_is_told_once(void **state)
{
	struct world *world = *state;

	publish(world);
	assert_int_equal(look(world, START + HOUR - 1), 0);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_string_equal(world->note, "idle since 2026-01-01T12:00:00Z; held by team/a");
	assert_int_equal(look(world, START + HOUR + 1), 0);
	assert_int_equal(look(world, START + 9 * HOUR), 0);
}

static void who_comes_later_is_told_an_hour_later(void **state)
{
	struct world *world = *state;

	world->object.status.tenants = array_of(world->tenants, 2);
	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_int_equal(look(world, START + HOUR + 30 * MINUTE - 1), 0);
	assert_int_equal(look(world, START + HOUR + 30 * MINUTE), 1);
	assert_string_equal(world->note, "idle since 2026-01-01T12:00:00Z; held by team/b");
}

static void those_who_are_due_together_are_told_together(void **state)
{
	struct world *world = *state;

	world->tenants[1].start_time = START - MINUTE;
	world->object.status.tenants = array_of(world->tenants, 2);
	publish(world);
	assert_int_equal(look(world, START + 2 * HOUR), 1);
	assert_string_equal(world->note, "idle since 2026-01-01T12:00:00Z; held by team/a, team/b");
}

static void a_tenancy_that_is_idle_again_is_not_told_again(void **state)
{
	struct world *world = *state;

	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	world->object.status.activity.idle_since = START + 2 * HOUR;
	publish(world);
	assert_int_equal(look(world, START + 3 * HOUR), 0);
	/* The next container of that pod is another tenancy. */
	world->tenants[0].start_time = START + 3 * HOUR;
	publish(world);
	assert_int_equal(look(world, START + 4 * HOUR), 1);
}

static void what_became_so_before_the_start_is_not_told(void **state)
{
	struct world *world = *state;

	world->object.status.activity.idle_since = START - HOUR;
	world->tenants[0].start_time = START - 2 * HOUR;
	publish(world);
	assert_int_equal(look(world, START + MINUTE), 0);
	assert_int_equal(look(world, START + 9 * HOUR), 0);
}

/* The agent, the driver or a witness of the tenancy may have been away for an hour. */
static void idleness_that_is_published_late_is_told_once(void **state)
{
	struct world *world = *state;

	world->object.status.activity = (struct attribution_activity_state){
		.state = ATTRIBUTION_ACTIVITY_UNKNOWN};
	publish(world);
	assert_int_equal(look(world, START + 2 * HOUR), 0);
	world->object.status.activity = (struct attribution_activity_state){
		.state = ATTRIBUTION_ACTIVITY_IDLE, .idle_since = START};
	publish(world);
	assert_int_equal(look(world, START + 2 * HOUR + 1), 1);
	assert_int_equal(look(world, START + 2 * HOUR + 2), 0);
	/* It is not known for a while, and then the same again. */
	publish(world);
	assert_int_equal(look(world, START + 3 * HOUR), 0);
}

static void who_is_found_late_to_hold_an_idle_gpu_is_told(void **state)
{
	struct world *world = *state;

	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_int_equal(look(world, START + 3 * HOUR), 0);
	world->object.status.tenants = array_of(world->tenants, 2);
	publish(world);
	assert_int_equal(look(world, START + 3 * HOUR + 1), 1);
	assert_string_equal(world->note, "idle since 2026-01-01T12:00:00Z; held by team/b");
}

/* What was told before a restart is not told when the status is written for another reason. */
static void what_became_so_before_the_start_is_not_told_when_it_is_published_anew(void **state)
{
	struct world *world = *state;

	world->object.status.activity.idle_since = START - HOUR;
	world->tenants[0].start_time = START - 2 * HOUR;
	publish(world);
	assert_int_equal(look(world, START + MINUTE), 0);
	publish(world);
	assert_int_equal(look(world, START + 2 * MINUTE), 0);
	assert_int_equal(look(world, START + 9 * HOUR), 0);
}

static void only_workloads_on_idle_gpus_are_told(void **state)
{
	struct world *world = *state;

	world->tenants[0].role = ATTRIBUTION_ROLE_MONITOR;
	publish(world);
	assert_int_equal(look(world, START + HOUR), 0);
	world->tenants[0].role = ATTRIBUTION_ROLE_WORKLOAD;
	world->object.status.activity = (struct attribution_activity_state){
		.state = ATTRIBUTION_ACTIVITY_ACTIVE};
	publish(world);
	assert_int_equal(look(world, START + 9 * HOUR), 0);
}

/* The tenants have a partition each; the first has been idle for long, and the second computes. */
static void part(struct world *world)
{
	static const struct view uuids[] = {VIEW_INIT("MIG-1"), VIEW_INIT("MIG-2")};

	world->tenants[1].start_time = START - MINUTE;
	for (size_t i = 0; i < ARRAY_SIZE(uuids); i++) {
		world->tenants[i].partitions = array_of((void *)&uuids[i], 1);
		world->partitions[i] = (struct attribution_partition){
			.uuid = uuids[i], .activity.state = ATTRIBUTION_ACTIVITY_ACTIVE};
	}
	world->partitions[0].activity =
		(struct attribution_partition_activity){ATTRIBUTION_ACTIVITY_IDLE, START};
	world->object.status.tenants = array_of(world->tenants, 2);
	world->object.status.partitions = array_of(world->partitions, 2);
	world->object.status.activity =
		(struct attribution_activity_state){.state = ATTRIBUTION_ACTIVITY_ACTIVE};
}

static void a_partition_that_is_held_and_idle_beside_a_busy_one_is_told_once(void **state)
{
	struct world *world = *state;

	part(world);
	publish(world);
	assert_int_equal(look(world, START + HOUR - 1), 0);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_string_equal(world->note,
			    "MIG device MIG-1 idle since 2026-01-01T12:00:00Z, held by team/a");
	assert_int_equal(look(world, START + 9 * HOUR), 0);
}

/* What is known of the partitions is more than what is known of the device. */
static void under_mig_who_holds_an_idle_partition_is_told_and_not_the_others(void **state)
{
	struct world *world = *state;

	part(world);
	world->object.status.activity.state = ATTRIBUTION_ACTIVITY_UNKNOWN;
	world->partitions[1].activity.state = ATTRIBUTION_ACTIVITY_UNKNOWN;
	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_string_equal(world->note,
			    "MIG device MIG-1 idle since 2026-01-01T12:00:00Z, held by team/a");
	/* When the device is idle as a whole, that one was told already. */
	world->partitions[1].activity = (struct attribution_partition_activity){
		ATTRIBUTION_ACTIVITY_IDLE, START + 2 * HOUR};
	world->object.status.activity = (struct attribution_activity_state){
		.state = ATTRIBUTION_ACTIVITY_IDLE, .idle_since = START + 2 * HOUR};
	publish(world);
	assert_int_equal(look(world, START + 3 * HOUR - 1), 0);
	assert_int_equal(look(world, START + 3 * HOUR), 1);
	assert_string_equal(world->note,
			    "MIG device MIG-2 idle since 2026-01-01T14:00:00Z, held by team/b");
}

static void of_a_tenancy_with_two_partitions_each_is_told(void **state)
{
	struct world *world = *state;

	part(world);
	world->tenants[0].partitions = array_of(
		(void *)(const struct view[]){VIEW_INIT("MIG-1"), VIEW_INIT("MIG-2")}, 2);
	world->object.status.tenants.count = 1;
	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	world->partitions[1].activity = (struct attribution_partition_activity){
		ATTRIBUTION_ACTIVITY_IDLE, START + HOUR};
	publish(world);
	assert_int_equal(look(world, START + 2 * HOUR), 1);
	assert_string_equal(world->note,
			    "MIG device MIG-2 idle since 2026-01-01T13:00:00Z, held by team/a");
}

/* The first tenant has both, and the second one of them. */
static void those_who_hold_the_same_partition_are_named_together(void **state)
{
	static const struct view both[] = {VIEW_INIT("MIG-1"), VIEW_INIT("MIG-2")};
	struct world *world = *state;

	part(world);
	world->tenants[0].partitions = array_of((void *)both, 2);
	world->tenants[1].partitions = array_of((void *)both, 1);
	world->partitions[1].activity = world->partitions[0].activity;
	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_string_equal(world->note,
			    "MIG device MIG-1 idle since 2026-01-01T12:00:00Z, held by team/a, team/b; "
			    "MIG device MIG-2 idle since 2026-01-01T12:00:00Z, held by team/a");
}

/* An object of an earlier release, or a tenant whose partitions are not known. */
static void where_no_partition_is_known_to_be_idle_the_device_counts(void **state)
{
	struct world *world = *state;

	part(world);
	world->partitions[0].activity.state = ATTRIBUTION_ACTIVITY_UNSET;
	world->partitions[1].activity.state = ATTRIBUTION_ACTIVITY_UNSET;
	world->tenants[1].partitions = (struct array){0};
	world->object.status.activity = (struct attribution_activity_state){
		.state = ATTRIBUTION_ACTIVITY_IDLE, .idle_since = START};
	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_string_equal(world->note, "idle since 2026-01-01T12:00:00Z; held by team/a, team/b");
}

static void what_is_seen_in_shadow_counts_as_told(void **state)
{
	struct world *world = *state;

	publish(world);
	event_idle_look(&world->idle, world->inventory, START + HOUR, NULL, NULL);
	assert_int_equal(look(world, START + HOUR + 1), 0);
	publish(world);
	assert_int_equal(look(world, START + 2 * HOUR), 0);
	assert_int_equal(world->idle.n_told, 0);
	/* Who comes after it is told. */
	world->object.status.tenants = array_of(world->tenants, 2);
	publish(world);
	assert_int_equal(look(world, START + 3 * HOUR), 1);
	assert_string_equal(world->note, "idle since 2026-01-01T12:00:00Z; held by team/b");
}

static void a_clock_that_is_set_back_tells_nothing_twice(void **state)
{
	struct world *world = *state;

	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_int_equal(look(world, START - HOUR), 0);
	assert_int_equal(look(world, START + HOUR), 0);
	assert_int_equal(look(world, START + HOUR + 1), 0);
}

static void one_look_tells_of_so_many_objects_and_counts_the_others(void **state)
{
	static char names[LIMIT_EVENT_QUEUE + 3][16];
	struct world *world = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "gpu-%u", i);
		world->object.name = view_from(names[i]);
		world->object.uid = view_from(names[i]);
		publish(world);
	}
	assert_int_equal(look(world, START + HOUR), LIMIT_EVENT_QUEUE);
	assert_int_equal(world->idle.n_left_out, 3);
	assert_int_equal(look(world, START + 2 * HOUR), 0);
}

static void tenants_beyond_the_limit_of_one_object_are_counted(void **state)
{
	static struct attribution_tenant tenants[LIMIT_TENANTS + 3];
	static char uids[ARRAY_SIZE(tenants)][16];
	struct world *world = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(tenants); i++) {
		snprintf(uids[i], sizeof(uids[i]), "p%u", i);
		tenants[i] = world->tenants[0];
		tenants[i].pod_uid = view_from(uids[i]);
	}
	world->object.status.tenants = array_of(tenants, ARRAY_SIZE(tenants));
	publish(world);
	assert_int_equal(look(world, START + HOUR), 1);
	assert_int_equal(world->idle.n_left_out, 3);
}

static void a_thousand_tenancies_are_remembered(void **state)
{
	static char names[1000][16];
	struct world *world = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "gpu-%u", i);
		world->object.name = view_from(names[i]);
		world->object.uid = view_from(names[i]);
		world->object.status.activity.idle_since = START;
		publish(world);
	}
	assert_int_equal(look(world, START + HOUR), 1000);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		world->object.name = view_from(names[i]);
		world->object.uid = view_from(names[i]);
		world->object.status.activity.idle_since = START + 2 * HOUR;
		publish(world);
	}
	assert_int_equal(look(world, START + 3 * HOUR), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_gpu_that_is_held_and_idle_for_an_hour_is_told_once),
	cmocka_unit_test_set_up(who_comes_later_is_told_an_hour_later),
	cmocka_unit_test_set_up(those_who_are_due_together_are_told_together),
	cmocka_unit_test_set_up(a_tenancy_that_is_idle_again_is_not_told_again),
	cmocka_unit_test_set_up(what_became_so_before_the_start_is_not_told),
	cmocka_unit_test_set_up(idleness_that_is_published_late_is_told_once),
	cmocka_unit_test_set_up(who_is_found_late_to_hold_an_idle_gpu_is_told),
	cmocka_unit_test_set_up(
		what_became_so_before_the_start_is_not_told_when_it_is_published_anew),
	cmocka_unit_test_set_up(only_workloads_on_idle_gpus_are_told),
	cmocka_unit_test_set_up(a_partition_that_is_held_and_idle_beside_a_busy_one_is_told_once),
	cmocka_unit_test_set_up(under_mig_who_holds_an_idle_partition_is_told_and_not_the_others),
	cmocka_unit_test_set_up(of_a_tenancy_with_two_partitions_each_is_told),
	cmocka_unit_test_set_up(those_who_hold_the_same_partition_are_named_together),
	cmocka_unit_test_set_up(where_no_partition_is_known_to_be_idle_the_device_counts),
	cmocka_unit_test_set_up(what_is_seen_in_shadow_counts_as_told),
	cmocka_unit_test_set_up(a_clock_that_is_set_back_tells_nothing_twice),
	cmocka_unit_test_set_up(one_look_tells_of_so_many_objects_and_counts_the_others),
	cmocka_unit_test_set_up(tenants_beyond_the_limit_of_one_object_are_counted),
	cmocka_unit_test_set_up(a_thousand_tenancies_are_remembered),
};
TEST_MAIN(tests)
