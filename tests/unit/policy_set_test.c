/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/record_events.h"
#include "lib/test_main.h"

#include "model/policy_set.h"

static struct node_state_set node_states;
static struct policy_set set;
static const struct report nothing_reported = {.version = 1};
static unsigned n_touched;

static void on_touch(void *owner, struct view node_name, bool initial)
{
	(void)owner;
	(void)node_name;
	(void)initial;
	n_touched++;
}

static int set_up(void **state)
{
	struct error err;
	struct node_state *node_state;

	(void)state;
	node_state_set_init(&node_states);
	node_states.touch = on_touch;
	node_state = node_state_ensure(&node_states, VIEW("gpu-a"), &err);
	assert_non_null(node_state);
	node_state->report = &nothing_reported;
	n_touched = 0;
	memset(&set, 0x55, sizeof(set));
	policy_set_init(&set, &node_states);
	return 0;
}

static int tear_down(void **state)
{
	struct node_state *node_state = node_state_find(&node_states, VIEW("gpu-a"));

	(void)state;
	record_set_deinit(&set.records);
	record_set_deinit(&set.gpu_clusters);
	node_state->report = NULL;
	node_state_release(&node_states, node_state);
	node_state_set_deinit(&node_states);
	return 0;
}

/* True when the nodes are told that something changed. */
static bool put(const char *name, int64_t created_at, const char *namespace, uint64_t version)
{
	const struct policy policy = {
		.name = view_from(name), .namespace = view_from(namespace), .created_at = created_at,
	};
	unsigned before = n_touched;

	put_record(&set.records, &policy, UPSERT(version));
	return n_touched > before;
}

static void remove_policy(const char *name)
{
	unsigned before = n_touched;

	remove_record(&set.records, view_from(name), 0);
	assert_int_equal(n_touched, before + 1);
}

static void assert_counts(const char *name, const char *namespace, uint32_t n)
{
	assert_int_equal(set.intent.n_policies, n);
	assert_int_equal(set.intent.policy != NULL, name != NULL);
	if (!name)
		return;
	assert_true(view_equal(set.intent.policy->name, view_from(name)));
	assert_true(view_equal(set.intent.policy->namespace, view_from(namespace)));
}

TEST(the_oldest_counts_then_the_lowest_name_also_after_deletions)
{
	assert_counts(NULL, NULL, 0);
	assert_true(put("m", 200, "ready", 1));
	assert_counts("m", "ready", 1);
	assert_true(put("z", 100, "ready", 2));
	assert_counts("z", "ready", 2);
	assert_true(put("b", 100, "ready", 3));
	assert_counts("b", "ready", 3);
	assert_true(put("c", 100, "ready", 4));
	assert_counts("b", "ready", 4);
	remove_policy("b");
	assert_counts("c", "ready", 3);
	remove_policy("c");
	remove_policy("z");
	assert_counts("m", "ready", 1);
	remove_policy("m");
	assert_counts(NULL, NULL, 0);
}

TEST(a_newer_version_replaces_and_an_older_one_does_not)
{
	char name[] = "p";

	assert_true(put(name, 100, "notReady", 5));
	name[0] = 'x';
	assert_false(put("p", 100, "old", 4));
	assert_false(put("p", 100, "same", 5));
	assert_counts("p", "notReady", 1);
	assert_true(put("p", 100, "ready", 6));
	assert_counts("p", "ready", 1);
	assert_false(put("p", 100, "ready", 7)); /* it says the same */
}

