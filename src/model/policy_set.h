/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policy_set - the ClusterPolicies, and which of them counts. One that comes, changes or goes
 * touches every node.
 *
 * Threads: the loop thread.
 */

#include "model/policy.h"
#include "model/record_set.h"

struct policy_set {
	struct record_set records;
	struct intent intent; /* kept up to date with every change */
};

/* No policies; intent.known is false, and the caller's to set. Allocates nothing. */
void policy_set_init(struct policy_set *set, struct place_book *places);
/* Adds or changes the policy, if it is newer. Fails with ERROR_NO_MEMORY; a present one stays. */
MUST_USE int policy_set_put(struct policy_set *set, const struct policy *policy,
			    const struct record_event *event, struct error *err);
