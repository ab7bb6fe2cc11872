/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "join/stand_in.h"

#define ANNOTATED ATTRIBUTION_CONFIDENCE_ANNOTATED
#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define UNCONFIRMED ATTRIBUTION_CONFIDENCE_UNCONFIRMED
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

static const struct attribution_status *publish(void)
{
	build_world_publish(&world);
	return build_world_status(&world, 0);
}

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

static void hamis_annotation_tells_the_device_that_was_given(void **state)
{
	(void)state;
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
	expect_text(t->stand_in, "");
	assert_int_equal(t->slots, 1);
	assert_false(t->system);
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

static void whoever_names_hamis_id_makes_its_holder_a_stand_in(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(witnesses); i++) {
		offer_hami();
		let_witness_name(i, "", hami_id(0, 1));
		const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING,
								   UNCONFIRMED);
		expect_text(t->stand_in, "HAMi");
		expect_texts(t->witnesses, witnesses[i]);
		expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_FALSE,
				 "StandIn");
		tear_down(NULL);
		set_up(NULL);
	}
}

/* It held some device, and maybe not this one. */
static void a_stand_in_of_hamis_is_not_remembered(void **state)
{
	(void)state;
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a"}, hami_id(0, 1));
	expect_tenants(publish(), "uid-a/main");
	build_world_remove_pod(&world, "uid-a");
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	expect_tenants(publish(), "");
	expect_recent(publish(), "");
}

