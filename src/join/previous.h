/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * previous - what is published of one device, as typed values. The only file that reads the texts of
 * a published status: everything else in the join decides by these values.
 *
 * Threads: any; immutable once made.
 */

#include "assess/activity.h"
#include "assess/drift.h"
#include "assess/health.h"
#include "assess/sharing_rule.h"
#include "base/arena.h"
#include "base/keyed.h"
#include "join/wording.h"
#include "model/attribution.h"
#include "model/pod.h"
#include "model/report.h"

/* A published tenant. */
struct previous_tenant {
	const struct attribution_tenant *published; /* its numbers, times and names */
	unsigned witnesses;                         /* of enum witness */
	enum placeholder placeholder;
	bool is_unknown; /* the API server did not know its pod: Pending or Unresolved */
};

struct previous {
	const struct attribution_status *status; /* for its values, not its texts; never NULL */
	const struct previous_tenant *tenants;   /* by pod UID and container */
	uint32_t n_tenants;
	enum reason attributed, ready; /* of these conditions; REASON_NONE: none, or not known */
	unsigned evidence;             /* of enum evidence: what the sharing mode rests on */
	struct health_previous health;
	struct activity_previous activity;
	struct drift_previous intent;
	bool is_agentless;             /* made without any report of an agent */
};

/* Reads a status. The result borrows from it and lies in arena. Fails with ERROR_NO_MEMORY. */
MUST_USE int previous_read(const struct attribution_status *status, struct arena *arena,
			   const struct previous **ret_previous, struct error *err);
/* How the boot of the report (NULL: of none) stands to the one in which it was published (NULL: it was not). */
enum report_boot previous_boot(const struct previous *previous, const struct report *report);
/*
 * Adds the pods that are, or were, tenants that the API server knew, by their UIDs. A card that came from another
 * node counts too.
 */
void previous_index_pods(const struct previous *previous, struct keyed *pods);
/* Adds the UIDs (struct view) of tenants, former ones too, by the pod's name, the container and the namespace. */
void previous_index_names(const struct previous *previous, struct keyed *names);
/* The tenant of that container; NULL: it was none, or nothing was published. */
const struct previous_tenant *previous_find(const struct previous *previous, struct view pod_uid,
					    struct view container);
/*
 * The same, faster for those who ask in the order of the tenants. *next is 0 at first, and then the place behind
 * the one that was found.
 */
const struct previous_tenant *previous_find_from(const struct previous *previous, uint32_t *next,
						 struct view pod_uid, struct view container);
