/* SPDX-License-Identifier: Apache-2.0 */

#include "join/witnesses.h"
#include "lib/build_world.h"
#include "lib/expect_status.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "join/tenants.h"
#include "join/votes.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define DISPUTED ATTRIBUTION_CONFIDENCE_DISPUTED
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

/* Time enough for what differs to count, and a heartbeat at its end. */
static const struct attribution_status *publish_later(void)
{
	publish();
	build_world_wait(&world, world.limits.disagreement_ms);
	world.input.report_age_ms = 0;
	return publish();
}

/* The kubelet's books give pod "a" device 0, and the pod's status names device 1. */
static void contradict(void)
{
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 1)}},
			build_world_uuid(&world, 0));
}

/* What each source is worth */

enum said { FAILED, NOTHING, HERE, THERE }; /* of the container of pod "a": on device 0, or 1 */

#define CHECKPOINT WITNESS_CHECKPOINT
#define LIST WITNESS_POD_RESOURCES
#define STATUS WITNESS_POD_STATUS
#define CLAIM WITNESS_RESOURCE_CLAIM
#define KAI WITNESS_KAI
#define BOOKS (CHECKPOINT | LIST)
#define ALL (BOOKS | STATUS)

static const struct worth {
	enum said checkpoint, list, status;
	bool are_claims_unknown;
	unsigned published;
	unsigned yes, no, left;
	enum arbitrate_row row;
} worths[] = {
	{HERE, HERE, HERE, false, 0, ALL, 0, 0, ARBITRATE_ROW_BY_UID},
	{HERE, HERE, NOTHING, false, ALL, BOOKS, 0, 0, ARBITRATE_ROW_BY_UID},
	{HERE, THERE, HERE, false, ALL, CHECKPOINT | STATUS, LIST, 0, ARBITRATE_ROW_NOT_LISTED},
	{THERE, THERE, HERE, false, ALL, STATUS, BOOKS, 0, ARBITRATE_ROW_CONTRADICTION},
	{NOTHING, HERE, NOTHING, false, LIST, LIST, CHECKPOINT, 0, ARBITRATE_ROW_LISTED_AGAINST_UID},
	{FAILED, HERE, NOTHING, false, LIST, LIST, 0, 0, ARBITRATE_ROW_LISTED},
	/* A checkpoint that cannot be read stays a witness of what it said. */
	{FAILED, HERE, NOTHING, false, ALL, BOOKS, 0, 0, ARBITRATE_ROW_BY_UID},
	/* What cannot be read says nothing. */
	{FAILED, FAILED, NOTHING, false, ALL, 0, 0, ALL, ARBITRATE_ROW_SILENCE},
	{FAILED, FAILED, THERE, false, ALL, 0, 0, BOOKS, ARBITRATE_ROW_SILENCE},
	{FAILED, THERE, NOTHING, false, ALL, 0, LIST, CHECKPOINT | STATUS, ARBITRATE_ROW_SILENCE},
	/* The checkpoint alone ends nobody while the List lacks a pod. */
	{NOTHING, NOTHING, NOTHING, false, ALL, 0, LIST, STATUS, ARBITRATE_ROW_SILENCE},
	{NOTHING, FAILED, NOTHING, false, ALL, 0, 0, LIST | STATUS, ARBITRATE_ROW_SILENCE},
	{THERE, THERE, NOTHING, false, ALL, 0, BOOKS, STATUS, ARBITRATE_ROW_GONE},
	/* The API server ends whom none but it ever named. */
	{FAILED, FAILED, THERE, false, STATUS, 0, STATUS, 0, ARBITRATE_ROW_GONE},
	{FAILED, FAILED, NOTHING, false, STATUS, 0, 0, STATUS, ARBITRATE_ROW_SILENCE},
	{FAILED, FAILED, NOTHING, false, CLAIM, 0, CLAIM, 0, ARBITRATE_ROW_GONE},
	{FAILED, FAILED, NOTHING, true, CLAIM, 0, 0, CLAIM, ARBITRATE_ROW_SILENCE},
	{THERE, THERE, NOTHING, true, CLAIM, 0, LIST, CLAIM, ARBITRATE_ROW_SILENCE},
	{FAILED, FAILED, NOTHING, false, KAI, 0, KAI, 0, ARBITRATE_ROW_ANNOTATED_AWAY},
	{FAILED, FAILED, NOTHING, false, LIST | KAI, 0, 0, LIST, ARBITRATE_ROW_SILENCE},
};

