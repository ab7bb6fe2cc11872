/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/scenario_intent.h"

#include "lib/test_main.h"

#define MAX_CONFIGS 8u

/* A copy in the world, so that what was made before stays as it was. */
static void *keep(struct scenario_line *line, const void *bytes, size_t size)
{
	void *copy = arena_alloc(&line->world->arena, 1, size);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	return copy;
}

static struct view copy(struct scenario_line *line, struct view text)
{
	return view_from(scenario_line_text(line, text));
}

/* Policies */

static const struct {
	const char *key;
	enum policy_operand operand;
} switches[] = {
	{"plugin", POLICY_DEVICE_PLUGIN}, {"exporter", POLICY_DCGM_EXPORTER},
	{"gfd", POLICY_GFD},		  {"mig", POLICY_MIG_MANAGER},
	{"driver", POLICY_DRIVER},
};

static const struct {
	const char *key;
	size_t offset;
} texts[] = {
	{"name", offsetof(struct policy, name)},
	{"namespace", offsetof(struct policy, namespace)},
	{"state", offsetof(struct policy, state)},
	{"version", offsetof(struct policy, driver_version)},
	{"config", offsetof(struct policy, plugin_config)},
	{"default", offsetof(struct policy, plugin_config_default)},
	{"strategy", offsetof(struct policy, mig_strategy)},
	{"unreadable", offsetof(struct policy, unreadable)},
};

static void read_key(struct scenario_line *line, struct policy *policy, struct view key,
		     struct view value)
{
	static const char *const words[] = {"unset", "on", "off", NULL};
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		if (!view_equal(key, view_from(switches[i].key)))
			continue;
		policy->switches[switches[i].operand] =
			(uint8_t)scenario_line_choose(line, value, words);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!view_equal(key, view_from(texts[i].key)))
			continue;
		*(struct view *)(void *)((char *)policy + texts[i].offset) = copy(line, value);
		return;
	}
	scenario_line_fail(line, "there is no key %.*s", VIEW_ARG(key));
}

static void do_policy(struct scenario_line *line)
{
	struct intent *intent = &line->world->intent;
	struct policy policy = {.name = VIEW("cluster-policy"), .namespace = VIEW("gpu-operator")};
	if (scenario_line_accept(line, "unread")) {
		*intent = (struct intent){.known = false};
		return;
	}
	if (scenario_line_accept(line, "none")) {
		*intent = (struct intent){.known = true};
		return;
	}
	while (scenario_line_has_more(line)) {
		struct view key, value;
		(void)view_cut(scenario_line_take(line), VIEW("="), &key, &value);
		read_key(line, &policy, key, value);
	}
	intent->known = true;
	intent->n_policies = 1;
	intent->policy = keep(line, &policy, sizeof(policy));
}

/* ConfigMaps */

static struct plugin_config read_config(struct scenario_line *line)
{
	static const char *const words[] = {"none", "time-slicing", "mps", NULL};
	struct plugin_config config = {.name = copy(line, scenario_line_take(line))};
	struct view sharing, replicas;
	(void)view_cut(scenario_line_take(line), VIEW(":"), &sharing, &replicas);
	config.sharing = scenario_line_choose(line, sharing, words);
	if (config.sharing != PLUGIN_CONFIG_NOT_SHARED) {
		struct plugin_config_shared shared = {.resource = VIEW("nvidia.com/gpu")};
		assert_true(view_parse_i64(replicas, &shared.replicas));
		config.shared = array_of(keep(line, &shared, sizeof(shared)), 1);
	}
	return config;
}

/* With one more in front. */
static struct array put_first(struct scenario_line *line, struct array configs,
			      const struct plugin_config *first)
{
	struct plugin_config all[MAX_CONFIGS] = {*first};
	assert_true(configs.count + 1 < MAX_CONFIGS);
	for (uint32_t i = 0; i < configs.count; i++)
		all[i + 1] = *ARRAY_AT(configs, struct plugin_config, i);
	return array_of(keep(line, all, sizeof(all)), configs.count + 1);
}

static void do_config(struct scenario_line *line)
{
	struct intent *intent = &line->world->intent;
	struct plugin_configs configs = {.namespace = VIEW("gpu-operator"),
					 .name = VIEW("plugin-config")};
	static const char *const states[] = {"named", "unreadable", "missing", NULL};
	if (scenario_line_accept(line, "is")) {
		intent->plugin_configs_state = (enum intent_config_state)scenario_line_choose(
			line, scenario_line_take(line), states);
		intent->plugin_configs = NULL;
		return;
	}
	if (intent->plugin_configs)
		configs = *intent->plugin_configs;
	const bool is_former = scenario_line_accept(line, "was");
	const struct plugin_config config = read_config(line);
	struct array *list = is_former ? &configs.former : &configs.configs;
	*list = put_first(line, *list, &config);
	intent->plugin_configs_state = INTENT_CONFIG_THERE;
	intent->plugin_configs = keep(line, &configs, sizeof(configs));
}

/* Labels */

static const struct {
	const char *key;
	size_t offset;
} labels[] = {
	{"device-plugin.config", offsetof(struct node, plugin_config)},
	{"mig.config", offsetof(struct node, mig_config)},
	{"mig.config.state", offsetof(struct node, mig_config_state)},
	{"gpu-driver-upgrade-state", offsetof(struct node, driver_upgrade)},
	{"gpu.count", offsetof(struct node, gpu_count)},
	{"gpu.product", offsetof(struct node, gpu_product)},
	{"gpu.present", offsetof(struct node, gpu_present)},
};

static void put_deploy(struct scenario_line *line, struct view operand, struct view value)
{
	struct node *node = &line->world->node;
	struct node_deploy all[MAX_CONFIGS] = {{copy(line, operand), copy(line, value)}};
	assert_true(node->deploys.count + 1 < MAX_CONFIGS);
	uint32_t n = 1;
	for (uint32_t i = 0; i < node->deploys.count; i++) {
		const struct node_deploy *other = ARRAY_AT(node->deploys, struct node_deploy, i);
		if (!view_equal(other->operand, operand))
			all[n++] = *other;
	}
	node->deploys = array_of(keep(line, all, sizeof(all)), n);
}

static void do_label(struct scenario_line *line)
{
	struct view key, value, operand;
	(void)view_cut(scenario_line_take(line), VIEW("="), &key, &value);
	if (view_starts_with(key, VIEW("gpu.deploy."))) {
		operand = view_from_offset(key, strlen("gpu.deploy."));
		put_deploy(line, operand, value);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		if (!view_equal(key, view_from(labels[i].key)))
			continue;
		*(struct view *)(void *)((char *)&line->world->node + labels[i].offset) =
			copy(line, value);
		return;
	}
	scenario_line_fail(line, "there is no label %.*s", VIEW_ARG(key));
}

static void do_capacity(struct scenario_line *line)
{
	struct node_resource resource = {VIEW("nvidia.com/gpu"), 0};
	resource.count = scenario_line_number(line);
	line->world->node.allocatable = array_of(keep(line, &resource, sizeof(resource)), 1);
}

const struct scenario_statement scenario_intent[] = {
	{"policy", "policy none | unread | [KEY=VALUE...]", do_policy},
	{"config", "config [was] KEY SHARING[:N] | config is unreadable|missing", do_config},
	{"label", "label KEY=[VALUE]", do_label},
	{"capacity", "capacity N", do_capacity},
	{NULL, NULL, NULL},
};
