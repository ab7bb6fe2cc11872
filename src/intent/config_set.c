/* SPDX-License-Identifier: Apache-2.0 */

/* Each ConfigMap is one block (base/compact.h), which is made anew when something changes. */

#include "intent/config_set.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compact.h"
#include "base/limits.h"

static const struct compact_row shared_rows[] = {
	COMPACT_TEXTS_ROW(plugin_config_shared, resource, resource),
	COMPACT_PLAIN_ROW(plugin_config_shared, replicas, replicas),
	{0},
};

static const struct compact_row config_rows[] = {
	COMPACT_TEXTS_ROW(plugin_config, name, mig_strategy),
	COMPACT_ARRAY_ROW(plugin_config, shared, struct plugin_config_shared, shared_rows),
	COMPACT_PLAIN_ROW(plugin_config, sharing, is_renamed),
	{0},
};

static const struct compact_row plugin_rows[] = {
	COMPACT_TEXTS_ROW(plugin_configs, namespace, name),
	COMPACT_ARRAY_ROW(plugin_configs, configs, struct plugin_config, config_rows),
	COMPACT_ARRAY_ROW(plugin_configs, former, struct plugin_config, config_rows),
	{0},
};

static const struct compact_row *const rows[INTENT_N_CONFIGS] = {
	[INTENT_PLUGIN_CONFIG] = plugin_rows,
	[INTENT_MIG_CONFIG] = mig_config_rows,
};

void config_set_deinit(struct config_set *set)
{
	for (int i = 0; i < INTENT_N_CONFIGS; i++)
		free(set->blocks[i]);
	*set = (struct config_set){0};
}

static bool is_same_map(const struct plugin_configs *a, const struct plugin_configs *b)
{
	return view_equal(a->name, b->name) && view_equal(a->namespace, b->namespace);
}

/* Configurations that were in effect before, newest first. */
struct former {
	struct plugin_config *configs;
	uint32_t n;
};

/*
 * One that means what the present one of its key means tells nothing; nor does one that cannot have been in
 * effect. So no former one is there twice. Of each key the newest few are kept.
 */
static void add_former(struct former *former, const struct plugin_configs *configs,
		       const struct plugin_config *config)
{
	const struct plugin_config *present = plugin_config_find(configs->configs, config->name);
	unsigned n = 0;
	if (config->error.len > 0 || config->unsupported.len > 0 ||
	    (present && plugin_config_equal(present, config)))
		return;
	ARRAY_EACH(const struct plugin_config, newer, array_of(former->configs, former->n))
		n += view_equal(newer->name, config->name);
	if (n < LIMIT_CONFIG_FORMER && former->n < LIMIT_CONFIG_FORMER * LIMIT_CONFIG_KEYS)
		former->configs[former->n++] = *config;
}

static void add_all(struct former *former, const struct plugin_configs *configs,
		    struct array before)
{
	ARRAY_EACH(const struct plugin_config, config, before)
		add_former(former, configs, config);
}

/* What the keys meant until now, and what they had meant before; *ret_former.configs is the caller's. */
static int collect_former(const struct plugin_configs *before, const struct plugin_configs *configs,
			  struct former *ret_former, struct error *err)
{
	struct former former = {0};
	if (before && is_same_map(before, configs)) {
		former.configs = calloc(before->configs.count + before->former.count + 1,
					sizeof(*former.configs));
		if (!former.configs)
			return error_no_memory(err);
		add_all(&former, configs, before->configs);
		add_all(&former, configs, before->former);
	}
	*ret_former = former;
	return 0;
}

/* A copy takes the place of what was put before, if it says something else. */
static int put(struct config_set *set, enum intent_config config, const void *configs, size_t size,
	       bool *ret_is_news, struct error *err)
{
	void *block, *before = set->blocks[config];

	if (compact_new(rows[config], configs, size, COMPACT_ANY_TEXT, &block, err) < 0)
		return -1;
	*ret_is_news = !before || !compact_equal(rows[config], before, block);
	free(*ret_is_news ? before : block);
	if (*ret_is_news)
		set->blocks[config] = block;
	*ret_is_news |= config_set_state(set, config, INTENT_CONFIG_THERE, INTENT_CONFIG_NOT_YET);
	return 0;
}

int config_set_put_plugin(struct config_set *set, const struct plugin_configs *configs,
			  bool *ret_is_news, struct error *err)
{
	struct plugin_configs with_former = *configs;
	struct former former;
	int failed;
	if (collect_former(set->blocks[INTENT_PLUGIN_CONFIG], configs, &former, err) < 0)
		return -1;
	with_former.former = array_of(former.configs, former.n);
	failed = put(set, INTENT_PLUGIN_CONFIG, &with_former, sizeof(with_former), ret_is_news, err);
	free(former.configs);
	return failed;
}

int config_set_put_mig(struct config_set *set, const struct mig_configs *configs,
		       bool *ret_is_news, struct error *err)
{
	return put(set, INTENT_MIG_CONFIG, configs, sizeof(*configs), ret_is_news, err);
}

bool config_set_state(struct config_set *set, enum intent_config config, enum intent_config_state state,
		      enum intent_config_why why)
{
	const bool is_unreadable = state == INTENT_CONFIG_UNREADABLE;
	const bool is_news = set->states[config] != state || (is_unreadable && set->whys[config] != why);
	assert(config < INTENT_N_CONFIGS);
	if (state == INTENT_CONFIG_NONE) {
		free(set->blocks[config]);
		set->blocks[config] = NULL;
	}
	assert(state != INTENT_CONFIG_THERE || config == INTENT_NODE_LAYOUTS || set->blocks[config]);
	set->states[config] = state;
	set->whys[config] = is_unreadable ? why : INTENT_CONFIG_NOT_YET;
	return is_news;
}

void config_set_tell(const struct config_set *set, struct intent *intent)
{
	const enum intent_config_state plugin = set->states[INTENT_PLUGIN_CONFIG],
				       mig = set->states[INTENT_MIG_CONFIG];
	intent->plugin_configs_state = plugin;
	intent->plugin_configs_why = set->whys[INTENT_PLUGIN_CONFIG];
	intent->plugin_configs = plugin == INTENT_CONFIG_THERE ? set->blocks[INTENT_PLUGIN_CONFIG] : NULL;
	intent->mig_configs_state = mig;
	intent->mig_configs_why = set->whys[INTENT_MIG_CONFIG];
	intent->mig_configs = mig == INTENT_CONFIG_THERE ? set->blocks[INTENT_MIG_CONFIG] : NULL;
	intent->node_layouts_state = set->states[INTENT_NODE_LAYOUTS];
	intent->node_layouts_why = set->whys[INTENT_NODE_LAYOUTS];
}