static void say(const struct worth *worth)
{
	const unsigned to_device[] = {[HERE] = 0, [THERE] = 1};
	struct build_pod pod = {.name = "a"};

	if (worth->status >= HERE)
		pod.told[0] = build_world_uuid(&world, to_device[worth->status]);
	build_world_pod(&world, pod);
	if (worth->checkpoint >= HERE)
		build_world_book(&world, "uid-a", "main",
				 build_world_uuid(&world, to_device[worth->checkpoint]));
	if (worth->list >= HERE)
		build_world_list(&world, "a", "main",
				 build_world_uuid(&world, to_device[worth->list]));
	if (worth->checkpoint == FAILED)
		build_world_fail_book(&world);
	if (worth->list == FAILED)
		build_world_fail_list(&world);
	world.input.grants_unknown = worth->are_claims_unknown;
}

static struct votes take_votes(const struct previous_tenant *previous, struct votes_holder *holder)
{
	static struct devices devices;
	static struct facts facts;
	struct debounce *debounce;
	struct error err;

	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	assert_int_equal(debounce_open(&world.input, 1, &world.arena, &debounce, &err), 0);
	*holder = (struct votes_holder){
		.facts = &facts,
		.pod_uid = VIEW("uid-a"),
		.container = VIEW("main"),
		.pod = node_pods_find_uid(&facts.node_pods, VIEW("uid-a")),
		.previous = previous,
		.holds_the_same = true,
	};
	holder->items = facts_of_holder(&facts, 0, holder->pod_uid, holder->container,
					&holder->n_items);
	return votes_take(holder, debounce);
}

static void each_source_is_worth_what_it_can_know(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(worths); i++) {
		const struct worth *worth = &worths[i];
		struct votes_holder holder;
		build_world_exclusive(&world, 0)->minor = -1;
		build_world_exclusive(&world, 1)->minor = -1;
		publish();
		say(worth);
		world.limits.disagreement_ms = 0;
		world.input.report_age_ms = 0;
		const struct attribution_tenant tenant = {.confidence = CONFIRMED};
		const struct previous_tenant previous = {&tenant, worth->published, 0, false};
		const struct votes votes = take_votes(worth->published ? &previous : NULL, &holder);
		const struct arbitrate_result result = votes_decide(&votes, votes.yes, votes.no);
		if (votes.yes != worth->yes || votes.no != worth->no || votes.left != worth->left ||
		    result.row != worth->row)
			fail_msg("%zu: yes %x no %x left %x row %u", i, votes.yes, votes.no,
				 votes.left, result.row);
		tear_down(state);
		set_up(state);
	}
}

/* What counts as a contradiction, and what is said of it */

static void a_pod_status_that_names_another_device_contradicts_the_books(void **state)
{
	(void)state;
	contradict();
	const struct attribution_status *status = publish_later();
	expect_disagreement(status, "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
	expect_tenant(status, "uid-a", RUNNING, DISPUTED);
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_FALSE, "SourceDisagreement");
	expect_condition(status, "Ready", CONDITION_FALSE, "SourceDisagreement");
	assert_true(status->source_disagreement.present);
	assert_true(ARRAY_AT(status->source_disagreement, struct attribution_disagreement, 0)
			    ->says.present);
	status = build_world_status(&world, 1);
	expect_disagreement(status, "uid-a/main Checkpoint=0 PodResources=0 PodStatus=1");
	expect_tenant(status, "uid-a", RUNNING, DISPUTED);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void a_list_that_names_another_device_contradicts_the_checkpoint(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "a", "main", build_world_uuid(&world, 1));
	const struct attribution_status *status = publish_later();
	expect_disagreement(status, "uid-a/main Checkpoint=1 PodResources=0");
	expect_tenant(status, "uid-a", RUNNING, DISPUTED);
	expect_disagreement(build_world_status(&world, 1),
			    "uid-a/main Checkpoint=0 PodResources=1");
}

/* One that names it not at all is waited for: it may be older than the container. */
static void witnesses_that_name_the_container_contradict_without_another_heartbeat(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_pod(&world, (struct build_pod){.name = "a"});
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "a", "main", build_world_uuid(&world, 1));
	build_world_wait(&world, world.limits.disagreement_ms);
	expect_disagreement(publish(), "uid-a/main Checkpoint=1 PodResources=0");
	expect_disagreement(build_world_status(&world, 1),
			    "uid-a/main Checkpoint=0 PodResources=1");
	assert_false(world.result.is_hearing_awaited);
}

static void a_list_that_has_the_pod_without_the_container_contradicts_it(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_run(&world, (struct build_pod){.name = "a", .second = "side"},
			build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-a", "side", build_world_replica(&world, 0, 1));
	expect_disagreement(publish_later(), "uid-a/side Checkpoint=1 PodResources=0");
}

static void witnesses_that_count_differently_on_one_device_disagree(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world,
			(struct build_pod){.name = "a",
					   .told = {build_world_replica(&world, 0, 0),
						    build_world_replica(&world, 0, 1)}},
			build_world_replica(&world, 0, 0));
	expect_disagreement(publish_later(), "uid-a/main Checkpoint=1 PodResources=1 PodStatus=2");
}

