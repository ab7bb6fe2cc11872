/* SPDX-License-Identifier: Apache-2.0 */
#include "core/candidate.h"

#include <stdlib.h>

#include "core/claimant.h"

static int by_uid(const void *uid, const void *item)
{
	return view_compare(*(const struct view *)uid,
			    ((const struct holding *)item)->owner->pod_uid);
}

/*
 * An entry for it would be there. The List has names only, which tell nothing of a pod whose name is
 * not known; and it has no ordinary init containers. Where there is no checkpoint, no plugin has
 * given out anything.
 */
static bool is_in_good_books(const struct holdings *holdings, const struct candidate *candidate)
{
	bool is_init = candidate->container && candidate->container->kind == POD_CONTAINER_INIT;
	if (holdings->checkpoint == HOLDING_BOOK_OK ||
	    holdings->input->report->sources.checkpoint.state == REPORT_SOURCE_ABSENT)
		return true;
	return candidate->pod && holdings->list == HOLDING_BOOK_OK && !holdings->is_settling &&
	       !is_init;
}

/* By HAMi that pod, or somebody who is not known, has a device: it need not be the one that the ID
 * names. */
static bool has_chosen(const struct holdings *holdings, struct view uid)
{
	for (size_t i = 0; i < holdings->n_items; i++) {
		const struct holding *item = &holdings->items[i];
		if (item->is_hami &&
		    (item->owner->pod_uid.len == 0 || view_equal(item->owner->pod_uid, uid)))
			return true;
	}
	return false;
}

/* It holds a device that is not known. */
static bool holds_unknown(const struct holdings *holdings, struct view uid)
{
	return bsearch(&uid, &holdings->items[holdings->n_placed],
		       holdings->n_items - holdings->n_placed, sizeof(struct holding), by_uid);
}

/* A claim that is here may yet give it a device. */
static bool awaits_grant(const struct join_input *input, const struct pod *pod)
{
	for (size_t i = 0; i < input->n_awaiting; i++) {
		if (input->awaiting[i] == pod)
			return true;
	}
	return false;
}

/* It may have a claim, or be a sharer of a device. */
static bool is_untold(const struct holdings *holdings, const struct candidate *candidate)
{
	return !candidate->pod && holdings->input->pods_age != JOIN_PODS_CURRENT;
}

bool candidate_can_hold(const struct candidate *candidate)
{
	return !candidate->container || candidate->container->kind != POD_CONTAINER_EPHEMERAL;
}

bool candidate_may_hold(const struct candidate *candidate, const struct holdings *holdings,
			int64_t slots_nameless)
{
	struct view uid = candidate->pod_uid;

	if (uid.len == 0 || !candidate_can_hold(candidate))
		return false;
	return is_untold(holdings, candidate) || !is_in_good_books(holdings, candidate) ||
	       slots_nameless > 0 || has_chosen(holdings, uid) ||
	       claimant_is_unheard(holdings->input, uid) ||
	       awaits_grant(holdings->input, candidate->pod) || holds_unknown(holdings, uid);
}
