/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "join/claimant.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

static struct build_world world;

static int set_up(void **state)
{
	(void)state;
	build_world_init(&world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	build_world_deinit(&world);
	return 0;
}

static const struct attribution_status *publish(unsigned n)
{
	build_world_publish(&world);
	return build_world_status(&world, n);
}

/* A pod of that name, which a claim gives device n; its grant, to be altered. */
static struct grant *claim(const char *name, unsigned n)
{
	build_world_pod(&world, (struct build_pod){.name = name});
	return build_world_grant(&world, build_world_text(&world, "uid-%s", name).ptr, "main", n);
}

/* The slices go: no grant has a place any more. */
static void lose_slices(void)
{
	world.input.n_slice_devices = 0;
	for (size_t i = 0; i < world.n_granted; i++) {
		world.granted[i].grant.uuid = (struct view){0};
		world.granted[i].grant.partition = (struct view){0};
	}
	build_world_regrant(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
}

/* Neither now nor when doubts have had their time. */
static void expect_unchanged(void)
{
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_wait(&world, world.limits.disagreement_ms);
	assert_int_equal(build_world_count_writes(&world), 0);
	expect_unplaced(build_world_status(&world, 0), "");
}

static void a_tenant_by_a_claim_stays_while_no_slice_tells_its_device(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	claim("a", 0);
	const struct attribution_status *status = publish(0);
	expect_text(status->slots.summary, "1/1");
	lose_slices();
	expect_unchanged();
	expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_condition(status, "Healthy", CONDITION_TRUE, "NothingFound");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	/* What is new has no place. */
	claim("b", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	build_world_publish(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	status = publish(0);
	expect_unplaced(status, "uid-b/main pool/gpu-0");
	expect_tenants(status, "uid-a/main");
	/* And a claim that is withdrawn still ends its tenant. */
	world.n_granted = 0;
	build_world_regrant(&world);
	status = publish(0);
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	expect_condition(status, "Healthy", CONDITION_FALSE, "NotAdvertised");
}

static void without_slices_a_claim_that_pods_share_stays_shared(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	claim("a", 0);
	claim("b", 0);
	assert_int_equal(publish(0)->sharing.mode, ATTRIBUTION_MODE_TIME_SLICED);
	lose_slices();
	expect_unchanged();
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-b/main");
}

static void without_slices_each_grant_stays_on_its_device_and_partition(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 3);
	build_world_cut(&world, 1, 1);
	build_world_offer_nothing(&world);
	build_world_slice(&world, 0);
	build_world_slice(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	for (unsigned i = 0; i < 3; i++) {
		struct grant *grant = build_world_grant(&world, "uid-a", "main", i / 2);
		grant->partition = build_world_mig(&world, i / 2, i % 2);
		grant->device = build_world_text(&world, "pool/gpu-%u-mig-%u", i / 2, i % 2);
		grant->is_part = true;
	}
	build_world_regrant(&world);
	publish(0);
	for (unsigned n_lost = 1; n_lost <= 3; n_lost++) {
		world.granted[3 - n_lost].grant.uuid = (struct view){0};
		world.granted[3 - n_lost].grant.partition = (struct view){0};
		build_world_regrant(&world);
		expect_unchanged();
	}
	world.input.n_slice_devices = 0;
	expect_unchanged();
	const struct attribution_tenant *t = expect_tenant(build_world_status(&world, 0), "uid-a",
							   RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 2);
	assert_int_equal(t->partitions.count, 2);
	t = expect_tenant(build_world_status(&world, 1), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 1);
	expect_text(build_world_status(&world, 0)->slots.summary, "2/3");
}

static void who_watches_stays_without_slices_too(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		build_world_device(&world, n);
		build_world_slice(&world, n);
		claim("m", n)->is_admin = true;
	}
	build_world_regrant(&world);
	assert_true(expect_tenant(publish(0), "uid-m", RUNNING, CONFIRMED)->system);
	for (size_t i = 0; i < 2; i++)
		world.granted[i].grant.uuid = (struct view){0};
	build_world_regrant(&world);
	expect_unchanged();
	expect_tenants(build_world_status(&world, 0), "uid-m/main");
	expect_tenants(build_world_status(&world, 1), "uid-m/main");
}

static void only_what_a_claim_gave_is_a_seat(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	publish(0);
	build_world_grant(&world, "uid-a", "main", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	build_world_publish(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	const struct attribution_status *status = publish(0);
	expect_unplaced(status, "uid-a/main pool/gpu-0");
	expect_texts(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources");
}

static void books_that_have_the_claims_own_id_take_no_seat_from_it(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	build_world_grant(&world, "uid-a", "main", 0)->device = build_world_uuid(&world, 0);
	build_world_regrant(&world);
	publish(0);
	lose_slices();
	expect_unchanged();
	expect_texts(expect_tenant(build_world_status(&world, 0), "uid-a", RUNNING, CONFIRMED)
			     ->witnesses,
		     "Checkpoint,PodResources,ResourceClaim");
}

static void an_idle_device_is_as_it_was_while_slices_cannot_be_read(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	expect_text(publish(0)->slots.summary, "0/1");
	world.input.n_slice_devices = 0;
	world.input.grants_unknown = true;
	expect_unchanged();
	/* One that the plugin offered is another matter. */
	build_world_exclusive(&world, 1);
	publish(1);
	build_world_offer_nothing(&world);
	const struct attribution_status *status = publish(1);
	expect_text(status->slots.summary, "0/0");
	expect_condition(status, "Healthy", CONDITION_FALSE, "NotAdvertised");
	/* So is one that is known not to be described. */
	world.input.grants_unknown = false;
	expect_text(publish(0)->slots.summary, "0/0");
}

/* The pod's claim is not here, and neither is what it gave. */
static void lack(const struct pod *const *pod, size_t n_granted)
{
	world.input.lacking = pod;
	world.input.n_lacking = 1;
	world.n_granted = n_granted;
	build_world_regrant(&world);
}

static void a_claim_that_is_not_here_leaves_its_own_pods_tenants_only(void **state)
{
	(void)state;
	const struct pod *lacking;
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	build_world_slice(&world, 0);
	claim("b", 1);
	claim("a", 0);
	publish(0);
	lacking = build_world_pod(&world, (struct build_pod){.name = "a"});
	lack(&lacking, 1);
	world.input.n_slice_devices = 0;
	expect_unchanged();
	lack(&lacking, 0);
	const struct attribution_status *status = publish(0);
	expect_text(status->slots.summary, "1/1");
	expect_texts(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "ResourceClaim");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	expect_condition(status, "Healthy", CONDITION_TRUE, "NothingFound");
	expect_tenants(build_world_status(&world, 1), "");
	expect_recent(build_world_status(&world, 1), "uid-b");
}

static void a_claim_that_is_not_here_holds_up_no_other_evidence(void **state)
{
	(void)state;
	const struct pod *lacking;
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	claim("a", 0);
	assert_int_equal(publish(0)->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	/* One that nobody will ever make. */
	lacking = build_world_pod(&world, (struct build_pod){.name = "x", .wants_no_gpu = true});
	claim("b", 0);
	lack(&lacking, 2);
	assert_int_equal(publish(0)->sharing.mode, ATTRIBUTION_MODE_TIME_SLICED);
	/* One of those that share: it still does. */
	lacking = build_world_pod(&world, (struct build_pod){.name = "b"});
	lack(&lacking, 1);
	expect_unchanged();
	/* And one that comes is another, whatever the claim of the first says. */
	lacking = build_world_pod(&world, (struct build_pod){.name = "a"});
	world.n_granted = 0;
	build_world_remove_pod(&world, "uid-b");
	build_world_regrant(&world);
	lack(&lacking, 0);
	assert_int_equal(publish(0)->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	claim("c", 0);
	assert_int_equal(publish(0)->sharing.mode, ATTRIBUTION_MODE_TIME_SLICED);
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-c/main");
}

static void a_part_whose_claim_is_not_here_stays_a_part(void **state)
{
	(void)state;
	const struct pod *lacking;
	build_world_device(&world, 0)->mig = (struct report_mig){.present = true, .current = true};
	build_world_slice(&world, 0);
	struct grant *grant = claim("a", 0);
	grant->is_part = true;
	build_world_regrant(&world);
	assert_int_equal(publish(0)->sharing.mode, ATTRIBUTION_MODE_MIG);
	lacking = build_world_pod(&world, (struct build_pod){.name = "a"});
	lack(&lacking, 0);
	expect_unchanged();
	/* What the plugin has on offer is how it is shared out now. */
	build_world_offer(&world, build_world_uuid(&world, 0));
	const struct attribution_status *status = publish(0);
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	expect_texts(status->sharing.evidence, "device IDs name the whole device,"
					       "MIG mode is on, which contradicts,"
					       "a pod holds a device ID that is no longer offered");
}

/* Takes the place from the grants from that one on. */
static void lose_places(size_t first)
{
	for (size_t i = first; i < world.n_granted; i++) {
		world.granted[i].grant.uuid = (struct view){0};
		world.granted[i].grant.partition = (struct view){0};
	}
	build_world_regrant(&world);
}

static void who_uses_and_watches_has_a_seat_for_either(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	claim("a", 0)->is_admin = true;
	build_world_grant(&world, "uid-a", "main", 0)->device = VIEW("pool/use");
	build_world_regrant(&world);
	publish(0);
	lose_places(1);
	expect_unchanged();
}

static void each_container_has_its_own_seat(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .second = "side"});
	build_world_grant(&world, "uid-a", "main", 0);
	build_world_grant(&world, "uid-a", "side", 0)->device = VIEW("pool/side");
	build_world_regrant(&world);
	publish(0);
	lose_places(1);
	expect_unchanged();
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-a/side");
}

static void an_id_takes_one_seat_however_many_name_it(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_slice(&world, 0);
	for (unsigned i = 0; i < 2; i++)
		build_world_run(&world, (struct build_pod){.name = "a"},
				build_world_replica(&world, 0, i));
	build_world_grant(&world, "uid-a", "main", 0);
	assert_int_equal(expect_tenant(publish(0), "uid-a", RUNNING, CONFIRMED)->slots, 3);
	lose_places(0);
	expect_unchanged();
}

/* As after a boot that gave the devices other numbers, and left one of them out. */
static void a_device_that_slices_call_by_another_name_is_no_seat(void **state)
{
	static const struct {
		bool is_whole, is_part, unknown, stays;
	} cases[] = {
		{true, false, false, false},
		{false, false, false, true}, /* what is described is its parts */
		{true, true, false, true},   /* the name is not that of a part */
		{true, false, true, true},   /* not all names are known */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		tear_down(state);
		set_up(state);
		build_world_device(&world, 0);
		build_world_slice(&world, 0)->is_whole = cases[i].is_whole;
		claim("a", 0)->is_part = cases[i].is_part;
		build_world_regrant(&world);
		expect_tenants(publish(0), "uid-a/main");
		world.input.grants_unknown = cases[i].unknown;
		lose_places(0);
		expect_tenants(publish(0), cases[i].stays ? "uid-a/main" : "");
	}
}

/* Device 0 had the grant's container; device 1, whose slice comes first, had not. */
static void only_what_all_slices_say_of_the_device_takes_its_seat_away(void **state)
{
	(void)state;
	static const struct {
		bool whole[2];
		size_t n_slices, n_devices;
		bool unknown, is_seat;
	} rows[] = {
		{{true, false}, 2, 2, false, false},  {{false, true}, 2, 2, false, true},
		{{true, false}, 1, 2, false, true},   {{true, false}, 2, 2, true, true},
		{{false, false}, 2, 0, false, false},
	};
	struct devices devices;
	struct view partition;
	struct error err;

	for (unsigned n = 2; n-- > 0;) {
		build_world_device(&world, n);
		build_world_slice(&world, n);
	}
	claim("a", 0);
	publish(0);
	lose_places(0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world.slices[0].is_whole = rows[i].whole[1];
		world.slices[1].is_whole = rows[i].whole[0];
		world.input.n_slice_devices = rows[i].n_slices;
		world.input.grants_unknown = rows[i].unknown;
		assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
		devices.n_devices = rows[i].n_devices;
		const struct facts facts = {.input = &world.input, .devices = &devices};
		assert_ptr_equal(claimant_seat(&facts, &world.grants[0], &partition),
				 rows[i].is_seat ? &devices.devices[0] : NULL);
	}
}

/* Numbers */

static void only_what_nvidias_driver_calls_a_device_or_a_part_tells_its_number(void **state)
{
	(void)state;
	static const struct {
		struct view name;
		int64_t minor;
	} rows[] = {
		{VIEW_INIT("gpu-0"), 0},
		{VIEW_INIT("gpu-12"), 12},
		{VIEW_INIT("gpu-3-mig-1g5gb-19-0"), 3},
		{VIEW_INIT("gpu-vfio-0"), -1},
		{VIEW_INIT("gpu-"), -1},
		{VIEW_INIT("gpu--1"), -1},
		{VIEW_INIT("gpu-1x"), -1},
		{VIEW_INIT("gpu-99999999999999999999"), -1},
		{VIEW_INIT("nic-1"), -1},
		{VIEW_INIT(""), -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(claimant_minor(rows[i].name), rows[i].minor);
}

/* As while a node has booted, and its driver has not: NVML calls device 0 by that number. */
static void a_slice_that_nvml_contradicts_places_nobody(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0)->is_whole = true;
	claim("a", 0)->name = VIEW("gpu-1");
	build_world_regrant(&world);
	publish(0);
	build_world_wait(&world, world.limits.disagreement_ms);
	const struct attribution_status *status = publish(0);
	expect_tenants(status, "");
	expect_unplaced(status, "uid-a/main pool/gpu-0");
	expect_condition(status, "Attributed", CONDITION_FALSE, "UnknownDeviceID");
	/* A report of long ago contradicts nothing. */
	world.input.report_age_ms = world.limits.report_stale_ms - 1;
	expect_tenants(publish(0), "");
	world.input.report_age_ms++;
	expect_tenants(publish(0), "uid-a/main");
	expect_unplaced(build_world_status(&world, 0), "");
}

static void what_nvml_said_in_a_former_boot_contradicts_no_slice(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0)->is_whole = true;
	claim("a", 0)->name = VIEW("gpu-1");
	build_world_regrant(&world);
	expect_tenants(publish(0), "");
	world.input.is_of_former_boot = true;
	expect_tenants(publish(0), "uid-a/main");
}

/* There is no other yet, and nothing that could have told one. */
static void a_new_device_has_the_number_that_nvml_gave_in_a_former_boot(void **state)
{
	(void)state;
	build_world_device(&world, 0)->minor = 5;
	world.input.is_of_former_boot = true;
	assert_int_equal(publish(0)->device.minor, 5);
}

static void numbers_that_are_not_told_contradict_nothing(void **state)
{
	(void)state;
	struct report_device *device = build_world_device(&world, 0);
	build_world_slice(&world, 0);
	claim("a", 0)->name = VIEW("gpu-a");
	build_world_regrant(&world);
	expect_tenants(publish(0), "uid-a/main");
	world.granted[0].grant.name = VIEW("gpu-1");
	build_world_regrant(&world);
	device->minor = -1;
	expect_tenants(publish(0), "uid-a/main");
}

/* Whichever is which, it has both. */
static void who_has_a_device_by_either_number_has_it(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		build_world_device(&world, n);
		build_world_slice(&world, n);
	}
	claim("a", 0)->name = VIEW("gpu-1");
	build_world_grant(&world, "uid-a", "main", 1)->name = VIEW("gpu-0");
	build_world_regrant(&world);
	expect_tenants(publish(0), "uid-a/main");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	/* Slices go, and still it has. */
	world.input.grants_unknown = true;
	lose_slices();
	expect_unchanged();
	/* Another container's, or one that watches, is no reason. */
	world.input.grants_unknown = false;
	world.granted[1].grant.is_admin = true;
	world.granted[0].grant.uuid = build_world_uuid(&world, 0);
	build_world_regrant(&world);
	expect_tenants(publish(0), "");
	world.granted[1].grant.is_admin = false;
	world.granted[1].grant.container = VIEW("side");
	build_world_regrant(&world);
	expect_tenants(publish(0), "");
	world.granted[1].grant.container = VIEW("main");
	world.granted[1].uid = VIEW("uid-b");
	build_world_pod(&world, (struct build_pod){.name = "b"});
	expect_tenants(publish(0), "");
	/* Nor is what is no longer granted. */
	world.granted[1].uid = VIEW("uid-a");
	build_world_regrant(&world);
	expect_tenants(publish(0), "uid-a/main");
	world.input.n_grants = 1;
	expect_tenants(publish(0), "");
}

static void nvml_says_before_slices_which_number_a_device_has(void **state)
{
	(void)state;
	static const struct {
		int64_t minor; /* -1: NVML does not say */
		struct view name;
		int64_t number;
	} rows[] = {
		{0, VIEW_INIT("gpu-2"), 0},   {1, VIEW_INIT("gpu-2"), 1},
		{-1, VIEW_INIT("gpu-2"), 2},  {-1, VIEW_INIT("gpu-0"), 0},
		{-1, VIEW_INIT("gpu-a"), -1}, {-1, VIEW_INIT(""), -1},
	};
	struct report_device *device = build_world_device(&world, 0);
	struct slice_device *slice = build_world_slice(&world, 0);
	struct devices devices;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		device->minor = rows[i].minor;
		slice->name = rows[i].name;
		world.input.n_slice_devices = rows[i].name.len > 0;
		assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
		assert_int_equal(claimant_number(&world.input, &devices.devices[0]), rows[i].number);
	}
}

/* Device 0 has no object. By their objects container main of pod "a" is on 1 and 2, by a claim on 1
 * only; and it was on 3. */
static void a_tenant_is_displaced_that_had_no_device_of_the_number_by_a_claim(void **state)
{
	(void)state;
	static const struct {
		int64_t before[3], now[3]; /* the numbers of devices 1 to 3; -1: not told */
		size_t n_devices;
		bool is_displaced; /* from device 1 */
	} rows[] = {
		{{1, 2, 3}, {1, 2, 3}, 4, false},  {{1, 2, 3}, {2, 1, 3}, 4, true},
		{{1, 2, 3}, {0, 2, 3}, 4, true},   {{0, 2, 3}, {0, 2, 3}, 4, false},
		{{1, 2, 3}, {3, 2, 1}, 4, true},   {{0, 2, 3}, {1, 2, 3}, 4, true},
		{{1, 2, 3}, {-1, 2, 3}, 4, false}, {{-1, 2, 3}, {1, 2, 3}, 4, false},
		{{1, 2, 3}, {1, 2, 3}, 1, true},
	};
	static struct view claimed[] = {VIEW_INIT("ResourceClaim")};
	struct attribution_tenant tenants[2];
	struct attribution objects[3] = {0};
	struct devices devices;
	struct error err;

	for (unsigned n = 0; n < 4; n++)
		build_world_device(&world, n);
	for (unsigned i = 0; i < 2; i++)
		tenants[i] = (struct attribution_tenant){
			.pod_uid = VIEW("uid-a"),
			.container = VIEW("main"),
			.witnesses = {claimed, i == 0, true},
		};
	for (unsigned i = 0; i < 3; i++) {
		objects[i].name = build_world_text(&world, "gpu-%u", i);
		objects[i].uuid = build_world_uuid(&world, i + 1);
		objects[i].status.node_name = VIEW("gpu-a");
		objects[i].status.tenants = (struct array){&tenants[i % 2], i < 2, true};
		world.previous[i] = (struct join_previous){.object = &objects[i],
							   .claimed_age_ms = -1};
	}
	world.input.n_previous = 3;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (unsigned k = 0; k < 3; k++) {
			objects[k].status.device.minor = rows[i].before[k];
			world.devices[k + 1].minor = rows[i].now[k];
		}
		assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
		devices.n_devices = rows[i].n_devices;
		const struct facts facts = {.input = &world.input, .devices = &devices};
		assert_int_equal(claimant_is_displaced(&facts, &devices.devices[1], &tenants[0]),
				 rows[i].is_displaced);
	}
}

static void a_device_that_got_another_number_is_no_seat(void **state)
{
	(void)state;
	struct report_device *device = build_world_device(&world, 0);
	build_world_slice(&world, 0);
	claim("a", 0)->name = VIEW("gpu-0");
	build_world_regrant(&world);
	expect_tenants(publish(0), "uid-a/main");
	world.input.grants_unknown = true;
	lose_slices();
	expect_tenants(publish(0), "uid-a/main");
	device->minor = 1;
	expect_tenants(publish(0), "");
	expect_recent(build_world_status(&world, 0), "uid-a");
}

/* The claim of pod "a", which has device 0 by it, is removed by force. */
static void lose_claim(void)
{
	static const struct pod *lacking;

	lacking = build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
	lack(&lacking, 0);
}

static void expect_lost(unsigned n)
{
	expect_tenants(publish(n), "");
	expect_unplaced(build_world_status(&world, n), "uid-a/main c");
	expect_condition(build_world_status(&world, n), "Attributed", CONDITION_FALSE,
			 "UnknownDeviceID");
	expect_recent(build_world_status(&world, n), "uid-a");
	assert_int_equal(build_world_count_writes(&world), 0);
	/* That is not forgotten when those who left have been. */
	for (unsigned i = 0; i < LIMIT_RECENT_TENANTS; i++) {
		const char *name = build_world_text(&world, "b%u", i).ptr;
		claim(name, n);
		publish(n);
		build_world_remove_pod(&world, build_world_text(&world, "uid-%s", name).ptr);
		publish(n);
		world.n_granted = 0;
		build_world_regrant(&world);
	}
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(n), "uid-a/main c");
}

static void whose_claim_is_gone_is_lost_when_nvml_numbers_the_device_anew(void **state)
{
	(void)state;
	struct report_device *device = build_world_device(&world, 0);
	build_world_slice(&world, 0)->name = VIEW("gpu-0");
	claim("a", 0);
	publish(0);
	lose_claim();
	expect_unchanged();
	expect_tenants(build_world_status(&world, 0), "uid-a/main");
	device->minor = 1;
	assert_int_equal(publish(0)->sharing.mode, ATTRIBUTION_MODE_UNKNOWN);
	expect_lost(0);
}

static void what_cannot_be_read_takes_nobody_off_who_was_unplaced(void **state)
{
	for (int has_claim = 0; has_claim < 2; has_claim++) {
		tear_down(state);
		set_up(state);
		struct report_device *device = build_world_device(&world, 0);
		build_world_slice(&world, 0)->name = VIEW("gpu-0");
		claim("a", 0)->name = VIEW("gpu-0");
		build_world_regrant(&world);
		publish(0);
		device->minor = 1;
		if (!has_claim)
			lose_claim();
		for (int i = 0; i < 3; i++) {
			world.input.grants_unknown = i == 1;
			publish(0);
			build_world_wait(&world, world.limits.disagreement_ms);
			expect_unplaced(publish(0), has_claim ? "uid-a/main pool/gpu-0"
							      : "uid-a/main c");
		}
	}
}

/* Pod "b" is unplaced by a device, and by the second of two; "c" by another. */
static void what_cannot_be_read_puts_nobody_else_on_the_list_of_the_unplaced(void **state)
{
	static const struct {
		const char *uid, *container, *device, *expected;
	} rows[] = {
		{"uid-b", "main", "pool/x", "uid-b/main pool/x,uid-c/main pool/z"},
		{"uid-b", "main", "pool/y", "uid-b/main pool/y,uid-c/main pool/z"},
		{"uid-b", "main", "pool/z", "uid-c/main pool/z"},
		{"uid-b", "side", "pool/x", "uid-c/main pool/z"},
		{"uid-a", "main", "pool/x", "uid-c/main pool/z"},
		{"uid-a", "main", "pool/z", "uid-c/main pool/z"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		build_world_device(&world, 1);
		build_world_slice(&world, 1);
		build_world_pod(&world, (struct build_pod){.name = "a"});
		build_world_pod(&world, (struct build_pod){.name = "b", .second = "side"});
		build_world_pod(&world, (struct build_pod){.name = "c"});
		build_world_grant(&world, "uid-b", "main", 1)->device = VIEW("pool/x");
		build_world_grant(&world, "uid-b", "main", 1)->device = VIEW("pool/y");
		build_world_grant(&world, "uid-c", "main", 1)->device = VIEW("pool/z");
		lose_places(0);
		publish(1);
		build_world_wait(&world, world.limits.disagreement_ms);
		expect_unplaced(publish(1), "uid-b/main pool/x pool/y,uid-c/main pool/z");
		/* Devices of which nothing is published, on either side. */
		build_world_device(&world, 0);
		build_world_device(&world, 2);
		world.input.grants_unknown = true;
		world.n_granted = 0;
		build_world_grant(&world, rows[i].uid, rows[i].container, 1)->device =
			view_from(rows[i].device);
		build_world_grant(&world, "uid-c", "main", 1)->device = VIEW("pool/z");
		lose_places(0);
		build_world_join(&world);
		build_world_wait(&world, world.limits.disagreement_ms);
		expect_unplaced(publish(1), rows[i].expected);
	}
}

static void whoever_has_lost_one_device_waits_with_none(void **state)
{
	(void)state;
	struct report_device *device = build_world_device(&world, 0);
	build_world_slice(&world, 0)->name = VIEW("gpu-0");
	claim("a", 0);
	publish(0);
	lose_claim();
	build_world_book(&world, "uid-a", "main", VIEW("A"));
	build_world_list(&world, "a", "main", VIEW("A"));
	device->minor = 1;
	expect_unplaced(publish(0), "uid-a/main A c");
}

static void whose_claim_is_gone_stays_where_no_other_number_is_told(void **state)
{
	(void)state;
	struct report_device *device = build_world_device(&world, 0);
	build_world_slice(&world, 0)->name = VIEW("gpu-a");
	device->minor = -1;
	claim("a", 0);
	publish(0);
	lose_claim();
	device->minor = 1;
	expect_tenants(publish(0), "uid-a/main");
	device->minor = -1;
	expect_tenants(publish(0), "uid-a/main");
	device->minor = 0;
	publish(0);
	expect_tenants(publish(0), "uid-a/main");
	/* A report of long ago tells none. */
	world.input.report_age_ms = world.limits.report_stale_ms;
	device->minor = 2;
	expect_tenants(publish(0), "uid-a/main");
}

/* Its claim gives gpu-0 and gpu-1, so it is gpu-2 that it has not, whichever that is. */
static void whose_claim_is_gone_stays_on_a_device_that_has_a_number_of_its_own(void **state)
{
	(void)state;
	struct report_device *devices[3];

	for (unsigned n = 0; n < 3; n++)
		devices[n] = build_world_device(&world, n);
	claim("a", 0);
	build_world_grant(&world, "uid-a", "main", 1);
	publish(0);
	lose_claim();
	for (unsigned n = 0; n < 3; n++)
		devices[n]->minor = (n + 2) % 3;
	expect_tenants(publish(0), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	devices[1]->minor = 1;
	expect_tenants(publish(1), "");
}

static void a_number_that_the_container_had_by_other_means_is_no_claims(void **state)
{
	(void)state;
	struct report_device *device = build_world_device(&world, 0);

	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 1));
	claim("a", 0);
	expect_tenants(publish(0), "uid-a/main");
	lose_claim();
	expect_unchanged();
	device->minor = 1;
	expect_tenants(publish(0), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
}

/* Device 1 is not reported; 0, 2 and 3 are, and 3 has no number. */
static void the_number_in_a_slice_is_not_the_devices_once_nvml_gives_it_to_another(void **state)
{
	(void)state;
	static const struct {
		struct view name;
		bool is_former, is_old, is_silent;
		int64_t number;
	} rows[] = {
		{VIEW_INIT("gpu-2"), false, false, false, -1},
		{VIEW_INIT("gpu-0"), false, false, false, -1},
		{VIEW_INIT("gpu-1"), false, false, false, 1},
		{VIEW_INIT("gpu-3"), false, false, false, 3},
		{VIEW_INIT("gpu-a"), false, false, false, -1},
		{VIEW_INIT("gpu-2"), true, false, false, 2},
		{VIEW_INIT("gpu-2"), false, true, false, 2},
		{VIEW_INIT("gpu-2"), false, false, true, 2},
	};
	struct slice_device *slice = build_world_slice(&world, 1);
	struct devices devices;
	struct error err;

	build_world_device(&world, 1);
	publish(1);
	world.report.devices.count = 0;
	build_world_device(&world, 0);
	build_world_device(&world, 2);
	build_world_device(&world, 3)->minor = -1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		slice->name = rows[i].name;
		world.input.is_of_former_boot = rows[i].is_former;
		world.input.report_age_ms = world.limits.report_stale_ms - !rows[i].is_old;
		world.input.report = rows[i].is_silent ? NULL : &world.report;
		assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
		const struct device *device =
			devices_find(&devices, build_world_uuid(&world, 1)).device;
		assert_int_equal(claimant_number(&world.input, device), rows[i].number);
	}
}

/* A boot gives the number of device 1, which is off the bus then, to device 0. */
static void who_has_a_device_by_its_number_is_not_kept_on_it_when_another_gets_that(void **state)
{
	static const struct {
		bool has_slices, has_claim;
		const char *unplaced;
	} rows[] = {
		{true, true, "uid-a/main pool/gpu-1"},
		/* Which of the claim's devices are on the node, slices do not tell. */
		{false, true, ""},
		{false, false, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		struct report_device *other = build_world_device(&world, 0);
		build_world_device(&world, 1);
		build_world_slice(&world, 1)->name = VIEW("gpu-1");
		claim("a", 1)->name = VIEW("gpu-1");
		build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
		build_world_regrant(&world);
		expect_tenants(publish(1), "uid-a/main");
		if (!rows[i].has_slices) {
			world.input.grants_unknown = true;
			lose_slices();
		}
		if (!rows[i].has_claim)
			lose_claim();
		world.report.devices.count = 1;
		expect_tenants(publish(1), "uid-a/main");
		other->minor = 1;
		world.input.is_of_former_boot = true;
		expect_tenants(publish(1), "uid-a/main");
		world.input.is_of_former_boot = false;
		build_world_process(&world, 0, 17, "uid-a");
		expect_tenants(publish(1), "");
		build_world_wait(&world, world.limits.disagreement_ms);
		expect_unplaced(publish(1), rows[i].unplaced);
		expect_condition(build_world_status(&world, 0), "Attributed",
				 rows[i].has_slices ? CONDITION_FALSE : CONDITION_UNKNOWN,
				 rows[i].has_slices ? "UnknownDeviceID" : "ClaimsUnknown");
		expect_tenants(build_world_status(&world, 0), "");
		assert_int_equal(build_world_status(&world, 0)->unallocated_users.count, 0);
	}
}

/* The other device of its own may have the number that this one had, and this one that of the other. */
static void who_has_both_devices_keeps_both_whichever_is_off_the_bus(void **state)
{
	static const struct {
		bool has_slices, has_claim;
		const char *second; /* container that has device 0 */
		bool stays;
	} rows[] = {
		{true, true, "main", true},   {false, true, "main", true},
		{false, false, "main", true}, {true, true, "side", false},
		{false, true, "side", false}, {false, false, "side", false},
	};

	for (size_t k = 0; k < 2 * ARRAY_SIZE(rows); k++) {
		const size_t i = k / 2;
		tear_down(state);
		set_up(state);
		struct report_device *other = build_world_device(&world, 0);
		build_world_device(&world, 1);
		build_world_slice(&world, 0)->name = VIEW("gpu-0");
		build_world_slice(&world, 1)->name = VIEW("gpu-1");
		build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
		for (unsigned j = 0; j < 2; j++) {
			unsigned n = (j + k) % 2;
			struct grant *grant = build_world_grant(
				&world, "uid-a", n == 0 ? rows[i].second : "main", n);
			grant->name = build_world_text(&world, "gpu-%u", n);
			grant->device = build_world_text(&world, "pool/gpu-%u", n);
		}
		build_world_regrant(&world);
		expect_tenants(publish(1), "uid-a/main");
		world.report.devices.count = 1;
		other->minor = 1;
		if (!rows[i].has_slices) {
			world.input.grants_unknown = true;
			lose_slices();
		}
		if (!rows[i].has_claim)
			lose_claim();
		expect_tenants(publish(1), rows[i].stays ? "uid-a/main" : "");
		expect_tenants(publish(1), rows[i].stays ? "uid-a/main" : "");
	}
}

/* Both numbers of the container's are with other devices: the one off the bus has none of them. */
static void who_had_two_devices_is_not_on_one_when_others_have_both_its_numbers(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		tear_down(state);
		set_up(state);
		struct report_device *devices[3];
		build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
		for (unsigned n = 0; n < 3; n++) {
			devices[n] = build_world_device(&world, n == 0 ? 1 : n == 1 ? 0 : 2);
			build_world_slice(&world, n)->name = build_world_text(&world, "gpu-%u", n);
		}
		/* That others have one that is free now does not help. */
		build_world_pod(&world, (struct build_pod){.name = "b"});
		build_world_grant(&world, "uid-b", "main", 2)->name = VIEW("gpu-2");
		build_world_grant(&world, "uid-a", "side", 2)->name = VIEW("gpu-2");
		for (unsigned n = 0; n < 2; n++) {
			struct grant *grant = build_world_grant(&world, "uid-a", "main", n);
			grant->name = build_world_text(&world, "gpu-%u", n);
			grant->device = build_world_text(&world, "pool/gpu-%u", n);
		}
		build_world_regrant(&world);
		expect_tenants(publish(1), "uid-a/main");
		/* Device 1 goes; 0 and 2 get its number, and that of 0. */
		devices[0]->uuid = build_world_uuid(&world, 2);
		devices[0]->minor = 0;
		devices[1]->minor = 1;
		world.report.devices.count = 2;
		if (i == 1) {
			world.input.grants_unknown = true;
			lose_slices();
		}
		expect_tenants(publish(1), "");
		build_world_wait(&world, world.limits.disagreement_ms);
		expect_tenants(publish(1), "");
		assert_int_equal(attribution_find_condition(build_world_status(&world, 2),
							    VIEW("Attributed"))->status,
				 i == 0 ? CONDITION_FALSE : CONDITION_UNKNOWN);
	}
}

/* Devices 0 and 1 were published with the numbers 2 and 0, and with one container that had both. */
static void a_grant_takes_the_seat_of_its_own_number_before_any_other(void **state)
{
	(void)state;
	static const struct {
		struct view name;
		unsigned seat;
	} rows[] = {
		{VIEW_INIT("gpu-0"), 1}, {VIEW_INIT("gpu-2"), 0}, {VIEW_INIT("gpu-1"), 0},
		{VIEW_INIT("gpu-a"), 0}, {VIEW_INIT(""), 0},
	};
	struct devices devices;
	struct view partition;
	struct error err;

	build_world_device(&world, 0)->minor = 2;
	build_world_device(&world, 1)->minor = 0;
	build_world_slice(&world, 0)->name = VIEW("gpu-2");
	build_world_slice(&world, 1)->name = VIEW("gpu-0");
	build_world_pod(&world, (struct build_pod){.name = "a"});
	for (unsigned n = 0; n < 2; n++) {
		struct grant *grant = build_world_grant(&world, "uid-a", "main", n);
		grant->name = world.slices[n].name;
		grant->device = build_world_text(&world, "pool/%u", n);
	}
	build_world_regrant(&world);
	publish(0);
	lose_slices();
	world.report.devices.count = 0;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	const struct facts facts = {.input = &world.input, .devices = &devices};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct grant grant = world.grants[0];
		grant.name = rows[i].name;
		const struct device *seat = claimant_seat(&facts, &grant, &partition);
		assert_non_null(seat);
		expect_text(seat->uuid, build_world_uuid(&world, rows[i].seat).ptr);
	}
}

/* Neither has a number: so neither has the other's. */
static void who_has_a_device_without_a_number_keeps_it_beside_another_without_one(void **state)
{
	(void)state;
	build_world_device(&world, 0)->minor = -1;
	build_world_device(&world, 1)->minor = -1;
	build_world_slice(&world, 1)->name = VIEW("gpu-a");
	claim("a", 1)->name = VIEW("gpu-a");
	build_world_regrant(&world);
	expect_tenants(publish(1), "uid-a/main");
	world.report.devices.count = 1;
	expect_tenants(publish(1), "uid-a/main");
	world.input.grants_unknown = true;
	lose_slices();
	expect_tenants(publish(1), "uid-a/main");
	lose_claim();
	expect_tenants(publish(1), "uid-a/main");
}

/* As when its Node is away for a moment, and the slices with it. */
static void who_has_two_devices_keeps_the_one_off_the_bus_by_its_own_number(void **state)
{
	static const unsigned order[][2] = {{0, 1}, {1, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		tear_down(state);
		set_up(state);
		build_world_device(&world, 0)->minor = 2;
		build_world_device(&world, 1)->minor = 0;
		build_world_pod(&world, (struct build_pod){.name = "a"});
		for (unsigned k = 0; k < 2; k++) {
			unsigned n = order[i][k];
			build_world_slice(&world, n)->name = n == 0 ? VIEW("gpu-2") : VIEW("gpu-0");
			struct grant *grant = build_world_grant(&world, "uid-a", "main", n);
			grant->name = n == 0 ? VIEW("gpu-2") : VIEW("gpu-0");
			grant->device = n == 0 ? VIEW("pool/gpu-2") : VIEW("pool/gpu-0");
		}
		build_world_regrant(&world);
		expect_tenants(publish(0), "uid-a/main");
		expect_tenants(build_world_status(&world, 1), "uid-a/main");
		world.report.devices.count = 1;
		lose_slices();
		expect_tenants(publish(0), "uid-a/main");
		expect_tenants(build_world_status(&world, 1), "uid-a/main");
	}
}

/* Each device's status may be written when those of others have been. */
static void the_number_that_slices_tell_is_published_before_there_is_a_report(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		build_world_device(&world, n);
		build_world_slice(&world, n)->name = build_world_text(&world, "gpu-%u", n);
	}
	claim("a", 0);
	build_world_grant(&world, "uid-a", "main", 1);
	publish(0);
	lose_claim();
	build_world_restart(&world);
	for (unsigned n = 0; n < 3; n++)
		world.slices[n].name = build_world_text(&world, "gpu-%u", (n + 2) % 3);
	expect_tenants(publish(0), "");
	assert_int_equal(build_world_status(&world, 0)->device.minor, 2);
	for (unsigned i = 0; i < 2; i++) {
		expect_tenants(publish(1), "uid-a/main");
		assert_int_equal(build_world_status(&world, 1)->device.minor, 0);
	}
	world.input.n_slice_devices = 0;
	assert_int_equal(publish(1)->device.minor, 0);
}

/* Of a former boot, or of long ago. */
static void the_number_that_slices_told_is_not_undone_by_what_nvml_said_before(void **state)
{
	for (unsigned is_old = 0; is_old < 2; is_old++) {
		tear_down(state);
		set_up(state);
		build_world_device(&world, 0);
		build_world_slice(&world, 0)->name = VIEW("gpu-0");
		claim("a", 0)->name = VIEW("gpu-1");
		assert_int_equal(publish(0)->device.minor, 0);
		if (is_old)
			world.input.report_age_ms = world.limits.report_stale_ms;
		else
			world.input.is_of_former_boot = true;
		world.slices[0].name = VIEW("gpu-1");
		assert_int_equal(publish(0)->device.minor, 1);
		world.input.n_slice_devices = 0;
		assert_int_equal(publish(0)->device.minor, 1);
		world.input.report_age_ms = 0;
		world.input.is_of_former_boot = false;
		assert_int_equal(publish(0)->device.minor, 0);
	}
}

/* The claim gives gpu-0 and gpu-1; the first is off the bus, and another has its number. */
static void the_only_device_without_a_number_has_the_one_that_is_left(void **state)
{
	static const struct {
		unsigned devices[3];
		unsigned n_numbered;
		const char *tenants;
	} rows[] = {{{0, 1, 2}, 2, "uid-a/main"},
		    {{0, 1, 2}, 1, ""},
		    {{2, 0, 1}, 2, "uid-a/main"},
		    {{2, 0, 1}, 1, ""}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		const unsigned *at = rows[i].devices;
		struct report_device *devices[3];
		build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
		for (unsigned n = 0; n < 3; n++) {
			devices[n] = build_world_device(&world, at[2 - n]);
			devices[n]->minor = 2 - n;
			struct slice_device *slice = build_world_slice(&world, at[n]);
			slice->name = build_world_text(&world, "gpu-%u", n);
			slice->is_whole = true; /* what has another name is no seat */
		}
		for (unsigned n = 0; n < 2; n++) {
			struct grant *grant = build_world_grant(&world, "uid-a", "main",
								      at[n]);
			grant->name = build_world_text(&world, "gpu-%u", n);
			grant->device = build_world_text(&world, "pool/gpu-%u", n);
		}
		build_world_regrant(&world);
		expect_tenants(publish(at[0]), "uid-a/main");
		devices[1]->minor = 2;
		devices[0]->minor = 0;
		world.report.devices.count = rows[i].n_numbered;
		expect_tenants(publish(at[0]), rows[i].tenants);
	}
}

static void whose_claim_is_gone_is_lost_when_slices_number_the_device_anew(void **state)
{
	(void)state;
	build_world_slice(&world, 0)->name = VIEW("gpu-0");
	build_world_without_agent(&world);
	claim("a", 0);
	assert_int_equal(publish(0)->device.minor, 0);
	lose_claim();
	expect_unchanged();
	world.input.n_slice_devices = 0;
	expect_unchanged();
	assert_int_equal(publish(0)->device.minor, 0);
	expect_tenants(build_world_status(&world, 0), "uid-a/main");
	world.input.n_slice_devices = 1;
	world.slices[0].name = VIEW("gpu-1");
	expect_lost(0);
	assert_int_equal(build_world_status(&world, 0)->device.minor, 1);
}

static void of_all_claims_that_are_gone_each_is_unplaced_by_its_name(void **state)
{
	(void)state;
	struct report_device *devices[2] = {build_world_device(&world, 0),
					    build_world_device(&world, 1)};
	claim("a", 0);
	claim("b", 1);
	publish(0);
	for (unsigned n = 0; n < 2; n++)
		devices[n]->minor = 2;
	const struct pod *const lacking[] = {
		build_world_pod(&world, (struct build_pod){.name = "c", .claim = "c"}),
		build_world_pod(&world,
				(struct build_pod){.name = "a", .claim = "c", .second_claim = "d"}),
		build_world_pod(&world, (struct build_pod){.name = "b", .claim = "e"}),
	};
	lack(lacking, 0);
	world.input.n_lacking = ARRAY_SIZE(lacking);
	publish(0);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(0), "uid-a/main c d,uid-b/main e");
	expect_tenants(build_world_status(&world, 0), "");
	expect_tenants(build_world_status(&world, 1), "");
}

