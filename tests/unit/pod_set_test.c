/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"
#include "lib/touches.h"

#include "base/limits.h"
#include "model/pod_set.h"

static struct node_state_set node_states;
static struct pod_set set;

static struct report_checkpoint_entry entry = {.pod_uid = VIEW_INIT("hash")};
static struct report_pod_resource holder = {.namespace = VIEW_INIT("ml"), .name = VIEW_INIT("a")};
static struct report report;

static void release(void *owner)
{
	(void)owner;
}

/* The node has a report, so that a join could change something there. */
static struct node_state *observe(const char *name)
{
	struct error err;
	struct node_state *node_state = node_state_ensure(&node_states, view_from(name), &err);

	assert_non_null(node_state);
	node_state->report = &report;
	node_state->release = release;
	return node_state;
}

static int set_up(void **state)
{
	(void)state;
	node_state_set_init(&node_states);
	memset(&set, 0x55, sizeof(set));
	pod_set_init(&set, &node_states);
	listen_to_touches(&node_states);
	report = (struct report){.node = VIEW("x")};
	return 0;
}

static int tear_down(void **state)
{
	struct table_node *node;

	(void)state;
	pod_set_deinit(&set);
	assert_int_equal(set.n_left_out, 0);
	while ((node = table_next(&node_states.by_name, NULL))) {
		struct node_state *node_state = CONTAINER_OF(node, struct node_state, link);

		node_state_release_report(node_state);
		node_state_release(&node_states, node_state);
	}
	node_state_set_deinit(&node_states);
	return 0;
}

static void start_anew(void)
{
	tear_down(NULL);
	set_up(NULL);
}

static struct pod_fields pod(const char *name, const char *uid, const char *node)
{
	return (struct pod_fields){
		.namespace = VIEW("ml"), .name = view_from(name), .uid = view_from(uid),
		.node = view_from(node), .state.wants_gpu = true,
	};
}

static int put(const struct pod_fields *fields, uint64_t version, struct error *err)
{
	return pod_set_put(&set, fields, UPSERT_AT(version, 1000), err);
}

static void put_event(const struct pod_fields *fields, const struct record_event *event)
{
	struct error err;

	assert_int_equal(pod_set_put(&set, fields, event, &err), 0);
}

static void put_fields(const struct pod_fields *fields, uint64_t version)
{
	put_event(fields, UPSERT_AT(version, 1000));
}

static void put_well(const char *name, const char *uid, const char *node, uint64_t version)
{
	const struct pod_fields fields = pod(name, uid, node);

	put_fields(&fields, version);
}

static void assert_at(const char *uid, const char *node)
{
	const struct node_state *node_state = pod_set_node_state_of(&set, view_from(uid));

	assert_int_equal(node_state != NULL, node != NULL);
	if (node)
		assert_true(view_equal(node_state->name, view_from(node)));
}

TEST(a_pod_is_found_by_its_uid_at_its_node_state)
{
	put_well("a", "u1", "n1", 1);
	put_well("b", "u2", "", 2);
	assert_at("u1", "n1");
	assert_at("u2", NULL);
	assert_at("u3", NULL);
}

/* Of namespaces and names longer than Kubernetes allows there is no pod, whoever asks. */
TEST(a_pod_is_found_by_its_name_at_its_node_state)
{
	static const struct {
		size_t namespace_len, name_len;
		bool is_found;
	} rows[] = {
		{1, 1, true},
		{LIMIT_TEXT_LABEL, LIMIT_TEXT_NAME, true},
		{LIMIT_TEXT_LABEL + 1, 1, false},
		{1, LIMIT_TEXT_NAME + 1, false},
		{0, 1, true},
		{1, 0, true},
	};
	static char text[LIMIT_TEXT_NAME + 1];
	struct pod_fields fields = pod("", "u1", "n1");

	memset(text, 'x', sizeof(text));
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *none = NULL;

		fields.namespace.ptr = rows[i].namespace_len > 0 ? text : none;
		fields.namespace.len = rows[i].namespace_len;
		fields.name.ptr = rows[i].name_len > 0 ? text : none;
		fields.name.len = rows[i].name_len;
		assert_null(pod_set_node_state_of_name(&set, fields.namespace, fields.name));
		put_fields(&fields, i + 1);
		const struct node_state *node_state =
			pod_set_node_state_of_name(&set, fields.namespace, fields.name);
		assert_ptr_equal(node_state, rows[i].is_found
						     ? node_state_find(&node_states, VIEW("n1"))
						     : NULL);
		remove_record(&set.records, record_set_next(&set.records, NULL)->key, 0);
	}
}

