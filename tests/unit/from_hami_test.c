/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"

#include "base/limits.h"

#define ANNOTATED ATTRIBUTION_CONFIDENCE_ANNOTATED
#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define UNCONFIRMED ATTRIBUTION_CONFIDENCE_UNCONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

/* HAMi's plugin offers three IDs of each of the devices 0 to 2. */
static struct view hami_id(unsigned n, unsigned replica)
{
	return build_world_text(&world, "GPU-%08x-0000-4000-8000-0123456789ab-%u", n, replica);
}

static void offer_hami(void)
{
	for (unsigned i = 0; i < 9; i++)
		build_world_offer(&world, hami_id(i / 3, i % 3));
	for (unsigned i = 0; i < 3; i++)
		build_world_device(&world, i);
}

#define HAMI_OF(n) "GPU-0000000" #n "-0000-4000-8000-0123456789ab,NVIDIA,4000,30:"

static void expect_tenants_of(unsigned n, const char *expected)
{
	expect_tenants(build_world_status(&world, n), expected);
}

TEST(hamis_annotation_tells_the_device_that_was_given)
{
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"},
			hami_id(0, 1));
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/3");
	status = build_world_status(&world, 1);
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, ANNOTATED);
	expect_texts(t->witnesses, "HAMi");
	expect_text(t->resource, "nvidia.com/gpu");
	expect_text(t->placeholder, "");
	assert_int_equal(t->slots, 1);
	assert_int_equal(t->role, ATTRIBUTION_ROLE_WORKLOAD);
	expect_text(status->slots.summary, "1/3");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* One witness of the kubelet's alone gives pod "a" an ID of HAMi's. */
static void let_witness_name(size_t witness, const char *annotation, struct view id)
{
	struct build_pod pod = {.name = "a", .hami = annotation};
	if (witness == 2)
		pod.told[0] = id;
	build_world_pod(&world, pod);
	if (witness == 0)
		build_world_book(&world, "uid-a", "main", id);
	if (witness == 1)
		build_world_list(&world, "a", "main", id);
}

static const char *const witnesses[] = {"Checkpoint", "PodResources", "PodStatus"};

/* More than a node could give out: nobody reads the annotation then, which would take long. */
TEST(the_annotation_of_a_pod_with_too_many_ids_is_not_read)
{
	static const char *const on_1[] = {"uid-a/main", ""};
	static struct view ids[LIMIT_HAMI_IDS + 1];
	for (uint32_t more = 0; more < 2; more++) {
		assert_true(start_anew());
		offer_hami();
		for (uint32_t i = 0; i < ARRAY_SIZE(ids); i++)
			ids[i] = hami_id(0, i);
		build_world_pod(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"});
		build_world_book(&world, "uid-a", "main", ids[0])->device_ids =
			(struct array){ids, LIMIT_HAMI_IDS + more, true};
		expect_tenants(publish(), "uid-a/main");
		expect_tenants_of(1, on_1[more]);
	}
}

/* It held some device, and maybe not this one. */
TEST(a_placeholder_of_hamis_is_not_remembered)
{
	offer_hami();
	world_run("a", hami_id(0, 1));
	expect_tenants(publish(), "uid-a/main");
	build_world_remove_pod(&world, "uid-a");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	expect_tenants(publish(), "");
	expect_recent(publish(), "");
}

TEST(whoever_names_hamis_id_makes_a_placeholder_until_the_annotation_tells)
{
	for (size_t i = 0; i < ARRAY_SIZE(witnesses); i++) {
		offer_hami();
		let_witness_name(i, "", hami_id(0, 1));
		const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING,
								   UNCONFIRMED);
		expect_text(t->placeholder, "HAMi");
		expect_texts(t->witnesses, witnesses[i]);
		expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_FALSE,
				 "Placeholder");
		let_witness_name(i, HAMI_OF(1) ";", hami_id(0, 1));
		expect_tenants(publish(), "");
		t = expect_tenant(build_world_status(&world, 1), "uid-a", RUNNING, ANNOTATED);
		expect_texts(t->witnesses, "HAMi");
		assert_int_equal(t->slots, 1);
		start_anew();
	}
}

