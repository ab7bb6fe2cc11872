/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include "model/policy_set.h"

static struct policy_set set;

static int set_up(void **state)
{
	(void)state;
	memset(&set, 0x55, sizeof(set));
	policy_set_init(&set);
	return 0;
}

static int tear_down(void **state)
{
	struct table_node *node;

	(void)state;
	while ((node = table_next(&set.store.table, NULL)))
		policy_set_remove(&set, CONTAINER_OF(node, struct store_entry, node));
	policy_set_deinit(&set);
	return 0;
}

/* True when the set says that something changed. */
static bool put(const char *name, int64_t created_at, const char *state, uint64_t version)
{
	const struct policy policy = {
		.name = view_from(name), .uid = VIEW("u"), .created_at = created_at,
		.state = view_from(state), .mig_strategy = VIEW("mixed"),
		.plugin_config = VIEW("c"), .plugin_config_default = VIEW("d"),
		.driver_version = VIEW("570"), .gfd = POLICY_OFF,
	};
	struct error err;
	bool changed = false;

	assert_int_equal(policy_set_put(&set, &policy, STORE_UPSERT, version, &changed, &err), 0);
	return changed;
}

static void remove_policy(const char *name)
{
	policy_set_remove(&set, store_find(&set.store, view_from(name)));
}

static void assert_counts(const char *name, const char *state, uint32_t n)
{
	assert_int_equal(set.intent.n_policies, n);
	assert_int_equal(set.intent.policy != NULL, name != NULL);
	if (!name)
		return;
	assert_true(view_equal(set.intent.policy->name, view_from(name)));
	assert_true(view_equal(set.intent.policy->state, view_from(state)));
}

static void the_oldest_counts_then_the_lowest_name_also_after_deletions(void **state)
{
	(void)state;
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

static void a_newer_version_replaces_and_an_older_one_does_not(void **state)
{
	(void)state;
	char name[] = "p";

	assert_true(put(name, 100, "notReady", 5));
	name[0] = 'x';
	assert_false(put("p", 100, "old", 4));
	assert_false(put("p", 100, "same", 5));
	assert_counts("p", "notReady", 1);
	assert_true(put("p", 100, "ready", 6));
	assert_counts("p", "ready", 1);
	assert_true(view_equal(set.intent.policy->mig_strategy, VIEW("mixed")));
	assert_true(view_equal(set.intent.policy->plugin_config, VIEW("c")));
	assert_true(view_equal(set.intent.policy->plugin_config_default, VIEW("d")));
	assert_true(view_equal(set.intent.policy->driver_version, VIEW("570")));
	assert_int_equal(set.intent.policy->gfd, POLICY_OFF);
}

static void without_memory_what_is_there_stays(void **state)
{
	(void)state;
	static char long_text[5000];
	bool failed = true;

	memset(long_text, 'a', sizeof(long_text));
	put("p", 100, "ready", 1);
	for (unsigned k = 1; failed; k++) {
		const struct view text = {long_text, sizeof(long_text)};
		const struct policy policies[] = {
			{.name = VIEW("p"), .state = VIEW("new"), .created_at = 100},
			{.name = VIEW("q"), .state = text, .uid = text, .mig_strategy = text,
			 .plugin_config = text, .plugin_config_default = text,
			 .namespace = text, .driver_version = text, .created_at = 200},
		};
		struct error err = {0};
		bool changed;

		failing_malloc_at(k);
		int result = policy_set_put(&set, &policies[1], STORE_UPSERT, 2, &changed, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(err.kind, failed ? ERROR_NO_MEMORY : ERROR_NONE);
		assert_counts("p", "ready", failed ? 1 : 2);
		failing_malloc_at(1);
		assert_int_equal(policy_set_put(&set, &policies[0], STORE_UPSERT, 2, &changed,
						&err), -1);
		assert_true(failing_malloc_off());
		assert_counts("p", "ready", failed ? 1 : 2);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		the_oldest_counts_then_the_lowest_name_also_after_deletions, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_newer_version_replaces_and_an_older_one_does_not, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_what_is_there_stays, set_up, tear_down),
};

TEST_MAIN(tests)
