/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdio.h>

#include "base/limits.h"
#include "intent/config_set.h"

static struct config_set set;
static struct intent intent;

static int set_up(void **state)
{
	(void)state;
	set = (struct config_set){0};
	intent = (struct intent){0};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	config_set_deinit(&set);
	return 0;
}

/* A key that shares the GPU by so many replicas; 0: not at all; -1: an error; -2: not supported. */
struct key {
	const char *name;
	int64_t replicas;
};

static int put(const char *map, const struct key *keys, uint32_t n, bool *ret_is_news,
	       struct error *err)
{
	struct plugin_config configs[8] = {0};
	struct plugin_config_shared shared[8];

	for (uint32_t i = 0; i < n; i++) {
		shared[i] = (struct plugin_config_shared){VIEW("nvidia.com/gpu"), keys[i].replicas};
		configs[i].name = view_from(keys[i].name);
		if (keys[i].replicas == -1)
			configs[i].error = VIEW("?");
		if (keys[i].replicas == -2)
			configs[i].unsupported = VIEW("?");
		if (keys[i].replicas <= 0)
			continue;
		configs[i].sharing = PLUGIN_CONFIG_TIME_SLICING;
		configs[i].shared = array_of(&shared[i], 1);
	}
	return config_set_put_plugin(&set,
				     &(struct plugin_configs){.namespace = VIEW("ops"),
							      .name = view_from(map),
							      .configs = array_of(configs, n)},
				     ret_is_news, err);
}

static bool put_well(const char *map, const struct key *keys, uint32_t n)
{
	bool is_news = false;
	struct error err;

	assert_int_equal(put(map, keys, n, &is_news, &err), 0);
	config_set_tell(&set, &intent);
	return is_news;
}

static bool put_one(int64_t replicas)
{
	return put_well("plugin", &(struct key){"a", replicas}, 1);
}

/* "a=4 a=2": what the keys meant before. */
static void assert_former(const char *expected)
{
	char text[200] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < intent.plugin_configs->former.count; i++) {
		const struct plugin_config *config =
			ARRAY_AT(intent.plugin_configs->former, struct plugin_config, i);
		int64_t replicas = config->shared.count > 0
					   ? ARRAY_AT(config->shared, struct plugin_config_shared, 0)
						     ->replicas
					   : 0;

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s=%lld", i ? " " : "",
					VIEW_ARG(config->name), (long long)replicas);
	}
	assert_string_equal(text, expected);
}

static void what_was_put_is_copied_and_told(void **state)
{
	char name[] = "slices";
	const struct key keys[] = {{name, 4}, {"whole", 0}};

	(void)state;
	config_set_tell(&set, &intent);
	assert_int_equal(intent.plugin_configs_state, INTENT_CONFIG_NONE);
	assert_null(intent.plugin_configs);
	assert_true(put_well("plugin", keys, 2));
	name[0] = 'x';
	assert_int_equal(intent.plugin_configs_state, INTENT_CONFIG_THERE);
	assert_true(view_equal(intent.plugin_configs->name, VIEW("plugin")));
	assert_true(view_equal(intent.plugin_configs->namespace, VIEW("ops")));
	const struct plugin_config *config =
		plugin_config_find(intent.plugin_configs->configs, VIEW("slices"));
	assert_non_null(config);
	assert_int_equal(plugin_config_replicas(config, VIEW("nvidia.com/gpu")), 4);
	assert_former("");
	assert_int_equal(intent.mig_configs_state, INTENT_CONFIG_NONE);
}

static void a_key_remembers_what_it_meant_before_the_newest_first(void **state)
{
	(void)state;
	assert_true(put_one(2));
	assert_true(put_one(3));
	assert_former("a=2");
	assert_true(put_one(4));
	assert_former("a=3 a=2");
	assert_true(put_one(0));
	assert_true(put_one(5));
	assert_former("a=0 a=4 a=3 a=2");
	assert_true(put_one(6));
	assert_former("a=5 a=0 a=4 a=3");
	/* What it means now is nothing that it meant before. */
	assert_true(put_one(4));
	assert_former("a=6 a=5 a=0 a=3");
	/* Nor is anything there twice. */
	assert_true(put_one(5));
	assert_former("a=4 a=6 a=0 a=3");
	assert_false(put_one(5));
	assert_former("a=4 a=6 a=0 a=3");
}

