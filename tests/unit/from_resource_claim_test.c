/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING
#define UNCONFIRMED ATTRIBUTION_CONFIDENCE_UNCONFIRMED

/* A slice describes device n, in whose name the driver has that number. */
static void slice(unsigned n, unsigned minor)
{
	struct slice_device *device = build_world_slice(&world, n);
	device->minor = minor;
	device->is_whole = true;
}

/* A pod of that name, which a claim gives device n; its grant, to be altered. */
static struct grant *claim(const char *name, unsigned n)
{
	build_world_pod(&world, (struct build_pod){.name = name, .wants_no_gpu = true});
	struct grant *grant = build_world_grant(
		&world, build_world_text(&world, "uid-%s", name).ptr, "main", n);
	build_world_regrant(&world);
	return grant;
}

static const struct attribution_status *publish_on(unsigned n)
{
	build_world_publish(&world);
	return build_world_status(&world, n);
}

/* As above, when what is seen has been seen for long enough. */
static const struct attribution_status *settle(unsigned n)
{
	build_world_publish(&world);
	build_world_wait(&world, world.limits.disagreement_ms);
	if (world.input.report && world.input.report_age_ms < world.limits.report_stale_ms)
		world.input.report_age_ms = 1000;
	return publish_on(n);
}

/* Two devices that slices describe; pod a has the first by a claim. */
static void start(void)
{
	for (unsigned n = 0; n < 2; n++) {
		build_world_device(&world, n);
		slice(n, n);
	}
	claim("a", 0);
	expect_tenants(publish_on(0), "uid-a/main");
}

/* No slice tells any more where grants from that one on are. */
static void lose_places(size_t first)
{
	for (size_t i = first; i < world.n_granted; i++) {
		world.granted[i].grant.uuid = (struct view){0};
		world.granted[i].grant.partition = (struct view){0};
	}
	build_world_regrant(&world);
}

static void lose_slices(void)
{
	world.input.n_slice_devices = 0;
	lose_places(0);
}

static void lack(const struct pod *const *pod)
{
	world.input.lacking = pod;
	world.input.n_lacking = 1;
}

/* Neither now nor when what is seen has been seen for long enough. */
static void expect_unchanged(void)
{
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_wait(&world, world.limits.disagreement_ms);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* Complete or not */

static void change_nothing(void)
{
}

static void deny(void)
{
	world.input.grants_denied = world.input.grants_unknown = true;
}

static void leave_pool_incomplete(void)
{
	world.input.grants_unknown = true;
}

static void fall_silent(void)
{
	world.input.report_age_ms = world.limits.report_stale_ms;
}

static void boot(void)
{
	world.input.is_of_former_boot = true;
}

static void swap_numbers(void)
{
	world.devices[0].minor = 1;
	world.devices[1].minor = 0;
}

static void give_number_to_another(void)
{
	world.devices[0].minor = 1;
	world.devices[1].minor = -1;
}

static void tell_no_numbers(void)
{
	world.devices[0].minor = world.devices[1].minor = -1;
}

static void have_no_numbers_in_names(void)
{
	world.slices[0].minor = world.slices[1].minor = -1;
}

static void start_controller(void)
{
	build_world_restart(&world);
}

static void have_no_agent(void)
{
	build_world_without_agent(&world);
}

static const struct {
	const char *is;
	void (*become)(void);
	const char *tenants; /* of the device that a new pod was given */
	const char *reason;  /* of Attributed there */
} states[] = {
	{"all is well", change_nothing, "uid-b/main", "AllResolved"},
	{"claims may not be read", deny, "", "ClaimsUnknown"},
	{"a pool is being written", leave_pool_incomplete, "", "ClaimsUnknown"},
	{"the agent is silent", fall_silent, "", "ClaimsUnknown"},
	{"the report is of a former boot", boot, "", "ClaimsUnknown"},
	{"NVML numbers devices otherwise", swap_numbers, "", "ClaimsUnknown"},
	{"NVML has a number elsewhere", give_number_to_another, "", "ClaimsUnknown"},
	{"NVML tells no numbers", tell_no_numbers, "uid-b/main", "AllResolved"},
	{"the names in slices have no numbers", have_no_numbers_in_names, "uid-b/main", "AllResolved"},
	{"no report yet", start_controller, "", "AllResolved"},
	{"no agent", have_no_agent, "uid-b/main", "AllResolved"}, /* as it was published */
};

TEST(a_new_tenant_comes_by_a_claim_only_while_nothing_contradicts_slices)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		start_anew();
		start();
		states[i].become();
		claim("b", 1);
		const struct attribution_status *status = settle(1);
		expect_tenants(status, states[i].tenants);
		const struct condition *attributed =
			attribution_find_condition(status, VIEW("Attributed"));
		if (!view_equal(attributed->reason, view_from(states[i].reason)))
			fail_msg("%s: Attributed is %.*s", states[i].is,
				 VIEW_ARG(attributed->reason));
	}
}