/* It may be another device that HAMi chose, so nothing about this one is contradicted. */
static void of_a_device_that_hami_need_not_have_meant_nothing_is_disputed(void **state)
{
	(void)state;
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	for (unsigned i = 0; i < 2; i++)
		build_world_offer(&world,
				  build_world_text(&world, "%s-0", build_world_uuid(&world, i).ptr));
	build_world_pod(&world, (struct build_pod){
					.name = "a",
					.told = {build_world_text(&world, "%s-0",
								  build_world_uuid(&world, 0).ptr)}});
	build_world_list(&world, "a", "main",
			 build_world_text(&world, "%s-0", build_world_uuid(&world, 1).ptr));
	const struct attribution_status *status = publish_later();
	const struct attribution_tenant *tenant = expect_tenant(
		status, "uid-a", RUNNING, ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
	expect_text(tenant->stand_in, "HAMi");
	expect_texts(tenant->witnesses, "PodStatus");
	expect_disagreement(status, "");
	expect_condition(status, "Attributed", CONDITION_FALSE, "StandIn");
}

static void witnesses_that_name_as_many_other_ids_disagree(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world,
			(struct build_pod){.name = "a", .told = {build_world_replica(&world, 0, 1)}},
			build_world_replica(&world, 0, 0));
	const struct attribution_status *status = publish_later();
	expect_disagreement(status, "uid-a/main Checkpoint=1 PodResources=1 PodStatus=1");
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, DISPUTED)->slots, 2);
	expect_condition(status, "Attributed", CONDITION_FALSE, "SourceDisagreement");
}

/* What that witness says of the only container about which there is a disagreement. */
static const struct attribution_statement *find_said(const struct attribution_status *status,
						     const char *witness)
{
	assert_int_equal(status->source_disagreement.count, 1);
	const struct array says =
		ARRAY_AT(status->source_disagreement, struct attribution_disagreement, 0)->says;
	for (uint32_t i = 0; i < says.count; i++) {
		const struct attribution_statement *said =
			ARRAY_AT(says, struct attribution_statement, i);
		if (view_equal(said->witness, view_from(witness)))
			return said;
	}
	fail_msg("%s says nothing", witness);
	return NULL;
}

static void each_witness_is_shown_with_the_ids_that_it_names(void **state)
{
	(void)state;
	static const struct {
		const char *witness, *ids;
		bool is_any;
	} rows[] = {
		{"Checkpoint", "MIG-00000000-0000-4000-8000-000000000001", true},
		{"PodResources", "MIG-00000000-0000-4000-8000-000000000000", true},
		{"PodStatus", "", false},
	};
	build_world_cut(&world, 0, 2);
	build_world_exclusive(&world, 1);
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 1)}});
	build_world_book(&world, "uid-a", "main", build_world_mig(&world, 0, 1));
	build_world_list(&world, "a", "main", build_world_mig(&world, 0, 0));
	const struct attribution_status *status = publish_later();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct attribution_statement *said = find_said(status, rows[i].witness);
		expect_texts(said->device_ids, rows[i].ids);
		assert_true(said->device_ids.present);
		assert_int_equal(said->device_ids.items != NULL, rows[i].is_any);
		assert_int_equal(said->device_ids_left_out, 0);
	}
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void ids_that_any_who_speaks_lacks_come_first(void **state)
{
	(void)state;
	static const struct {
		bool has_checkpoint;
		const char *witness;
	} rows[] = {{true, "PodStatus"}, {false, "PodStatus"}, {true, "PodResources"}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(NULL);
		set_up(NULL);
		build_world_shared(&world, 0, 2);
		const struct view first = build_world_replica(&world, 0, 0),
				  last = build_world_replica(&world, 0, 1);
		const bool is_status = view_equal(view_from(rows[i].witness), VIEW("PodStatus"));
		build_world_pod(&world, (struct build_pod){.name = "a", .told = {first, last}});
		build_world_list(&world, "a", "main", first);
		if (!is_status)
			build_world_list(&world, "a", "main", last);
		if (rows[i].has_checkpoint)
			build_world_book(&world, "uid-a", "main", first);
		else
			build_world_fail_book(&world);
		const struct array ids = find_said(publish_later(), rows[i].witness)->device_ids;
		assert_int_equal(ids.count, 2);
		assert_true(view_equal(*ARRAY_AT(ids, struct view, 0), last));
		assert_true(view_equal(*ARRAY_AT(ids, struct view, 1), first));
	}
}