TEST(a_pod_that_changes_its_node_state_touches_both)
{
	observe("n1");
	observe("n2");
	put_well("a", "u1", "n1", 1);
	assert_touched("n1 ");
	put_well("a", "u1", "n2", 2);
	assert_touched("n1 n2 ");
	assert_at("u1", "n2");
	put_well("a", "u1", "n2", 3);
	put_well("a", "u1", "n1", 2);
	assert_touched("");
	assert_at("u1", "n2");
}

TEST(a_node_state_that_the_last_pod_leaves_is_gone)
{
	put_well("a", "u1", "n1", 1);
	put_well("b", "u2", "", 2);
	put_well("b", "u5", "", 3);
	put_well("c", "u3", "", 4);
	assert_int_equal(node_states.by_name.count, 1);
	put_well("a", "u1", "n", 5);
	assert_null(node_state_find(&node_states, VIEW("n1")));
	put_well("c", "u3", "m", 6);
	assert_at("u1", "n");
	assert_at("u3", "m");
	put_well("d", "u4", "o", 7);
	assert_at("u4", "o");
}

TEST(a_node_state_counts_its_pods_whose_status_tells_of_a_device)
{
	static struct pod_fields fields;

	observe("n1");
	observe("n2");
	fields = pod("a", "u1", "n1");
	fields.gpu.allocations.count = 1;
	fields.allocations[0] = (struct pod_allocation){VIEW("main"), VIEW("nvidia.com/gpu"),
							VIEW("GPU-1")};
	put_fields(&fields, 1);
	put_well("b", "u2", "n1", 2);
	assert_int_equal(node_state_find(&node_states, VIEW("n1"))->n_told, 1);
	fields.node = VIEW("n2");
	put_fields(&fields, 3);
	assert_int_equal(node_state_find(&node_states, VIEW("n1"))->n_told, 0);
	assert_int_equal(node_state_find(&node_states, VIEW("n2"))->n_told, 1);
	remove_record(&set.records, VIEW("ml/a"), 0);
	assert_int_equal(node_state_find(&node_states, VIEW("n2"))->n_told, 0);
}

TEST(a_pod_that_no_join_would_see_touches_nothing)
{
	static struct report_checkpoint_entry nobody;
	struct pod_fields fields = pod("b", "u1", "n1");

	observe("n1");
	report.checkpoint.entries = (struct array){&nobody, 1, true};
	fields.state.wants_gpu = false;
	put_fields(&fields, 1);
	fields.state.deleting = true;
	put_fields(&fields, 2);
	remove_record(&set.records, VIEW("ml/b"), 0);
	assert_touched("");
	/* The report may name a static pod by its hash, however short that is. */
	nobody.pod_uid = fields.config_hash = VIEW("h");
	put_fields(&fields, 3);
	assert_touched("n1 ");
	remove_record(&set.records, VIEW("ml/b"), 0);
	assert_touched("n1 ");
}

/* It wants no GPU, and nothing is reported of it. */
TEST(a_pod_of_the_operators_touches_its_node_when_it_comes_changes_or_goes)
{
	struct pod_fields fields = pod("b", "u1", "n1");

	observe("n1");
	fields.state.wants_gpu = false;
	fields.state.operand = POD_OPERAND_DEVICE_PLUGIN;
	put_fields(&fields, 1);
	assert_touched("n1 ");
	put_fields(&fields, 2);
	assert_touched("");
	fields.state.is_ready = true;
	put_fields(&fields, 3);
	assert_touched("n1 n1 ");
	remove_record(&set.records, VIEW("ml/b"), 1000);
	assert_touched("n1 ");
	/* No report will name it. */
	assert_int_equal(node_state_find(&node_states, VIEW("n1"))->n_ended, 0);
	fields.node = VIEW("");
	put_fields(&fields, 4);
	assert_touched("");
}

