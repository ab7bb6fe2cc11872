/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/world_fixture.h"
#include "join/witnesses.h"

#include "base/limits.h"
#include "join/subject.h"
#include "join/votes.h"

#define CONFIRMED ATTRIBUTION_CONFIDENCE_CONFIRMED

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
	unsigned published;
	unsigned yes, no, left;
	enum arbitrate_row row;
} worths[] = {
	{HERE, HERE, HERE, 0, ALL, 0, 0, ARBITRATE_ROW_BY_UID},
	{HERE, HERE, NOTHING, ALL, BOOKS, 0, 0, ARBITRATE_ROW_BY_UID},
	{HERE, THERE, HERE, ALL, CHECKPOINT | STATUS, LIST, 0, ARBITRATE_ROW_NOT_LISTED},
	{THERE, THERE, HERE, ALL, STATUS, BOOKS, 0, ARBITRATE_ROW_CONTRADICTION},
	{NOTHING, HERE, NOTHING, LIST, LIST, CHECKPOINT, 0, ARBITRATE_ROW_LISTED_AGAINST_UID},
	{FAILED, HERE, NOTHING, LIST, LIST, 0, 0, ARBITRATE_ROW_LISTED},
	/* A checkpoint that cannot be read stays a witness of what it said. */
	{FAILED, HERE, NOTHING, ALL, BOOKS, 0, 0, ARBITRATE_ROW_BY_UID},
	/* What cannot be read says nothing. */
	{FAILED, FAILED, NOTHING, ALL, 0, 0, ALL, ARBITRATE_ROW_SILENCE},
	{FAILED, FAILED, THERE, ALL, 0, 0, BOOKS, ARBITRATE_ROW_SILENCE},
	{FAILED, THERE, NOTHING, ALL, 0, LIST, CHECKPOINT | STATUS, ARBITRATE_ROW_SILENCE},
	/* The checkpoint alone ends nobody while the List lacks a pod. */
	{NOTHING, NOTHING, NOTHING, ALL, 0, LIST, STATUS, ARBITRATE_ROW_SILENCE},
	{NOTHING, FAILED, NOTHING, ALL, 0, 0, LIST | STATUS, ARBITRATE_ROW_SILENCE},
	{THERE, THERE, NOTHING, ALL, 0, BOOKS, STATUS, ARBITRATE_ROW_GONE},
	/* The API server ends whom none but it ever named. */
	{FAILED, FAILED, THERE, STATUS, 0, STATUS, 0, ARBITRATE_ROW_GONE},
	{FAILED, FAILED, NOTHING, STATUS, 0, 0, STATUS, ARBITRATE_ROW_SILENCE},
	{FAILED, FAILED, NOTHING, CLAIM, 0, CLAIM, 0, ARBITRATE_ROW_GONE},
	{FAILED, FAILED, NOTHING, KAI, 0, KAI, 0, ARBITRATE_ROW_ANNOTATED_AWAY},
	{FAILED, FAILED, NOTHING, LIST | KAI, 0, 0, LIST, ARBITRATE_ROW_SILENCE},
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
}

static struct votes take_votes(const struct previous_tenant *previous, struct votes_holder *holder)
{
	static struct devices devices;
	static struct facts facts;
	struct debounce *debounce;
	struct error err;

	assert_int_equal(devices_make(&world.input, &world.arena, &devices, &err), 0);
	assert_int_equal(witnesses_read(&world.input, &devices, &world.arena, &facts, &err), 0);
	const struct debounce_round round = {.n_subjects = 1, .heard_age_ms = world.input.report_age_ms};
	assert_int_equal(debounce_open(&round, &world.arena, &debounce, &err), 0);
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

TEST(each_source_is_worth_what_it_can_know)
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
		const struct arbitrate_result result = votes_decide(&votes);
		if (votes.yes != worth->yes || votes.no != worth->no || votes.left != worth->left ||
		    result.row != worth->row)
			fail_msg("%zu: yes %x no %x left %x row %u", i, votes.yes, votes.no,
				 votes.left, result.row);
		start_anew();
	}
}

TESTS(set_up, tear_down)
