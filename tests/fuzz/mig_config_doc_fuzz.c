/* SPDX-License-Identifier: Apache-2.0 */

/* Any text has layouts, each with parts, or an error that tells the place. */

#include <assert.h>

#include "base/limits.h"
#include "schema/mig_config_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(const struct mig_config_part *part)
{
	assert(!part->is_for_all || part->indices.count == 0);
	assert(part->is_enabled || part->counts.count == 0);
	for (uint32_t i = 0; i < part->counts.count; i++)
		assert(ARRAY_AT(part->counts, struct mig_config_count, i)->profile.len > 0);
	for (uint32_t i = 0; i < part->indices.count; i++)
		assert(*ARRAY_AT(part->indices, int64_t, i) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct view text = {(const char *)data, size};
	struct mig_configs configs;
	struct error err;

	arena_init(&arena, LIMIT_CONFIG_ARENA);
	if (mig_config_doc_decode(text, &arena, &configs, &err) != 0)
		return 0;
	assert((configs.error.len == 0) == (configs.layouts.count > 0));
	assert(configs.error.len == 0 || view_starts_with(configs.error, VIEW("line ")));
	for (uint32_t i = 0; i < configs.layouts.count; i++) {
		const struct mig_config *layout = ARRAY_AT(configs.layouts, struct mig_config, i);

		assert(layout->parts.count > 0);
		for (uint32_t k = 0; k < layout->parts.count; k++)
			check_part(ARRAY_AT(layout->parts, struct mig_config_part, k));
	}
	return 0;
}
