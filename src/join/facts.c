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
#include <string.h>

/* For facts that no report states. */
#define ROOM 256u

/* Adding */

/* How many IDs the report names. */
static size_t count_ids(const struct report *report)
{
	size_t n = 0;
	ARRAY_EACH(const struct report_pod_resource, listed, report->pod_resources)
		n += listed->device_ids.count;
	ARRAY_EACH(const struct report_checkpoint_entry, entry, report->checkpoint.entries)
		n += entry->device_ids.count;
	return n;
}

/* Makes room for that many items. False: there is no memory. */
static bool grow(struct facts_draft *draft, size_t cap)
{
	struct facts *facts = draft->facts;
	struct fact *items;
	assert(cap > facts->n_items);
	if (!ARENA_NEW(items, draft->arena, cap))
		return false;
	if (facts->n_items > 0)
		memcpy(items, facts->items, facts->n_items * sizeof(*items));
	facts->items = items;
	draft->items_cap = cap;
	return true;
}

int facts_open(struct facts *facts, struct arena *arena, struct facts_draft *ret_draft, struct error *err)
{
	struct facts_draft draft = {.facts = facts, .arena = arena};
	const struct report *report = facts->input->report;
	draft.nobody = facts_add_holder(&draft, (struct holder){0});
	if (!draft.nobody || !grow(&draft, ROOM + (report ? count_ids(report) : 0)))
		return error_no_memory(err);
	*ret_draft = draft;
	return 0;
}

struct holder *facts_add_holder(struct facts_draft *draft, struct holder holder)
{
	struct holder *added;
	if (!ARENA_NEW(added, draft->arena, 1)) {
		draft->has_failed = true;
		return NULL;
	}
	*added = holder;
	added->next = draft->holders;
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
	struct facts *facts = draft->facts;
	assert(item.owner && item.witnesses != 0);
	assert(item.device == FACT_NOWHERE || item.device < facts->devices->n_devices);
	if (item.owner->pod && pod_is_over(item.owner->pod))
		return;
	facts->ids_unknown += item.device == FACT_NOWHERE;
	if (facts->n_items < draft->items_cap || grow(draft, 2 * draft->items_cap))
		facts->items[facts->n_items++] = item;
	else
		draft->has_failed = true;
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

static int by_place(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);
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

int facts_close(struct facts_draft *draft, struct error *err)
{
	struct facts *facts = draft->facts;
	struct holder **owners;
	size_t n = 0;
	if (!ARENA_NEW(owners, draft->arena, draft->n_holders) ||
	    !ARENA_NEW(facts->unknown, draft->arena, facts->n_items) || draft->has_failed)
		return error_no_memory(err);
	rank_holders(draft, owners);
	if (facts->n_items > 0)
		qsort(facts->items, facts->n_items, sizeof(*facts->items), by_place);
	for (size_t i = 0; i < facts->n_items; i++) {
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

/* Against that container on the device, or, if holder is NULL, against any on it. */
static int compare_place(const struct fact *item, size_t device, const struct holder *holder)
{
	int order = (item->device > device) - (item->device < device);
	return order || !holder ? order : compare_holders(item->owner, holder);
}

/* How many items compare with that place as less than `limit`. */
static size_t count_below(const struct facts *facts, size_t device, const struct holder *holder, int limit)
{
	size_t low = 0, high = facts->n_items;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_place(&facts->items[middle], device, holder) < limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct fact *find_place(const struct facts *facts, size_t device,
				     const struct holder *holder, size_t *ret_n)
{
	size_t first = count_below(facts, device, holder, 0);
	*ret_n = count_below(facts, device, holder, 1) - first;
	assert(first + *ret_n <= facts->n_items);
	return *ret_n > 0 ? &facts->items[first] : NULL;
}

const struct fact *facts_of(const struct facts *facts, size_t device, size_t *ret_n)
{
	assert(device < facts->devices->n_devices);
	return find_place(facts, device, NULL, ret_n);
}

const struct fact *facts_of_holder(const struct facts *facts, size_t device, struct view pod_uid,
				   struct view container, size_t *ret_n)
{
	const struct holder key = {.pod_uid = pod_uid, .container = container};
	return find_place(facts, device, &key, ret_n);
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