static bool numbers_anew(size_t i)
{
	return states[i].become == swap_numbers || states[i].become == give_number_to_another;
}

/* Where NVML numbers the device anew, what the claim names may be another. */
TEST(a_tenant_by_a_claim_stays_in_every_state)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		start_anew();
		start();
		states[i].become();
		const struct attribution_status *status = settle(0);
		const struct attribution_tenant *tenant = expect_tenant(
			status, "uid-a", RUNNING, numbers_anew(i) ? UNCONFIRMED : CONFIRMED);
		assert_int_equal(tenant->slots, 1);
		expect_texts(tenant->witnesses, numbers_anew(i) ? "" : "ResourceClaim");
		assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
		expect_text(status->slots.summary, "1/1");
		expect_unplaced(status, "");
		expect_unchanged();
	}
}

TEST(while_pods_and_claims_are_old_the_claim_stays_a_witness)
{
	start();
	leave_pool_incomplete();
	world.input.pods_age = INVENTORY_STALE;
	const struct attribution_tenant *tenant = expect_tenant(settle(0), "uid-a", RUNNING, CONFIRMED);
	expect_texts(tenant->witnesses, "ResourceClaim");
}

TEST(a_tenant_by_a_claim_ends_with_its_pod_in_every_state)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		start_anew();
		start();
		states[i].become();
		settle(0);
		build_world_remove_pod(&world, "uid-a");
		const struct attribution_status *status = publish_on(0);
		expect_tenants(status, "");
		expect_recent(status, "uid-a");
	}
}

TEST(while_claims_cannot_be_read_nobody_is_known_for_sure)
{
	start();
	claim("b", 1);
	publish_on(1);
	leave_pool_incomplete();
	claim("c", 1);
	/* On its own device too, which it may share. */
	expect_condition(publish_on(1), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	expect_condition(publish_on(0), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	world.input.grants_unknown = false;
	expect_condition(publish_on(1), "Attributed", CONDITION_TRUE, "AllResolved");
	expect_tenants(publish_on(1), "uid-b/main,uid-c/main");
}

TEST(a_device_that_no_claim_hands_out_is_known_all_the_same)
{
	start();
	build_world_exclusive(&world, 2);
	swap_numbers();
	claim("b", 1);
	expect_condition(settle(2), "Attributed", CONDITION_TRUE, "AllResolved");
	/* But for one of which nothing is on offer. */
	build_world_device(&world, 3);
	expect_condition(settle(3), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
}

TEST(without_pods_that_use_claims_nothing_is_unknown)
{
	build_world_device(&world, 0);
	slice(0, 0);
	world_pod("a");
	publish_on(0);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (numbers_anew(i))
			states[i].become();
	}
	world.input.grants_unknown = true;
	expect_condition(settle(0), "Attributed", CONDITION_TRUE, "AllResolved");
}

/* After a boot */

TEST(a_boot_that_renumbers_moves_tenants_when_slices_tell_it_too)
{
	start();
	claim("b", 1);
	publish_on(1);
	swap_numbers();
	const struct attribution_status *status = settle(0);
	expect_tenants(status, "uid-a/main");
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	assert_int_equal(status->device.minor, 1);
	/* That the pool is written anew leaves it in doubt. */
	world.input.grants_unknown = true;
	lose_slices();
	status = settle(0);
	expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED);
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "Unconfirmed");
	world.input.grants_unknown = false;
	slice(0, 1);
	slice(1, 0);
	world.granted[0].grant.uuid = build_world_uuid(&world, 1);
	world.granted[1].grant.uuid = build_world_uuid(&world, 0);
	build_world_regrant(&world);
	status = publish_on(0);
	expect_tenants(status, "uid-b/main");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(status->device.minor, 1);
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
}