TEST(only_a_pod_that_is_replaced_or_removed_has_ended)
{
	struct pod_fields fields = pod("a", "u1", "n1");

	observe("n1");
	put_fields(&fields, 1);
	fields.state.deleting = true;
	put_fields(&fields, 2);
	assert_int_equal(node_state_find(&node_states, VIEW("n1"))->n_ended, 0);
	fields.uid = VIEW("u2");
	put_fields(&fields, 3);
	assert_int_equal(node_state_find(&node_states, VIEW("n1"))->n_ended, 1);
}

static uint64_t ended_since(const struct node_state *node_state, const char *uid)
{
	for (struct list *l = node_state->ended.next; l != &node_state->ended; l = l->next) {
		const struct node_state_ended *ended = CONTAINER_OF(l, struct node_state_ended,
								    link);

		if (view_equal(ended->uid, view_from(uid)))
			return ended->since;
	}
	fail_msg("%s has not ended", uid);
	return 0;
}

TEST(a_pod_ended_when_it_was_first_told_to_be_over)
{
	/* In this order; the last one is removed. 0: not told. */
	static const struct {
		uint64_t runs_at, over_at, over_again_at, other_over_at;
		uint64_t since, other_since;
	} rows[] = {
		{.runs_at = 1, .since = 50},
		{.over_at = 1, .since = 1},
		{.over_at = 1, .over_again_at = 20, .since = 1},
		{.runs_at = 1, .over_at = 10, .over_again_at = 20, .since = 10},
		{.over_at = 10, .other_over_at = 20, .since = 10, .other_since = 20},
		{.runs_at = 1, .other_over_at = 20, .since = 20, .other_since = 20},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint64_t times[] = {rows[i].runs_at, rows[i].over_at, rows[i].over_again_at,
					  rows[i].other_over_at};
		struct pod_fields fields = pod("a", "u1", "n1");
		struct node_state *node_state = observe("n1");

		for (unsigned k = 0; k < ARRAY_SIZE(times); k++) {
			fields.state.phase = k > 0 ? POD_PHASE_FAILED : POD_PHASE_RUNNING;
			fields.state.no_container_runs = true;
			fields.state.deleting = k > 1;
			fields.uid = k > 2 ? VIEW("u2") : VIEW("u1");
			if (times[k] > 0)
				put_event(&fields, UPSERT_AT(10 * i + k + 1, times[k]));
		}
		remove_record(&set.records, VIEW("ml/a"), 50);
		assert_true(ended_since(node_state, "u1") == rows[i].since);
		if (rows[i].other_since > 0)
			assert_true(ended_since(node_state, "u2") == rows[i].other_since);
		start_anew();
	}
}

TEST(an_item_of_a_first_list_touches_as_such)
{
	struct pod_fields fields = pod("a", "u1", "n1");

	observe("n1");
	put_event(&fields, LISTED_FIRST(1));
	assert_touched("n1? ");
	fields.state.deleting = true;
	put_event(&fields, LISTED_FIRST(2));
	assert_touched("n1? n1? ");
}

TEST(a_pod_without_gpu_matters_when_a_report_names_it)
{
	static const struct {
		const char *name;
		const char *uid;
		const char *hash;
		const char *touched;
	} rows[] = {
		{"x", "u1", "", ""}, {"a", "u2", "", "n1 "}, {"y", "hash", "", "n1 "},
		{"z", "u3", "hash", "n1 "}, {"w", "u4", "other", ""},
	};

	report.checkpoint.entries = (struct array){&entry, 1, true};
	report.pod_resources = (struct array){&holder, 1, true};
	observe("n1");
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_fields fields = pod(rows[i].name, rows[i].uid, "n1");

		fields.state.wants_gpu = false;
		fields.config_hash = view_from(rows[i].hash);
		put_fields(&fields, i + 1);
		assert_touched(rows[i].touched);
	}
}

