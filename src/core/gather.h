/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gather - collects what is known of one node into what a join is given.
 *
 * Threads: the loop thread.
 */

#include "base/arena.h"
#include "core/attribution_set.h"
#include "core/claim.h"
#include "core/join.h"
#include "core/pod_set.h"
#include "core/resource_claim_set.h"

/* Where it is collected from; all borrowed. */
struct gather_sources {
	struct place_book *places; /* notes what was missing */
	const struct claim_book *claims;
	const struct pod_set *pods;
	const struct attribution_set *attributions;
	const struct resource_claim_set *resource_claims;
	const struct intent *intent;
	bool grants_known; /* the ResourceClaims and ResourceSlices of the API server are all here */
	enum join_pods pods_age; /* if not current, the last that is known of them is here */
	bool nodes_known;  /* so are its Nodes, */
	uint64_t nodes_known_at; /* since then, ms */
	uint64_t pods_known_at;  /* since when its Pods are, ms; 0: they are not */
	uint64_t started_at;     /* ms */
};

/*
 * Fills *ret_input with all that is known of a node; arrays lie in arena, the rest is borrowed
 * until the next change of a source. limits and now_wall_ms are the caller's to set. Fails with
 * ERROR_NO_MEMORY or ERROR_LIMIT.
 */
MUST_USE int gather_node(const struct gather_sources *sources, struct view node_name,
			 uint64_t now_ms, struct arena *arena, struct join_input *ret_input,
			 struct error *err);
