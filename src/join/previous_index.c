/* SPDX-License-Identifier: Apache-2.0 */
#include "join/previous_index.h"

#include <assert.h>

struct previous_index_item {
	struct view uid, container, namespace, name;
	const struct device *device; /* NULL: by HAMi's ID, so it may have been another */
	bool is_known;               /* the API server knew the pod */
};

static uint32_t hash_name(struct view namespace, struct view name, struct view container)
{
	return lookup_hash(lookup_hash(lookup_hash(0, namespace), name), container);
}

bool previous_index_has(const struct previous_index *index, struct view uid)
{
	uint32_t at = lookup_first(&index->uids, lookup_hash(0, uid));

	while (at != LOOKUP_END &&
	       !(index->items[at].is_known && view_equal(index->items[at].uid, uid)))
		at = lookup_next(&index->uids, at);
	return at != LOOKUP_END;
}

bool previous_index_has_namesake(const struct previous_index *index,
				 const struct report_pod_resource *said, struct view uid,
				 const struct device *device)
{
	uint32_t hash = hash_name(said->namespace, said->name, said->container);
	uint32_t at = lookup_first(&index->names, hash);

	for (; at != LOOKUP_END; at = lookup_next(&index->names, at)) {
		const struct previous_index_item *item = &index->items[at];
		if (item->device && (!device || item->device == device) &&
		    !view_equal(item->uid, uid) && view_equal(item->name, said->name) &&
		    view_equal(item->namespace, said->namespace) &&
		    view_equal(item->container, said->container))
			return true;
	}
	return false;
}

static void add(struct previous_index *index, struct previous_index_item item)
{
	uint32_t hash = hash_name(item.namespace, item.name, item.container);

	index->items[lookup_add(&index->uids, lookup_hash(0, item.uid))] = item;
	lookup_add(&index->names, hash);
	assert(index->uids.n == index->names.n);
}

static void add_device(struct previous_index *index, const struct device *device)
{
	const struct previous *previous = device->previous;
	const struct array recent = previous->status->recent_tenants;

	for (uint32_t i = 0; i < previous->n_tenants; i++) {
		const struct attribution_tenant *t = previous->tenants[i].published;
		bool is_placeholder = previous->tenants[i].placeholder == PLACEHOLDER_HAMI;
		bool is_known = !previous->tenants[i].is_unknown;
		add(index, (struct previous_index_item){
				   t->pod_uid, t->container, t->pod_namespace, t->pod_name,
				   is_placeholder ? NULL : device, is_known});
	}
	for (uint32_t i = 0; i < recent.count; i++) {
		const struct attribution_past_tenant *t =
			ARRAY_AT(recent, struct attribution_past_tenant, i);
		add(index, (struct previous_index_item){t->pod_uid, t->container, t->pod_namespace,
							t->pod_name, device, true});
	}
}

int previous_index_make(const struct devices *devices, struct arena *arena,
			struct previous_index *ret_index, struct error *err)
{
	struct previous_index index = {0};
	size_t n = 0;

	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct previous *previous = devices->devices[i].previous;
		n += previous ? previous->n_tenants + previous->status->recent_tenants.count : 0;
	}
	index.items = arena_alloc(arena, n, sizeof(*index.items));
	if (!index.items)
		return error_no_memory(err);
	if (lookup_make(&index.uids, n, arena, err) < 0 ||
	    lookup_make(&index.names, n, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < devices->n_devices; i++) {
		if (devices->devices[i].previous)
			add_device(&index, &devices->devices[i]);
	}
	assert(index.uids.n == n);
	*ret_index = index;
	return 0;
}
