/* SPDX-License-Identifier: Apache-2.0 */
#include "intent/plugin_config.h"

#include <stddef.h>

const struct plugin_config *plugin_config_find(struct array configs, struct view name)
{
	ARRAY_EACH(const struct plugin_config, config, configs)
		if (view_equal(config->name, name))
			return config;
	return NULL;
}

int64_t plugin_config_replicas(const struct plugin_config *config, struct view resource)
{
	ARRAY_EACH(const struct plugin_config_shared, shared, config->shared)
		if (view_equal(shared->resource, resource))
			return shared->replicas;
	return 1;
}

static struct view strategy_of(const struct plugin_config *config)
{
	return config->mig_strategy.len > 0 ? config->mig_strategy : VIEW("none");
}

/* Of resources that are written twice the first counts. */
static bool shares_all_of(const struct plugin_config *a, const struct plugin_config *b)
{
	ARRAY_EACH(const struct plugin_config_shared, shared, b->shared)
		if (plugin_config_replicas(a, shared->resource) != plugin_config_replicas(b, shared->resource))
			return false;
	return true;
}

bool plugin_config_equal(const struct plugin_config *a, const struct plugin_config *b)
{
	if (a->error.len > 0 || b->error.len > 0)
		return a->error.len > 0 && b->error.len > 0;
	return view_equal(a->unsupported, b->unsupported) &&
	       view_equal(strategy_of(a), strategy_of(b)) && a->sharing == b->sharing &&
	       (a->sharing == PLUGIN_CONFIG_NOT_SHARED || a->is_renamed == b->is_renamed) &&
	       shares_all_of(a, b) && shares_all_of(b, a);
}