/* Main and side have an ID each of device 2, main the first of them. */
static void expect_led(struct build_pod pod, const char *text, const char *const *expected)
{
	pod.name = "a";
	pod.hami = text;
	build_world_pod(&world, pod);
	build_world_join(&world);
	for (unsigned i = 0; i < 3; i++)
		expect_tenants_of(i, expected[i]);
}

TEST(each_part_of_hamis_annotation_is_one_containers)
{
	static const struct {
		const char *text, *on[3];
	} rows[] = {
		{HAMI_OF(0) ";" HAMI_OF(1) ";", {"uid-a/main", "uid-a/side", ""}},
		{HAMI_OF(0) ";" HAMI_OF(1), {"uid-a/main", "uid-a/side", ""}},
		{";" HAMI_OF(1) ";", {"", "uid-a/side", "uid-a/main"}},
		{HAMI_OF(1) ";;", {"", "uid-a/main", "uid-a/side"}},
		{HAMI_OF(1) HAMI_OF(0) ";;", {"", "uid-a/main", "uid-a/side"}},
		{"GPU-00000001-0000-4000-8000-0123456789ab[1],NVIDIA,4000,30:;;",
		 {"", "uid-a/main", "uid-a/side"}},
		{"GPU-00000001-0000-4000-8000-0123456789ab;;", {"", "uid-a/main", "uid-a/side"}},
		{":,;::;", {"", "", "uid-a/main,uid-a/side"}},
		{";", {"", "", "uid-a/main,uid-a/side"}},
		{"", {"", "", "uid-a/main,uid-a/side"}},
	};
	offer_hami();
	build_world_book(&world, "uid-a", "main", hami_id(2, 0));
	build_world_book(&world, "uid-a", "side", hami_id(2, 1));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_led((struct build_pod){.second = "side"}, rows[i].text, rows[i].on);
}