static void a_device_is_not_free_that_a_claim_has_for_a_podgroup(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	build_world_slice(&world, 0)->is_nameless = true;
	build_world_slice(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
	build_world_process(&world, 0, 1, "uid-a");
	for (unsigned i = 0; i < 2; i++) {
		expect_condition(publish(0), "Attributed", CONDITION_UNKNOWN, "ReservedOtherwise");
		expect_condition(build_world_status(&world, 0), "Ready", CONDITION_UNKNOWN,
				 "ReservedOtherwise");
		expect_condition(build_world_status(&world, 1), "Attributed", CONDITION_TRUE,
				 "AllResolved");
		/* That it has the device is not known, and neither that it has not. */
		expect_tenants(build_world_status(&world, 0), "");
		expect_users(build_world_status(&world, 0), "");
		build_world_wait(&world, world.limits.pending_ms);
		world.input.report_age_ms = 0;
	}
	/* While slices cannot be read it stays so. */
	world.input.n_slice_devices = 0;
	world.input.grants_unknown = true;
	assert_int_equal(build_world_count_writes(&world), 0);
	world.input.grants_unknown = false;
	expect_condition(publish(0), "Attributed", CONDITION_TRUE, "AllResolved");
	world.input.grants_unknown = true;
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void whoever_was_on_any_device_and_stays_on_none_is_lost(void **state)
{
	(void)state;
	static const struct {
		struct view uid, container;
	} asked[] = {
		{VIEW_INIT("uid-x"), VIEW_INIT("main")}, {VIEW_INIT("uid-a"), VIEW_INIT("side")},
		{VIEW_INIT("uid-a"), VIEW_INIT("main")}, {VIEW_INIT("uid-x"), VIEW_INIT("side")},
		{VIEW_INIT("uid-y"), VIEW_INIT("main")}, {VIEW_INIT("uid-a"), VIEW_INIT("init")},
	};
	enum { N_KNOWN = 3 };
	struct attribution_past_tenant recent[N_KNOWN];
	struct attribution_unplaced unplaced[N_KNOWN];
	struct attribution objects[2] = {0};
	struct devices devices;
	struct error err;

	for (unsigned i = 0; i < N_KNOWN; i++) {
		recent[i] = (struct attribution_past_tenant){.pod_uid = asked[i].uid,
							     .container = asked[i].container};
		unplaced[i] = (struct attribution_unplaced){.pod_uid = asked[i].uid,
							    .container = asked[i].container};
	}
	for (unsigned n = 0; n < 2; n++) {
		build_world_device(&world, n);
		objects[n].name = build_world_text(&world, "gpu-%u", n);
		objects[n].uuid = build_world_uuid(&world, n);
		objects[n].status.node_name = VIEW("gpu-a");
		world.previous[n] = (struct join_previous){.object = &objects[n],
							   .claimed_age_ms = -1};
	}
	world.input.n_previous = 2;
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	const struct facts facts = {.input = &world.input, .devices = &devices};
	for (unsigned row = 0; row < 4; row++) {
		for (unsigned n = 0; n < 2; n++) {
			bool is_here = n == row / 2;
			objects[n].status.recent_tenants = (struct array){
				recent, is_here && row % 2 == 0 ? N_KNOWN : 0, true};
			objects[n].status.unplaced_tenants = (struct array){
				unplaced, is_here && row % 2 ? N_KNOWN : 0, true};
		}
		for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
			/* Whose tenancy has ended has nothing to lose. */
			assert_int_equal(
				claimant_is_lost(&facts, asked[i].uid, asked[i].container),
				row % 2 && i < N_KNOWN);
	}
}

static void nobody_is_lost_who_never_was_there_or_while_claims_cannot_be_read(void **state)
{
	(void)state;
	struct report_device *device = build_world_device(&world, 0);
	build_world_slice(&world, 0);
	lose_claim();
	publish(0);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(0), "");
	claim("a", 0);
	publish(0);
	lose_claim();
	world.input.grants_unknown = true;
	device->minor = 1;
	expect_tenants(publish(0), "");
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(0), "");
	/* Nor does a claim of that name become the device. */
	const struct pod *lacking = build_world_pod(
		&world, (struct build_pod){.name = "a", .claim = build_world_uuid(&world, 0).ptr});
	world.input.grants_unknown = false;
	lack(&lacking, 0);
	build_world_wait(&world, world.limits.disagreement_ms);
	publish(0);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_tenants(publish(0), "");
}

