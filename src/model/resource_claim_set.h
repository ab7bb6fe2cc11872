/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource_claim_set - the ResourceClaims that the API server has. A claim belongs to no node: it
 * matters to the nodes of the pods that it is reserved for.
 *
 * Threads: the loop thread.
 */

#include "base/store.h"
#include "model/pod_set.h"
#include "model/resource_claim.h"

struct resource_claim_set {
	struct store store; /* by "namespace/name" */
	const struct pod_set *pods;
	size_t n_otherwise; /* claims of GPUs that are reserved for what is no pod: not attributed */
};

/* pods is borrowed and must outlive the set. */
void resource_claim_set_init(struct resource_claim_set *set, const struct pod_set *pods);
/* All claims must have been removed. */
void resource_claim_set_deinit(struct resource_claim_set *set);
/*
 * Adds or changes the claim, if it is newer; touches the nodes of the pods that it is, and was,
 * reserved for, and when it is new, those that lack one. change and initial as in model/inventory.h.
 * Fails with ERROR_NO_MEMORY or ERROR_LIMIT; a present record stays.
 */
MUST_USE int resource_claim_set_put(struct resource_claim_set *set,
				    const struct resource_claim_fields *fields,
				    enum store_change change, uint64_t version, bool initial,
				    struct error *err);
/* Removes and frees the record of an entry of the store. */
void resource_claim_set_remove(struct resource_claim_set *set, struct store_entry *entry);
/* The claim of that key, or NULL; borrowed until the next change. */
const struct resource_claim *resource_claim_set_find(const struct resource_claim_set *set,
						     struct view key);