static void whoever_names_hamis_id_lets_the_annotation_tell_the_device(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(witnesses); i++) {
		offer_hami();
		let_witness_name(i, HAMI_OF(1) ";", hami_id(0, 1));
		expect_tenants(publish(), "");
		const struct attribution_tenant *t = expect_tenant(build_world_status(&world, 1),
								   "uid-a", RUNNING, ANNOTATED);
		expect_texts(t->witnesses, "HAMi");
		assert_int_equal(t->slots, 1);
		tear_down(NULL);
		set_up(NULL);
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

static void each_part_of_hamis_annotation_is_one_containers(void **state)
{
	(void)state;
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
static void hamis_annotation_is_read_as_its_plugin_does_whichever_release_wrote_it(void **state)
{
	(void)state;
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
		tear_down(NULL);
		set_up(NULL);
		offer_hami();
		for (unsigned k = 0; k < 3 && rows[i].holders[k]; k++)
			build_world_book(&world, "uid-a", rows[i].holders[k], hami_id(2, k));
		expect_led((struct build_pod){.init = "init", .second = "side"}, rows[i].text,
			   rows[i].on);
	}
}

static void a_sidecars_part_of_hamis_annotation_comes_first(void **state)
{
	(void)state;
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
static void a_stand_in_leaves_when_the_annotation_tells_where_all_of_it_is(void **state)
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
		tear_down(state);
		set_up(state);
		offer_hami();
		build_world_pod(&world, (struct build_pod){.name = "a"});
		for (unsigned k = 0; k < 2; k++)
			build_world_book(&world, "uid-a", "main", hami_id(0, k));
		expect_text(expect_tenant(publish(), "uid-a", RUNNING, UNCONFIRMED)->stand_in, "HAMi");
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
static void whom_an_edited_annotation_leads_elsewhere_leaves(void **state)
{
	for (unsigned is_claim = 0; is_claim < 2; is_claim++) {
		tear_down(state);
		set_up(state);
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
static void a_stand_in_leaves_with_its_id_when_the_annotation_tells_of_others(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a"});
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
static void with_holders_unknown_hamis_annotation_is_read_by_position_or_not_at_all(void **state)
{
	(void)state;
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
static void an_id_whose_device_hamis_annotation_does_not_tell_stays_a_stand_in(void **state)
{
	(void)state;
	static const struct {
		const char *text, *on_0, *on_1; /* slots */
	} rows[] = {
		{HAMI_OF(1) HAMI_OF(7) ";", "1/3", "1/3"},
		{HAMI_OF(7) HAMI_OF(1) ";", "1/3", "1/3"},
		{HAMI_OF(0) HAMI_OF(7) ";", "2/3", "0/3"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(NULL);
		set_up(NULL);
		offer_hami();
		build_world_pod(&world, (struct build_pod){.name = "a", .hami = rows[i].text});
		for (unsigned k = 0; k < 2; k++)
			build_world_book(&world, "uid-a", "main", hami_id(0, k));
		const struct attribution_status *status = publish();
		expect_text(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->stand_in, "HAMi");
		expect_text(status->slots.summary, rows[i].on_0);
		expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
		status = build_world_status(&world, 1);
		expect_text(status->slots.summary, rows[i].on_1);
		if (status->tenants.count > 0)
			expect_text(expect_tenant(status, "uid-a", RUNNING, ANNOTATED)->stand_in,
				    "");
	}
}

static void who_has_a_device_by_another_plugin_too_is_a_stand_in_there_all_the_same(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-a", "main", hami_id(0, 1));
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 0))->resource =
		VIEW("nvidia.com/gpu.shared");
	build_world_book(&world, "uid-a", "side", build_world_replica(&world, 0, 1))->resource =
		VIEW("nvidia.com/gpu.shared");
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-a/side");
	expect_text(attribution_find_tenant(status, VIEW("uid-a"), VIEW("main"))->stand_in, "HAMi");
	expect_text(attribution_find_tenant(status, VIEW("uid-a"), VIEW("side"))->stand_in, "");
}

static void hamis_annotation_leads_to_no_more_devices_than_there_are_ids(void **state)
{
	(void)state;
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

/* What it names that is no device of the node takes the place of none that is. */
static void hamis_annotation_leads_to_known_devices_only(void **state)
{
	(void)state;
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(7) HAMI_OF(1) ";"},
			hami_id(0, 0));
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_tenants(publish(), "");
	expect_tenants_of(1, "uid-a/main");
	expect_unplaced(build_world_status(&world, 1), "");
}

static void an_annotation_that_names_no_known_device_leaves_the_stand_in_where_it_is(void **state)
{
	(void)state;
	static const char *const texts[] = {";", "nonsense", HAMI_OF(7) ";",
					    HAMI_OF(1) ";" HAMI_OF(2) ";"};
	offer_hami();
	build_world_book(&world, "uid-a", "main", hami_id(0, 1));
	build_world_wait(&world, world.limits.disagreement_ms);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		build_world_pod(&world, (struct build_pod){.name = "a", .hami = texts[i]});
		const struct attribution_status *status = publish();
		expect_text(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->stand_in, "HAMi");
		expect_texts(expect_tenant(status, "uid-a", RUNNING, UNCONFIRMED)->witnesses,
			     "Checkpoint");
		expect_text(status->slots.summary, "1/3");
		expect_unplaced(status, "");
		expect_tenants_of(1, "");
	}
}

static void an_annotation_of_a_pod_without_hamis_ids_says_nothing(void **state)
{
	(void)state;
	static const char *const texts[] = {HAMI_OF(0) ";", HAMI_OF(1) HAMI_OF(0) ";",
					    HAMI_OF(7) ";", "nonsense"};
	build_world_shared(&world, 0, 2);
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_replica(&world, 0, 0));
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
static void hamis_annotation_places_an_id_of_no_known_device(void **state)
{
	(void)state;
	offer_hami();
	build_world_run(&world, (struct build_pod){.name = "a", .hami = HAMI_OF(1) ";"},
			hami_id(7, 0));
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(), "");
	expect_tenants_of(1, "uid-a/main");
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_unplaced(publish(), "uid-a/main GPU-00000007-0000-4000-8000-0123456789ab-0");
}

/* A card has come from another node, whose last report may be true as yet. */
static void hamis_annotation_leads_to_no_device_that_another_node_may_have(void **state)
{
	(void)state;
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
	expect_text(t->stand_in, "HAMi");
	expect_tenants_of(1, "");
	build_world_previous(&world, 1)->claimed_age_ms = world.limits.report_stale_ms;
	expect_tenants(publish(), "");
	expect_tenants_of(1, "uid-a/main");
}

static void a_process_confirms_what_an_annotation_says_and_stays_true(void **state)
{
	(void)state;
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

static void what_the_books_said_of_a_stand_in_does_not_confirm_the_annotation(void **state)
{
	(void)state;
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

static void who_was_annotated_stays_when_the_annotation_goes(void **state)
{
	(void)state;
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

static void who_was_annotated_goes_when_complete_books_lack_it(void **state)
{
	(void)state;
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

static void a_pod_that_is_over_stands_in_for_nobody(void **state)
{
	(void)state;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .hami = HAMI_OF(0) ";",
						   .told = {hami_id(0, 0)},
						   .phase = POD_PHASE_FAILED});
	expect_tenants(publish(), "");
}

static void a_forged_annotation_creates_no_device(void **state)
{
	(void)state;
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

/* KAI's reservation holds device 0. */
static void reserve(const char *group)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = group},
			build_world_uuid(&world, 0));
}

static void the_pods_of_a_reservations_group_are_on_its_device(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	build_world_pod(&world, (struct build_pod){.name = "b", .kai_group = "g1"});
	build_world_pod(&world, (struct build_pod){.name = "c", .kai_group = "g2"});
	build_world_pod(
		&world,
		(struct build_pod){.name = "d", .kai_group = "g1", .phase = POD_PHASE_SUCCEEDED});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-b/main,uid-r/main");
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, ANNOTATED);
	expect_texts(t->witnesses, "KAI");
	assert_int_equal(t->slots, 0);
	assert_false(t->system);
	t = expect_tenant(status, "uid-r", RUNNING, CONFIRMED);
	expect_text(t->stand_in, "");
	assert_true(t->system);
	assert_int_equal(t->slots, 1);
	assert_int_equal(status->tenant_count, 2);
	expect_text(status->tenant_summary, "ml/a +1");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_tenants(build_world_status(&world, 1), "");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_sharer_of_a_reservation_is_confirmed_by_its_process(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	build_world_process(&world, 0, 1, "uid-a");
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "KAI,Processes");
}

static void a_reservation_without_known_sharers_is_a_stand_in(void **state)
{
	(void)state;
	reserve("g1");
	/* Itself, and another reservation, are no sharers. */
	build_world_pod(&world,
			(struct build_pod){.name = "s", .kai_group = "g1", .reservation = true});
	const struct attribution_status *status = publish();
	const struct attribution_tenant *t = expect_tenant(status, "uid-r", RUNNING, CONFIRMED);
	expect_text(t->stand_in, "KAI");
	assert_false(t->system);
	assert_int_equal(status->tenant_count, 1);
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
	expect_text(attribution_find_condition(status, VIEW("Attributed"))->message,
		    "1 slot is held by a stand-in for pods that could not be told");
	expect_condition(status, "Ready", CONDITION_FALSE, "Unresolved");
}

static void a_reservation_that_no_witness_has_yet_is_placed_by_its_annotation(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){
					.name = "r",
					.reservation = true,
					.kai_group = "g1",
					.kai_device = "GPU-00000000-0000-4000-8000-0123456789ab"});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "uid-a/main");
	/* A witness knows better. */
	build_world_exclusive(&world, 1);
	build_world_book(&world, "uid-r", "main", build_world_uuid(&world, 1));
	build_world_list(&world, "r", "main", build_world_uuid(&world, 1));
	expect_tenants(publish(), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/main,uid-r/main");
}

