/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policy_set - the ClusterPolicies, and which of them counts.
 *
 * Threads: the loop thread.
 */

#include "base/store.h"
#include "model/policy.h"

struct policy_set {
	struct store store;
	struct intent intent; /* kept up to date with every change */
};

/* No policies; intent.known is false, and the caller's to set. Allocates nothing. */
void policy_set_init(struct policy_set *set);
/* All policies must have been removed. */
void policy_set_deinit(struct policy_set *set);
/* Adds or changes the policy. *ret_changed says whether it was newer. Fails with ERROR_NO_MEMORY. */
MUST_USE int policy_set_put(struct policy_set *set, const struct policy *policy,
			    enum store_change change, uint64_t version, bool *ret_changed,
			    struct error *err);
/* Removes and frees the record of an entry of the store. */
void policy_set_remove(struct policy_set *set, struct store_entry *entry);