static void ids_that_another_witness_lacks_come_first_and_those_beyond_the_bound_are_counted(
	void **state)
{
	(void)state;
	static const struct {
		uint32_t n, left_out;
	} rows[] = {{LIMIT_STATED_IDS, 0}, {LIMIT_STATED_IDS + 1, 1}, {LIMIT_STATED_IDS + 3, 3}};
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		tear_down(NULL);
		set_up(NULL);
		build_world_shared(&world, 0, rows[row].n);
		build_world_pod(&world, (struct build_pod){.name = "a"});
		/* The last one by its letters is the one that the checkpoint has alone. */
		for (uint32_t i = 0; i < rows[row].n; i++) {
			struct view id = build_world_replica(&world, 0, 10 + i);
			build_world_book(&world, "uid-a", "main", id);
			if (i + 1 < rows[row].n)
				build_world_list(&world, "a", "main", id);
		}
		const struct attribution_status *status = publish_later();
		const struct attribution_statement *said = find_said(status, "Checkpoint");
		assert_int_equal(said->slots, rows[row].n);
		assert_int_equal(said->device_ids.count, LIMIT_STATED_IDS);
		assert_int_equal(said->device_ids_left_out, rows[row].left_out);
		for (uint32_t i = 0; i < LIMIT_STATED_IDS; i++)
			assert_true(view_equal(*ARRAY_AT(said->device_ids, struct view, i),
					       build_world_replica(&world, 0,
								   i ? 9 + i
								     : 9 + rows[row].n)));
		said = find_said(status, "PodResources");
		assert_int_equal(said->device_ids.count + said->device_ids_left_out,
				 rows[row].n - 1);
		assert_true(view_equal(*ARRAY_AT(said->device_ids, struct view, 0),
				       build_world_replica(&world, 0, 10)));
	}
}

/* The checkpoint says "none" by its silence: no ID is one that all name. */
static void ids_keep_their_order_where_a_silent_witness_lacks_all(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .told = {build_world_replica(&world, 0, 0)}});
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 1));
	const struct attribution_status *status = publish_later();
	assert_int_equal(find_said(status, "Checkpoint")->slots, 0);
	const struct attribution_statement *said = find_said(status, "PodResources");
	assert_int_equal(said->device_ids.count, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(view_equal(*ARRAY_AT(said->device_ids, struct view, i),
				       build_world_replica(&world, 0, i)));
}

static void an_id_that_only_a_claim_gives_is_no_other_witnesses_to_name(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 4);
	build_world_run(&world,
			(struct build_pod){.name = "a", .told = {build_world_replica(&world, 0, 0)}},
			build_world_replica(&world, 0, 0));
	build_world_grant(&world, "uid-a", "main", 0);
	const struct attribution_status *status = publish_later();
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->slots, 2);
	expect_disagreement(status, "");
}

static void a_checkpoint_that_was_wiped_contradicts_those_that_remember(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}},
			build_world_uuid(&world, 0));
	expect_disagreement(publish_later(), "");
	build_world_book_nothing(&world);
	build_world_report(&world);
	expect_disagreement(publish(), "");
	expect_disagreement(publish_later(), "uid-a/main Checkpoint=0 PodResources=1 PodStatus=1");
}

static void a_difference_counts_when_the_report_has_stood_for_the_stated_time(void **state)
{
	(void)state;
	contradict();
	build_world_report(&world);
	const struct attribution_status *status = publish();
	expect_disagreement(status, "");
	expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(world.result.again_in_ms, world.limits.disagreement_ms);
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	assert_int_equal(build_world_count_writes(&world), 2);
}

static void a_pod_status_that_was_cut_contradicts_nobody(void **state)
{
	(void)state;
	for (int is_cut = 0; is_cut < 2; is_cut++) {
		tear_down(NULL);
		set_up(NULL);
		contradict();
		build_world_pod(&world, (struct build_pod){.name = "a",
							   .is_cut = is_cut,
							   .told = {build_world_uuid(&world, 1)}});
		const struct attribution_status *status = publish_later();
		expect_disagreement(status,
				    is_cut ? "" : "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
		expect_tenant(status, "uid-a", RUNNING, is_cut ? CONFIRMED : DISPUTED);
		/* What it does name, others do not. */
		expect_disagreement(build_world_status(&world, 1),
				    is_cut ? "uid-a/main Checkpoint=0 PodResources=0"
					   : "uid-a/main Checkpoint=0 PodResources=0 PodStatus=1");
	}
}

static void other_news_all_the_time_does_not_put_off_a_difference(void **state)
{
	(void)state;
	contradict();
	build_world_report(&world);
	expect_disagreement(publish(), "");
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	build_world_report(&world);
	expect_disagreement(publish(), "");
	assert_int_equal(world.result.again_in_ms, 1);
	build_world_wait(&world, 1);
	build_world_report(&world);
	expect_disagreement(publish(), "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
}

static void a_difference_that_was_gone_in_between_begins_anew(void **state)
{
	(void)state;
	contradict();
	publish();
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	publish();
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 1)}});
	publish();
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	expect_disagreement(publish(), "");
	build_world_wait(&world, 1);
	expect_disagreement(publish(), "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
}

