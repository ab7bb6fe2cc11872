/* SPDX-License-Identifier: Apache-2.0 */

/* What the kubelet's List tells, which names pods and not UIDs. */

#include "lib/scenario.h"
#include "lib/world_fixture.h"
#include "base/limits.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED
#define RUNNING ATTRIBUTION_PHASE_RUNNING

/* The pod "web" that was, with what both books say of it, before another of that name comes. */
#define OLD_WEB "gpu 0 exclusive; run web on gpu0 uid=uid-old; publish; delete old;"
#define NOBODY_KNOWN "expect none; expect slots 1/1; expect Attributed False PodUnknown;"
#define WELL "expect Attributed True AllResolved;"

static const struct scenario_promise promises[] = {
	/* A pod after another of its name */
	PROMISE(a_list_without_a_checkpoint_does_not_name_the_successor_before_it_ran,
		OLD_WEB "pod web uid=uid-new unseen; lose checkpoint; expect none; expect recent old;"
		"expect slots 0/1;" WELL
		/* Once it runs the kubelet has it, and so the List means it. A crash does not change that. */
		"pod web uid=uid-new; expect new Running NameOnly;"
		"pod web uid=uid-new state=Waiting; expect new Starting NameOnly"),
#define WINS(pod, more)                                                                        \
	"again; gpu 0 exclusive; pod " pod "; list web gpu0; book new gpu0;" more              \
	"expect tenants new; expect new Pending Unconfirmed;"
	/* The API server still shows the old pod, or none; the kubelet already has the new one. That a
	 * checkpoint is old does not tell that its unknown pod has gone. */
	PROMISE(an_unknown_uid_wins_over_the_name_of_another_pod,
		WINS("web deleting", "") WINS("other", "")
		WINS("web state=Running", "old checkpoint;") WINS("web state=Waiting", "old checkpoint;")),
#define EITHER(started, then)                                                                  \
	"again;" OLD_WEB "pod web uid=uid-new " started ";" then NOBODY_KNOWN                  \
	"expect awaits yes; listed 1s; late none; expect new Running NameOnly; expect awaits no;"
	/* It started in the second of the List; or before, but that was told after the List had come,
	 * and the node's clock may have been set back between. */
	PROMISE(a_list_that_may_be_older_than_the_successor_may_mean_either,
		EITHER("started=0", "lose checkpoint;") EITHER("started=0", "old checkpoint;")
		EITHER("started=-1h", "late new; lose checkpoint;")),
	PROMISE(an_ended_uid_explains_a_name_until_the_successor_runs,
		OLD_WEB "pod web uid=uid-new unseen; expect none;"
		/* It runs, and the checkpoint has it elsewhere: the List lags behind. */
		"pod web uid=uid-new; book new another; expect none;"
		/* The checkpoint has nothing of it: the report is older than the pod. */
		"book none; book old gpu0; expect none;" WELL
		/* Unless it is the checkpoint that is: then the name tells. */
		"old checkpoint; expect new Running NameOnly"),
	/* An old kubelet lists it for a while. Nor is it one that the kubelet has not taken over yet. */
	PROMISE(an_ended_uid_in_an_old_checkpoint_explains_a_name_that_no_pod_has_yet,
		"gpu 0 exclusive; list gone gpu0; book gone gpu0; end gone; old checkpoint;"
		"expect slots 0/1; pod gone uid=uid-new unseen; expect slots 0/1;"
		"pod gone uid=uid-new; expect slots 1/1"),

	/* Names and UIDs beside each other */
	PROMISE(an_id_of_a_living_pods_entry_does_not_speak_for_an_unknown_one,
		"gpu 0 exclusive; pod b; book b gpu0; book lost gpu0; list gone gpu0; expect tenants b"),
	PROMISE(a_live_uid_explains_a_name_that_no_pod_has,
		"gpu 0 exclusive; pod new; book new gpu0; list old gpu0; expect tenants new;"
		"expect slots 1/1;" WELL),
	PROMISE(books_that_name_two_living_pods_show_both,
		"gpu 0 exclusive; pod a; pod b; book a gpu0; list b gpu0; expect a Running Confirmed;"
		"expect b Running NameOnly; expect slots 1/1"),
	PROMISE(what_agrees_in_part_is_about_one_pod,
		"gpu 0 shared 4; pod a; list a gpu0::0 gpu0::1; book a gpu0::1;"
		"expect a Running Confirmed slots=2;"
		/* Of one of some time ago the rest may be about the pod of that name before it. */
		"old list; expect a Running Confirmed slots=1 by=Checkpoint,PodResources; restore list;"
		"old checkpoint; expect a Running Confirmed slots=1 by=Checkpoint,PodResources"),
	PROMISE(whose_an_id_of_no_device_is_a_name_alone_does_not_tell,
		"gpu 0 exclusive; pod a; list a nowhere; lose checkpoint; later;"
		"expect unplaced -:nowhere"),
	PROMISE(a_pod_that_is_over_is_not_what_an_old_kubelets_list_means,
		"gpu 0 exclusive; pod a phase=Succeeded; list a gpu0; expect none; expect slots 0/1;" WELL),

	/* When a List was read */
	/* Nor does it matter then that the node's clock is set back. */
	PROMISE(an_old_list_keeps_whom_a_good_one_named,
		"gpu 0 exclusive; pod a; list a gpu0; lose checkpoint; expect a Running NameOnly;"
		"listed -2h; expect writes 0; expect a Running NameOnly; old list;"
		"expect a Running NameOnly"),
#define WITNESSED(pod, more, by)                                                               \
	"again; gpu 0 exclusive; run a on gpu0 " pod "; old list;" more "join; expect tenants a;" \
	"expect a by=" by ";"
	/* The pod before it of that name may have had the same ID. */
	PROMISE(an_old_list_of_before_a_pod_is_no_witness_of_it,
		WITNESSED("started=-1000", "", "Checkpoint,PodResources")
		WITNESSED("started=-1000", "late a;", "Checkpoint")
		WITNESSED("started=-999", "", "Checkpoint") WITNESSED("started=5s", "", "Checkpoint")
		WITNESSED("unseen", "", "Checkpoint")),
	PROMISE(an_old_list_names_nobody_new,
		"gpu 0 exclusive; pod a; list a gpu0; lose checkpoint; old list;" NOBODY_KNOWN),
#define LISTED(started) \
	"again; gpu 0 exclusive; list a gpu0; lose checkpoint; pod a started=" started ";"
#define NAMED(started) \
	LISTED(started) "expect a Running NameOnly; expect slots 1/1; expect awaits no;" WELL
	/* A heartbeat says that it was read again, with the same content. */
#define NOT_NAMED(started)                                                                     \
	LISTED(started) NOBODY_KNOWN "expect awaits yes; listed 6s; expect a Running NameOnly;" \
	"expect awaits no;"
	PROMISE(a_list_names_a_pod_if_it_was_read_after_the_second_in_which_the_pod_started,
		NOT_NAMED("5s") NOT_NAMED("0") NOT_NAMED("-999") NAMED("-1000") NAMED("-5s")),
	/* The pod's status will say when it started, no heartbeat does. It need not run: images take
	 * their time. */
	PROMISE(a_list_does_not_name_a_pod_that_the_kubelet_has_not_told_of,
		"gpu 0 exclusive; list a gpu0; lose checkpoint; pod a unseen; expect none;"
		"expect slots 1/1; expect awaits no; pod a state=Waiting; expect a Starting NameOnly"),
	PROMISE(whom_the_checkpoint_tells_waits_for_no_later_list,
		"gpu 0 exclusive; run a on gpu0 started=0; expect a Running Confirmed"
		"  by=Checkpoint,PodResources; expect awaits no; pod a unseen; expect a Starting Confirmed"),

	/* Static pods */
	PROMISE(a_name_alone_does_not_tell_a_static_pod_from_the_one_before,
		"gpu 0 exclusive; pod a hash=h; list a gpu0; lose checkpoint;" NOBODY_KNOWN
		"again; gpu 0 exclusive; pod a; list a gpu0; lose checkpoint; expect tenants a;"
		"expect slots 1/1;" WELL),
#define MIRROR(own, listed, lose, slots)                                                       \
	"again; gpu 0 mig 3; run a on mig0." own " hash=h; publish;" lose "list none; list a " listed \
	"; expect a Running Confirmed slots=1 partitions=mig0." own "; expect slots " slots ";"
	/* The List has what it had, or the devices of one that comes after it too, or those only. */
	PROMISE(the_mirror_of_a_static_pod_stays_as_it_was_while_names_are_all_there_is,
		MIRROR("0", "mig0.0", "lose checkpoint;", "1/3")
		MIRROR("0", "mig0.0 mig0.1", "lose checkpoint;", "2/3")
		MIRROR("0", "mig0.1", "lose checkpoint;", "1/3")
		MIRROR("0", "mig0.1", "old checkpoint;", "1/3")
		MIRROR("1", "mig0.0", "old checkpoint;", "1/3")),
	/* Next to one for whom only a name speaks. */
	PROMISE(a_good_checkpoint_tells_what_a_static_pod_has_whatever_was_published,
		"gpu 0 shared 4; run a on gpu0::0 hash=h; publish; book =h gpu0::1; list a gpu0::1;"
		"pod b; list b gpu0::2; expect a Running Confirmed slots=2; expect tenants a b"),

	/* HAMi's plugin has an ID of device 0 to give, for any device */
#define HAMI_OFFERS "gpu 0; gpu 1; offer gpu0-1; lose checkpoint;"
	PROMISE(what_was_on_another_device_says_nothing_of_an_id_that_tells_its_own,
		HAMI_OFFERS "pod a; list a gpu1; expect gpu1 tenants a; list none; list a gpu0; old list;"
		"expect none; expect Attributed False PodUnknown"),
	PROMISE(an_annotation_of_hamis_is_no_list_that_named_the_device,
		HAMI_OFFERS "pod a hami=`GPU-00000001-0000-4000-8000-0123456789ab,NVIDIA,1,1:;`;"
		"list a gpu0-1; expect gpu1 tenants a; list none; list a gpu1; old list;"
		"expect gpu1 a by=HAMi; expect gpu1 Attributed False PodUnknown"),
	PROMISE(a_list_that_named_hamis_id_did_not_name_the_device,
		HAMI_OFFERS "pod a; list a gpu0-1; expect a Running Unconfirmed placeholder=HAMi;"
		"list a gpu0; old list; expect a Running Unconfirmed slots=1"),
};

