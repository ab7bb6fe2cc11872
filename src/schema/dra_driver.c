/* SPDX-License-Identifier: Apache-2.0 */

/* One row a driver. compute-domain.nvidia.com hands out channels between nodes, not GPUs. */

#include "schema/dra_driver.h"

static const struct view known_drivers[] = {
	VIEW_INIT("gpu.nvidia.com"),
};

bool dra_driver_is_known(struct view name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_drivers); i++) {
		if (view_equal(name, known_drivers[i]))
			return true;
	}
	return false;
}

struct view dra_driver_attribute(struct view driver, struct view name)
{
	struct view domain, rest;

	if (view_cut(name, VIEW("/"), &domain, &rest) && view_equal(domain, driver))
		return rest;
	return name;
}
