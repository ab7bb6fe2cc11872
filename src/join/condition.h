/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * condition - the five conditions of a GPUAttribution: Attributed, Drifted, Healthy, Ready and
 * ReportFresh, each by an ordered chain of rules of which the first that fits decides. Why a source
 * of the agent's fails stands in the message of the condition that rests on it, in brackets.
 *
 * Threads: any.
 */

#include "join/tenants.h"
#include "join/health.h"
#include "join/overlap.h"
#include "join/unplaced.h"

struct condition_facts {
	bool is_fresh;         /* the node's last report is recent */
	bool is_agentless;     /* there never was one */
	bool is_settling;      /* the kubelet's List may be short */
	bool is_duplicate;     /* another node reports the same device */
	bool is_nameless;      /* a claim has the device, and does not tell for which pods */
	bool is_unread;        /* a claim may have the device, and cannot be read */
	bool are_claims_old;   /* claims hand it out, and what is known of them is old */
	enum join_pods pods_age;
	bool is_book_readable; /* one of the kubelet's books could be read: the tenants are known */
	const struct report_sources *sources; /* NULL: there is no report */
	const struct tenants *tenants;
	const struct health *health;
	const struct disagreements *disagreements;
	const struct unplaced *unplaced;
	struct view overlap; /* the message of join/overlap.h, or empty */
	int intent;          /* enum attribution_intent */
};

/*
 * Makes the conditions, in the order of their types. The time of the last transition is carried
 * over from published (NULL: none) where the status is the same. The result lies in arena. Fails
 * with ERROR_NO_MEMORY.
 */
MUST_USE int condition_make(const struct condition_facts *facts,
			    const struct attribution_status *published, int64_t generation,
			    int64_t now_wall_ms, struct arena *arena, struct array *ret_conditions,
			    struct error *err);
/*
 * The conditions as they were published, but for what follows from no report having arrived for
 * long (is_fresh false): Ready and ReportFresh; for what was True of tenants, while what is known of
 * pods or claims is old; and for what only a report can tell anew: a SlotHeldTwice of which a pod has
 * left since by what the API server says, an UnknownDeviceID of whom none is left among the unplaced,
 * and what may be read again (is_unread: not all claims can be). Nothing else of the facts is looked
 * at.
 * As condition_make() otherwise.
 */
MUST_USE int condition_carry(const struct condition_facts *facts,
			     const struct attribution_status *published, int64_t generation,
			     int64_t now_wall_ms, struct arena *arena,
			     struct array *ret_conditions, struct error *err);
