/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"
#include "join/witnesses.h"

#include "base/limits.h"
#include "join/facts.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define NAME_ONLY ATTRIBUTION_CONFIDENCE_NAME_ONLY
#define RUNNING ATTRIBUTION_PHASE_RUNNING
#define PENDING ATTRIBUTION_PHASE_PENDING

static void date_list(void)
{
	world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
}

static void date_book(void)
{
	world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
}

static void lose_book(void)
{
	build_world_fail_book(&world);
}

/* The pod "web" that was, with what both books say of it, and the one of the same name that is. */
static void follow(struct build_pod new)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world, (struct build_pod){.name = "web", .uid = "uid-old"},
			build_world_uuid(&world, 0));
	publish();
	build_world_remove_pod(&world, "uid-old");
	new.name = "web";
	new.uid = "uid-new";
	build_world_pod(&world, new);
}

TEST(a_list_without_a_checkpoint_does_not_name_the_successor_before_it_ran)
{
	follow((struct build_pod){.is_unseen = true});
	build_world_fail_book(&world);
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_recent(status, "uid-old");
	expect_text(status->slots.summary, "0/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Once it runs the kubelet has it, and so the List means it. */
	build_world_pod(&world, (struct build_pod){.name = "web", .uid = "uid-new"});
	expect_tenant(publish(), "uid-new", RUNNING, NAME_ONLY);
	/* A crash does not take that back. */
	build_world_pod(&world, (struct build_pod){.name = "web",
						   .uid = "uid-new",
						   .state = POD_CONTAINER_WAITING});
	expect_tenant(publish(), "uid-new", ATTRIBUTION_PHASE_STARTING, NAME_ONLY);
}

/* The API server still shows the old pod, or none; the kubelet already has the new one. That a
 * checkpoint is old does not tell that its unknown pod has gone. */
TEST(an_unknown_uid_wins_over_the_name_of_another_pod)
{
	static const struct {
		struct build_pod pod;
		bool is_book_dated;
	} rows[] = {
		{{.deleting = true}, false},
		{{.name = "other"}, false},
		{{.state = POD_CONTAINER_RUNNING}, true},
		{{.state = POD_CONTAINER_WAITING}, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct build_pod pod = rows[i].pod;
		pod.name = pod.name ? pod.name : "web";
		build_world_exclusive(&world, 0);
		build_world_pod(&world, pod);
		build_world_list(&world, "web", "main", build_world_uuid(&world, 0));
		build_world_book(&world, "uid-new", "main", build_world_uuid(&world, 0));
		if (rows[i].is_book_dated)
			date_book();
		const struct attribution_status *status = publish();
		expect_tenants(status, "uid-new/main");
		expect_tenant(status, "uid-new", PENDING, ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
		start_anew();
	}
}

/* It started in the second of the List; or before, but that was told after the List had come, and
 * the node's clock may have been set back between. */
TEST(a_list_that_may_be_older_than_the_successor_may_mean_either)
{
	static const struct {
		int64_t started_before_ms;
		bool is_told_later;
		void (*lose)(void);
	} rows[] = {
		{0, false, lose_book}, {0, false, date_book}, {3600000, true, lose_book}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		follow((struct build_pod){.started_at = world.input.listed_at -
							rows[i].started_before_ms});
		rows[i].lose();
		world.input.told_later = world.input.pods;
		world.input.n_told_later = rows[i].is_told_later ? world.input.n_pods : 0;
		const struct attribution_status *status = publish();
		expect_tenants(status, "");
		expect_text(status->slots.summary, "1/1");
		expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
		assert_true(world.result.recall.is_hearing_awaited);
		world.input.listed_at += 1000;
		world.input.n_told_later = 0;
		expect_tenant(publish(), "uid-new", RUNNING, NAME_ONLY);
		assert_false(world.result.recall.is_hearing_awaited);
		start_anew();
	}
}

/* Nor does it matter then that the node's clock is set back. */
TEST(an_old_list_keeps_whom_a_good_one_named)
{
	build_world_exclusive(&world, 0);
	world_pod("a");
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	build_world_fail_book(&world);
	expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
	world.input.listed_at -= 7200000;
	expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
	assert_int_equal(build_world_count_writes(&world), 0);
	date_list();
	expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
}

TEST(an_id_of_a_living_pods_entry_does_not_speak_for_an_unknown_one)
{
	build_world_exclusive(&world, 0);
	world_pod("b");
	build_world_book(&world, "uid-b", "main", build_world_uuid(&world, 0));
	build_world_book(&world, "uid-lost", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "gone", "main", build_world_uuid(&world, 0));
	expect_tenants(publish(), "uid-b/main");
}

TEST(an_ended_uid_explains_a_name_until_the_successor_runs)
{
	follow((struct build_pod){.is_unseen = true});
	expect_tenants(publish(), "");
	/* It runs, and the checkpoint has it elsewhere: the List lags behind. */
	build_world_pod(&world, (struct build_pod){.name = "web", .uid = "uid-new"});
	build_world_book(&world, "uid-new", "main", VIEW("another device"));
	expect_tenants(publish(), "");
	/* The checkpoint has nothing of it: the report is older than the pod. */
	world.report.checkpoint.entries.count = 1;
	expect_tenants(publish(), "");
	expect_condition(build_world_status(&world, 0), "Attributed", CONDITION_TRUE, "AllResolved");
	/* Unless it is the checkpoint that is: then the name tells. */
	date_book();
	expect_tenant(publish(), "uid-new", RUNNING, NAME_ONLY);
}

/* An old kubelet lists it for a while. */
TEST(an_ended_uid_in_an_old_checkpoint_explains_a_name_that_no_pod_has_yet)
{
	build_world_exclusive(&world, 0);
	build_world_list(&world, "gone", "main", build_world_uuid(&world, 0));
	build_world_book(&world, "uid-gone", "main", build_world_uuid(&world, 0));
	build_world_end(&world, "uid-gone");
	date_book();
	expect_text(publish()->slots.summary, "0/1");
	/* Nor is it one that the kubelet has not taken over yet. */
	build_world_pod(&world, (struct build_pod){.name = "gone",
						   .uid = "uid-new",
						   .is_unseen = true});
	expect_text(publish()->slots.summary, "0/1");
	build_world_pod(&world, (struct build_pod){.name = "gone", .uid = "uid-new"});
	expect_text(publish()->slots.summary, "1/1");
}

TEST(a_live_uid_explains_a_name_that_no_pod_has)
{
	build_world_exclusive(&world, 0);
	world_pod("new");
	build_world_book(&world, "uid-new", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "old", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-new/main");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
}

TEST(books_that_name_two_living_pods_show_both)
{
	build_world_exclusive(&world, 0);
	world_pod("a");
	world_pod("b");
	build_world_book(&world, "uid-a", "main", build_world_uuid(&world, 0));
	build_world_list(&world, "b", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	expect_tenant(status, "uid-a", RUNNING, CONFIRMED);
	expect_tenant(status, "uid-b", RUNNING, NAME_ONLY);
	expect_text(status->slots.summary, "1/1");
}

/* The pod before it of that name may have had the same ID. */
TEST(an_old_list_of_before_a_pod_is_no_witness_of_it)
{
	const struct {
		struct build_pod pod;
		const char *witnesses;
		bool is_told_later;
	} rows[] = {
		{{.name = "a", .started_at = world.input.listed_at - 1000},
		 "Checkpoint,PodResources"},
		{{.name = "a", .started_at = world.input.listed_at - 1000}, "Checkpoint", true},
		{{.name = "a", .started_at = world.input.listed_at - 999}, "Checkpoint"},
		{{.name = "a", .started_at = world.input.listed_at + 5000}, "Checkpoint"},
		{{.name = "a", .is_unseen = true}, "Checkpoint"},
	};
	build_world_exclusive(&world, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_list_nothing(&world);
		build_world_book_nothing(&world);
		build_world_run(&world, rows[i].pod, build_world_uuid(&world, 0));
		date_list();
		world.input.told_later = world.input.pods;
		world.input.n_told_later = rows[i].is_told_later ? world.input.n_pods : 0;
		build_world_join(&world);
		const struct attribution_status *status = build_world_status(&world, 0);
		assert_int_equal(status->tenants.count, 1);
		expect_texts(ARRAY_AT(status->tenants, struct attribution_tenant, 0)->witnesses,
			     rows[i].witnesses);
	}
}

TEST(an_old_list_names_nobody_new)
{
	build_world_exclusive(&world, 0);
	world_pod("a");
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	build_world_fail_book(&world);
	date_list();
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "1/1");
	expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
	assert_int_equal(build_world_count_writes(&world), 0);
}

TEST(a_list_names_a_pod_if_it_was_read_after_the_second_in_which_the_pod_started)
{
	static const struct {
		int64_t started_before_ms;
		bool is_named;
	} rows[] = {{-5000, false}, {0, false}, {999, false}, {1000, true}, {5000, true}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_exclusive(&world, 0);
		build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
		build_world_fail_book(&world);
		build_world_pod(&world, (struct build_pod){.name = "a",
							   .started_at = world.input.listed_at -
									 rows[i].started_before_ms});
		const struct attribution_status *status = publish();
		expect_text(status->slots.summary, "1/1");
		assert_int_equal(world.result.recall.is_hearing_awaited, !rows[i].is_named);
		if (rows[i].is_named) {
			expect_tenant(status, "uid-a", RUNNING, NAME_ONLY);
			expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
		} else {
			expect_tenants(status, "");
			expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
			/* A heartbeat says that it was read again, with the same content. */
			world.input.listed_at += 6000;
			expect_tenant(publish(), "uid-a", RUNNING, NAME_ONLY);
			assert_false(world.result.recall.is_hearing_awaited);
		}
		start_anew();
	}
}

TEST(a_list_does_not_name_a_pod_that_the_kubelet_has_not_told_of)
{
	build_world_exclusive(&world, 0);
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	build_world_fail_book(&world);
	build_world_pod(&world, (struct build_pod){.name = "a", .is_unseen = true});
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "1/1");
	/* The pod's status will say when it started, no heartbeat does. */
	assert_false(world.result.recall.is_hearing_awaited);
	/* It need not run: images take their time. */
	build_world_pod(&world,
			(struct build_pod){.name = "a", .state = POD_CONTAINER_WAITING});
	expect_tenant(publish(), "uid-a", ATTRIBUTION_PHASE_STARTING, NAME_ONLY);
}

TEST(whom_the_checkpoint_tells_waits_for_no_later_list)
{
	build_world_exclusive(&world, 0);
	build_world_run(&world,
			(struct build_pod){.name = "a", .started_at = world.input.listed_at},
			build_world_uuid(&world, 0));
	expect_texts(expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED)->witnesses,
		     "Checkpoint,PodResources");
	assert_false(world.result.recall.is_hearing_awaited);
	build_world_pod(&world, (struct build_pod){.name = "a", .is_unseen = true});
	expect_tenant(publish(), "uid-a", ATTRIBUTION_PHASE_STARTING, CONFIRMED);
}

TEST(a_name_alone_does_not_tell_a_static_pod_from_the_one_before)
{
	static const struct {
		const char *hash, *tenants, *reason;
	} rows[] = {{"h", "", "PodUnknown"}, {"", "uid-a/main", "AllResolved"}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		build_world_shared(&world, 0, 4);
		build_world_pod(&world, (struct build_pod){.name = "a", .hash = rows[i].hash});
		build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
		build_world_fail_book(&world);
		const struct attribution_status *status = publish();
		expect_tenants(status, rows[i].tenants);
		expect_text(status->slots.summary, "1/4");
		expect_condition(status, "Attributed", i == 0 ? CONDITION_FALSE : CONDITION_TRUE,
				 rows[i].reason);
		start_anew();
	}
}

TEST(the_mirror_of_a_static_pod_stays_as_it_was_while_names_are_all_there_is)
{
	/* The List has what it had, or the devices of one that comes after it too, or those only. */
	static const struct {
		unsigned own;
		bool is_own_listed, is_other_listed;
		void (*lose_book)(void);
		const char *slots;
	} rows[] = {
		{0, true, false, lose_book, "1/3"}, {0, true, true, lose_book, "2/3"},
		{0, false, true, lose_book, "1/3"}, {0, false, true, date_book, "1/3"},
		{1, false, true, date_book, "1/3"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct view own, other;
		build_world_cut(&world, 0, 3);
		own = build_world_mig(&world, 0, rows[i].own);
		other = build_world_mig(&world, 0, !rows[i].own);
		build_world_run(&world, (struct build_pod){.name = "a", .hash = "h"}, own);
		publish();
		rows[i].lose_book();
		build_world_list_nothing(&world);
		if (rows[i].is_own_listed)
			build_world_list(&world, "a", "main", own);
		if (rows[i].is_other_listed)
			build_world_list(&world, "a", "main", other);
		const struct attribution_status *status = publish();
		const struct attribution_tenant *t = expect_tenant(status, "uid-a", RUNNING,
								   CONFIRMED);
		assert_int_equal(t->slots, 1);
		assert_int_equal(t->partitions.count, 1);
		assert_true(view_equal(*ARRAY_AT(t->partitions, struct view, 0), own));
		expect_text(status->slots.summary, rows[i].slots);
		start_anew();
	}
}

TEST(so_does_the_number_of_partitions_that_its_list_has_no_room_for)
{
	const unsigned n = LIMIT_PARTITIONS + 2;
	build_world_cut(&world, 0, n);
	build_world_pod(&world, (struct build_pod){.name = "a", .hash = "h"});
	for (unsigned i = 0; i < n; i++) {
		build_world_book(&world, "h", "main", build_world_mig(&world, 0, i));
		build_world_list(&world, "a", "main", build_world_mig(&world, 0, i));
	}
	publish();
	lose_book();
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", build_world_mig(&world, 0, 0));
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, n);
	assert_int_equal(t->partitions.count, LIMIT_PARTITIONS);
	assert_int_equal(t->partitions_left_out, 2);
}

TEST(a_good_checkpoint_tells_what_a_static_pod_has_whatever_was_published)
{
	build_world_shared(&world, 0, 4);
	build_world_run(&world, (struct build_pod){.name = "a", .hash = "h"},
			build_world_replica(&world, 0, 0));
	publish();
	build_world_book(&world, "h", "main", build_world_replica(&world, 0, 1));
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 1));
	/* Next to one for whom only a name speaks. */
	world_pod("b");
	build_world_list(&world, "b", "main", build_world_replica(&world, 0, 2));
	const struct attribution_status *status = publish();
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING, CONFIRMED)->slots, 2);
	expect_tenants(status, "uid-a/main,uid-b/main");
}