/* It may be a while until a kubelet's book tells of it again, and until it writes its annotation. */
static void while_no_book_can_be_read_a_reservation_is_where_it_was_published(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "uid-a/main,uid-r/main");
	build_world_restart(&world);
	expect_tenants(publish(), "uid-a/main,uid-r/main");
	expect_tenants(build_world_status(&world, 1), "");
	/* Books of which none can be short do not have it. */
	build_world_report(&world);
	build_world_list_nothing(&world);
	build_world_book_nothing(&world);
	build_world_pod(&world, (struct build_pod){.name = "r",
						   .reservation = true,
						   .kai_group = "g1",
						   .wants_no_gpu = true});
	build_world_pod(&world,
			(struct build_pod){.name = "a", .kai_group = "g1", .wants_no_gpu = true});
	expect_tenants(publish(), "");
}

static void a_reservation_stays_where_it_is_beside_whoever_holds_another_device(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_uuid(&world, 0));
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g1"},
			build_world_uuid(&world, 1));
	build_world_pod(&world, (struct build_pod){.name = "z", .kai_group = "g1"});
	publish();
	build_world_restart(&world);
	publish();
	expect_tenants_of(0, "uid-b/main");
	expect_tenants_of(1, "uid-r/main,uid-z/main");
}

static void without_one_of_the_books_a_reservation_is_where_it_was_published(void **state)
{
	(void)state;
	void (*const fail[])(struct build_world *) = {build_world_fail_list, build_world_fail_book};

	for (size_t i = 0; i < ARRAY_SIZE(fail); i++) {
		tear_down(state);
		set_up(state);
		reserve("g1");
		build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
		publish();
		build_world_list_nothing(&world);
		build_world_book_nothing(&world);
		fail[i](&world);
		expect_tenants(publish(), "uid-a/main,uid-r/main");
		expect_tenants(build_world_status(&world, 1), "");
	}
}

