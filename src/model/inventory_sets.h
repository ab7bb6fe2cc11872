/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * inventory_sets - what an inventory is made of. For inventory.c and inventory_node_state.c only.
 *
 * Objects come in by name and are asked for by node. So every record hangs on a node state.
 */

#include "intent/config_set.h"
#include "model/attribution_set.h"
#include "model/device_reporters.h"
#include "model/node.h"
#include "model/node_layouts.h"
#include "model/node_state.h"
#include "model/pod_scope.h"
#include "model/pod_set.h"
#include "model/policy_set.h"
#include "model/resource_claim.h"
#include "model/resource_slice.h"

struct inventory {
	struct node_state_set node_states;
	struct device_reporters reporters;
	struct pod_set pods;
	struct pod_scope scope;
	struct record_set nodes;
	struct policy_set policies;
	struct config_set configs;
	struct record_set node_layouts;
	struct attribution_set attributions;
	struct resource_claim_set resource_claims;
	struct resource_slice_set resource_slices;
	struct record_set *sets[INVENTORY_N_KINDS]; /* these */
	bool synced[INVENTORY_N_KINDS];
	bool absent[INVENTORY_N_KINDS];        /* the API server has no such kind */
	uint64_t synced_at[INVENTORY_N_KINDS]; /* for the first time */
	enum inventory_age ages[INVENTORY_N_KINDS];
	uint64_t started_at;
};