/* By release: before 2.7.0, 2.7.0 to 2.8.3, 2.9.0, 2.10.0. */
TEST(hamis_annotation_is_read_as_its_plugin_does_whichever_release_wrote_it)
{
	static const struct {
		const char *holders[3], *text, *on[3];
	} rows[] = {
		{{"main", "side"}, HAMI_OF(0) ";" HAMI_OF(1) ";", {"uid-a/main", "uid-a/side", ""}},
		{{"main", "side"},
		 ";" HAMI_OF(0) ";" HAMI_OF(1) ";",
		 {"uid-a/main", "uid-a/side", ""}},
		{{"side"}, HAMI_OF(0) ";,,0,0:;", {"uid-a/side", "", ""}},
		{{"side"}, ",,0,0:;" HAMI_OF(0) ";", {"uid-a/side", "", ""}},
		{{"side"}, ";" HAMI_OF(0) ";", {"uid-a/side", "", ""}},
		{{"side"}, ";;" HAMI_OF(0) ";", {"uid-a/side", "", ""}},
		{{"side"}, HAMI_OF(0) ";", {"uid-a/side", "", ""}},
		{{"main"}, HAMI_OF(0) ";;", {"uid-a/main", "", ""}},
		{{"main", "main"}, HAMI_OF(0) HAMI_OF(1) ";", {"uid-a/main", "uid-a/main", ""}},
		{{"main"}, ";" HAMI_OF(0) ";;", {"uid-a/main", "", ""}},
		{{"main"}, HAMI_OF(0) ";", {"uid-a/main", "", ""}},
		{{"init", "main"},
		 HAMI_OF(0) ";" HAMI_OF(1) ";;",
		 {"uid-a/init", "uid-a/main", ""}},
		{{"init", "main"}, HAMI_OF(0) ";" HAMI_OF(1) ";", {"uid-a/init", "uid-a/main", ""}},
		{{"init", "main", "side"},
		 HAMI_OF(1) ";" HAMI_OF(0) ";" HAMI_OF(1) ";",
		 {"uid-a/main", "uid-a/init,uid-a/side", ""}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		offer_hami();
		for (unsigned k = 0; k < 3 && rows[i].holders[k]; k++)
			build_world_book(&world, "uid-a", rows[i].holders[k], hami_id(2, k));
		expect_led((struct build_pod){.init = "init", .second = "side"}, rows[i].text,
			   rows[i].on);
	}
}

TEST(a_sidecars_part_of_hamis_annotation_comes_first)
{
	static const char *const on[] = {"uid-a/side", "uid-a/main", ""};
	offer_hami();
	build_world_book(&world, "uid-a", "main", hami_id(2, 0));
	build_world_book(&world, "uid-a", "side", hami_id(2, 1));
	expect_led((struct build_pod){.container = "side",
				      .kind = POD_CONTAINER_SIDECAR,
				      .second = "main"},
		   HAMI_OF(0) ";" HAMI_OF(1) ";", on);
}

/* While the List is short what no book has stays a tenant. */
TEST(a_placeholder_leaves_when_the_annotation_tells_where_all_of_it_is)
{
	static const struct {
		const char *text;
		bool leaves;
	} rows[] = {
		{NULL, false},
		{HAMI_OF(1) ";", false},
		{HAMI_OF(1) HAMI_OF(2) ";", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		offer_hami();
		world_pod("a");
		for (unsigned k = 0; k < 2; k++)
			build_world_book(&world, "uid-a", "main", hami_id(0, k));
		expect_text(expect_tenant(publish(), "uid-a", RUNNING, UNCONFIRMED)->placeholder, "HAMi");
		build_world_fail_book(&world);
		build_world_list_nothing(&world);
		if (rows[i].text)
			build_world_pod(&world,
					(struct build_pod){.name = "a", .hami = rows[i].text});
		for (unsigned k = 0; k < 2 && rows[i].text; k++)
			build_world_list(&world, "a", "main", hami_id(0, k));
		expect_tenants(publish(), rows[i].leaves ? "" : "uid-a/main");
	}
}

/* While a book cannot be read, too; but not what a claim gave. */
TEST(whom_an_edited_annotation_leads_elsewhere_leaves)
{
	for (unsigned is_claim = 0; is_claim < 2; is_claim++) {
		start_anew();
		offer_hami();
		build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"},
				hami_id(0, 0));
		if (is_claim) {
			build_world_grant(&world, "uid-a", "main", 1);
			build_world_regrant(&world);
		}
		publish();
		expect_tenants_of(1, "uid-a/main");
		build_world_fail_book(&world);
		world.n_granted = 0;
		build_world_regrant(&world);
		world.input.grants_unknown = is_claim;
		build_world_pod(&world, (struct build_pod){.name = "a",
							   .hami = HAMI_OF(2) ";",
							   .claim = is_claim ? "c" : ""});
		publish();
		expect_tenants_of(1, is_claim ? "uid-a/main" : "");
		expect_tenants_of(2, "uid-a/main");
	}
}

/* A List that names a container has all its IDs, so one that is not there is none any more. */
TEST(a_placeholder_leaves_with_its_id_when_the_annotation_tells_of_others)
{
	offer_hami();
	world_pod("a");
	for (unsigned n = 0; n < 2; n++)
		build_world_book(&world, "uid-a", "main", hami_id(n, 0));
	publish();
	build_world_fail_book(&world);
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", hami_id(0, 0));
	publish();
	expect_tenants_of(1, "uid-a/main");
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(2) ";"});
	publish();
	expect_tenants_of(0, "");
	expect_tenants_of(1, "");
	expect_tenants_of(2, "uid-a/main");
}

/* No List has init containers; nor has the annotation ephemeral ones. */
TEST(with_holders_unknown_hamis_annotation_is_read_by_position_or_not_at_all)
{
	static const struct {
		const char *text, *on[3];
	} rows[] = {
		{HAMI_OF(0) ";" HAMI_OF(1) ";;", {"", "uid-a/main", ""}},
		{HAMI_OF(0) ";" HAMI_OF(1) ";", {"", "", "uid-a/main"}},
		{HAMI_OF(0) ";" HAMI_OF(1) ";;;", {"", "", "uid-a/main"}},
	};
	offer_hami();
	build_world_fail_book(&world);
	build_world_list(&world, "a", "main", hami_id(2, 0));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_led((struct build_pod){.init = "init", .second = "side"}, rows[i].text,
			   rows[i].on);
	expect_led((struct build_pod){.init = "init",
				      .container = "debug",
				      .kind = POD_CONTAINER_EPHEMERAL,
				      .second = "main"},
		   HAMI_OF(0) ";" HAMI_OF(1) ";", rows[0].on);
}

