/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * find_attribution - an object that the inventory has.
 */

#include "model/inventory.h"

/* The object of that name, or NULL; borrowed until the next change. */
static inline const struct attribution *find_attribution(const struct inventory *inventory,
							 struct view name)
{
	const struct attribution *object = NULL;

	while ((object = inventory_next_attribution(inventory, object)))
		if (view_equal(object->name, name))
			return object;
	return NULL;
}