static void a_text_that_nobody_can_have_loaded_is_not_remembered(void **state)
{
	(void)state;
	assert_true(put_one(2));
	assert_true(put_one(-1));
	assert_former("a=2");
	assert_true(put_one(3));
	assert_former("a=2");
	assert_true(put_one(-2));
	assert_former("a=3 a=2");
	assert_true(put_one(4));
	assert_former("a=3 a=2");
}

static void each_key_has_its_own_past_and_keeps_it_when_it_is_gone(void **state)
{
	const struct key first[] = {{"a", 2}, {"b", 3}}, second[] = {{"b", 4}},
			 third[] = {{"a", 2}, {"b", 3}};

	(void)state;
	assert_true(put_well("plugin", first, 2));
	assert_true(put_well("plugin", second, 1));
	assert_former("a=2 b=3");
	assert_true(put_well("plugin", third, 2));
	assert_former("b=4");
}

static void two_keys_may_have_meant_the_same(void **state)
{
	const struct key keys[] = {{"a", 2}, {"b", 2}};

	(void)state;
	assert_true(put_well("plugin", keys, 2));
	assert_true(put_well("plugin", keys, 0));
	assert_former("a=2 b=2");
}

static void of_more_keys_than_the_limit_the_first_are_remembered(void **state)
{
	static struct plugin_config configs[LIMIT_CONFIG_FORMER * LIMIT_CONFIG_KEYS + 1];
	static char names[ARRAY_SIZE(configs)][8];
	struct plugin_configs map = {.name = VIEW("plugin"), .configs = array_of(configs, ARRAY_SIZE(configs))};
	bool is_news;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		snprintf(names[i], sizeof(names[i]), "%04zu", i);
		configs[i].name = view_from(names[i]);
	}
	assert_int_equal(config_set_put_plugin(&set, &map, &is_news, &err), 0);
	map.configs.count = 0;
	assert_int_equal(config_set_put_plugin(&set, &map, &is_news, &err), 0);
	config_set_tell(&set, &intent);
	assert_int_equal(intent.plugin_configs->former.count, LIMIT_CONFIG_FORMER * LIMIT_CONFIG_KEYS);
	assert_null(plugin_config_find(intent.plugin_configs->former, view_from(names[ARRAY_SIZE(names) - 1])));
}

static void a_config_map_of_another_namespace_has_no_past(void **state)
{
	const struct plugin_configs map = {.namespace = VIEW("others"), .name = VIEW("plugin")};
	bool is_news;
	struct error err;

	(void)state;
	put_one(2);
	assert_int_equal(config_set_put_plugin(&set, &map, &is_news, &err), 0);
	assert_true(is_news);
	config_set_tell(&set, &intent);
	assert_former("");
}

static void another_config_map_has_no_past(void **state)
{
	const struct key key = {"a", 4};

	(void)state;
	put_one(2);
	assert_true(put_well("other", &key, 1));
	assert_former("");
	config_set_state(&set, INTENT_PLUGIN_CONFIG, INTENT_CONFIG_NONE, INTENT_CONFIG_NOT_YET);
	assert_null(set.blocks[INTENT_PLUGIN_CONFIG]);
	put_one(5);
	assert_former("");
}

static void why_a_config_map_cannot_be_read_is_told_and_is_news(void **state)
{
	(void)state;
	put_one(2);
	assert_true(config_set_state(&set, INTENT_PLUGIN_CONFIG, INTENT_CONFIG_UNREADABLE, INTENT_CONFIG_NO_RIGHT));
	assert_false(config_set_state(&set, INTENT_PLUGIN_CONFIG, INTENT_CONFIG_UNREADABLE, INTENT_CONFIG_NO_RIGHT));
	config_set_tell(&set, &intent);
	assert_int_equal(intent.plugin_configs_state, INTENT_CONFIG_UNREADABLE);
	assert_int_equal(intent.plugin_configs_why, INTENT_CONFIG_NO_RIGHT);
	assert_int_equal(intent.mig_configs_why, INTENT_CONFIG_NOT_YET);
	assert_null(intent.plugin_configs);
	assert_true(config_set_state(&set, INTENT_PLUGIN_CONFIG, INTENT_CONFIG_UNREADABLE, INTENT_CONFIG_NO_ANSWER));
	assert_true(config_set_state(&set, INTENT_MIG_CONFIG, INTENT_CONFIG_UNREADABLE, INTENT_CONFIG_TOO_LARGE));
	config_set_tell(&set, &intent);
	assert_int_equal(intent.plugin_configs_why, INTENT_CONFIG_NO_ANSWER);
	assert_int_equal(intent.mig_configs_why, INTENT_CONFIG_TOO_LARGE);
	assert_true(put_one(2));
	config_set_tell(&set, &intent);
	assert_int_equal(intent.plugin_configs_why, INTENT_CONFIG_NOT_YET);
}

