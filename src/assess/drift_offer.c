/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_offer.h"

#include <assert.h>
#include <stdlib.h>

bool drift_offer_is_any(const struct slot *slots, size_t n_slots)
{
	for (size_t i = 0; i < n_slots; i++)
		if (slots[i].is_on_offer_now)
			return true;
	return false;
}

/* The offer of that resource; a new one where there is none; NULL: there is no room. */
static struct drift_offer *offer_of(struct drift_offer *offers, size_t *n, struct view resource)
{
	for (size_t i = *n; i > 0; i--)
		if (view_equal(offers[i - 1].resource, resource))
			return &offers[i - 1];
	if (*n == LIMIT_OFFERS)
		return NULL;
	offers[*n] = (struct drift_offer){.resource = resource};
	return &offers[(*n)++];
}

/* IDs of one resource that follow each other and are of one MIG device, or of the whole device. */
struct run {
	struct view partition;
	int64_t n;
};

/* Slots are by ID, so all replicas of one are in one run. */
static void count_replica(const struct slot *slot, struct run *run, struct drift_offer *offer)
{
	const int64_t before = view_equal(run->partition, slot->partition) ? run->n : 0;
	*run = (struct run){slot->partition, before + 1};
	offer->n_replicas = run->n > offer->n_replicas ? run->n : offer->n_replicas;
}

size_t drift_offer_list(const struct slot *slots, size_t n_slots, struct drift_offer offers[static LIMIT_OFFERS])
{
	struct run runs[LIMIT_OFFERS] = {0};
	size_t n = 0;
	for (size_t i = 0; i < n_slots; i++) {
		const struct slot *slot = &slots[i];
		struct drift_offer *offer =
			slot->is_on_offer_now ? offer_of(offers, &n, slot->offered_as) : NULL;
		if (!offer)
			continue;
		count_replica(slot, &runs[offer - offers], offer);
		offer->n_free += !slot->is_held;
		offer->is_replica |= slot->is_replica;
		offer->is_hami |= slot->is_hami;
	}
	assert(n <= LIMIT_OFFERS);
	_Static_assert(offsetof(struct drift_offer, resource) == 0, "view_order() compares that");
	qsort(offers, n, sizeof(*offers), view_order);
	return n;
}
