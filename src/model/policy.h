/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policy - what the GPU operator's ClusterPolicies intend.
 *
 * Threads: the loop thread; immutable once made.
 */

#include "base/array.h"
#include "base/error.h"
#include "base/view.h"

struct policy {
	struct view name;
	struct view uid;
	struct view namespace; /* status.namespace: the operator's */
	int64_t created_at;    /* ms since 1970 */
};

/* What is known of intent in the cluster. */
struct intent {
	bool known; /* the ClusterPolicies have been read, or their kind is absent */
	uint32_t n_policies;
	const struct policy *policy; /* the one that counts: oldest, then lowest name; or NULL */
};
