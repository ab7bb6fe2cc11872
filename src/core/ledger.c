/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The IDs that HAMi's plugin advertises are not those of the devices that it gives. Such an ID says
 * that its holder is on some device of the node, which is said of the one that the ID names until
 * the pod's annotation tells better (core/stand_in.h).
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
		.by_owner = arena_alloc(arena, n_owners, sizeof(*ledger->by_owner)),
		.owners_cap = n_owners,
		.items_cap = n_ids,
	};
	holdings->items = arena_alloc(arena, n_ids, sizeof(*holdings->items));
	return ledger->owners && ledger->by_owner && holdings->items ? 0 : error_no_memory(err);
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

	assert(holdings->items && holdings->n_items < ledger->items_cap);
	assert(item.owner && item.witnesses != 0);
	assert(item.device == HOLDING_NOWHERE || item.device < holdings->roster->n_devices);
	ledger->has_hami |= item.is_hami;
	holdings->items[holdings->n_items++] = item;
}

static bool is_hami_of(const struct holding *item, const struct pod *pod, struct view container)
{
	return item->is_hami && item->owner->pod == pod &&
	       view_equal(item->owner->container, container);
}

/*
 * Other devices of NVIDIA's have IDs that are no GPU's, and rightly so. Of whom nothing is known,
 * the ID may be any.
 */
static bool is_gpu_resource(struct view name)
{
	return name.len == 0 || view_equal(name, VIEW("nvidia.com/gpu")) ||
	       view_starts_with(name, VIEW("nvidia.com/gpu.")) ||
	       view_starts_with(name, VIEW("nvidia.com/mig-")) ||
	       view_equal(name, VIEW("gpu.nvidia.com"));
}

/* A plugin may be told to call its resource anything; GKE's, whose IDs are short, is not. */
static bool is_gpu_id(const struct device_id *id)
{
	return id->form != DEVICE_ID_UNKNOWN && id->form != DEVICE_ID_MINOR;
}

void ledger_note(struct ledger *ledger, struct holding_owner *owner, struct view id,
		 struct holding what)
{
	struct holdings *holdings = ledger->holdings;
	struct roster_place place = roster_find(holdings->roster, id);

	what.owner = owner ? owner : &nobody;
	what.id = id;
	what.device = HOLDING_NOWHERE;
	what.is_hami = place.id.is_hami;
	if (!place.device) {
		if (!is_gpu_resource(what.owner->resource) && !is_gpu_id(&place.id))
			return;
		holdings->ids_unknown++;
	} else {
		if (place.id.is_hami && owner)
			owner->stand_in = VIEW("HAMi");
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

bool ledger_has_hami(const struct ledger *ledger, const struct pod *pod, struct view container)
{
	const struct holdings *holdings = ledger->holdings;

	for (size_t i = 0; ledger->has_hami && i < holdings->n_items; i++) {
		if (is_hami_of(&holdings->items[i], pod, container))
			return true;
	}
	return false;
}

/* The ID to be taken for a device: the same one whatever the order in which they were noted. */
static bool is_better(const struct holding *a, const struct holding *b, size_t device)
{
	bool x = a->device == device, y = b->device == device;
	return x != y ? x : view_compare(a->id, b->id) < 0;
}

static const struct holding *find_hami(const struct ledger *ledger, const struct pod *pod,
				       struct view container, size_t device)
{
	const struct holding *found = NULL;
	for (size_t i = 0; i < ledger->holdings->n_items; i++) {
		const struct holding *item = &ledger->holdings->items[i];
		if (is_hami_of(item, pod, container) && (!found || is_better(item, found, device)))
			found = item;
	}
	return found;
}

bool ledger_take_hami(struct ledger *ledger, const struct pod *pod, struct view container,
		      const struct roster_device *device)
{
	struct holdings *holdings = ledger->holdings;
	const struct holding *taken = find_hami(ledger, pod, container,
						(size_t)(device - holdings->roster->devices));
	size_t n = 0;

	if (!taken)
		return false;
	const struct view id = taken->id;
	assert(ledger->has_hami);
	for (size_t i = 0; i < holdings->n_items; i++) {
		const struct holding *item = &holdings->items[i];
		if (!is_hami_of(item, pod, container) || !view_equal(item->id, id))
			holdings->items[n++] = *item;
	}
	assert(n < holdings->n_items);
	holdings->n_items = n;
	return true;
}

/* Putting in order */

/* There are far fewer owners than IDs: they are compared once, and are numbers from then on. */

static int by_owner(const void *a, const void *b)
{
	const struct holding_owner *x = *(const struct holding_owner *const *)a;
	const struct holding_owner *y = *(const struct holding_owner *const *)b;
	int order = view_compare(x->pod_uid, y->pod_uid);
	return order ? order : view_compare(x->container, y->container);
}

/* The n-th container gets n, and nobody 0. */
static void rank_owners(struct ledger *ledger)
{
	const struct holding_owner *before = &nobody;
	uint32_t rank = 0;

	for (size_t i = 0; i < ledger->n_owners; i++)
		ledger->by_owner[i] = &ledger->owners[i];
	qsort(ledger->by_owner, ledger->n_owners, sizeof(struct holding_owner *), by_owner);
	for (size_t i = 0; i < ledger->n_owners; i++) {
		rank += by_owner(&before, &ledger->by_owner[i]) != 0;
		before = ledger->by_owner[i];
		ledger->by_owner[i]->rank = rank;
	}
}

/* What each container has been named by, wherever: noted with the first of its owners. */
static void note_heard(struct ledger *ledger)
{
	const struct holdings *holdings = ledger->holdings;
	struct holding_owner **firsts = ledger->by_owner;
	size_t n_firsts = 0;

	for (size_t i = 0; i < ledger->n_owners; i++) {
		if (n_firsts == 0 || firsts[n_firsts - 1]->rank != firsts[i]->rank)
			firsts[n_firsts++] = firsts[i];
	}
	ledger->holdings->owners = firsts;
	ledger->holdings->n_owners = n_firsts;
	for (size_t i = 0; i < holdings->n_items; i++) {
		const struct holding *item = &holdings->items[i];
		if (n_firsts == 0 || item->owner->rank < firsts[0]->rank)
			continue;
		assert(item->owner->rank - firsts[0]->rank < n_firsts);
		firsts[item->owner->rank - firsts[0]->rank]->heard |= item->witnesses;
	}
}

static int by_holder(const void *a, const void *b)
{
	const struct holding *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);
	if (!order)
		order = (x->owner->rank > y->owner->rank) - (x->owner->rank < y->owner->rank);
	if (!order)
		order = view_compare(x->id, y->id);
	/* For the result's sake: of two entries the one with the lower resource name stays. */
	return order ? order : view_compare(x->owner->resource, y->owner->resource);
}

static bool is_same(const struct holding *a, const struct holding *b)
{
	return a->device == b->device && a->owner->rank == b->owner->rank &&
	       view_equal(a->id, b->id);
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

	rank_owners(ledger);
	note_heard(ledger);
	qsort(holdings->items, holdings->n_items, sizeof(*holdings->items), by_holder);
	for (size_t i = 0; i < holdings->n_items; i++) {
		const struct holding *item = &holdings->items[i];
		if (n > 0 && is_same(&holdings->items[n - 1], item)) {
			merge(&holdings->items[n - 1], item);
			continue;
		}
		assert(item->device == HOLDING_NOWHERE || holdings->n_placed == n);
		holdings->n_placed += item->device != HOLDING_NOWHERE;
		holdings->items[n++] = *item;
	}
	holdings->n_items = n;
}
