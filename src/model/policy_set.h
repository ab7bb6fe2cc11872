/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policy_set - the ClusterPolicies, which of them counts, and the GPUClusters. One that comes,
 * changes or goes touches every node.
 *
 * Threads: the loop thread.
 */

#include "intent/policy.h"
#include "model/record_set.h"

struct policy_set {
	struct record_set records; /* of struct policy, which record_set_put_copy() adds */
	struct record_set gpu_clusters; /* of struct gpu_cluster, likewise */
	struct intent intent; /* kept up to date with every change */
};

/* No policies; intent.known is false, and the caller's to set. Allocates nothing. */
void policy_set_init(struct policy_set *set, struct node_state_set *node_states);
