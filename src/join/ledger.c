/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The IDs that HAMi's plugin advertises are not those of the devices that it gives. Such an ID says
 * that its holder is on some device of the node, which is said of the one that the ID names until
 * the pod's annotation tells better (join/stand_in.h).
 */

#include "join/ledger.h"

#include <assert.h>
#include <stdlib.h>

static const struct holder nobody;

int ledger_open(struct ledger *ledger, struct facts *facts, size_t n_owners, size_t n_ids,
		struct arena *arena, struct error *err)
{
	*ledger = (struct ledger){
		.facts = facts,
		.owners = arena_alloc(arena, n_owners, sizeof(*ledger->owners)),
		.by_owner = arena_alloc(arena, n_owners, sizeof(*ledger->by_owner)),
		.owners_cap = n_owners,
		.items_cap = n_ids,
	};
	facts->items = arena_alloc(arena, n_ids, sizeof(*facts->items));
	return ledger->owners && ledger->by_owner && facts->items ? 0 : error_no_memory(err);
}

struct holder *ledger_add_owner(struct ledger *ledger, struct holder owner)
{
	struct holder *added = &ledger->owners[ledger->n_owners];
	assert(ledger->n_owners < ledger->owners_cap);
	ledger->n_owners++;
	*added = owner;
	return added;
}

static void add(struct ledger *ledger, struct fact item)
{
	struct facts *facts = ledger->facts;

	assert(facts->items && facts->n_items < ledger->items_cap);
	assert(item.owner && item.witnesses != 0);
	assert(item.device == FACT_NOWHERE || item.device < facts->devices->n_devices);
	ledger->has_hami |= item.is_hami;
	facts->items[facts->n_items++] = item;
}

static bool is_hami_of(const struct fact *item, const struct pod *pod, struct view container)
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

void ledger_note(struct ledger *ledger, struct holder *owner, struct view id,
		 struct fact what)
{
	struct facts *facts = ledger->facts;
	struct device_place place = devices_find(facts->devices, id);

	what.owner = owner ? owner : &nobody;
	what.id = id;
	what.device = FACT_NOWHERE;
	what.is_hami = place.id.is_hami;
	if (!place.device) {
		if (!is_gpu_resource(what.owner->resource) && !is_gpu_id(&place.id))
			return;
		facts->ids_unknown++;
	} else {
		if (place.id.is_hami && owner)
			owner->stand_in = VIEW("HAMi");
		what.device = (size_t)(place.device - facts->devices->devices);
		what.partition = place.partition;
	}
	add(ledger, what);
}

void ledger_note_device(struct ledger *ledger, struct holder *owner,
			const struct device *device, struct view id, struct fact what)
{
	what.owner = owner;
	what.id = id;
	what.device = (size_t)(device - ledger->facts->devices->devices);
	add(ledger, what);
}

bool ledger_has_hami(const struct ledger *ledger, const struct pod *pod, struct view container)
{
	const struct facts *facts = ledger->facts;

	for (size_t i = 0; ledger->has_hami && i < facts->n_items; i++) {
		if (is_hami_of(&facts->items[i], pod, container))
			return true;
	}
	return false;
}

/* The ID to be taken for a device: the same one whatever the order in which they were noted. */
static bool is_better(const struct fact *a, const struct fact *b, size_t device)
{
	bool x = a->device == device, y = b->device == device;
	return x != y ? x : view_compare(a->id, b->id) < 0;
}

static const struct fact *find_hami(const struct ledger *ledger, const struct pod *pod,
				       struct view container, size_t device)
{
	const struct fact *found = NULL;
	for (size_t i = 0; i < ledger->facts->n_items; i++) {
		const struct fact *item = &ledger->facts->items[i];
		if (is_hami_of(item, pod, container) && (!found || is_better(item, found, device)))
			found = item;
	}
	return found;
}

bool ledger_take_hami(struct ledger *ledger, const struct pod *pod, struct view container,
		      const struct device *device)
{
	struct facts *facts = ledger->facts;
	const struct fact *taken = find_hami(ledger, pod, container,
						(size_t)(device - facts->devices->devices));
	size_t n = 0;

	if (!taken)
		return false;
	const struct view id = taken->id;
	assert(ledger->has_hami);
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (!is_hami_of(item, pod, container) || !view_equal(item->id, id))
			facts->items[n++] = *item;
	}
	assert(n < facts->n_items);
	facts->n_items = n;
	return true;
}

/* Putting in order */

/* There are far fewer owners than IDs: they are compared once, and are numbers from then on. */

static int by_owner(const void *a, const void *b)
{
	const struct holder *x = *(const struct holder *const *)a;
	const struct holder *y = *(const struct holder *const *)b;
	int order = view_compare(x->pod_uid, y->pod_uid);
	return order ? order : view_compare(x->container, y->container);
}

/* The n-th container gets n, and nobody 0. */
static void rank_owners(struct ledger *ledger)
{
	const struct holder *before = &nobody;
	uint32_t rank = 0;

	for (size_t i = 0; i < ledger->n_owners; i++)
		ledger->by_owner[i] = &ledger->owners[i];
	qsort(ledger->by_owner, ledger->n_owners, sizeof(struct holder *), by_owner);
	for (size_t i = 0; i < ledger->n_owners; i++) {
		rank += by_owner(&before, &ledger->by_owner[i]) != 0;
		before = ledger->by_owner[i];
		ledger->by_owner[i]->rank = rank;
	}
}

/* What each container has been named by, wherever: noted with the first of its owners. */
static void note_heard(struct ledger *ledger)
{
	const struct facts *facts = ledger->facts;
	struct holder **firsts = ledger->by_owner;
	size_t n_firsts = 0;

	for (size_t i = 0; i < ledger->n_owners; i++) {
		if (n_firsts == 0 || firsts[n_firsts - 1]->rank != firsts[i]->rank)
			firsts[n_firsts++] = firsts[i];
	}
	ledger->facts->owners = firsts;
	ledger->facts->n_owners = n_firsts;
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (n_firsts == 0 || item->owner->rank < firsts[0]->rank)
			continue;
		assert(item->owner->rank - firsts[0]->rank < n_firsts);
		firsts[item->owner->rank - firsts[0]->rank]->heard |= item->witnesses;
	}
}

static int by_holder(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);
	if (!order)
		order = (x->owner->rank > y->owner->rank) - (x->owner->rank < y->owner->rank);
	if (!order)
		order = view_compare(x->id, y->id);
	/* For the result's sake: of two entries the one with the lower resource name stays. */
	return order ? order : view_compare(x->owner->resource, y->owner->resource);
}

static bool is_same(const struct fact *a, const struct fact *b)
{
	return a->device == b->device && a->owner->rank == b->owner->rank &&
	       view_equal(a->id, b->id);
}

static void merge(struct fact *into, const struct fact *item)
{
	into->witnesses |= item->witnesses;
	into->mps |= item->mps;
	into->takes_no_slot &= item->takes_no_slot;
	into->is_monitor &= item->is_monitor;
}

void ledger_close(struct ledger *ledger)
{
	struct facts *facts = ledger->facts;
	size_t n = 0;

	rank_owners(ledger);
	note_heard(ledger);
	qsort(facts->items, facts->n_items, sizeof(*facts->items), by_holder);
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (n > 0 && is_same(&facts->items[n - 1], item)) {
			merge(&facts->items[n - 1], item);
			continue;
		}
		assert(item->device == FACT_NOWHERE || facts->n_placed == n);
		facts->n_placed += item->device != FACT_NOWHERE;
		facts->items[n++] = *item;
	}
	facts->n_items = n;
}
