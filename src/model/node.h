/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node - what the API server says of a node that matters to the join.
 *
 * Threads: the loop thread; immutable once made.
 */

#include "base/view.h"

struct node {
	struct view name;
	struct view uid;
	struct view boot_id;          /* status.nodeInfo.bootID */
	struct view sharing_strategy; /* label nvidia.com/gpu.sharing-strategy; empty: none */
};
