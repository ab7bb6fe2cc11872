/* SPDX-License-Identifier: Apache-2.0 */
#include "join/candidate.h"

#include <stdlib.h>

#include "join/claimant.h"

static int by_uid(const void *uid, const void *item)
{
	return view_compare(*(const struct view *)uid,
			    ((const struct fact *)item)->owner->pod_uid);
}

/*
 * An entry for it would be there. The List has names only, which tell nothing of a pod whose name is
 * not known; and it has no ordinary init containers. Where there is no checkpoint, no plugin has
 * given out anything.
 */
static bool is_in_good_books(const struct facts *facts, const struct candidate *candidate)
{
	bool is_init = candidate->container && candidate->container->kind == POD_CONTAINER_INIT;
	if (facts->checkpoint == BOOK_OK ||
	    facts->input->report->sources.checkpoint.state == REPORT_SOURCE_ABSENT)
		return true;
	return candidate->pod && facts->list == BOOK_OK && !facts->is_settling &&
	       !is_init;
}

/* By HAMi that pod, or somebody who is not known, has a device: it need not be the one that the ID
 * names. */
static bool has_chosen(const struct facts *facts, struct view uid)
{
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (item->is_hami &&
		    (item->owner->pod_uid.len == 0 || view_equal(item->owner->pod_uid, uid)))
			return true;
	}
	return false;
}

/* It holds a device that is not known. */
static bool holds_unknown(const struct facts *facts, struct view uid)
{
	return bsearch(&uid, &facts->items[facts->n_placed],
		       facts->n_items - facts->n_placed, sizeof(struct fact), by_uid);
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
static bool is_untold(const struct facts *facts, const struct candidate *candidate)
{
	return !candidate->pod && facts->input->pods_age != JOIN_PODS_CURRENT;
}

bool candidate_can_hold(const struct candidate *candidate)
{
	return !candidate->container || candidate->container->kind != POD_CONTAINER_EPHEMERAL;
}

bool candidate_may_hold(const struct candidate *candidate, const struct facts *facts,
			int64_t slots_nameless)
{
	struct view uid = candidate->pod_uid;

	if (uid.len == 0 || !candidate_can_hold(candidate))
		return false;
	return is_untold(facts, candidate) || !is_in_good_books(facts, candidate) ||
	       slots_nameless > 0 || has_chosen(facts, uid) ||
	       claimant_is_unheard(facts->input, uid) ||
	       awaits_grant(facts->input, candidate->pod) || holds_unknown(facts, uid);
}