static void a_reservation_of_no_known_device_places_nobody(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "r",
						   .reservation = true,
						   .kai_group = "g1",
						   .kai_device = "GPU-7"});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "");
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g1"},
			VIEW("no device"));
	expect_tenants(publish(), "");
}

static void of_a_reservation_without_a_known_device_nothing_is_noted(void **state)
{
	(void)state;
	struct devices devices;
	struct facts facts;
	struct error err;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "r",
						   .reservation = true,
						   .kai_group = "g1",
						   .kai_device = "GPU-7"});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(facts_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	assert_int_equal(facts.n_items, 0);
}

static void a_sharer_that_leaves_its_group_leaves_the_device(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	publish();
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g2"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-r/main");
	expect_recent(status, "uid-a");
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
}

static void a_sharer_is_named_by_its_first_main_container(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .kai_group = "g1",
						   .container = "init",
						   .second = "work",
						   .kind = POD_CONTAINER_INIT});
	build_world_pod(&world, (struct build_pod){.name = "b",
						   .kai_group = "g1",
						   .container = "init",
						   .kind = POD_CONTAINER_INIT});
	expect_tenants(publish(), "uid-a/work,uid-b/,uid-r/main");
}

static void a_sharer_is_named_by_the_container_that_kais_annotation_names(void **state)
{
	(void)state;
	static const struct {
		const char *named, *tenants;
	} rows[] = {
		{"train", "uid-a/train,uid-r/main"},
		{"init", "uid-a/init,uid-r/main"},
		/* None of the pod's: it says nothing. */
		{"gone", "uid-a/train,uid-r/main"},
		{"", "uid-a/train,uid-r/main"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(NULL);
		set_up(NULL);
		reserve("g1");
		build_world_pod(&world, (struct build_pod){.name = "a",
							   .kai_group = "g1",
							   .kai_container = rows[i].named,
							   .container = "init",
							   .second = "train",
							   .kind = POD_CONTAINER_INIT});
		expect_tenants(publish(), rows[i].tenants);
	}
	tear_down(NULL);
	set_up(NULL);
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .kai_group = "g1",
						   .kai_container = "train",
						   .container = "proxy",
						   .second = "train"});
	expect_tenants(publish(), "uid-a/train,uid-r/main");
}

