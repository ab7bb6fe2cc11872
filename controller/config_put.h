/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * config_put - puts what ConfigMaps say of intent into the inventory.
 *
 * Threads: the loop's.
 * Limits:  LIMIT_CONFIG_ARENA for one, decoded.
 */

#include "kube/object_meta.h"
#include "model/inventory.h"
#include "model/record_set.h"

/*
 * Puts the ConfigMap of the device plugin or of mig-parted, as config says. Fails with ERROR_REJECTED when the
 * document is malformed, with ERROR_LIMIT when it is beyond a limit, or with ERROR_NO_MEMORY; what was put
 * before then stays.
 */
MUST_USE int config_put(struct inventory *inventory, enum intent_config config, struct view document,
			struct error *err);
/*
 * Puts the ConfigMap of a node. What is malformed or beyond a limit is put as one that cannot be read. Fails
 * with ERROR_NO_MEMORY only.
 */
MUST_USE int config_put_node_layouts(struct record_set *layouts, const struct object_meta *meta,
				     struct view document, enum store_change change,
				     struct error *err);
