/* SPDX-License-Identifier: Apache-2.0 */
#include "model/mig_config.h"

#include <assert.h>
#include <stddef.h>

const struct mig_config *mig_config_find(const struct mig_configs *configs, struct view name)
{
	for (uint32_t i = 0; i < configs->layouts.count; i++) {
		const struct mig_config *layout = ARRAY_AT(configs->layouts, struct mig_config, i);

		if (view_equal(layout->name, name))
			return layout;
	}
	return NULL;
}

static bool is_for(const struct mig_config_part *part, int64_t index)
{
	for (uint32_t i = 0; i < part->indices.count; i++)
		if (*ARRAY_AT(part->indices, int64_t, i) == index)
			return true;
	return part->is_for_all;
}

const struct mig_config_part *mig_config_part_of(const struct mig_config *layout, int64_t index,
						 bool *ret_is_uncertain)
{
	const struct mig_config_part *last = NULL;

	for (uint32_t i = 0; i < layout->parts.count; i++) {
		const struct mig_config_part *part = ARRAY_AT(layout->parts, struct mig_config_part, i);

		if (is_for(part, index))
			last = part;
	}
	assert(!last || last->is_for_all || last->indices.count > 0);
	*ret_is_uncertain = last && last->filters.count > 0;
	return last;
}