/* Slices are not whole; of the pod's claims all is known. */
static void a_pod_whose_claims_give_no_gpu_leaves_nothing_open(void **state)
{
	static const struct {
		const char *claim, *second;
		bool is_second_here;
		const char *reason;
	} rows[] = {
		{BUILD_WORLD_NIC, NULL, true, "AllResolved"},
		{BUILD_WORLD_NIC, "c", true, "ClaimsUnknown"},
		{BUILD_WORLD_NIC, BUILD_WORLD_NIC, false, "ClaimsUnknown"},
	};
	const struct pod *pod;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		build_world_device(&world, 0);
		build_world_device(&world, 1);
		claim("z", 1);
		build_world_pod(&world, (struct build_pod){.name = "z", .claim = "c"});
		pod = build_world_pod(&world, (struct build_pod){.name = "a",
								 .claim = rows[i].claim,
								 .second_claim = rows[i].second});
		world.input.lacking = &pod;
		world.input.n_lacking = !rows[i].is_second_here;
		build_world_slice(&world, 0);
		build_world_slice(&world, 1);
		world.input.grants_unknown = true;
		publish(0);
		build_world_wait(&world, world.limits.disagreement_ms);
		expect_condition(publish(0), "Attributed",
				 i == 0 ? CONDITION_TRUE : CONDITION_UNKNOWN, rows[i].reason);
	}
}