static void each_device_pod_and_container_has_a_time_of_its_own(void **state)
{
	(void)state;
	static const char first[] = "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0";
	for (unsigned later = 0; later < 3; later++) {
		tear_down(NULL);
		set_up(NULL);
		build_world_shared(&world, 0, 2);
		build_world_exclusive(&world, 1);
		build_world_exclusive(&world, 2);
		struct build_pod a = {.name = "a",
				      .second = "side",
				      .told = {build_world_uuid(&world, 1)}};
		build_world_run(&world, a, build_world_replica(&world, 0, 0));
		build_world_wait(&world, world.limits.disagreement_ms - 1);
		if (later == 0) {
			a.told[1] = build_world_uuid(&world, 2);
		} else if (later == 1) {
			build_world_run(&world,
					(struct build_pod){.name = "b", .told = {a.told[0]}},
					build_world_replica(&world, 0, 1));
		} else {
			a.told_of_second[0] = a.told[0];
			build_world_book(&world, "uid-a", "side", build_world_replica(&world, 0, 1));
			build_world_list(&world, "a", "side", build_world_replica(&world, 0, 1));
		}
		build_world_pod(&world, a);
		build_world_wait(&world, 1);
		expect_disagreement(publish(), first);
		expect_disagreement(build_world_status(&world, 2), "");
		build_world_wait(&world, world.limits.disagreement_ms - 1);
		assert_true(build_world_count_writes(&world) > 0);
	}
}

/* Its time may have been stepped by hours: the tenant is of the future then. */
static void the_wall_clock_has_no_part_in_it(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	publish();
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	publish();
	world.input.now_wall_ms -= 3600000;
	expect_disagreement(publish_later(), "uid-a/main Checkpoint=0 PodStatus=1");
}

static void what_was_published_stays_while_new_reports_show_it_too(void **state)
{
	(void)state;
	contradict();
	publish_later();
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Another container is another matter. */
	build_world_shared(&world, 2, 2);
	build_world_book(&world, "uid-a", "side", build_world_replica(&world, 2, 0));
	build_world_publish(&world);
	expect_disagreement(build_world_status(&world, 2), "");
	expect_disagreement(publish(), "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
}

static void who_agree_again_are_believed_at_once(void **state)
{
	(void)state;
	contradict();
	publish_later();
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	const struct attribution_status *status = publish();
	expect_disagreement(status, "");
	const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_texts(t->witnesses, "Checkpoint,PodResources,PodStatus");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	expect_tenants(build_world_status(&world, 1), "");
}

static void a_restart_of_the_controller_does_not_settle_it(void **state)
{
	(void)state;
	contradict();
	publish_later();
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	expect_tenant(build_world_status(&world, 0), "uid-a", RUNNING, DISPUTED);
	expect_tenant(build_world_status(&world, 1), "uid-a", RUNNING, DISPUTED);
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void expect_harmony(void)
{
	const struct attribution_status *status = publish_later();
	expect_disagreement(status, "");
	assert_true(status->source_disagreement.present);
	assert_null(status->source_disagreement.items);
	assert_int_equal(status->source_disagreement_left_out, 0);
	for (uint32_t i = 0; i < status->tenants.count; i++)
		assert_int_not_equal(
			ARRAY_AT(status->tenants, struct attribution_tenant, i)->confidence,
			DISPUTED);
}

static void an_init_container_is_no_reason_for_an_alarm(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_run(&world,
			(struct build_pod){.name = "a",
					   .container = "init",
					   .second = "main",
					   .kind = POD_CONTAINER_INIT,
					   .told_of_second = {build_world_replica(&world, 0, 0)}},
			build_world_replica(&world, 0, 0));
	/* The main container got the device that the init container had. */
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 0));
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	expect_harmony();
	expect_tenants(build_world_status(&world, 0), "uid-a/init,uid-a/main");
}

