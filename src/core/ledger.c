/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The IDs that HAMi's plugin advertises are not those of the devices that it gives. So such an ID
 * says nothing when the pod's annotation tells the devices (core/stand_in.h), and otherwise that
 * the pod is on some device of the node, which is said of the one that the ID names.
 */

#include "core/ledger.h"

#include <assert.h>
#include <stdlib.h>

static const struct holding_owner nobody;

int ledger_open(struct ledger *ledger, struct holdings *holdings, size_t n_owners, size_t n_ids,
		struct arena *arena, struct error *err)
{
	*ledger = (struct ledger){
		.holdings = holdings,
		.owners = arena_alloc(arena, n_owners, sizeof(*ledger->owners)),
		.owners_cap = n_owners,
		.items_cap = n_ids,
	};
	holdings->items = arena_alloc(arena, n_ids, sizeof(*holdings->items));
	return ledger->owners && holdings->items ? 0 : error_no_memory(err);
}

struct holding_owner *ledger_add_owner(struct ledger *ledger, struct holding_owner owner)
{
	struct holding_owner *added = &ledger->owners[ledger->n_owners];
	assert(ledger->n_owners < ledger->owners_cap);
	ledger->n_owners++;
	*added = owner;
	return added;
}

static void add(struct ledger *ledger, struct holding item)
{
	struct holdings *holdings = ledger->holdings;
	assert(holdings->n_items < ledger->items_cap);
	holdings->items[holdings->n_items++] = item;
}

/* False: the pod's annotation says which device it is. */
static bool own_hami_id(struct holding_owner *owner)
{
	if (!owner)
		return true;
	if (owner->pod && pod_hami_devices(owner->pod).len > 0)
		return false;
	owner->stand_in = VIEW("HAMi");
	return true;
}

void ledger_note(struct ledger *ledger, struct holding_owner *owner, struct view id,
		 struct holding what)
{
	struct holdings *holdings = ledger->holdings;
	struct roster_place place = roster_find(holdings->roster, id);

	what.owner = owner ? owner : &nobody;
	what.id = id;
	what.device = HOLDING_NOWHERE;
	if (!place.device) {
		holdings->ids_unknown++;
	} else {
		if (place.id.is_hami && !own_hami_id(owner))
			return;
		what.device = (size_t)(place.device - holdings->roster->devices);
		what.partition = place.partition;
	}
	add(ledger, what);
}

void ledger_note_device(struct ledger *ledger, struct holding_owner *owner,
			const struct roster_device *device, struct view id, struct holding what)
{
	what.owner = owner;
	what.id = id;
	what.device = (size_t)(device - ledger->holdings->roster->devices);
	add(ledger, what);
}

/* Putting in order */

static int by_holder(const void *a, const void *b)
{
	const struct holding *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);
	if (!order)
		order = view_compare(x->owner->pod_uid, y->owner->pod_uid);
	if (!order)
		order = view_compare(x->owner->container, y->owner->container);
	if (!order)
		order = view_compare(x->id, y->id);
	/* For the result's sake: of two entries the one with the lower resource name stays. */
	return order ? order : view_compare(x->owner->resource, y->owner->resource);
}

static bool is_same(const struct holding *a, const struct holding *b)
{
	return a->device == b->device && view_equal(a->id, b->id) &&
	       view_equal(a->owner->pod_uid, b->owner->pod_uid) &&
	       view_equal(a->owner->container, b->owner->container);
}

static void merge(struct holding *into, const struct holding *item)
{
	into->witnesses |= item->witnesses;
	into->mps |= item->mps;
	into->takes_no_slot &= item->takes_no_slot;
	into->is_monitor &= item->is_monitor;
}

void ledger_close(struct ledger *ledger)
{
	struct holdings *holdings = ledger->holdings;
	size_t n = 0;

	qsort(holdings->items, holdings->n_items, sizeof(*holdings->items), by_holder);
	for (size_t i = 0; i < holdings->n_items; i++) {
		const struct holding *item = &holdings->items[i];
		if (n > 0 && is_same(&holdings->items[n - 1], item))
			merge(&holdings->items[n - 1], item);
		else
			holdings->items[n++] = *item;
	}
	holdings->n_items = n;
	while (n > 0 && holdings->items[n - 1].device == HOLDING_NOWHERE)
		n--;
	holdings->n_placed = n;
}
