/* SPDX-License-Identifier: Apache-2.0 */

/* Any text is a configuration, or there is one reason why not, which tells the place. */

#include <assert.h>

#include "base/limits.h"
#include "schema/plugin_config_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_shared(const struct plugin_config *config)
{
	assert((config->sharing == PLUGIN_CONFIG_NOT_SHARED) == (config->shared.count == 0));
	assert(config->shared.count <= LIMIT_CONFIG_RESOURCES);
	for (uint32_t i = 0; i < config->shared.count; i++) {
		const struct plugin_config_shared *shared =
			ARRAY_AT(config->shared, struct plugin_config_shared, i);

		assert(shared->replicas >= 2);
		assert(view_starts_with(shared->resource, VIEW("nvidia.com/")));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct view text = {(const char *)data, size};
	struct plugin_config config;
	struct error err;

	arena_init(&arena, LIMIT_CONFIG_ARENA);
	if (plugin_config_doc_decode(VIEW("key"), text, &arena, &config, &err) != 0)
		return 0;
	assert(view_equal(config.name, VIEW("key")));
	assert(config.error.len == 0 || config.unsupported.len == 0);
	if (config.error.len > 0 || config.unsupported.len > 0) {
		assert(view_starts_with(config.error.len > 0 ? config.error : config.unsupported,
					VIEW("line ")));
		assert(config.dead == 0 && config.mig_strategy.len == 0);
	}
	check_shared(&config);
	return 0;
}