/* What HAMi gave for one of them is no device that is known. */
TEST(an_id_whose_device_hamis_annotation_does_not_tell_stays_a_placeholder)
{
	static const struct {
		const char *text, *on_0, *on_1; /* slots */
	} rows[] = {
		{HAMI_OF(1) HAMI_OF(7) ";", "1/3", "1/3"},
		{HAMI_OF(7) HAMI_OF(1) ";", "1/3", "1/3"},
		{HAMI_OF(0) HAMI_OF(7) ";", "2/3", "0/3"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		offer_hami();
		build_world_pod(&world, (struct build_pod){.name = "a", .hami = rows[i].text});
		for (unsigned k = 0; k < 2; k++)
			build_world_book(&world, "uid-a", "main", hami_id(0, k));
		const struct attribution_status *status = publish();
		expect_text(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->placeholder, "HAMi");
		expect_text(status->slots.summary, rows[i].on_0);
		expect_condition(status, "Attributed", CONDITION_FALSE, "Placeholder");
		status = build_world_status(&world, 1);
		expect_text(status->slots.summary, rows[i].on_1);
		if (status->tenants.count > 0)
			expect_text(expect_tenant(status, "uid-a", RUNNING, ANNOTATED)->placeholder,
				    "");
	}
}

TEST(who_has_a_device_by_another_plugin_too_is_a_placeholder_there_all_the_same)
{
	offer_hami();
	world_pod("a");
	build_world_book(&world, "uid-a", "main", hami_id(0, 1));
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 0))->resource =
		VIEW("nvidia.com/gpu.shared");
	build_world_book(&world, "uid-a", "side", build_world_replica(&world, 0, 1))->resource =
		VIEW("nvidia.com/gpu.shared");
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-a/side");
	expect_text(attribution_find_tenant(status, VIEW("uid-a"), VIEW("main"))->placeholder, "HAMi");
	expect_text(attribution_find_tenant(status, VIEW("uid-a"), VIEW("side"))->placeholder, "");
}

TEST(hamis_annotation_leads_to_no_more_devices_than_there_are_ids)
{
	const struct view id = hami_id(2, 0);
	offer_hami();
	build_world_run(
		&world,
		(struct build_pod){.name = "a", .hami = HAMI_OF(0) HAMI_OF(1) ";", .told = {id}},
		id);
	expect_tenants(publish(), "uid-a/main");
	expect_tenants_of(1, "");
	expect_tenants_of(2, "");
}

TEST(an_annotation_that_names_no_known_device_leaves_the_placeholder_where_it_is)
{
	static const char *const texts[] = {";", "nonsense", HAMI_OF(7) ";",
					    HAMI_OF(1) ";" HAMI_OF(2) ";"};
	offer_hami();
	build_world_book(&world, "uid-a", "main", hami_id(0, 1));
	build_world_wait(&world, world.limits.disagreement_ms);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		build_world_pod(&world, (struct build_pod){.name = "a", .hami = texts[i]});
		const struct attribution_status *status = publish();
		expect_text(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->placeholder, "HAMi");
		expect_texts(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->witnesses,
			     "Checkpoint");
		expect_text(status->slots.summary, "1/3");
		expect_unplaced(status, "");
		expect_tenants_of(1, "");
	}
}

TEST(an_annotation_of_a_pod_without_hamis_ids_says_nothing)
{
	static const char *const texts[] = {HAMI_OF(0) ";", HAMI_OF(1) HAMI_OF(0) ";",
					    HAMI_OF(7) ";", "nonsense"};
	build_world_shared(&world, 0, 2);
	build_world_exclusive(&world, 1);
	world_run("a", build_world_replica(&world, 0, 0));
	build_world_wait(&world, world.limits.disagreement_ms);
	publish();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		build_world_pod(&world, (struct build_pod){.name = "a", .hami = texts[i]});
		build_world_pod(&world, (struct build_pod){.name = "b", .hami = texts[i]});
		assert_int_equal(build_world_count_writes(&world), 0);
		const struct attribution_status *status = build_world_status(&world, 0);
		expect_texts(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->witnesses,
			     "Checkpoint,PodResources");
		expect_tenants(status, "uid-a/main");
		expect_text(status->slots.summary, "1/2");
		expect_unplaced(status, "");
		expect_tenants_of(1, "");
	}
}

/* The card that the ID names is none that is known; the one that was given is. */
TEST(hamis_annotation_places_an_id_of_no_known_device)
{
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"},
			hami_id(7, 0));
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(), "");
	expect_tenants_of(1, "uid-a/main");
	world_pod("a");
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(), "uid-a/main GPU-00000007-0000-4000-8000-0123456789ab-0");
}