TEST(a_mirror_keeps_the_number_of_partitions_that_its_list_has_no_room_for)
{
	const unsigned n = LIMIT_PARTITIONS + 2;
	build_world_cut(&world, 0, n);
	build_world_pod(&world, (struct build_pod){.name = "a", .hash = "h"});
	for (unsigned i = 0; i < n; i++) {
		build_world_book(&world, "h", "main", build_world_mig(&world, 0, i));
		build_world_list(&world, "a", "main", build_world_mig(&world, 0, i));
	}
	publish();
	build_world_fail_book(&world);
	build_world_list_nothing(&world);
	build_world_list(&world, "a", "main", build_world_mig(&world, 0, 0));
	const struct attribution_tenant *t = expect_tenant(publish(), "uid-a", RUNNING, CONFIRMED);
	assert_int_equal(t->slots, n);
	assert_int_equal(t->partitions.count, LIMIT_PARTITIONS);
	assert_int_equal(t->partitions_left_out, 2);
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
			world.report.sources.pod_resources.state = REPORT_SOURCE_ERROR;
		if (rows[i].is_book_dated)
			world.report.sources.checkpoint.state = REPORT_SOURCE_ERROR;
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
	assert_int_equal(world.result.refused.entries, 2);
	world.input.is_foreign = NULL;
	expect_condition(publish(), "Attributed", CONDITION_FALSE, "PodUnknown");
	assert_int_equal(world.result.refused.entries, 0);
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
	expect_tenant(publish(), "uid-new", ATTRIBUTION_PHASE_PENDING,
		      ATTRIBUTION_CONFIDENCE_UNCONFIRMED);
	expect_tenants(publish(), "uid-new/main");
	assert_int_equal(world.result.refused.entries, 0);
}

SCENARIO_MAIN_WITH(promises, set_up, tear_down)
