/* SPDX-License-Identifier: Apache-2.0 */

/*
 * There are far fewer holders than IDs: holders are sorted once, and compared by their rank from
 * then on.
 *
 * Whatever is still written of a pod that is over, it holds nothing: its facts are dropped here.
 */

#include "join/facts.h"

#include <assert.h>
#include <stdlib.h>

#include "base/sort.h"

/* Adding */

int facts_open(struct facts *facts, struct arena *arena, struct facts_draft *ret_draft, struct error *err)
{
	struct facts_draft draft = {.facts = facts, .arena = arena};
	draft.nobody = facts_add_holder(&draft, (struct holder){0});
	*ret_draft = draft;
	return arena_check(arena, err);
}

struct holder *facts_add_holder(struct facts_draft *draft, struct holder holder)
{
	struct holder *added;
	if (!ARENA_NEW(added, draft->arena, 1))
		return NULL;
	holder.next = draft->holders;
	*added = holder;
	draft->holders = added;
	draft->n_holders++;
	return added;
}

struct holder *facts_add_container(struct facts_draft *draft, const struct pod *pod,
				   struct view container, struct view resource)
{
	return facts_add_holder(draft, (struct holder){pod_uid(pod), container, resource, .pod = pod});
}

static void add(struct facts_draft *draft, struct fact item)
{
	struct fact *added;
	assert(item.owner && item.witnesses != 0);
	assert(item.device == FACT_NOWHERE || item.device < draft->facts->devices->n_devices);
	if (item.owner->pod && pod_is_over(item.owner->pod))
		return;
	draft->facts->ids_unknown += item.device == FACT_NOWHERE;
	if (!ARENA_NEW(added, draft->arena, 1))
		return;
	item.next = draft->items;
	*added = item;
	draft->items = added;
	draft->n_items++;
}

/*
 * An ID of an NVIDIA resource that gives no GPU may be no GPU's. Where the resource is not known,
 * the ID may be any.
 */
static bool is_gpu_resource(struct view name)
{
	return name.len == 0 || view_equal(name, VIEW("nvidia.com/gpu")) ||
	       view_starts_with(name, VIEW("nvidia.com/gpu.")) ||
	       view_starts_with(name, VIEW("nvidia.com/mig-")) ||
	       view_equal(name, VIEW("gpu.nvidia.com"));
}

/* A plugin may call its resource anything. GKE's, whose IDs are short, has one name. */
static bool is_gpu_id(const struct device_id *id)
{
	return id->form != DEVICE_ID_UNKNOWN && id->form != DEVICE_ID_MINOR;
}

void facts_add(struct facts_draft *draft, struct holder *holder, struct view id, struct fact what)
{
	const struct devices *devices = draft->facts->devices;
	const struct device_place place = devices_find(devices, id);
	what.owner = holder ? holder : draft->nobody;
	what.id = id;
	what.device = FACT_NOWHERE;
	what.is_hami = place.id.is_hami;
	what.is_replica = place.id.is_replica;
	what.is_odd = place.id.is_odd;
	if (place.device) {
		if (place.id.is_hami && holder)
			holder->placeholder = PLACEHOLDER_HAMI;
		what.device = (size_t)(place.device - devices->devices);
		what.partition = place.partition;
	}
	if (place.device || is_gpu_resource(what.owner->resource) || is_gpu_id(&place.id))
		add(draft, what);
}

void facts_add_on(struct facts_draft *draft, struct holder *holder, const struct device *device, struct fact what)
{
	const struct device_id id = device_id_parse(what.id);
	what.owner = holder ? holder : draft->nobody;
	what.device = (size_t)(device - draft->facts->devices->devices);
	what.is_replica = id.is_replica;
	what.is_odd = id.is_odd;
	add(draft, what);
}

/* Putting in order */

static int compare_holders(const struct holder *a, const struct holder *b)
{
	return view_compare_pairs(a->pod_uid, a->container, b->pod_uid, b->container);
}

static int by_holder(const void *a, const void *b)
{
	return compare_holders(*(const struct holder *const *)a, *(const struct holder *const *)b);
}

/* A holder's rank is the index of its container's first holder, which is the one that stays. */
static void rank_holders(struct facts_draft *draft, struct holder **owners)
{
	struct holder *holder = draft->holders;
	size_t n = 0;
	for (size_t i = 0; i < draft->n_holders; i++, holder = holder->next)
		owners[i] = holder;
	assert(!holder);
	qsort(owners, draft->n_holders, sizeof(*owners), by_holder);
	for (size_t i = 0; i < draft->n_holders; i++) {
		holder = owners[i];
		if (n == 0 || compare_holders(owners[n - 1], holder) != 0)
			owners[n++] = holder;
		holder->rank = (uint32_t)n - 1;
	}
	draft->facts->owners = owners;
	draft->facts->n_owners = n;
}