/* A card has come from another node, whose last report may be true as yet. */
TEST(hamis_annotation_leads_to_no_device_that_another_node_may_have)
{
	offer_hami();
	publish();
	struct attribution object = *build_world_previous(&world, 1)->object;
	object.status.node_name = VIEW("gpu-b");
	build_world_previous(&world, 1)->object = &object;
	build_world_previous(&world, 1)->claimed_age_ms = world.limits.report_stale_ms - 1;
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"},
			hami_id(0, 1));
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING,
							   UNCONFIRMED);
	expect_text(t->placeholder, "HAMi");
	expect_tenants_of(1, "");
	build_world_previous(&world, 1)->claimed_age_ms = world.limits.report_stale_ms;
	expect_tenants(publish(), "");
	expect_tenants_of(1, "uid-a/main");
}

TEST(a_process_confirms_what_an_annotation_says_and_stays_true)
{
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"},
			hami_id(0, 1));
	build_world_process(&world, 1, 1, "uid-a");
	build_world_publish(&world);
	const struct attribution_tenant *t = expect_tenant(build_world_status(&world, 1), "uid-a",
							   RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "HAMi,Processes");
	build_world_see_no_processes(&world);
	build_world_publish(&world);
	expect_tenant(build_world_status(&world, 1), "uid-a", RUNNING, CONFIRMED);
}

TEST(what_other_witnesses_said_of_a_placeholder_does_not_confirm_the_annotation)
{
	struct build_pod pod = {.name = "a", .told = {hami_id(0, 1)}};
	offer_hami();
	build_world_run(&world, pod, hami_id(0, 1));
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, UNCONFIRMED)->witnesses,
		     "Checkpoint,PodResources,PodStatus");
	build_world_restart(&world);
	pod.hami = HAMI_OF(0) ";";
	build_world_pod(&world, pod);
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, ANNOTATED)->witnesses, "HAMi");
}

TEST(who_was_annotated_stays_when_the_annotation_goes)
{
	struct build_pod pod = {.name = "a", .hami = HAMI_OF(1) ";", .told = {hami_id(0, 1)}};
	offer_hami();
	build_world_book(&world, "uid-a", "main", hami_id(0, 1));
	build_world_pod(&world, pod);
	publish();
	expect_tenants_of(1, "uid-a/main");
	/* No List is there that could say that it is complete. */
	build_world_fail_list(&world);
	pod.hami = "";
	build_world_pod(&world, pod);
	publish();
	const struct attribution_tenant *t = expect_tenant(build_world_status(&world, 1), "uid-a",
							   RUNNING, ANNOTATED);
	expect_texts(t->witnesses, "HAMi");
	expect_tenants_of(0, "uid-a/main");
	/* Nor is it withdrawn where only the API server speaks. */
	build_world_without_agent(&world);
	publish();
	expect_tenants_of(1, "uid-a/main");
	build_world_remove_pod(&world, "uid-a");
	publish();
	expect_tenants_of(1, "");
	expect_recent(build_world_status(&world, 1), "uid-a");
}

TEST(who_was_annotated_goes_when_complete_sources_lack_it)
{
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(0) ";"},
			hami_id(2, 0));
	expect_tenants(publish(), "uid-a/main");
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-a");
	expect_tenants_of(1, "uid-a/main");
}

TEST(a_pod_that_is_over_is_a_placeholder_for_nobody)
{
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .hami = HAMI_OF(0) ";",
						   .told = {hami_id(0, 0)},
						   .phase = POD_PHASE_FAILED});
	expect_tenants(publish(), "");
}

TEST(a_forged_annotation_creates_no_device)
{
	const struct build_pod pod = {.name = "a", .hami = HAMI_OF(7) ";", .told = {hami_id(0, 0)}};
	build_world_pod(&world, pod);
	build_world_without_agent(&world);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 1);
	assert_non_null(build_world_joined(&world, 0));
	build_world_report(&world);
	build_world_fail_nvml(&world);
	build_world_join(&world);
	assert_int_equal(world.result.n_devices, 1);
	assert_non_null(build_world_joined(&world, 0));
}

TESTS(set_up, tear_down)
