/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"
#include "lib/touches.h"

#include "model/resource_claim.h"

static struct node_state_set node_states;
static struct pod_set pods;
static struct resource_claim_set set;
static const struct report nothing_reported = {.version = 1};
/* A pod on a node of its own, which reports: so the node may be touched. */
static void put_pod(const char *name, const char *uid, const char *node)
{
	const struct pod_fields fields = {.namespace = VIEW("ml"), .name = view_from(name),
					  .uid = view_from(uid), .node = view_from(node)};
	struct error err;

	assert_int_equal(pod_set_put(&pods, &fields, UPSERT(1), &err), 0);
	node_state_find(&node_states, view_from(node))->report = &nothing_reported;
}

static int set_up(void **state)
{
	(void)state;
	node_state_set_init(&node_states);
	listen_to_touches(&node_states);
	pod_set_init(&pods, &node_states);
	resource_claim_set_init(&set, &pods);
	put_pod("a", "u1", "gpu-a");
	put_pod("b", "u2", "gpu-b");
	forget_touches();
	return 0;
}

static int tear_down(void **state)
{
	static const char *const nodes[] = {"gpu-a", "gpu-b"};

	(void)state;
	record_set_deinit(&set.records);
	assert_int_equal(set.n_otherwise, 0);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		node_state_find(&node_states, view_from(nodes[i]))->report = NULL;
	pod_set_deinit(&pods);
	node_state_set_deinit(&node_states);
	return 0;
}

static struct resource_claim_fields claim_of(const char *device, const char *uid)
{
	struct resource_claim_fields fields = {.namespace = VIEW("ml"), .name = VIEW("c")};

	fields.claim.is_allocated = device;
	if (device)
		fields.results[fields.claim.results.count++] = (struct resource_claim_result){
			VIEW("main"), VIEW("gpu.nvidia.com"), VIEW("p"), view_from(device),
			VIEW(""), false};
	if (uid)
		fields.consumers[fields.claim.consumers.count++] = view_from(uid);
	return fields;
}

static void put(const char *device, const char *uid, uint64_t version)
{
	struct resource_claim_fields fields = claim_of(device, uid);

	put_record(&set.records, &fields, UPSERT(version));
}

static const struct resource_claim *found(void)
{
	return resource_claim_set_find(&set, VIEW("ml/c"));
}

TEST(a_claim_touches_the_nodes_of_its_pods_and_of_those_before)
{
	static const struct {
		const char *device, *uid, *touched;
	} rows[] = {
		{NULL, NULL, ""},              /* asked for */
		{NULL, "u1", ""},              /* of no GPU */
		{"gpu-0", NULL, ""},           /* allocated */
		{"gpu-0", "u1", "gpu-a "},     /* reserved */
		{"gpu-0", "u1", ""},           /* nothing new */
		{"gpu-1", "u1", "gpu-a gpu-a "},
		{"gpu-1", "u2", "gpu-a gpu-b "},
		{"gpu-1", "u3", "gpu-b "},     /* of a pod that is not there yet */
		{"gpu-1", "u2", "gpu-b "},
		{NULL, "u2", "gpu-b "},        /* taken back */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		put(rows[i].device, rows[i].uid, i + 1);
		assert_touched(rows[i].touched);
	}
}

TEST(each_pod_of_a_claim_has_its_node_touched)
{
	struct resource_claim_fields fields = claim_of("gpu-0", "u1");

	fields.consumers[fields.claim.consumers.count++] = VIEW("u2");
	put_record(&set.records, &fields, UPSERT(1));
	assert_touched("gpu-a gpu-b ");
}

TEST(a_claim_that_goes_touches_the_nodes_of_its_pods)
{
	put("gpu-0", "u2", 1);
	forget_touches();
	remove_record(&set.records, VIEW("ml/c"), 0);
	assert_touched("gpu-b ");
	assert_null(found());
}

TEST(a_new_claim_touches_the_nodes_that_lack_one)
{
	struct node_state *node_state = node_state_find(&node_states, VIEW("gpu-b"));

	node_state_note_claims(&node_states, node_state, true);
	put(NULL, NULL, 1);
	assert_touched("gpu-b ");
	put("gpu-0", NULL, 2);
	assert_touched("");
	node_state_note_claims(&node_states, node_state, false);
}

