/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An object is decoded into an arena that is used again for the next one. If it is wanted, it is
 * decoded once more, into the arena that stays. So a question about one pod in a large fleet keeps a
 * few objects.
 */

#include "kubectl/device_list.h"

#include <stdlib.h>

#include "schema/attribution_doc.h"

/* The decoded form of one object of LIMIT_OBJECT_BYTES, whose smallest members are a few bytes. */
#define SCRATCH_BYTES (64u * LIMIT_MIB)

struct device_list_entry {
	struct device_list_entry *next;
	struct attribution object;
};

void device_list_init(struct device_list *list, device_list_want_fn want, const void *context)
{
	*list = (struct device_list){.want = want, .context = context};
	arena_init(&list->arena, DEVICE_LIST_BYTES);
	arena_init(&list->scratch, SCRATCH_BYTES);
}

void device_list_deinit(struct device_list *list)
{
	arena_deinit(&list->arena);
	arena_deinit(&list->scratch);
}

static int compare_tenants(const void *left, const void *right)
{
	const struct attribution_tenant *a = left, *b = right;
	int order = view_compare(a->pod_namespace, b->pod_namespace);
	if (order == 0)
		order = view_compare(a->pod_name, b->pod_name);
	if (order == 0)
		order = view_compare(a->pod_uid, b->pod_uid);
	return order ? order : view_compare(a->container, b->container);
}

static int too_much(struct error *err)
{
	return error_set(err, ERROR_LIMIT, 0,
			 "more than %u MiB of GPUAttributions: narrow it down, for example with "
			 "--field-selector status.nodeName=NODE",
			 DEVICE_LIST_BYTES / LIMIT_MIB);
}

/* The object has been decoded before, so it is readable: only the room for it can be missing. */
static int keep(struct device_list *list, struct view json, struct error *err)
{
	struct device_list_entry *entry = arena_alloc(&list->arena, 1, sizeof(*entry));
	if (!entry ||
	    attribution_doc_decode(json, &list->arena, &entry->object, err) != 0)
		return too_much(err);
	struct array *tenants = &entry->object.status.tenants;
	if (tenants->count > 1)
		qsort(tenants->items, tenants->count, sizeof(struct attribution_tenant),
		      compare_tenants);
	entry->next = list->newest;
	list->newest = entry;
	list->n_devices++;
	return 0;
}

static int add_uuids(struct uuid_prefix *known, const struct attribution *object, struct error *err)
{
	for (uint32_t i = 0; i < object->status.partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(object->status.partitions, struct attribution_partition, i);
		if (uuid_prefix_add(known, partition->uuid, err) != 0)
			return -1;
	}
	return uuid_prefix_add(known, object->uuid, err);
}

int device_list_take(void *context, struct view json, struct error *err)
{
	struct device_list *list = context;
	struct attribution object;
	struct error unreadable;
	arena_reset(&list->scratch);
	if (attribution_doc_decode(json, &list->scratch, &object, &unreadable) != 0) {
		if (unreadable.kind == ERROR_NO_MEMORY)
			return error_no_memory(err);
		if (list->n_unreadable++ == 0)
			list->unreadable = unreadable;
		return 0;
	}
	if (list->known && add_uuids(list->known, &object, err) != 0)
		return -1;
	if (list->want && !list->want(list->context, &object))
		return 0;
	return keep(list, json, err);
}

static int compare_devices(const void *left, const void *right)
{
	const struct attribution *a = *(const struct attribution *const *)left;
	const struct attribution *b = *(const struct attribution *const *)right;
	/* Those whose node is not known come last. */
	if ((a->status.node_name.len == 0) != (b->status.node_name.len == 0))
		return a->status.node_name.len == 0 ? 1 : -1;
	int order = view_compare(a->status.node_name, b->status.node_name);
	if (order == 0)
		order = (a->status.device.index > b->status.device.index) -
			(a->status.device.index < b->status.device.index);
	return order ? order : view_compare(a->uuid, b->uuid);
}

int device_list_sort(struct device_list *list, struct error *err)
{
	size_t i = 0;
	list->devices = arena_alloc(&list->arena, list->n_devices,
					 sizeof(struct attribution *));
	if (!list->devices)
		return too_much(err);
	for (struct device_list_entry *entry = list->newest; entry; entry = entry->next)
		list->devices[i++] = &entry->object;
	if (i > 1)
		qsort(list->devices, i, sizeof(struct attribution *), compare_devices);
	return 0;
}