/* Each gives one member a value of its own. */
TEST(each_fact_of_a_policy_is_news)
{
	static struct view argument = VIEW_INIT("--mig-strategy=none"),
			   other_argument = VIEW_INIT("--mig-strategy=mixed");
	static struct policy_variable variable = {VIEW_INIT("MIG_STRATEGY"), VIEW_INIT("none")},
				      other_variable = {VIEW_INIT("MIG_STRATEGY"), VIEW_INIT("mixed")};
	static struct policy_condition condition = {.type = VIEW_INIT("Ready")},
				       other_condition = {.type = VIEW_INIT("Ready"),
							  .message = VIEW_INIT("m")};
	const struct policy policies[] = {
		{.uid = VIEW("x")}, {.namespace = VIEW("x")}, {.state = VIEW("x")},
		{.driver_version = VIEW("x")}, {.plugin_config = VIEW("x")},
		{.plugin_config_default = VIEW("x")}, {.mig_strategy = VIEW("x")},
		{.mig_config = VIEW("x")}, {.mig_config_default = VIEW("x")},
		{.mig_manager_version = VIEW("x")}, {.default_workload = VIEW("x")}, {.unreadable = VIEW("x")},
		{.plugin_env = array_of(&variable, 1)}, {.plugin_args = array_of(&argument, 1)},
		{.plugin_args = array_of(&other_argument, 1)},
		{.gfd_env = array_of(&variable, 1)}, {.gfd_env = array_of(&other_variable, 1)},
		{.gfd_args = array_of(&argument, 1)}, {.gfd_args = array_of(&other_argument, 1)},
		{.conditions = array_of(&condition, 1)},
		{.conditions = array_of(&other_condition, 1)}, {.created_at = 5},
		{.switches = {[POLICY_DRIVER] = POLICY_OFF}},
		{.switches = {[POLICY_N_OPERANDS - 1] = POLICY_ON}},
	};
	uint64_t version = 0;

	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct policy policy = policies[i];

		policy.name = VIEW("p");
		for (unsigned news = 2; news-- > 0;) {
			unsigned before = n_touched;

			put_record(&set.records, &policy, UPSERT(++version));
			assert_int_equal(n_touched, before + news);
		}
	}
	assert_int_equal(set.intent.policy->switches[POLICY_N_OPERANDS - 1], POLICY_ON);
}

TEST(gpu_clusters_are_counted_as_they_come_and_go)
{
	static const char *const names[] = {"a", "b"};

	for (uint32_t i = 0; i < 2; i++) {
		const struct gpu_cluster cluster = {.name = view_from(names[i])};

		put_record(&set.gpu_clusters, &cluster, UPSERT(i + 1));
		assert_int_equal(set.intent.n_gpu_clusters, i + 1);
	}
	assert_int_equal(n_touched, 2);
	for (uint32_t i = 2; i-- > 0;) {
		remove_record(&set.gpu_clusters, view_from(names[i]), 0);
		assert_int_equal(set.intent.n_gpu_clusters, i);
	}
	assert_int_equal(n_touched, 4);
	assert_int_equal(set.intent.n_policies, 0);
}

TEST(without_memory_what_is_there_stays)
{
	static char long_text[5000];
	bool failed = true;

	memset(long_text, 'a', sizeof(long_text));
	put("p", 100, "ready", 1);
	for (unsigned k = 1; failed; k++) {
		const struct view text = {long_text, sizeof(long_text)};
		const struct policy policies[] = {
			{.name = VIEW("p"), .namespace = VIEW("new"), .created_at = 100},
			{.name = VIEW("q"), .namespace = text, .created_at = 200},
		};
		struct error err = {0};

		failing_malloc_at(k);
		int result = record_set_put_copy(&set.records, &policies[1], UPSERT(2), &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		assert_counts("p", "ready", failed ? 1 : 2);
		failing_malloc_at(1);
		assert_int_equal(record_set_put_copy(&set.records, &policies[0], UPSERT(2), &err),
				 -1);
		assert_true(failing_malloc_off());
		assert_counts("p", "ready", failed ? 1 : 2);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(the_oldest_counts_then_the_lowest_name_also_after_deletions),
	cmocka_unit_test_set_up(a_newer_version_replaces_and_an_older_one_does_not),
	cmocka_unit_test_set_up(each_fact_of_a_policy_is_news),
	cmocka_unit_test_set_up(gpu_clusters_are_counted_as_they_come_and_go),
	cmocka_unit_test_set_up(without_memory_what_is_there_stays),
};

TEST_MAIN(tests)