TEST(of_a_static_pod_both_its_names_are_remembered_as_ended)
{
	struct pod_fields fields = pod("a", "u1", "n1");
	struct node_state *node_state = observe("n1");

	fields.config_hash = VIEW("h");
	put_fields(&fields, 1);
	remove_record(&set.records, VIEW("ml/a"), 2000);
	assert_int_equal(node_state->n_ended, 2);
	assert_at("u1", NULL);
}

TEST(a_uid_that_another_pod_has_is_refused_and_changes_nothing)
{
	const struct pod_fields rows[] = {pod("c", "u1", "n1"), pod("b", "u1", "n1")};

	observe("n1");
	put_well("a", "u1", "n1", 1);
	put_well("b", "u2", "n2", 2);
	forget_touches();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};

		assert_int_equal(put(&rows[i], 9, &err), -1);
		assert_int_equal(err.kind, ERROR_REJECTED);
		assert_int_equal(err.os_errno, 0);
		assert_non_null(strstr(err.text, i ? "ml/b" : "ml/c"));
	}
	assert_touched("");
	assert_int_equal(set.records.store.table.count, 2);
	assert_at("u1", "n1");
	assert_at("u2", "n2");
}

TEST(without_memory_a_present_pod_stays_as_it_was)
{
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct pod_fields fields = pod("a", "u2", "n2");
		struct error err = {0};

		start_anew();
		put_well("a", "u1", "n1", 1);
		fields.gpu.containers.count = 1;
		fields.containers[0].name = VIEW("main");
		failing_malloc_at(k);
		int result = put(&fields, 2, &err);
		failed = failing_malloc_off();
		assert_at("u1", result < 0 ? "n1" : NULL);
		assert_at("u2", result < 0 ? NULL : "n2");
		assert_true(result == 0 || err.kind == ERROR_NO_MEMORY);
		assert_true(failed || result == 0);
	}
}

TEST(without_memory_a_new_pod_leaves_nothing_behind)
{
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		const struct pod_fields fields = pod("a", "u1", "n1");
		struct error err = {0};

		start_anew();
		failing_malloc_at(k);
		int result = put(&fields, 1, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(set.records.store.table.count + set.by_uid.count +
					 node_states.by_name.count,
				 failed ? 0 : 3);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(a_node_state_that_the_last_pod_leaves_is_gone),
	cmocka_unit_test_set_up(a_node_state_counts_its_pods_whose_status_tells_of_a_device),
	cmocka_unit_test_set_up(a_pod_that_no_join_would_see_touches_nothing),
	cmocka_unit_test_set_up(a_pod_of_the_operators_touches_its_node_when_it_comes_changes_or_goes),
	cmocka_unit_test_set_up(only_a_pod_that_is_replaced_or_removed_has_ended),
	cmocka_unit_test_set_up(a_pod_ended_when_it_was_first_told_to_be_over),
	cmocka_unit_test_set_up(a_pod_is_found_by_its_uid_at_its_node_state),
	cmocka_unit_test_set_up(a_pod_is_found_by_its_name_at_its_node_state),
	cmocka_unit_test_set_up(a_pod_that_changes_its_node_state_touches_both),
	cmocka_unit_test_set_up(an_item_of_a_first_list_touches_as_such),
	cmocka_unit_test_set_up(a_pod_without_gpu_matters_when_a_report_names_it),
	cmocka_unit_test_set_up(of_a_static_pod_both_its_names_are_remembered_as_ended),
	cmocka_unit_test_set_up(a_uid_that_another_pod_has_is_refused_and_changes_nothing),
	cmocka_unit_test_set_up(without_memory_a_present_pod_stays_as_it_was),
	cmocka_unit_test_set_up(without_memory_a_new_pod_leaves_nothing_behind),
};

TEST_MAIN(tests)
