/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource_claim_set - the ResourceClaims that the API server has. A claim belongs to no node: it
 * matters to the nodes of the pods that it is reserved for.
 *
 * Threads: the loop thread.
 */

#include "model/pod_set.h"
#include "model/record_set.h"
#include "model/resource_claim.h"

struct resource_claim_set {
	struct record_set records; /* by "namespace/name" */
	const struct pod_set *pods;
	size_t n_otherwise; /* claims of GPUs that are reserved for what is no pod: not attributed */
};

/* pods is borrowed and must outlive the set. */
void resource_claim_set_init(struct resource_claim_set *set, const struct pod_set *pods);
/*
 * Adds or changes the claim, if it is newer. Touches the nodes of the pods that it is, and was,
 * reserved for. A new one touches those that lack a claim. Fails with ERROR_NO_MEMORY or ERROR_LIMIT;
 * a present record stays.
 */
MUST_USE int resource_claim_set_put(struct resource_claim_set *set,
				    const struct resource_claim_fields *fields,
				    const struct record_event *event, struct error *err);
/* The claim of that key, or NULL; borrowed until the next change. */
const struct resource_claim *resource_claim_set_find(const struct resource_claim_set *set,
						     struct view key);