TEST(the_allocation_of_no_gpu_touches_the_nodes_that_await_one)
{
	struct node_state *node_state = node_state_find(&node_states, VIEW("gpu-b"));
	struct resource_claim_fields fields = claim_of(NULL, "u2");

	put(NULL, NULL, 1);
	node_state_note_claims(&node_states, node_state, true);
	fields.claim.is_allocated = true;
	for (uint64_t version = 2; version < 4; version++) {
		put_record(&set.records, &fields, UPSERT(version));
		assert_touched(version == 2 ? "gpu-b " : "");
	}
	/* Taken back: who has it is not told. */
	put(NULL, "u2", 4);
	assert_touched("");
	node_state_note_claims(&node_states, node_state, false);
}

TEST(a_claim_is_found_by_namespace_and_name)
{
	put("gpu-0", "u1", 1);
	assert_true(view_equal(found()->key, VIEW("ml/c")));
	assert_null(resource_claim_set_find(&set, VIEW("mm/c")));
	assert_null(resource_claim_set_find(&set, VIEW("c")));
	put("gpu-1", "u1", 2);
	assert_true(view_equal(ARRAY_AT(found()->results, struct resource_claim_result, 0)->device,
			       VIEW("gpu-1")));
}

TEST(claims_that_are_reserved_for_something_else_are_counted)
{
	struct resource_claim_fields fields = claim_of("gpu-0", NULL);

	fields.claim.has_other_consumers = true;
	put_record(&set.records, &fields, UPSERT(1));
	assert_int_equal(set.n_otherwise, 1);
	put("gpu-0", "u1", 2);
	assert_int_equal(set.n_otherwise, 0);
	put_record(&set.records, &fields, UPSERT(3));
	assert_int_equal(set.n_otherwise, 1);
	remove_record(&set.records, VIEW("ml/c"), 0);
	assert_int_equal(set.n_otherwise, 0);
}

TEST(before_the_first_sync_touches_are_initial)
{
	struct resource_claim_fields fields = claim_of("gpu-0", "u1");

	put_record(&set.records, &fields, LISTED_FIRST(1));
	assert_touched("gpu-a? ");
}

TEST(without_memory_a_new_claim_leaves_nothing_and_a_present_one_stays)
{
	struct resource_claim_fields fields = claim_of("gpu-0", "u1");
	bool failed = true;
	struct error err;

	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		int result = record_set_put_copy(&set.records, &fields, UPSERT(1), &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(set.records.store.table.count, failed ? 0 : 1);
		assert_touched(failed ? "" : "gpu-a ");
	}
	fields = claim_of("gpu-1", "u2");
	failing_malloc_at(1);
	assert_int_equal(record_set_put_copy(&set.records, &fields, UPSERT(2), &err), -1);
	assert_true(failing_malloc_off());
	assert_true(resource_claim_is_reserved_for(found(), VIEW("u1")));
	assert_int_equal(record_set_find(&set.records, VIEW("ml/c"))->entry.version, 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_claim_touches_the_nodes_of_its_pods_and_of_those_before),
	cmocka_unit_test_set_up(each_pod_of_a_claim_has_its_node_touched),
	cmocka_unit_test_set_up(a_claim_that_goes_touches_the_nodes_of_its_pods),
	cmocka_unit_test_set_up(a_new_claim_touches_the_nodes_that_lack_one),
	cmocka_unit_test_set_up(the_allocation_of_no_gpu_touches_the_nodes_that_await_one),
	cmocka_unit_test_set_up(a_claim_is_found_by_namespace_and_name),
	cmocka_unit_test_set_up(claims_that_are_reserved_for_something_else_are_counted),
	cmocka_unit_test_set_up(before_the_first_sync_touches_are_initial),
	cmocka_unit_test_set_up(without_memory_a_new_claim_leaves_nothing_and_a_present_one_stays),
};

TEST_MAIN(tests)
