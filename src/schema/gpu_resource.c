/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One row per publisher. NVIDIA's plugin takes any name in its domain: resources can be renamed,
 * so the part behind the slash is not looked at.
 */

#include "schema/gpu_resource.h"

static const struct view known_prefixes[] = {
	VIEW_INIT("nvidia.com/"),
};

bool gpu_resource_is_known(struct view name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_prefixes); i++) {
		if (view_starts_with(name, known_prefixes[i]))
			return true;
	}
	return false;
}
