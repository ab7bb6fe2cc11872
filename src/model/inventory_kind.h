/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* inventory_kind - the kinds of objects that an inventory keeps, and how well it knows each. */

enum inventory_kind {
	INVENTORY_PODS,
	INVENTORY_NODES,
	INVENTORY_POLICIES,
	INVENTORY_ATTRIBUTIONS,
	INVENTORY_RESOURCE_CLAIMS,
	INVENTORY_RESOURCE_SLICES,
	INVENTORY_GPU_CLUSTERS,
	INVENTORY_N_KINDS,
};

/* How what is known of a kind stands to what the API server has. */
enum inventory_age {
	INVENTORY_CURRENT,
	INVENTORY_STALE,  /* its watch has been away for long */
	INVENTORY_DENIED, /* the same, for we may read it no more */
	INVENTORY_UNSERVED, /* the API server has it in other versions only than the one that is read */
};
