/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * published_orders - tells the front which reports published statuses rest on, and which boot the
 * Nodes name. So no report is taken that came before.
 *
 * Threads: the loop's.
 */

#include "controller/front.h"
#include "model/inventory.h"

/* Of all objects. A failure is logged. */
void published_orders_tell(struct front *front, const struct inventory *inventory);
/* Of one node, whose Node names another boot. A failure is logged. */
void published_orders_tell_boot(struct front *front, const struct inventory *inventory,
				struct view node_name);