static void only_what_cannot_be_read_has_a_reason(void **state)
{
	(void)state;
	assert_true(config_set_state(&set, INTENT_MIG_CONFIG, INTENT_CONFIG_MISSING, INTENT_CONFIG_NO_RIGHT));
	assert_false(config_set_state(&set, INTENT_MIG_CONFIG, INTENT_CONFIG_MISSING, INTENT_CONFIG_NO_RIGHT));
	config_set_tell(&set, &intent);
	assert_int_equal(intent.mig_configs_why, INTENT_CONFIG_NOT_YET);
}

static void of_the_layouts_of_nodes_the_state_alone_is_told(void **state)
{
	(void)state;
	assert_true(config_set_state(&set, INTENT_NODE_LAYOUTS, INTENT_CONFIG_THERE, INTENT_CONFIG_NOT_YET));
	config_set_tell(&set, &intent);
	assert_int_equal(intent.node_layouts_state, INTENT_CONFIG_THERE);
	assert_int_equal(intent.node_layouts_why, INTENT_CONFIG_NOT_YET);
	assert_true(config_set_state(&set, INTENT_NODE_LAYOUTS, INTENT_CONFIG_UNREADABLE, INTENT_CONFIG_NO_RIGHT));
	config_set_tell(&set, &intent);
	assert_int_equal(intent.node_layouts_state, INTENT_CONFIG_UNREADABLE);
	assert_int_equal(intent.node_layouts_why, INTENT_CONFIG_NO_RIGHT);
}

static void a_set_that_was_freed_is_as_a_new_one(void **state)
{
	(void)state;
	put_one(2);
	config_set_deinit(&set);
	assert_null(set.blocks[INTENT_PLUGIN_CONFIG]);
	config_set_tell(&set, &intent);
	assert_int_equal(intent.plugin_configs_state, INTENT_CONFIG_NONE);
	assert_true(put_one(3));
	assert_former("");
}

static void a_config_map_that_comes_back_remembers_what_it_meant(void **state)
{
	(void)state;
	put_one(2);
	assert_true(config_set_state(&set, INTENT_PLUGIN_CONFIG, INTENT_CONFIG_MISSING, INTENT_CONFIG_NOT_YET));
	assert_false(config_set_state(&set, INTENT_PLUGIN_CONFIG, INTENT_CONFIG_MISSING, INTENT_CONFIG_NOT_YET));
	config_set_tell(&set, &intent);
	assert_int_equal(intent.plugin_configs_state, INTENT_CONFIG_MISSING);
	assert_null(intent.plugin_configs);
	assert_true(put_one(2)); /* it is there again */
	assert_former("");
	assert_true(config_set_state(&set, INTENT_PLUGIN_CONFIG, INTENT_CONFIG_UNREADABLE, INTENT_CONFIG_NOT_YET));
	config_set_tell(&set, &intent);
	assert_null(intent.plugin_configs);
	assert_true(config_set_state(&set, INTENT_PLUGIN_CONFIG, INTENT_CONFIG_THERE, INTENT_CONFIG_NOT_YET));
	config_set_tell(&set, &intent);
	assert_non_null(intent.plugin_configs);
	assert_true(put_one(3));
	assert_former("a=2");
}