/* What plugins hand out no claim gives. */
static void claims_that_may_be_read_no_more_are_old_where_claims_give_the_device(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_slice(&world, 0);
	claim("a", 0);
	for (int i = 0; i < 3; i++) {
		world.input.grants_denied = world.input.grants_unknown = i == 1;
		expect_tenants(publish(0), "uid-a/main");
		expect_condition(publish(0), "Attributed",
				 i == 1 ? CONDITION_UNKNOWN : CONDITION_TRUE,
				 i == 1 ? "ClaimsUnknown" : "AllResolved");
		expect_condition(publish(1), "Attributed", CONDITION_TRUE, "AllResolved");
	}
	world.input.pods_age = JOIN_PODS_DENIED;
	expect_condition(publish(1), "Attributed", CONDITION_UNKNOWN, "PodsUnknown");
	expect_tenants(publish(0), "uid-a/main");
}

/* It may have any of the devices that no plugin offers. */
static void a_pod_whose_claims_cannot_be_read_leaves_nobody_attributed_by_them(void **state)
{
	static const struct {
		bool known, has_claim, is_placed, is_kept, is_over;
		const char *reason; /* of device 0's condition Attributed */
	} rows[] = {
		{0, 1, 0, 0, 0, "ClaimsUnknown"}, {1, 1, 0, 0, 0, "AllResolved"},
		{0, 0, 0, 0, 0, "AllResolved"},   {0, 1, 1, 0, 0, "AllResolved"},
		{0, 1, 0, 1, 0, "AllResolved"},   {0, 1, 0, 0, 1, "AllResolved"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		build_world_device(&world, 0);
		build_world_exclusive(&world, 1);
		build_world_device(&world, 2);
		/* Others are placed and kept: that does not help. */
		claim("z", 2);
		build_world_pod(&world, (struct build_pod){.name = "z", .claim = "c"});
		if (rows[i].is_placed || rows[i].is_kept)
			claim("a", 2);
		build_world_pod(&world, (struct build_pod){
						.name = "a",
						.claim = rows[i].has_claim ? "c" : NULL,
						.phase = rows[i].is_over ? POD_PHASE_FAILED
									 : POD_PHASE_RUNNING,
					});
		build_world_regrant(&world);
		publish(0);
		world.input.grants_unknown = !rows[i].known;
		if (rows[i].is_kept) {
			world.n_granted = 1;
			build_world_regrant(&world);
		}
		expect_condition(publish(0), "Attributed", CONDITION_TRUE, "AllResolved");
		build_world_wait(&world, world.limits.disagreement_ms - 1);
		expect_condition(publish(0), "Attributed", CONDITION_TRUE, "AllResolved");
		build_world_wait(&world, 1);
		expect_condition(publish(0), "Attributed",
				 i == 0 ? CONDITION_UNKNOWN : CONDITION_TRUE, rows[i].reason);
		/* It stays so, and the device of the plugin is not one of them. */
		assert_int_equal(build_world_count_writes(&world), 0);
		expect_condition(build_world_status(&world, 1), "Attributed", CONDITION_TRUE,
				 "AllResolved");
		/* Nor does it have to be doubted anew when the controller was restarted. */
		world.input.n_doubts = 0;
		assert_int_equal(build_world_count_writes(&world), 0);
		world.input.grants_unknown = false;
		expect_condition(publish(0), "Attributed", CONDITION_TRUE, "AllResolved");
	}
}

/* One of its claims' devices is known, the other is not. */
static void a_grant_that_nobody_can_place_leaves_nobody_attributed(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_device(&world, 1)->minor = 1;
	build_world_device(&world, 2);
	build_world_slice(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
	build_world_grant(&world, "uid-a", "main", 1)->device = VIEW("pool/gpu-1");
	struct grant *lost = build_world_grant(&world, "uid-a", "main", 2);
	lost->device = VIEW("pool/gpu-2");
	lost->uuid = (struct view){0};
	build_world_regrant(&world);
	world.input.grants_unknown = true;
	publish(0);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_condition(publish(0), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	/* Each container's own grant counts, and each grant. */
	lost->uuid = build_world_uuid(&world, 2);
	build_world_regrant(&world);
	expect_condition(publish(0), "Attributed", CONDITION_TRUE, "AllResolved");
}

/* A grant of another container, of another pod, or another of the same one is another. */
static void each_grant_has_to_be_placed_itself(void **state)
{
	static const struct {
		const char *uid, *container, *device;
		bool is_placed, is_open;
	} rows[] = {
		{"uid-a", "main", "pool/gpu-1", false, false},
		{"uid-b", "main", "pool/gpu-1", false, true},
		{"uid-a", "side", "pool/gpu-1", false, true},
		{"uid-a", "main", "pool/gpu-2", false, true},
		{"uid-b", "side", "pool/gpu-2", true, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		build_world_device(&world, 0);
		build_world_device(&world, 1);
		build_world_pod(&world, (struct build_pod){.name = "b", .second = "side"});
		build_world_pod(&world, (struct build_pod){.name = "a", .second = "side"});
		build_world_grant(&world, "uid-a", "main", 1)->device = VIEW("pool/gpu-1");
		struct grant *grant =
			build_world_grant(&world, rows[i].uid, rows[i].container, 1);
		grant->device = view_from(rows[i].device);
		if (!rows[i].is_placed)
			grant->uuid = (struct view){0};
		if (i == 0)
			world.n_granted = 1;
		build_world_regrant(&world);
		world.input.grants_unknown = true;
		publish(0);
		build_world_wait(&world, world.limits.disagreement_ms);
		expect_condition(publish(0), "Attributed",
				 rows[i].is_open ? CONDITION_UNKNOWN : CONDITION_TRUE,
				 rows[i].is_open ? "ClaimsUnknown" : "AllResolved");
	}
}

/* By what was published, y and z are on device 0, z as the second; a is on none. */
static void who_stays_where_a_claim_had_him_leaves_nothing_open(void **state)
{
	static const struct {
		size_t n_lacking, n_awaiting; /* of z, y, a */
		bool is_displaced, is_open;
	} rows[] = {
		{2, 0, false, false}, {3, 0, false, true}, {0, 2, false, false},
		{0, 3, false, true},  {0, 1, true, true},  {1, 0, true, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		set_up(state);
		struct report_device *device = build_world_device(&world, 0);
		build_world_device(&world, 1);
		claim("y", 0);
		claim("z", 0);
		const struct pod *a = build_world_pod(&world, (struct build_pod){.name = "a"});
		const struct pod *y = build_world_pod(&world, (struct build_pod){.name = "y"});
		const struct pod *z = build_world_pod(&world, (struct build_pod){.name = "z"});
		const struct pod *pods[] = {z, y, a};
		build_world_regrant(&world);
		expect_tenants(publish(0), "uid-y/main,uid-z/main");
		world.n_granted = 0;
		build_world_regrant(&world);
		world.input.grants_unknown = true;
		world.input.lacking = world.input.awaiting = pods;
		world.input.n_lacking = rows[i].n_lacking;
		world.input.n_awaiting = rows[i].n_awaiting;
		if (rows[i].is_displaced)
			device->minor = 7;
		publish(1);
		assert_int_equal(world.result.n_doubts, rows[i].is_open);
		build_world_wait(&world, world.limits.disagreement_ms);
		expect_condition(publish(1), "Attributed",
				 rows[i].is_open ? CONDITION_UNKNOWN : CONDITION_TRUE,
				 rows[i].is_open ? "ClaimsUnknown" : "AllResolved");
	}
}

/* Its other claim may be a network card's. */
static void whose_grants_are_all_placed_leaves_nothing_open(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	claim("a", 1);
	const struct pod *a = build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_regrant(&world);
	world.input.grants_unknown = true;
	world.input.lacking = world.input.awaiting = &a;
	world.input.n_lacking = world.input.n_awaiting = 1;
	publish(0);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_condition(publish(0), "Attributed", CONDITION_TRUE, "AllResolved");
}

static void of_each_pod_it_has_to_be_open_for_a_while(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
	world.input.grants_unknown = true;
	publish(0);
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	build_world_remove_pod(&world, "uid-a");
	build_world_pod(&world, (struct build_pod){.name = "b", .claim = "c"});
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	expect_condition(publish(0), "Attributed", CONDITION_TRUE, "AllResolved");
	build_world_wait(&world, 1);
	expect_condition(publish(0), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
}

/* What was said in its stead for a while does not make it new. */
static void claims_that_stay_unread_are_said_again_at_once(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_device(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a", .claim = "c"});
	world.input.grants_unknown = true;
	publish(1);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_condition(publish(1), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	world.input.n_doubts = 0;
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_run(&world, (struct build_pod){.name = "b"}, VIEW("GPU-none"));
	publish(1);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_condition(publish(1), "Attributed", CONDITION_FALSE, "UnknownDeviceID");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_remove_pod(&world, "uid-b");
	build_world_end(&world, "uid-b");
	expect_condition(publish(1), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
}

static void a_device_is_handed_out_by_claims_when_any_of_its_pods_has_it_by_one(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 1);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
	expect_text(publish(0)->slots.summary, "1/1");
	build_world_offer_nothing(&world);
	expect_condition(publish(0), "Healthy", CONDITION_FALSE, "NotAdvertised");
	claim("b", 0);
	expect_condition(publish(0), "Healthy", CONDITION_TRUE, "NothingFound");
}

static void what_others_have_by_the_same_id_frees_no_seat(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	claim("b", 0);
	claim("a", 0);
	publish(0);
	build_world_grant(&world, "uid-a", "main", 0)->device = VIEW("pool/new");
	lose_places(2);
	build_world_wait(&world, world.limits.disagreement_ms);
	build_world_publish(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(0), "uid-a/main pool/new");
	assert_int_equal(
		expect_tenant(build_world_status(&world, 0), "uid-a", RUNNING, CONFIRMED)->slots,
		1);
}

static void a_partition_is_free_while_its_own_container_lacks_it(void **state)
{
	(void)state;
	build_world_cut(&world, 0, 2);
	build_world_offer_nothing(&world);
	build_world_slice(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	for (unsigned i = 0; i < 4; i++) {
		struct grant *grant = build_world_grant(&world, i < 2 ? "uid-b" : "uid-a",
							     "main", 0);
		grant->partition = build_world_mig(&world, 0, 1 - i % 2);
		grant->device = build_world_text(&world, "pool/gpu-0-mig-%u", 1 - i % 2);
		grant->is_part = true;
	}
	build_world_regrant(&world);
	publish(0);
	for (size_t first = 4; first-- > 2;) {
		lose_places(first);
		expect_unchanged();
		assert_int_equal(
			expect_tenant(build_world_status(&world, 0), "uid-a", RUNNING, CONFIRMED)
				->partitions.count,
			2);
	}
}

static void who_watches_shares_the_device_with_nobody(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_slice(&world, 0);
	claim("a", 0);
	claim("m", 0)->is_admin = true;
	build_world_regrant(&world);
	assert_int_equal(publish(0)->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	world.n_granted = 0;
	build_world_regrant(&world);
	world.input.grants_unknown = true;
	expect_unchanged();
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-m/main");
}

static void it_is_a_claim_that_a_tenant_has_as_a_witness(void **state)
{
	(void)state;
	static struct view names[] = {VIEW_INIT("Checkpoint"), VIEW_INIT("PodStatus"),
				      VIEW_INIT("ResourceClaim"), VIEW_INIT("Processes")};
	for (uint32_t n = 0; n <= ARRAY_SIZE(names); n++) {
		const struct attribution_tenant tenant = {.witnesses = {names, n, true}};
		assert_int_equal(claimant_is_one(&tenant), n >= 3);
	}
}

static void a_pod_is_unheard_that_may_have_more_claims(void **state)
{
	(void)state;
	static const char *const uids[] = {"uid-a", "uid-b", "uid-c"};
	const struct pod *pods[ARRAY_SIZE(uids)];
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++)
		pods[i] = build_world_pod(&world, (struct build_pod){.name = uids[i] + 4});
	world.input.lacking = pods;
	for (size_t n = 0; n <= ARRAY_SIZE(uids); n++) {
		world.input.n_lacking = n;
		for (size_t i = 0; i < ARRAY_SIZE(uids); i++)
			assert_int_equal(claimant_is_unheard(&world.input, view_from(uids[i])),
					 i < n);
	}
	world.input.n_lacking = 0;
	world.input.grants_unknown = true;
	assert_true(claimant_is_unheard(&world.input, VIEW("uid-a")));
}

static void only_who_is_there_by_an_unheard_claim_alone_is_kept(void **state)
{
	(void)state;
	static struct view claimed[] = {VIEW_INIT("PodStatus"), VIEW_INIT("ResourceClaim")};
	static struct attribution_tenant tenants[] = {
		{.pod_uid = VIEW_INIT("uid-booked"), .slots = 1},
		{.pod_uid = VIEW_INIT("uid-gone"), .slots = 1},
		{.pod_uid = VIEW_INIT("uid-kept"), .slots = 1},
		{.pod_uid = VIEW_INIT("uid-named"), .slots = 1},
		{.pod_uid = VIEW_INIT("uid-over"), .slots = 1},
		{.pod_uid = VIEW_INIT("uid-watching")},
	};
	struct attribution object = {.name = VIEW("gpu"), .uuid = build_world_uuid(&world, 0)};
	struct devices devices;
	struct facts facts;
	struct error err;
	uint32_t index = 0;

	build_world_exclusive(&world, 0)->minor = -1;
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
		const char *name = tenants[i].pod_uid.ptr + 4;
		tenants[i].container = VIEW("main");
		tenants[i].witnesses = (struct array){claimed, i == 0 ? 1 : 2, true};
		if (i != 1)
			build_world_pod(&world, (struct build_pod){
							.name = name,
							.phase = i == 4 ? POD_PHASE_FAILED
									: POD_PHASE_RUNNING,
						});
	}
	build_world_book(&world, "uid-named", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "named", "main", build_world_uuid(&world, 0));
	object.status.node_name = VIEW("gpu-a");
	object.status.tenants = (struct array){tenants, ARRAY_SIZE(tenants), true};
	world.previous[0] = (struct join_previous){.object = &object, .claimed_age_ms = -1};
	world.input.n_previous = 1;
	for (int unknown = 0; unknown < 2; unknown++) {
		world.input.grants_unknown = unknown;
		assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
		assert_int_equal(facts_read(&world.input, &devices, &world.arena, &facts, &err),
				 0);
		index = 0;
		if (unknown)
			assert_ptr_equal(claimant_next_kept(&facts, 0, &index), &tenants[2]);
		assert_null(claimant_next_kept(&facts, 0, &index));
		assert_int_equal(index, ARRAY_SIZE(tenants));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(a_tenant_by_a_claim_stays_while_no_slice_tells_its_device,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_slices_a_claim_that_pods_share_stays_shared, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(without_slices_each_grant_stays_on_its_device_and_partition,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_watches_stays_without_slices_too, set_up, tear_down),
	cmocka_unit_test_setup_teardown(only_what_a_claim_gave_is_a_seat, set_up, tear_down),
	cmocka_unit_test_setup_teardown(books_that_have_the_claims_own_id_take_no_seat_from_it,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_idle_device_is_as_it_was_while_slices_cannot_be_read,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_claim_that_is_not_here_leaves_its_own_pods_tenants_only,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_claim_that_is_not_here_holds_up_no_other_evidence, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_part_whose_claim_is_not_here_stays_a_part, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(who_uses_and_watches_has_a_seat_for_either, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(each_container_has_its_own_seat, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_id_takes_one_seat_however_many_name_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_device_that_slices_call_by_another_name_is_no_seat,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(only_what_all_slices_say_of_the_device_takes_its_seat_away,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pod_whose_claims_give_no_gpu_leaves_nothing_open, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		claims_that_may_be_read_no_more_are_old_where_claims_give_the_device, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_pod_whose_claims_cannot_be_read_leaves_nobody_attributed_by_them, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_grant_that_nobody_can_place_leaves_nobody_attributed,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_grant_has_to_be_placed_itself, set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_stays_where_a_claim_had_him_leaves_nothing_open, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(whose_grants_are_all_placed_leaves_nothing_open, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(of_each_pod_it_has_to_be_open_for_a_while, set_up, tear_down),
	cmocka_unit_test_setup_teardown(claims_that_stay_unread_are_said_again_at_once, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_device_is_handed_out_by_claims_when_any_of_its_pods_has_it_by_one, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(what_others_have_by_the_same_id_frees_no_seat, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_partition_is_free_while_its_own_container_lacks_it,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_watches_shares_the_device_with_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(it_is_a_claim_that_a_tenant_has_as_a_witness, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_pod_is_unheard_that_may_have_more_claims, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(only_who_is_there_by_an_unheard_claim_alone_is_kept, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		only_what_nvidias_driver_calls_a_device_or_a_part_tells_its_number, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_slice_that_nvml_contradicts_places_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_nvml_said_in_a_former_boot_contradicts_no_slice,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_new_device_has_the_number_that_nvml_gave_in_a_former_boot, set_up, tear_down),
	cmocka_unit_test_setup_teardown(numbers_that_are_not_told_contradict_nothing, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(who_has_a_device_by_either_number_has_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_device_that_got_another_number_is_no_seat, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(nvml_says_before_slices_which_number_a_device_has, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_tenant_is_displaced_that_had_no_device_of_the_number_by_a_claim, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(whoever_was_on_any_device_and_stays_on_none_is_lost, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_device_is_not_free_that_a_claim_has_for_a_podgroup,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(of_all_claims_that_are_gone_each_is_unplaced_by_its_name,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		whose_claim_is_gone_is_lost_when_nvml_numbers_the_device_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_cannot_be_read_takes_nobody_off_who_was_unplaced, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_cannot_be_read_puts_nobody_else_on_the_list_of_the_unplaced, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		whoever_has_lost_one_device_waits_with_none, set_up, tear_down),
	cmocka_unit_test_setup_teardown(whose_claim_is_gone_stays_where_no_other_number_is_told,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		whose_claim_is_gone_stays_on_a_device_that_has_a_number_of_its_own, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_number_that_the_container_had_by_other_means_is_no_claims,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_number_in_a_slice_is_not_the_devices_once_nvml_gives_it_to_another, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_has_a_device_by_its_number_is_not_kept_on_it_when_another_gets_that, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		who_has_both_devices_keeps_both_whichever_is_off_the_bus, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_had_two_devices_is_not_on_one_when_others_have_both_its_numbers, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_grant_takes_the_seat_of_its_own_number_before_any_other, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		who_has_a_device_without_a_number_keeps_it_beside_another_without_one, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		who_has_two_devices_keeps_the_one_off_the_bus_by_its_own_number, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_number_that_slices_tell_is_published_before_there_is_a_report, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		the_number_that_slices_told_is_not_undone_by_what_nvml_said_before, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		the_only_device_without_a_number_has_the_one_that_is_left, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		whose_claim_is_gone_is_lost_when_slices_number_the_device_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		nobody_is_lost_who_never_was_there_or_while_claims_cannot_be_read, set_up,
		tear_down),
};

TEST_MAIN(tests)