static void a_container_that_may_be_an_init_container_is_no_reason_for_an_alarm(void **state)
{
	(void)state;
	for (int has_more = 0; has_more < 2; has_more++) {
		tear_down(NULL);
		set_up(NULL);
		build_world_shared(&world, 0, 2);
		build_world_run(&world, (struct build_pod){.name = "a", .has_more = has_more},
				build_world_replica(&world, 0, 0));
		build_world_book(&world, "uid-a", "x", build_world_replica(&world, 0, 1));
		expect_disagreement(publish_later(),
				    has_more ? "" : "uid-a/x Checkpoint=1 PodResources=0");
	}
}

static void a_sidecar_that_the_pod_status_leaves_out_is_no_reason_for_an_alarm(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_run(&world,
			(struct build_pod){.name = "a",
					   .container = "side",
					   .second = "main",
					   .kind = POD_CONTAINER_SIDECAR,
					   .told_of_second = {build_world_replica(&world, 0, 1)}},
			build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 1));
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 1));
	expect_harmony();
	expect_tenants(build_world_status(&world, 0), "uid-a/main,uid-a/side");
}

static void a_container_with_a_claim_is_no_reason_for_an_alarm(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_device(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "a",
					   .second = "claims",
					   .told = {build_world_uuid(&world, 0)}},
			build_world_uuid(&world, 0));
	build_world_grant(&world, "uid-a", "claims", 1);
	expect_harmony();
	expect_disagreement(build_world_status(&world, 1), "");
	expect_tenants(build_world_status(&world, 1), "uid-a/claims");
}

static void a_list_that_settles_is_no_reason_for_an_alarm(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	build_world_run(&world, (struct build_pod){.name = "b"}, build_world_uuid(&world, 1));
	/* It has pod a, without its device yet, and not pod b: it is not complete. */
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", VIEW(""))->device_ids.count = 0;
	world.report.kubelet_restarted_at = world.report.observed_at - 10;
	expect_harmony();
	/* It has them all: now its word counts. */
	build_world_list(&world, "b", "main", build_world_uuid(&world, 1));
	expect_disagreement(publish_later(), "uid-a/main Checkpoint=1 PodResources=0");
}

static void a_list_without_the_pod_is_no_reason_for_an_alarm(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a"}, build_world_uuid(&world, 0));
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", VIEW(""))->namespace = VIEW("other");
	expect_harmony();
}

/* It names the pod of that name before it, which had one of its IDs. */
static void a_dated_list_of_before_the_pod_contradicts_nothing(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "a", .started_at = world.input.listed_at + 5000},
			build_world_uuid(&world, 0));
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 1));
	world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
	expect_disagreement(publish_later(), "");
	expect_disagreement(build_world_status(&world, 1), "");
}

static void a_book_of_some_time_ago_does_not_speak_by_silence(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "a", .second = "side"},
			build_world_uuid(&world, 0));
	build_world_book_nothing(&world);
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
	expect_harmony();
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "side", VIEW(""))->device_ids.count = 0;
	world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
	expect_harmony();
}

/* The pod before it of that name had the device, by a checkpoint that cannot be read any more. */
static void a_list_that_may_mean_the_container_does_not_speak_by_silence(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 3);
	struct build_pod a = {.name = "a",
			      .hash = "c0ffee", /* a static pod is meant by no name */
			      .told = {build_world_replica(&world, 0, 0),
				       build_world_replica(&world, 0, 1)}};
	build_world_pod(&world, a);
	build_world_end(&world, "uid-b");
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
	const struct attribution_status *status;
	for (unsigned i = 0; i < 2; i++) {
		build_world_book_nothing(&world);
		build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, i));
		build_world_list_nothing(&world);
		build_world_list(&world, "a", "main", build_world_replica(&world, 0, i));
		status = publish_later();
		expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
		expect_disagreement(status, "");
		expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	}
	/* That it may mean somebody by another ID is no reason. */
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "side", VIEW(""))->device_ids.count = 0;
	build_world_pod(&world, (struct build_pod){.name = "c",
						   .started_at = world.input.listed_at});
	build_world_list(&world, "c", "main", build_world_replica(&world, 0, 2));
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, 2));
	status = publish_later();
	expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
	expect_disagreement(status, "uid-a/main PodResources=0 PodStatus=2");
}

static void a_node_without_an_agent_has_nobody_to_disagree(void **state)
{
	(void)state;
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	build_world_without_agent(&world);
	expect_harmony();
}

