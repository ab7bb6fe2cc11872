/* SPDX-License-Identifier: Apache-2.0 */

/* Single slots of one device. Devices with all that is known of them are in join_sharing_test. */

#include "lib/test_main.h"

#include "assess/sharing.h"
#include "base/limits.h"
#include "lib/expect_status.h"

static struct arena arena;
static struct attribution_sharing sharing;
static bool is_without_ids;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_deinit(&arena);
	return 0;
}

static void judge(const struct slot *slots, size_t n_slots, bool is_offered)
{
	const struct sharing_input input = {.slots = slots, .n_slots = n_slots, .is_offered = is_offered};
	struct error err;

	assert_int_equal(sharing_judge(&input, &arena, &sharing, &is_without_ids, &err), 0);
}

TEST(a_claim_counts_beside_what_the_plugin_has_on_offer)
{
	struct slot slots[] = {{.is_offered = true}, {.is_share = true, .claim_pod_uid = VIEW_INIT("u")}};

	judge(slots, 2, true);
	assert_int_equal(sharing.mode, ATTRIBUTION_MODE_UNKNOWN);
	expect_texts(sharing.evidence, "a claim gives a share of the device");
	slots[1].claim_pod_uid = (struct view){0};
	judge(slots, 2, true);
	assert_int_equal(sharing.mode, ATTRIBUTION_MODE_EXCLUSIVE);
}

TEST(where_nothing_is_on_offer_replicas_and_odd_ids_are_not_counted)
{
	static const struct {
		struct slot slots[3];
		bool is_offered;
		int64_t replicas;
	} rows[] = {
		{{{.is_offered = true}}, true, 1},
		{{{.is_offered = true, .is_odd = true}}, true, 1},
		{{{.id = VIEW_INIT("a")}}, false, 1},
		{{{.is_replica = true}}, false, 0},
		{{{.is_odd = true}}, false, 0},
		{{{.is_replica = true},
		  {.is_replica = true, .is_offered = true},
		  {.is_replica = true, .is_offered = true}}, true, 2},
		{{{.is_replica = true, .is_offered = true, .partition = VIEW_INIT("m1")},
		  {.is_replica = true, .is_offered = true, .partition = VIEW_INIT("m2")},
		  {.is_replica = true, .is_offered = true, .partition = VIEW_INIT("m2")}}, true, 2},
		{{{.is_replica = true, .is_offered = true, .partition = VIEW_INIT("m1")},
		  {.is_replica = true, .is_offered = true, .partition = VIEW_INIT("m1")},
		  {.is_replica = true, .is_offered = true, .partition = VIEW_INIT("m2")}}, true, 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct slot *slots = rows[i].slots;
		const bool has_three = slots[2].is_offered;

		judge(slots, has_three ? 3 : 1, rows[i].is_offered);
		if (sharing.replicas != rows[i].replicas)
			fail_msg("row %zu: %lld", i, (long long)sharing.replicas);
	}
}

TEST(of_replicas_of_mig_devices_an_allocation_without_a_pipe_says_nothing)
{
	const struct slot slot = {.is_replica = true, .is_mig = true, .mps = SLOT_MPS_NOT_USED};

	judge(&slot, 1, false);
	assert_int_equal(sharing.mode, ATTRIBUTION_MODE_MIG_TIME_SLICED);
	expect_texts(sharing.evidence, "device IDs name MIG devices,device IDs end in a replica number");
}

TEST(mig_devices_that_nobody_shares_are_of_one_container_each)
{
	const struct slot slot = {.is_mig = true};

	judge(&slot, 1, false);
	assert_int_equal(sharing.mode, ATTRIBUTION_MODE_MIG);
	expect_texts(sharing.evidence, "device IDs name MIG devices");
}

TEST(without_an_id_it_is_said_that_there_is_none_or_that_mig_mode_is_on)
{
	static const struct {
		unsigned evidence;
		bool is_without_ids;
	} rows[] = {
		{EVIDENCE_NO_IDS, true}, {EVIDENCE_MIG_IS_ON, true}, {EVIDENCE_NO_IDS | EVIDENCE_LABEL_MPS, true},
		{EVIDENCE_GPU_IDS, false}, {EVIDENCE_MIG_IDS, false}, {EVIDENCE_WITH_PIPE, false}, {0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (sharing_is_without_ids(rows[i].evidence) != rows[i].is_without_ids)
			fail_msg("row %zu", i);
	judge(NULL, 0, false);
	assert_true(is_without_ids);
	assert_int_equal(sharing.replicas, 0);
}

TESTS(set_up, tear_down)