/* Each differs from the one before it in one thing. */
static void each_fact_of_a_layout_is_news(void **state)
{
	static int64_t indices[] = {0, 1};
	static struct view filters[] = {VIEW_INIT("0x1"), VIEW_INIT("0x2")};
	static struct mig_config_count counts[] = {{VIEW_INIT("1g.5gb"), 7}, {VIEW_INIT("1g.5gb"), 6},
						   {VIEW_INIT("2g.10gb"), 6}};
	struct mig_config_part parts[8] = {{0}};
	struct mig_config layouts[9];
	bool is_news;
	struct error err;

	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(parts); i++) {
		parts[i] = parts[i - 1];
		if (i == 1)
			parts[i].is_for_all = true;
		else if (i < 4)
			parts[i].indices = array_of(&indices[i - 2], 1);
		else if (i == 4)
			parts[i].filters = array_of(filters, 2);
		else if (i == 5)
			parts[i].is_enabled = true;
		else
			parts[i].counts = array_of(&counts[i - 5], 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		layouts[i] = (struct mig_config){i < 8 ? VIEW("a") : VIEW("b"),
						 array_of(&parts[i < 8 ? i : 7], 1)};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(layouts); i++) {
		const struct mig_configs configs = {.namespace = VIEW("ops"), .name = VIEW("parted"),
						    .layouts = array_of(&layouts[i / 2], 1)};

		assert_int_equal(config_set_put_mig(&set, &configs, &is_news, &err), 0);
		assert_int_equal(is_news, i % 2 == 0);
	}
	config_set_tell(&set, &intent);
	assert_int_equal(intent.mig_configs_state, INTENT_CONFIG_THERE);
	const struct mig_config *layout = mig_config_find(intent.mig_configs, VIEW("b"));
	bool is_uncertain;
	const struct mig_config_part *part = mig_config_part_of(layout, 1, VIEW("0x2"), &is_uncertain);
	assert_non_null(part);
	assert_false(is_uncertain);
	assert_true(view_equal(ARRAY_AT(part->counts, struct mig_config_count, 0)->profile,
			       VIEW("2g.10gb")));
	assert_int_equal(ARRAY_AT(part->counts, struct mig_config_count, 0)->count, 6);
	assert_true(view_equal(*ARRAY_AT(part->filters, struct view, 1), VIEW("0x2")));
	assert_true(config_set_state(&set, INTENT_MIG_CONFIG, INTENT_CONFIG_NONE, INTENT_CONFIG_NOT_YET));
	assert_null(set.blocks[INTENT_MIG_CONFIG]);
}

static void without_memory_all_is_as_before(void **state)
{
	const struct mig_configs layouts = {.name = VIEW("parted")};
	bool failed = true, is_news;
	struct error err;

	(void)state;
	put_one(2);
	for (unsigned k = 1; failed; k++) {
		failing_malloc_at(k);
		int result = put("plugin", &(struct key){"a", 3}, 1, &is_news, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		config_set_tell(&set, &intent);
		assert_former(failed ? "" : "a=2");
	}
	failing_malloc_at(1);
	assert_int_equal(config_set_put_mig(&set, &layouts, &is_news, &err), -1);
	assert_true(failing_malloc_off());
	assert_int_equal(set.states[INTENT_MIG_CONFIG], INTENT_CONFIG_NONE);
	assert_null(set.blocks[INTENT_MIG_CONFIG]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(what_was_put_is_copied_and_told, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_key_remembers_what_it_meant_before_the_newest_first, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_text_that_nobody_can_have_loaded_is_not_remembered, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(each_key_has_its_own_past_and_keeps_it_when_it_is_gone,
					set_up, tear_down),
	cmocka_unit_test_setup_teardown(two_keys_may_have_meant_the_same, set_up, tear_down),
	cmocka_unit_test_setup_teardown(of_more_keys_than_the_limit_the_first_are_remembered, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_config_map_of_another_namespace_has_no_past, set_up, tear_down),
	cmocka_unit_test_setup_teardown(another_config_map_has_no_past, set_up, tear_down),
	cmocka_unit_test_setup_teardown(only_what_cannot_be_read_has_a_reason, set_up, tear_down),
	cmocka_unit_test_setup_teardown(of_the_layouts_of_nodes_the_state_alone_is_told, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_set_that_was_freed_is_as_a_new_one, set_up, tear_down),
	cmocka_unit_test_setup_teardown(why_a_config_map_cannot_be_read_is_told_and_is_news, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_config_map_that_comes_back_remembers_what_it_meant, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(each_fact_of_a_layout_is_news, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_all_is_as_before, set_up, tear_down),
};

TEST_MAIN(tests)