TEST(what_agrees_in_part_is_about_one_pod)
{
	build_world_shared(&world, 0, 4);
	world_pod("a");
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 0));
	build_world_list(&world, "a", "main", build_world_replica(&world, 0, 1));
	build_world_book(&world, "uid-a", "main", build_world_replica(&world, 0, 1));
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 2);
	assert_int_equal(build_world_count_writes(&world), 0);
	/* Of one of some time ago the rest may be about the pod of that name before it. */
	date_list();
	t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 1);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
	world.report.sources.pod_resources.state = REPORT_SOURCE_OK;
	date_book();
	t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, 1);
	expect_texts(t->witnesses, "Checkpoint,PodResources");
}

static void list_replicas(const char *name, unsigned first, unsigned n)
{
	struct report_pod_resource *entry = build_world_list(&world, name, "main", VIEW(""));
	struct view *ids = arena_alloc(&world.arena, n, sizeof(*ids));
	assert_non_null(ids);
	for (unsigned i = 0; i < n; i++)
		ids[i] = build_world_replica(&world, 0, first + i);
	entry->device_ids = (struct array){ids, n, true};
}

/* Which is the last one in each case. */
TEST(every_id_of_an_entry_counts)
{
	static const struct {
		const char *booked; /* the UID for which the checkpoint has the last ID, or none */
		bool is_list_dated, is_book_dated, is_ended;
		const char *tenants, *witnesses;
		int64_t slots; /* of that tenant */
		const char *summary;
	} rows[] = {
		{"", false, false, false, "uid-a/main", "PodResources", 3, "3/4"},
		{"uid-a", false, false, false, "uid-a/main", "Checkpoint,PodResources", 3, "3/4"},
		{"uid-a", true, false, false, "uid-a/main", "Checkpoint,PodResources", 1, "1/4"},
		{"uid-new", false, false, false, "uid-new/main", "Checkpoint", 1, "1/4"},
		{"uid-old", false, false, true, "", "", 0, "0/4"},
		{"uid-old", false, true, true, "uid-a/main", "PodResources", 3, "3/4"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_anew();
		build_world_shared(&world, 0, 4);
		world_pod("a");
		list_replicas("a", 0, 3);
		if (rows[i].booked[0])
			build_world_book(&world, rows[i].booked, "main",
					 build_world_replica(&world, 0, 2));
		else
			build_world_fail_book(&world);
		if (rows[i].is_list_dated)
			date_list();
		if (rows[i].is_book_dated)
			date_book();
		if (rows[i].is_ended)
			build_world_end(&world, rows[i].booked);
		const struct attribution_status *status = publish();
		expect_tenants(status, rows[i].tenants);
		expect_text(status->slots.summary, rows[i].summary);
		if (!rows[i].slots)
			continue;
		const struct attribution_tenant *t = ARRAY_AT(status->tenants,
							      struct attribution_tenant, 0);
		assert_int_equal(t->slots, rows[i].slots);
		expect_texts(t->witnesses, rows[i].witnesses);
	}
}

static void read_facts(struct devices *devices, struct facts *facts)
{
	struct error err;
	assert_int_equal(devices_make(&world.input, &world.arena, devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, devices, &world.arena, facts, &err), 0);
}

TEST(whose_an_id_of_no_device_is_a_name_alone_does_not_tell)
{
	struct devices devices;
	struct facts facts;
	build_world_exclusive(&world, 0);
	world_pod("a");
	build_world_list(&world, "a", "main", VIEW("nowhere"));
	build_world_fail_book(&world);
	read_facts(&devices, &facts);
	assert_int_equal(facts.n_items, 1);
	expect_text(facts.items[0].owner->pod_uid, "");
}

TEST(a_pod_that_is_over_is_not_what_an_old_kubelets_list_means)
{
	build_world_exclusive(&world, 0);
	build_world_pod(&world, (struct build_pod){.name = "a", .phase = POD_PHASE_SUCCEEDED});
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_text(status->slots.summary, "0/1");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
}

TEST(what_the_list_says_of_a_pod_on_another_node_is_refused_and_counted)
{
	static const bool is_foreign[] = {false, true, true};
	build_world_shared(&world, 0, 4);
	world_run("a", build_world_replica(&world, 0, 0));
	build_world_list(&world, "away", "main", build_world_replica(&world, 0, 1));
	/* It has a pod's of this node, too. */
	build_world_list(&world, "away", "main", build_world_replica(&world, 0, 0));
	world.input.is_foreign = is_foreign;
	const struct attribution_status *status = publish();
	expect_tenants(status, "uid-a/main");
	expect_text(status->slots.summary, "1/4");
	expect_condition(status, "Attributed", CONDITION_TRUE, "AllResolved");
	assert_int_equal(world.result.refused.claims, 2);
	world.input.is_foreign = NULL;
	expect_condition(publish(), "Attributed", CONDITION_FALSE, "PodUnknown");
	assert_int_equal(world.result.refused.claims, 0);
}

TEST(whom_the_checkpoint_tells_is_not_refused_for_a_name_used_elsewhere)
{
	static const bool is_foreign[] = {true, true};
	build_world_shared(&world, 0, 4);
	/* The one after, whose pod has not come yet; and the one before. */
	build_world_list(&world, "web", "main", build_world_replica(&world, 0, 0));
	build_world_book(&world, "uid-new", "main", build_world_replica(&world, 0, 0));
	build_world_list(&world, "db", "main", build_world_replica(&world, 0, 1));
	build_world_book(&world, "uid-old", "main", build_world_replica(&world, 0, 1));
	build_world_end(&world, "uid-old");
	world.input.is_foreign = is_foreign;
	expect_tenant(publish(), "uid-new", PENDING, ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
	expect_tenants(publish(), "uid-new/main");
	assert_int_equal(world.result.refused.claims, 0);
}

static const struct view hami_id = VIEW_INIT("GPU-00000000-0000-4000-8000-0123456789ab-1");
static const char hami_of_1[] = "GPU-00000001-0000-4000-8000-0123456789ab,NVIDIA,1,1:;";

/* HAMi's plugin has an ID of device 0 to give, for any device. */
static void offer_hami(void)
{
	build_world_device(&world, 0);
	build_world_device(&world, 1);
	build_world_offer(&world, hami_id);
	build_world_fail_book(&world);
}

TEST(what_was_on_another_device_says_nothing_of_an_id_that_tells_its_own)
{
	offer_hami();
	world_pod("a");
	build_world_list(&world, "a", "main", build_world_uuid(&world, 1));
	publish();
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	date_list();
	const struct attribution_status *status = publish();
	expect_tenants(status, "");
	expect_condition(status, "Attributed", CONDITION_FALSE, "PodUnknown");
}

TEST(an_annotation_of_hamis_is_no_list_that_named_the_device)
{
	struct devices devices;
	struct facts facts;
	offer_hami();
	build_world_pod(&world, (struct build_pod){.name = "a", .hami = hami_of_1});
	build_world_list(&world, "a", "main", hami_id);
	publish();
	expect_tenants(build_world_status(&world, 1), "uid-a/main");
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", build_world_uuid(&world, 1));
	date_list();
	read_facts(&devices, &facts);
	assert_int_equal(facts.n_items, 1);
	expect_text(facts.items[0].owner->pod_uid, "");
}

TEST(a_list_that_named_hamis_id_did_not_name_the_device)
{
	offer_hami();
	world_pod("a");
	build_world_list(&world, "a", "main", hami_id);
	expect_text(expect_tenant(publish(), "uid-a", RUNNING, ATTRIBUTION_CONFIDENCE_UNCONFIRMED)
			    ->placeholder,
		    "HAMi");
	build_world_list(&world, "a", "main", build_world_uuid(&world, 0));
	date_list();
	const struct attribution_status *status = publish();
	assert_int_equal(expect_tenant(status, "uid-a", RUNNING,
				       ATTRIBUTION_CONFIDENCE_UNCONFIRMED)
				 ->slots,
			 1);
	assert_int_equal(build_world_count_writes(&world), 0);
}

TESTS(set_up, tear_down)
