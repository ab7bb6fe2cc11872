/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "core/claimant.h"

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
static struct join_grant *claim(const char *name, unsigned n)
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
		struct join_grant *grant = build_world_grant(&world, "uid-a", "main", i / 2);
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
	const struct attribution_tenant *t =
		expect_tenant(build_world_status(&world, 0), "uid-a", RUNNING, CONFIRMED);
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
	struct join_grant *grant = claim("a", 0);
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
	expect_texts(status->sharing.evidence,
		     "device IDs name the whole device,"
		     "a pod holds a device ID that is no longer offered");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		a_tenant_by_a_claim_stays_while_no_slice_tells_its_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_slices_a_claim_that_pods_share_stays_shared, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_slices_each_grant_stays_on_its_device_and_partition, set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_watches_stays_without_slices_too, set_up, tear_down),
	cmocka_unit_test_setup_teardown(only_what_a_claim_gave_is_a_seat, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		books_that_have_the_claims_own_id_take_no_seat_from_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_idle_device_is_as_it_was_while_slices_cannot_be_read, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_that_is_not_here_leaves_its_own_pods_tenants_only, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_that_is_not_here_holds_up_no_other_evidence, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_part_whose_claim_is_not_here_stays_a_part, set_up, tear_down),
};

TEST_MAIN(tests)
