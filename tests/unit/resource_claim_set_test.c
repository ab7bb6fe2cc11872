/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"

#include "model/resource_claim.h"

static struct place_book places;
static struct pod_set pods;
static struct resource_claim_set set;
static const struct report nothing_reported = {.version = 1};
static char touched[256];

static void on_touch(void *owner, struct view node_name, bool initial)
{
	size_t len = strlen(touched);

	(void)owner;
	snprintf(touched + len, sizeof(touched) - len, "%.*s%s ", VIEW_ARG(node_name),
		 initial ? "!" : "");
}

static void assert_touched(const char *nodes)
{
	assert_string_equal(touched, nodes);
	touched[0] = '\0';
}

/* A pod on a node of its own, which reports: so the node may be touched. */
static void put_pod(const char *name, const char *uid, const char *node)
{
	const struct pod_fields fields = {.namespace = VIEW("ml"), .name = view_from(name),
					  .uid = view_from(uid), .node = view_from(node)};
	struct error err;

	assert_int_equal(pod_set_put(&pods, &fields, UPSERT(1), &err), 0);
	place_find(&places, view_from(node))->report = &nothing_reported;
}

static int set_up(void **state)
{
	(void)state;
	place_book_init(&places);
	places.touch = on_touch;
	pod_set_init(&pods, &places);
	resource_claim_set_init(&set, &pods);
	put_pod("a", "u1", "gpu-a");
	put_pod("b", "u2", "gpu-b");
	touched[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	static const char *const nodes[] = {"gpu-a", "gpu-b"};

	(void)state;
	record_set_deinit(&set.records);
	assert_int_equal(set.n_otherwise, 0);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		place_find(&places, view_from(nodes[i]))->report = NULL;
	pod_set_deinit(&pods);
	place_book_deinit(&places);
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
	struct error err;

	assert_int_equal(record_set_put_copy(&set.records, &fields, UPSERT(version), &err), 0);
}

static const struct resource_claim *found(void)
{
	return resource_claim_set_find(&set, VIEW("ml/c"));
}

static void a_claim_touches_the_nodes_of_its_pods_and_of_those_before(void **state)
{
	(void)state;
	static const struct {
		const char *device, *uid, *touched;
	} rows[] = {
		{NULL, NULL, ""},              /* asked for */
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

static void each_pod_of_a_claim_has_its_node_touched(void **state)
{
	(void)state;
	struct resource_claim_fields fields = claim_of("gpu-0", "u1");
	struct error err;

	fields.consumers[fields.claim.consumers.count++] = VIEW("u2");
	assert_int_equal(record_set_put_copy(&set.records, &fields, UPSERT(1), &err), 0);
	assert_touched("gpu-a gpu-b ");
}

static void a_claim_that_goes_touches_the_nodes_of_its_pods(void **state)
{
	(void)state;
	put("gpu-0", "u2", 1);
	touched[0] = '\0';
	remove_record(&set.records, VIEW("ml/c"), 0);
	assert_touched("gpu-b ");
	assert_null(found());
}

static void a_new_claim_touches_the_nodes_that_lack_one(void **state)
{
	(void)state;
	struct place *place = place_find(&places, VIEW("gpu-b"));

	place_note_claims(&places, place, true);
	put(NULL, NULL, 1);
	assert_touched("gpu-b ");
	put("gpu-0", NULL, 2);
	assert_touched("");
	place_note_claims(&places, place, false);
}

static void a_claim_without_a_gpu_touches_nobody(void **state)
{
	(void)state;
	put(NULL, "u1", 1);
	assert_touched("");
	assert_non_null(found());
}

static void the_allocation_of_no_gpu_touches_the_nodes_that_await_one(void **state)
{
	(void)state;
	struct place *place = place_find(&places, VIEW("gpu-b"));
	struct resource_claim_fields fields = claim_of(NULL, "u2");
	struct error err;

	put(NULL, NULL, 1);
	place_note_claims(&places, place, true);
	fields.claim.is_allocated = true;
	for (uint64_t version = 2; version < 4; version++) {
		assert_int_equal(record_set_put_copy(&set.records, &fields, UPSERT(version), &err), 0);
		assert_touched(version == 2 ? "gpu-b " : "");
	}
	/* Taken back: who has it is not told. */
	put(NULL, "u2", 4);
	assert_touched("");
	place_note_claims(&places, place, false);
}

static void a_claim_is_found_by_namespace_and_name(void **state)
{
	(void)state;
	put("gpu-0", "u1", 1);
	assert_true(view_equal(found()->key, VIEW("ml/c")));
	assert_null(resource_claim_set_find(&set, VIEW("mm/c")));
	assert_null(resource_claim_set_find(&set, VIEW("c")));
	put("gpu-1", "u1", 2);
	assert_true(view_equal(ARRAY_AT(found()->results, struct resource_claim_result, 0)->device,
			       VIEW("gpu-1")));
}

static void claims_that_are_reserved_for_something_else_are_counted(void **state)
{
	(void)state;
	struct resource_claim_fields fields = claim_of("gpu-0", NULL);
	struct error err;

	fields.claim.has_other_consumers = true;
	assert_int_equal(record_set_put_copy(&set.records, &fields, UPSERT(1), &err), 0);
	assert_int_equal(set.n_otherwise, 1);
	put("gpu-0", "u1", 2);
	assert_int_equal(set.n_otherwise, 0);
	assert_int_equal(record_set_put_copy(&set.records, &fields, UPSERT(3), &err), 0);
	assert_int_equal(set.n_otherwise, 1);
	remove_record(&set.records, VIEW("ml/c"), 0);
	assert_int_equal(set.n_otherwise, 0);
}

static void before_the_first_sync_touches_are_initial(void **state)
{
	(void)state;
	struct resource_claim_fields fields = claim_of("gpu-0", "u1");
	struct error err;

	assert_int_equal(record_set_put_copy(&set.records, &fields, LISTED_FIRST(1), &err), 0);
	assert_touched("gpu-a! ");
}

static void without_memory_a_new_claim_leaves_nothing_and_a_present_one_stays(void **state)
{
	(void)state;
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
	cmocka_unit_test_setup_teardown(
		a_claim_touches_the_nodes_of_its_pods_and_of_those_before, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		each_pod_of_a_claim_has_its_node_touched, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_that_goes_touches_the_nodes_of_its_pods, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_new_claim_touches_the_nodes_that_lack_one, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_without_a_gpu_touches_nobody, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_allocation_of_no_gpu_touches_the_nodes_that_await_one, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_claim_is_found_by_namespace_and_name, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		claims_that_are_reserved_for_something_else_are_counted, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		before_the_first_sync_touches_are_initial, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_a_new_claim_leaves_nothing_and_a_present_one_stays, set_up, tear_down),
};

TEST_MAIN(tests)