static void an_ephemeral_container_shares_nothing_whatever_names_it(void **state)
{
	(void)state;
	reserve("g1");
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .kai_group = "g1",
						   .kai_container = "debugger",
						   .container = "debugger",
						   .kind = POD_CONTAINER_EPHEMERAL,
						   .second = "train"});
	expect_tenants(publish(), "uid-a/train,uid-r/main");
}

static void a_pod_that_shares_several_devices_is_on_each(void **state)
{
	(void)state;
	reserve("g1");
	build_world_run(&world,
			(struct build_pod){.name = "s", .reservation = true, .kai_group = "g2"},
			build_world_uuid(&world, 1));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_groups = {"g1", "g2"}});
	build_world_pod(&world, (struct build_pod){.name = "b", .kai_groups = {"g2", "g3"}});
	build_world_pod(&world, (struct build_pod){.name = "c", .kai_group = "g1"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main,uid-c/main,uid-r/main");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_tenants_of(1, "uid-a/main,uid-b/main,uid-s/main");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_reservation_of_no_group_shares_with_nobody(void **state)
{
	(void)state;
	reserve("");
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_pod(&world, (struct build_pod){.name = "b"});
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-r/main");
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
}

static void of_two_devices_a_reservations_sharers_are_on_the_first(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		build_world_exclusive(&world, 0);
		build_world_exclusive(&world, 1);
		build_world_pod(
			&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g"});
		build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g"});
		build_world_book(&world, "uid-r", "main", build_world_uuid(&world, i));
		build_world_book(&world, "uid-r", "main", build_world_uuid(&world, 1 - i));
		expect_tenants(publish(), "uid-a/main,uid-r/main");
		expect_tenants(build_world_status(&world, 1), "uid-r/main");
		build_world_deinit(&world);
		build_world_init(&world);
	}
}

static void what_other_pods_hold_does_not_place_a_reservations_sharers(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "x"}, build_world_uuid(&world, 0));
	build_world_run(&world,
			(struct build_pod){.name = "r", .reservation = true, .kai_group = "g1"},
			build_world_uuid(&world, 1));
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "uid-x/main");
	expect_tenants_of(1, "uid-a/main,uid-r/main");
}

static void a_reservation_that_is_over_places_nobody(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world,
			(struct build_pod){.name = "r",
					   .reservation = true,
					   .kai_group = "g1",
					   .kai_device = "GPU-00000000-0000-4000-8000-0123456789ab",
					   .phase = POD_PHASE_FAILED});
	build_world_pod(&world, (struct build_pod){.name = "a", .kai_group = "g1"});
	expect_tenants(publish(), "");
}