static void what_the_last_report_could_not_know_contradicts_nothing(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_wait(&world, world.limits.disagreement_ms);
	publish();
	/* The agent falls silent, and a pod comes. */
	build_world_pod(&world,
			(struct build_pod){.name = "a", .told = {build_world_uuid(&world, 0)}});
	expect_disagreement(publish(), "");
	assert_false(world.result.is_hearing_awaited);
	build_world_wait(&world, world.limits.disagreement_ms - 1);
	expect_disagreement(publish(), "");
	assert_int_equal(world.result.again_in_ms, 1);
	/* Only a heartbeat is waited for then, not the time. */
	build_world_wait(&world, 1);
	expect_disagreement(publish(), "");
	assert_true(world.result.is_hearing_awaited);
	assert_true(world.result.again_in_ms > world.limits.disagreement_ms);
	build_world_wait(&world, 5000);
	world.input.report_age_ms = 5001;
	expect_disagreement(publish(), "");
	/* It says the same as before: the kubelet knows nothing of the pod. */
	world.input.report_age_ms = 5000;
	expect_disagreement(publish(), "uid-a/main Checkpoint=0 PodStatus=1");
	assert_int_equal(build_world_count_writes(&world), 0);
	assert_false(world.result.is_hearing_awaited);
}

static void what_was_read_before_the_pod_began_contradicts_nothing(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .started_at = world.input.listed_at - 999,
						   .told = {build_world_uuid(&world, 0)}});
	/* The agent sends heartbeats, and does not read its sources anew. */
	expect_disagreement(publish_later(), "");
	assert_true(world.result.is_hearing_awaited);
	world.input.listed_at++;
	expect_disagreement(publish(), "uid-a/main Checkpoint=0 PodStatus=1");
}

static void without_a_list_nobody_waits_for_when_it_was_read(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a",
						   .started_at = world.input.listed_at - 999,
						   .told = {build_world_uuid(&world, 0)}});
	build_world_fail_list(&world);
	expect_disagreement(publish_later(), "uid-a/main Checkpoint=0 PodStatus=1");
}