static int by_device(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;
	return (x->device > y->device) - (x->device < y->device);
}

static int by_container(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;
	int order = by_device(a, b);
	return order ? order : compare_holders(x->owner, y->owner);
}

static int by_place(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;
	int order = by_device(a, b);
	if (!order)
		order = (x->owner->rank > y->owner->rank) - (x->owner->rank < y->owner->rank);
	/* Of two entries the one with the lower resource name stays, whichever came first. */
	return order ? order : view_compare_pairs(x->id, x->owner->resource, y->id, y->owner->resource);
}

static bool is_same(const struct fact *a, const struct fact *b)
{
	return a->device == b->device && a->owner->rank == b->owner->rank && view_equal(a->id, b->id);
}

static void merge(struct fact *into, const struct fact *item)
{
	into->witnesses |= item->witnesses;
	into->mps |= item->mps;
	into->takes_no_slot &= item->takes_no_slot;
	into->is_monitor &= item->is_monitor;
	into->is_restated |= item->is_restated;
}

/* Lists them by place; their holders have ranks. */
static void list_items(const struct facts_draft *draft, struct fact *items)
{
	size_t at = draft->n_items;
	for (const struct fact *item = draft->items; item; item = item->next)
		items[--at] = *item;
	assert(at == 0);
	sort_items(items, draft->n_items, sizeof(*items), by_place);
}

int facts_close(struct facts_draft *draft, struct error *err)
{
	struct facts *facts = draft->facts;
	struct holder **owners;
	size_t n = 0;
	if (!ARENA_NEW(owners, draft->arena, draft->n_holders) ||
	    !ARENA_NEW(facts->items, draft->arena, draft->n_items) ||
	    !ARENA_NEW(facts->unknown, draft->arena, draft->n_items) ||
	    arena_check(draft->arena, err) < 0)
		return error_no_memory(err);
	rank_holders(draft, owners);
	list_items(draft, facts->items);
	for (size_t i = 0; i < draft->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (item->witnesses == 0)
			continue; /* an ID that stands for another device was taken back */
		owners[item->owner->rank]->heard |= item->witnesses;
		if (n > 0 && is_same(&facts->items[n - 1], item)) {
			merge(&facts->items[n - 1], item);
			continue;
		}
		if (item->device == FACT_NOWHERE || item->is_hami)
			facts->unknown[facts->n_unknown++] = item->owner->pod_uid;
		assert(item->device == FACT_NOWHERE || facts->n_placed == n);
		facts->n_placed += item->device != FACT_NOWHERE;
		facts->items[n++] = *item;
	}
	facts->n_items = n;
	facts->n_unknown = view_sort(facts->unknown, facts->n_unknown);
	return 0;
}

/* Looking up */

bool facts_have_books(const struct facts *facts)
{
	return facts->source.pod_resources != SOURCE_ABSENT || facts->source.checkpoint != SOURCE_ABSENT;
}

const struct fact *facts_of(const struct facts *facts, size_t device, size_t *ret_n)
{
	const struct fact key = {.device = device};
	assert(device < facts->devices->n_devices);
	return sort_find(&key, facts->items, facts->n_items, sizeof(key), by_device, ret_n);
}

const struct fact *facts_of_holder(const struct facts *facts, size_t device, struct view pod_uid,
				   struct view container, size_t *ret_n)
{
	const struct holder owner = {.pod_uid = pod_uid, .container = container};
	const struct fact key = {.device = device, .owner = &owner};
	return sort_find(&key, facts->items, facts->n_items, sizeof(key), by_container, ret_n);
}

bool facts_have_unknown(const struct facts *facts, size_t device, struct view pod_uid)
{
	const struct view nobody = {0};
	size_t n;
	const struct fact *items = facts_of(facts, device, &n);
	return (n > 0 && items->owner->pod_uid.len == 0) || view_is_found(nobody, facts->unknown, facts->n_unknown) ||
	       view_is_found(pod_uid, facts->unknown, facts->n_unknown);
}

unsigned facts_heard_of(const struct facts *facts, struct view pod_uid, struct view container)
{
	const struct holder key = {.pod_uid = pod_uid, .container = container}, *at = &key;
	struct holder *const *found =
		bsearch(&at, facts->owners, facts->n_owners, sizeof(*facts->owners), by_holder);
	return found ? (*found)->heard : 0;
}