/* A ledger has no room but what is asked for. */
static void room_is_asked_for_all_that_the_texts_can_name_and_no_more(void **state)
{
	(void)state;
	static const struct {
		struct build_pod pods[4];
		size_t n;
	} rows[] = {
		{{{.name = "a"}}, 0},
		{{{.name = "a", .hami = "x"}}, 1},
		{{{.name = "a", .hami = HAMI_OF(0) "x"}}, 2},
		{{{.name = "a", .hami = "x;x"}}, 2},
		{{{.name = "a", .hami = ":;x"}, {.name = "b", .hami = "x;x"}}, 5},
		{{{.name = "a", .kai_group = "g"}, {.name = "b", .kai_group = "g"}}, 0},
		{{{.name = "r", .kai_group = "g", .reservation = true}}, 0},
		{{{.name = "r", .kai_group = "g", .reservation = true},
		  {.name = "a", .kai_group = "g"},
		  {.name = "b", .kai_group = "h"},
		  {.name = "c"}},
		 2},
		{{{.name = "r", .kai_group = "g", .reservation = true},
		  {.name = "a", .kai_groups = {"g", "h"}},
		  {.name = "b", .kai_group = "h"}},
		 2},
		{{{.name = "r", .kai_group = "g", .reservation = true},
		  {.name = "s", .kai_group = "g", .reservation = true},
		  {.name = "a", .kai_group = "g"},
		  {.name = "b", .hami = "x"}},
		 3},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct node_pods node_pods;
		struct error err;
		for (size_t k = 0; k < 4 && rows[i].pods[k].name; k++)
			build_world_pod(&world, rows[i].pods[k]);
		assert_int_equal(node_pods_take(&world.input, &world.arena, &node_pods, &err), 0);
		assert_int_equal(stand_in_count(&node_pods), rows[i].n);
		tear_down(NULL);
		set_up(NULL);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(hamis_annotation_tells_the_device_that_was_given, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(whoever_names_hamis_id_makes_its_holder_a_stand_in, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_stand_in_of_hamis_is_not_remembered, set_up, tear_down),
	cmocka_unit_test_setup_teardown(whoever_names_hamis_id_lets_the_annotation_tell_the_device,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(each_part_of_hamis_annotation_is_one_containers, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		hamis_annotation_is_read_as_its_plugin_does_whichever_release_wrote_it, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_sidecars_part_of_hamis_annotation_comes_first, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_stand_in_leaves_when_the_annotation_tells_where_all_of_it_is, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_stand_in_leaves_with_its_id_when_the_annotation_tells_of_others, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		whom_an_edited_annotation_leads_elsewhere_leaves, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		with_holders_unknown_hamis_annotation_is_read_by_position_or_not_at_all, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		an_id_whose_device_hamis_annotation_does_not_tell_stays_a_stand_in, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		who_has_a_device_by_another_plugin_too_is_a_stand_in_there_all_the_same, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		hamis_annotation_leads_to_no_more_devices_than_there_are_ids, set_up, tear_down),
	cmocka_unit_test_setup_teardown(hamis_annotation_leads_to_known_devices_only, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		an_annotation_that_names_no_known_device_leaves_the_stand_in_where_it_is, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(an_annotation_of_a_pod_without_hamis_ids_says_nothing,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(hamis_annotation_places_an_id_of_no_known_device, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		hamis_annotation_leads_to_no_device_that_another_node_may_have, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_process_confirms_what_an_annotation_says_and_stays_true,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_books_said_of_a_stand_in_does_not_confirm_the_annotation, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(who_was_annotated_stays_when_the_annotation_goes, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(who_was_annotated_goes_when_complete_books_lack_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_is_over_stands_in_for_nobody, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_forged_annotation_creates_no_device, set_up, tear_down),
	cmocka_unit_test_setup_teardown(the_pods_of_a_reservations_group_are_on_its_device, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_sharer_of_a_reservation_is_confirmed_by_its_process,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_reservation_without_known_sharers_is_a_stand_in, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_reservation_that_no_witness_has_yet_is_placed_by_its_annotation, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		while_no_book_can_be_read_a_reservation_is_where_it_was_published, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		without_one_of_the_books_a_reservation_is_where_it_was_published, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_reservation_stays_where_it_is_beside_whoever_holds_another_device, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_reservation_of_no_known_device_places_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(of_a_reservation_without_a_known_device_nothing_is_noted,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_sharer_that_leaves_its_group_leaves_the_device, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_sharer_is_named_by_its_first_main_container, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_sharer_is_named_by_the_container_that_kais_annotation_names, set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_ephemeral_container_shares_nothing_whatever_names_it,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pod_that_shares_several_devices_is_on_each, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_reservation_of_no_group_shares_with_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(of_two_devices_a_reservations_sharers_are_on_the_first,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_other_pods_hold_does_not_place_a_reservations_sharers,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_reservation_that_is_over_places_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(room_is_asked_for_all_that_the_texts_can_name_and_no_more,
					set_up, tear_down),
};

TEST_MAIN(tests)