static void who_names_another_device_contradicts_whenever_it_was_read(void **state)
{
	(void)state;
	build_world_exclusive(&world, 0);
	build_world_exclusive(&world, 1);
	build_world_run(&world,
			(struct build_pod){.name = "a",
					   .started_at = world.input.listed_at - 999,
					   .told = {build_world_uuid(&world, 1)}},
			build_world_uuid(&world, 0));
	expect_disagreement(publish_later(), "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
}

static void a_silent_agent_settles_no_disagreement_and_starts_none(void **state)
{
	(void)state;
	contradict();
	expect_disagreement(publish_later(), "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
	build_world_wait(&world, world.limits.report_stale_ms);
	expect_disagreement(publish(), "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
	assert_int_equal(build_world_count_writes(&world), 0);
}

static void an_agent_is_silent_from_the_stated_time_on(void **state)
{
	(void)state;
	static const char differ[] = "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0";
	for (int is_silent = 0; is_silent < 2; is_silent++) {
		tear_down(NULL);
		set_up(NULL);
		contradict();
		expect_disagreement(publish_later(), differ);
		build_world_wait(&world, world.limits.report_stale_ms - !is_silent);
		/* They agree, of which a silent agent can say nothing. */
		build_world_pod(&world, (struct build_pod){.name = "a",
							   .told = {build_world_uuid(&world, 0)}});
		expect_disagreement(publish(), is_silent ? differ : "");
	}
}

static void a_holder_that_the_api_does_not_know_is_not_compared(void **state)
{
	(void)state;
	build_world_shared(&world, 0, 2);
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-b", "main", build_world_replica(&world, 0, 1));
	build_world_list(&world, "b", "main", build_world_replica(&world, 0, 1));
	expect_harmony();
	expect_tenants(build_world_status(&world, 0), "uid-b/main");
}

static void those_beyond_the_bound_are_counted_and_disputed_too(void **state)
{
	(void)state;
	const unsigned n = LIMIT_SOURCE_DISAGREEMENT + 2;
	build_world_shared(&world, 0, n);
	build_world_device(&world, 1);
	for (unsigned i = 0; i < n; i++)
		build_world_run(&world,
				(struct build_pod){.name = build_world_text(&world, "p%02u", i).ptr,
						   .told = {build_world_uuid(&world, 1)}},
				build_world_replica(&world, 0, n - 1 - i));
	const struct attribution_status *status = publish_later();
	assert_int_equal(status->source_disagreement.count, LIMIT_SOURCE_DISAGREEMENT);
	assert_int_equal(status->source_disagreement_left_out, 2);
	expect_text(
		ARRAY_AT(status->source_disagreement, struct attribution_disagreement, 15)->pod_uid,
		"uid-p15");
	expect_tenant(status, "uid-p17", RUNNING, DISPUTED);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* A restart makes none of them new. */
	build_world_restart(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_report(&world);
	assert_int_equal(build_world_count_writes(&world), 0);
}

/* As another release may have written them. */
static void of_more_published_ones_than_the_bound_the_rest_is_counted(void **state)
{
	(void)state;
	const unsigned n = LIMIT_SOURCE_DISAGREEMENT + 1;
	struct attribution_disagreement before[LIMIT_SOURCE_DISAGREEMENT + 1];
	build_world_shared(&world, 0, n);
	build_world_device(&world, 1);
	for (unsigned i = 0; i < n; i++) {
		const char *name = build_world_text(&world, "p%02u", i).ptr;
		build_world_run(&world,
				(struct build_pod){.name = name, .told = {build_world_uuid(&world, 1)}},
				build_world_replica(&world, 0, i));
		before[i] = (struct attribution_disagreement){
			.pod_uid = build_world_text(&world, "uid-p%02u", i),
			.container = VIEW("main")};
	}
	publish_later();
	struct attribution object = *build_world_previous(&world, 0)->object;
	object.status.source_disagreement = (struct array){before, n, true};
	build_world_previous(&world, 0)->object = &object;
	build_world_restart(&world);
	const struct attribution_status *status = publish();
	assert_int_equal(status->source_disagreement.count, LIMIT_SOURCE_DISAGREEMENT);
	assert_int_equal(status->source_disagreement_left_out, 1);
}

static void who_is_carried_over_stays_disputed(void **state)
{
	(void)state;
	contradict();
	publish_later();
	build_world_fail_list(&world);
	build_world_fail_book(&world);
	const struct attribution_status *status = publish();
	expect_tenant(status, "uid-a", RUNNING, DISPUTED);
	expect_disagreement(status, "uid-a/main Checkpoint=1 PodResources=1 PodStatus=0");
	expect_condition(status, "Attributed", CONDITION_FALSE, "SourceDisagreement");
	assert_int_equal(build_world_count_writes(&world), 0);
	build_world_remove_pod(&world, "uid-a");
	expect_disagreement(publish(), "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(each_source_is_worth_what_it_can_know, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_pod_status_that_names_another_device_contradicts_the_books, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_pod_status_that_was_cut_contradicts_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(other_news_all_the_time_does_not_put_off_a_difference,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_difference_that_was_gone_in_between_begins_anew, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(each_device_pod_and_container_has_a_time_of_its_own, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_wall_clock_has_no_part_in_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_list_that_names_another_device_contradicts_the_checkpoint,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		witnesses_that_name_the_container_contradict_without_another_heartbeat, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_list_that_has_the_pod_without_the_container_contradicts_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(witnesses_that_count_differently_on_one_device_disagree,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		of_a_device_that_hami_need_not_have_meant_nothing_is_disputed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(witnesses_that_name_as_many_other_ids_disagree, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(each_witness_is_shown_with_the_ids_that_it_names, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(ids_that_any_who_speaks_lacks_come_first, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		ids_that_another_witness_lacks_come_first_and_those_beyond_the_bound_are_counted,
		set_up, tear_down),
	cmocka_unit_test_setup_teardown(ids_keep_their_order_where_a_silent_witness_lacks_all,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_id_that_only_a_claim_gives_is_no_other_witnesses_to_name,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_checkpoint_that_was_wiped_contradicts_those_that_remember,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_difference_counts_when_the_report_has_stood_for_the_stated_time, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(what_was_published_stays_while_new_reports_show_it_too,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_agree_again_are_believed_at_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_restart_of_the_controller_does_not_settle_it, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(an_init_container_is_no_reason_for_an_alarm, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_container_that_may_be_an_init_container_is_no_reason_for_an_alarm, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_sidecar_that_the_pod_status_leaves_out_is_no_reason_for_an_alarm, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(a_container_with_a_claim_is_no_reason_for_an_alarm, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_list_that_settles_is_no_reason_for_an_alarm, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_list_without_the_pod_is_no_reason_for_an_alarm, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_dated_list_of_before_the_pod_contradicts_nothing, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_book_of_some_time_ago_does_not_speak_by_silence, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		a_list_that_may_mean_the_container_does_not_speak_by_silence, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_node_without_an_agent_has_nobody_to_disagree, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_the_last_report_could_not_know_contradicts_nothing,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_was_read_before_the_pod_began_contradicts_nothing,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_a_list_nobody_waits_for_when_it_was_read, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		who_names_another_device_contradicts_whenever_it_was_read, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_silent_agent_settles_no_disagreement_and_starts_none,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(an_agent_is_silent_from_the_stated_time_on, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_holder_that_the_api_does_not_know_is_not_compared, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(those_beyond_the_bound_are_counted_and_disputed_too, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		of_more_published_ones_than_the_bound_the_rest_is_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(who_is_carried_over_stays_disputed, set_up, tear_down),
};

TEST_MAIN(tests)