/* With pods stale, too, and once the slices are gone that told where it is. */
TEST(a_boot_that_renumbers_leaves_no_tenant_confirmed_by_what_was_published)
{
	for (int i = 0; i < 2; i++) {
		start_anew();
		start();
		swap_numbers();
		lose_slices();
		world.input.pods_age = i == 0 ? INVENTORY_CURRENT : INVENTORY_STALE;
		expect_texts(expect_tenant(settle(0), "uid-a", RUNNING, UNCONFIRMED)->witnesses, "");
		world.input.pods_age = INVENTORY_CURRENT;
		slice(0, 1);
		slice(1, 0);
		world.granted[0].grant.uuid = build_world_uuid(&world, 1);
		build_world_regrant(&world);
		expect_tenants(publish_on(0), "");
		expect_recent(build_world_status(&world, 0), "uid-a");
		expect_tenants(build_world_status(&world, 1), "uid-a/main");
	}
}

/* Its driver has withdrawn it. The other slices agree with NVML, so the witness is not silent. */
TEST(a_device_with_another_number_that_no_slice_describes_keeps_its_tenant)
{
	start();
	world.slices[0] = world.slices[1];
	world.input.n_slice_devices = 1;
	lose_places(0);
	world.devices[0].minor = 5;
	expect_tenants(settle(0), "uid-a/main");
}

