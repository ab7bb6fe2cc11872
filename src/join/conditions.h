/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * conditions - the five conditions of a GPUAttribution: Attributed, Healthy, InSync, Ready and
 * ReportFresh, each by an ordered table of rules. The first rule that fits decides. Why a source of
 * the agent's fails stands in brackets in the message of the condition that rests on it.
 *
 * Threads: any; pure.
 */

#include "assess/drift.h"
#include "assess/health.h"
#include "join/tenants.h"
#include "join/unplaced.h"

struct conditions_facts {
	const struct previous *previous; /* what is published; NULL: nothing */
	const struct attribution_status *object; /* of whichever node; NULL: there is no object */
	const struct attribution_status *status; /* as it is found, but for the conditions */
	int64_t generation;              /* of the object */
	int64_t now_wall_ms;
	enum inventory_age pods_age;
	bool is_awaited;     /* an agent has spoken of the device, and not since the start */
	bool is_fresh;       /* the node's last report is recent */
	bool is_settling;    /* the kubelet's List may be short */
	bool is_duplicate;   /* another node reports the same device */
	bool is_nameless;    /* a claim has the device, and does not tell for which pods */
	bool is_unread;      /* a claim may have the device, and cannot be read */
	bool are_claims_old; /* claims hand it out, and what is known of them is old */
	bool is_book_readable; /* List or checkpoint could be read: the tenants are known */
	const struct report_sources *sources; /* NULL: there is no report */
	struct tenants tenants;
	struct unplaced unplaced;
	struct health health; /* not while the first report is awaited */
	struct drift_verdict intent; /* while the node's last report is recent */
	bool may_be_held_twice;      /* by what is known, not by facts seen now */
	struct view held_twice;      /* the message of join/overlap.c, or empty */
};

/*
 * Makes the conditions, in the order of their types. Behind them come those of other types that the
 * object has, which others wrote; those of an earlier release are left out. Where the status is the
 * same, the time of the last transition is the published one. While the first report is awaited there
 * must be a published status, and the conditions are as published, but
 * - all except Attributed, when no report has come for long (is_fresh is false);
 * - Attributed, and Ready with it, when what the API server says changes what was said.
 * The result lies in arena or is borrowed from facts. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int conditions_make(const struct conditions_facts *facts, struct arena *arena,
			     struct array *ret_conditions, struct error *err);