TEST(slices_that_name_another_device_end_a_tenant_before_nvml_bears_them_out)
{
	start();
	fall_silent();
	world.granted[0].grant.uuid = build_world_uuid(&world, 1);
	build_world_regrant(&world);
	expect_tenants(settle(0), "");
	expect_tenants(publish_on(1), "");
	expect_condition(publish_on(1), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
}

TEST(no_number_is_read_from_a_name)
{
	build_world_without_agent(&world);
	slice(0, 5);
	assert_int_equal(publish_on(0)->device.minor, -1);
}

/* Without a place */

TEST(a_grant_without_a_place_leaves_its_tenant_where_it_was)
{
	start();
	claim("b", 0);
	publish_on(0);
	lose_slices();
	slice(1, 1);
	expect_unchanged();
	const struct attribution_status *status = build_world_status(&world, 0);
	expect_tenants(status, "uid-a/main,uid-b/main");
	expect_text(status->slots.summary, "1/1");
	assert_int_equal(status->sharing.mode, ATTRIBUTION_MODE_TIME_SLICED);
	expect_unplaced(status, "");
	expect_condition(status, "Healthy", CONDITION_TRUE, "NothingFound");
	/* A claim that is no longer reserved for the pod ends it. */
	world.n_granted = 1;
	build_world_regrant(&world);
	expect_tenants(publish_on(0), "uid-a/main");
}

TEST(partitions_without_a_place_stay_as_they_were)
{
	build_world_cut(&world, 0, 3);
	build_world_offer_nothing(&world);
	slice(0, 0);
	world.slices[0].is_whole = false;
	for (unsigned i = 0; i < 2; i++) {
		struct grant *grant = i ? build_world_grant(&world, "uid-a", "main", 0)
					: claim("a", 0);
		grant->partition = build_world_mig(&world, 0, i);
		grant->device = build_world_text(&world, "pool/gpu-0-mig-%u", i);
		grant->is_part = true;
	}
	build_world_regrant(&world);
	expect_text(publish_on(0)->slots.summary, "2/3");
	lose_slices();
	expect_condition(publish_on(0), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	expect_unchanged();
	const struct attribution_tenant *tenant =
		expect_tenant(build_world_status(&world, 0), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(tenant->partitions.count, 2);
	assert_int_equal(tenant->slots, 2);
}

TEST(who_watches_stays_without_a_place_too)
{
	build_world_device(&world, 0);
	slice(0, 0);
	claim("m", 0)->is_admin = true;
	build_world_regrant(&world);
	assert_int_equal(expect_tenant(publish_on(0), "uid-m", RUNNING, CONFIRMED)->role,
			 ATTRIBUTION_ROLE_MONITOR);
	lose_slices();
	assert_int_equal(expect_tenant(publish_on(0), "uid-m", RUNNING, CONFIRMED)->role,
			 ATTRIBUTION_ROLE_MONITOR);
	expect_unchanged();
}

TEST(a_grant_that_was_never_placed_is_unplaced)
{
	start();
	claim("b", 1)->uuid = (struct view){0};
	build_world_regrant(&world);
	const struct attribution_status *status = settle(0);
	expect_unplaced(status, "uid-b/main pool/gpu-1");
	expect_condition(status, "Attributed", CONDITION_FALSE, "UnknownDeviceID");
	/* While slices cannot be read it may be anywhere. */
	leave_pool_incomplete();
	status = settle(0);
	expect_unplaced(status, "");
	expect_condition(status, "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
}

TEST(a_device_to_which_slices_give_another_name_is_not_where_a_grant_was)
{
	start();
	lose_places(0);
	/* Slices still describe the device, as gpu-0: the grant is not that name's. */
	const struct attribution_status *status = settle(0);
	expect_tenants(status, "");
	expect_unplaced(status, "uid-a/main pool/gpu-0");
}

TEST(a_second_grant_without_a_place_is_unplaced_beside_the_first)
{
	start();
	struct grant *grant = build_world_grant(&world, "uid-a", "main", 1);
	grant->uuid = (struct view){0};
	build_world_regrant(&world);
	world.slices[0].is_whole = false;
	expect_unplaced(settle(0), "uid-a/main pool/gpu-1");
	expect_unchanged();
}

TEST(what_the_kubelet_gave_is_no_claims_to_keep)
{
	build_world_exclusive(&world, 0);
	world_run("a", build_world_uuid(&world, 0));
	build_world_slice(&world, 1); /* others are described */
	publish_on(0);
	build_world_grant(&world, "uid-a", "main", 0)->uuid = (struct view){0};
	build_world_regrant(&world);
	expect_unplaced(settle(0), "uid-a/main pool/gpu-0");
}

/* Claims that are not here */

TEST(a_tenant_whose_claim_is_not_here_stays_unconfirmed_until_it_is)
{
	start();
	claim("b", 1);
	publish_on(1);
	const struct pod *pod = world.pods[0];
	lack(&pod);
	world.n_granted = 0;
	build_world_regrant(&world);
	const struct attribution_status *status = publish_on(0);
	expect_texts(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->witnesses, "");
	expect_text(status->slots.summary, "1/1");
	expect_tenants(build_world_status(&world, 1), "");
	expect_recent(build_world_status(&world, 1), "uid-b");
	expect_condition(settle(0), "Attributed", CONDITION_UNKNOWN, "Unconfirmed");
	world.input.n_lacking = 0;
	claim("a", 0);
	expect_tenant(settle(0), "uid-a", RUNNING, CONFIRMED);
	expect_condition(settle(0), "Attributed", CONDITION_TRUE, "AllResolved");
}

TEST(a_tenant_whose_claim_comes_back_without_a_device_goes)
{
	start();
	const struct pod *pod = world.pods[0];
	lack(&pod);
	world.n_granted = 0;
	build_world_regrant(&world);
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	expect_tenant(settle(0), "uid-a", RUNNING, UNCONFIRMED);
	world.input.n_lacking = 0;
	leave_pool_incomplete();
	expect_tenant(settle(0), "uid-a", RUNNING, UNCONFIRMED);
	world.input.grants_unknown = false;
	expect_tenants(settle(0), "");
	expect_recent(settle(0), "uid-a");
}

TEST(a_tenant_whose_claim_is_not_here_is_unconfirmed_on_a_device_numbered_anew)
{
	start();
	const struct pod *pod = world.pods[0];
	lack(&pod);
	world.n_granted = 0;
	build_world_regrant(&world);
	deny();
	expect_texts(expect_tenant(settle(0), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "ResourceClaim");
	tell_no_numbers();
	expect_tenant(settle(0), "uid-a", RUNNING, CONFIRMED);

	start_anew();
	start();
	pod = world.pods[0];
	lack(&pod);
	world.n_granted = 0;
	build_world_regrant(&world);
	deny();
	swap_numbers();
	for (int i = 0; i < 2; i++) {
		const struct attribution_status *status = settle(0);
		expect_texts(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->witnesses, "");
		expect_condition(status, "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	}
}

TEST(a_tenant_whose_claim_comes_back_for_another_device_leaves_this_one)
{
	start();
	const struct pod *pod = world.pods[0];
	lack(&pod);
	world.n_granted = 0;
	build_world_regrant(&world);
	expect_tenant(settle(0), "uid-a", RUNNING, UNCONFIRMED);
	world.input.n_lacking = 0;
	claim("a", 1);
	expect_tenant(settle(1), "uid-a", RUNNING, CONFIRMED);
	expect_tenants(build_world_status(&world, 0), "");
}

/* The container has one device by the plugin and one by a claim, and both books are short. */
TEST(regress_14_what_the_plugin_gave_stays_though_a_claim_gives_another_device)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	world_run("a", build_world_uuid(&world, 0));
	slice(1, 1);
	build_world_grant(&world, "uid-a", "main", 1);
	build_world_regrant(&world);
	expect_tenant(publish_on(0), "uid-a", RUNNING, CONFIRMED);
	expect_tenant(build_world_status(&world, 1), "uid-a", RUNNING, CONFIRMED);
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	expect_tenant(settle(0), "uid-a", RUNNING, UNCONFIRMED);
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_UNKNOWN,
			 "Unconfirmed");
	expect_recent(build_world_status(&world, 0), "");
	expect_tenant(build_world_status(&world, 1), "uid-a", RUNNING, CONFIRMED);
}

TEST(what_a_claim_gave_moves_with_it_though_no_book_can_be_read)
{
	start();
	const struct pod *pod = world.pods[0];
	lack(&pod);
	world.n_granted = 0;
	build_world_regrant(&world);
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	expect_texts(expect_tenant(settle(0), "uid-a", RUNNING, UNCONFIRMED)->witnesses, "");
	world.input.n_lacking = 0;
	claim("a", 1);
	expect_tenant(settle(1), "uid-a", RUNNING, CONFIRMED);
	expect_tenants(build_world_status(&world, 0), "");
}

/* What the grant gave is shown on the first device, so on the second it gives nothing. */
TEST(a_pod_whose_grant_lost_its_place_has_users_on_other_devices)
{
	start();
	build_world_see_no_processes(&world);
	publish_on(0);
	world.input.n_slice_devices = 1;
	world.slices[0] = world.slices[1];
	lose_places(0);
	build_world_process(&world, 1, 7, "uid-a");
	build_world_report(&world);
	expect_users(settle(1), "uid-a python3[7]");
	expect_tenant(build_world_status(&world, 0), "uid-a", RUNNING, CONFIRMED);
}

/* What is on offer has nobody, so it is no second pod. */
TEST(a_device_that_a_plugin_offers_is_not_shared_by_the_one_claim_on_it)
{
	build_world_exclusive(&world, 0);
	slice(0, 0);
	claim("a", 0);
	assert_int_equal(publish_on(0)->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
	lose_slices();
	expect_tenant(settle(0), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(settle(0)->sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
}

TEST(a_pod_has_what_one_claim_gives_while_another_is_not_here)
{
	start();
	claim("b", 1);
	const struct pod *pod = world.pods[1];
	lack(&pod);
	expect_tenants(publish_on(1), "uid-b/main");
	expect_unchanged();
	world.input.n_lacking = 0;
	expect_unchanged();
}

TEST(a_pod_whose_claim_waits_is_open_only_while_claims_are_unknown)
{
	build_world_device(&world, 0);
	slice(0, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .claim = "gpu"});
	build_world_pod(&world, (struct build_pod){.name = "n", .claim = BUILD_WORLD_NIC});
	expect_condition(settle(0), "Attributed", CONDITION_TRUE, "AllResolved");
	leave_pool_incomplete();
	expect_condition(settle(0), "Attributed", CONDITION_UNKNOWN, "ClaimsUnknown");
	build_world_remove_pod(&world, "uid-a");
	expect_condition(settle(0), "Attributed", CONDITION_TRUE, "AllResolved");
}

/* What claims hand out */

TEST(an_idle_device_is_handed_out_by_claims_while_slices_are_incomplete)
{
	build_world_device(&world, 0);
	slice(0, 0);
	expect_text(publish_on(0)->slots.summary, "0/1");
	world.input.n_slice_devices = 0;
	leave_pool_incomplete();
	expect_unchanged();
	world.input.grants_unknown = false;
	expect_text(publish_on(0)->slots.summary, "0/0");
}

TEST(a_claim_for_a_podgroup_hides_who_has_the_device)
{
	start();
	world.slices[1].is_nameless = true;
	expect_condition(publish_on(1), "Attributed", CONDITION_UNKNOWN, "ReservedOtherwise");
	/* As long as nothing else can be read. */
	world.input.n_slice_devices = 0;
	deny();
	expect_condition(publish_on(1), "Attributed", CONDITION_UNKNOWN, "ReservedOtherwise");
}

TESTS(set_up, tear_down)
