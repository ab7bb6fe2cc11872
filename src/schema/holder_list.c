/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A flat list of (holder, resource, device) is sorted; then a run of equal holders and resources is
 * one element of the result, and equal neighbours in it are duplicates. Simpler than a tree of
 * tables, and n log n for any input.
 */

#include "schema/holder_list.h"

#include <stdlib.h>

#include "base/limits.h"
#include "model/device_id.h"
#include "model/report.h"
#include "schema/gpu_resource.h"

#define FIRST_ITEMS 64u

void holder_list_deinit(struct holder_list *list)
{
	free(list->items);
	*list = (struct holder_list){0};
}

static bool may_be_gpu(const struct holder_device *device)
{
	return gpu_resource_is_known(device->resource) ||
	       device_id_parse(device->device_id).form != DEVICE_ID_UNKNOWN;
}

static bool is_too_long(const struct holder_device *device)
{
	return device->namespace.len > LIMIT_TEXT_LABEL || device->pod.len > LIMIT_TEXT_NAME ||
	       device->container.len > LIMIT_TEXT_LABEL ||
	       device->resource.len > LIMIT_TEXT_RESOURCE ||
	       device->device_id.len > LIMIT_TEXT_DEVICE_ID;
}

static int grow(struct holder_list *list, struct error *err)
{
	uint32_t n = list->allocated ? 2 * list->allocated : FIRST_ITEMS;

	if (list->count == HOLDER_LIST_MAX)
		return error_set(err, ERROR_LIMIT, 0, "more than %u devices", HOLDER_LIST_MAX);
	struct holder_device *items = reallocarray(list->items, n, sizeof(*items));
	if (!items)
		return error_no_memory(err);
	list->items = items;
	list->allocated = n;
	return 0;
}

int holder_list_add(struct holder_list *list, const struct holder_device *device, struct error *err)
{
	if (!may_be_gpu(device))
		return 0;
	if (is_too_long(device))
		return error_set(err, ERROR_LIMIT, 0, "too long: a name of %.*s of %.*s",
				 VIEW_ARG(device->resource), VIEW_ARG(device->pod));
	if (list->count == list->allocated && grow(list, err) != 0)
		return -1;
	list->items[list->count++] = *device;
	return 0;
}

/* By holder and resource. */
static int compare_holders(const struct holder_device *a, const struct holder_device *b)
{
	int order = view_compare(a->namespace, b->namespace);
	if (order == 0)
		order = view_compare(a->pod, b->pod);
	if (order == 0)
		order = view_compare(a->container, b->container);
	if (order == 0)
		order = view_compare(a->resource, b->resource);
	return order;
}

static int compare(const void *left, const void *right)
{
	const struct holder_device *a = left, *b = right;
	int order = compare_holders(a, b);
	return order ? order : view_compare(a->device_id, b->device_id);
}

/* The devices of one holder and resource. */
struct run {
	const struct holder_device *items;
	uint32_t count;
};

/* The next run after position *at, which is advanced. False at the end. */
static bool next_run(const struct holder_list *list, uint32_t *at, struct run *ret)
{
	if (*at == list->count)
		return false;
	*ret = (struct run){.items = &list->items[*at]};
	while (*at < list->count && compare_holders(ret->items, &list->items[*at]) == 0) {
		(*at)++;
		ret->count++;
	}
	return true;
}

/* Sorts, and makes an array for one element a run. */
static int make_elements(struct holder_list *list, struct arena *arena, size_t element_size,
			 struct array *ret, struct error *err)
{
	struct array elements = {.present = true};
	struct run run;
	uint32_t at = 0;

	if (list->count > 0)
		qsort(list->items, list->count, sizeof(*list->items), compare);
	while (next_run(list, &at, &run))
		elements.count++;
	if (elements.count > LIMIT_REPORT_HOLDINGS)
		return error_set(err, ERROR_LIMIT, 0, "more than %u holders of devices",
				 LIMIT_REPORT_HOLDINGS);
	if (elements.count > 0)
		elements.items = arena_alloc(arena, elements.count, element_size);
	if (elements.count > 0 && !elements.items)
		return error_no_memory(err);
	*ret = elements;
	return 0;
}

static bool is_new_device(const struct run *run, uint32_t i)
{
	return run->items[i].device_id.len > 0 &&
	       (i == 0 || !view_equal(run->items[i].device_id, run->items[i - 1].device_id));
}

/* The run's devices, each once, as an array of texts in arena. */
static int copy_devices(const struct run *run, struct arena *arena, struct array *ret,
			struct error *err)
{
	struct array ids = {.present = true};
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->count; i++)
		n += is_new_device(run, i);
	if (n > LIMIT_REPORT_DEVICE_IDS)
		return error_set(err, ERROR_LIMIT, 0, "more than %u devices of %.*s",
				 LIMIT_REPORT_DEVICE_IDS, VIEW_ARG(run->items[0].resource));
	ids.items = n ? arena_alloc(arena, n, sizeof(struct view)) : NULL;
	if (n && !ids.items)
		return error_no_memory(err);
	for (uint32_t i = 0; i < run->count; i++) {
		if (is_new_device(run, i) && !arena_copy(arena, run->items[i].device_id,
							 ARRAY_AT(ids, struct view, ids.count++)))
			return error_no_memory(err);
	}
	*ret = ids;
	return 0;
}

static bool has_mps(const struct run *run)
{
	bool mps = false;
	for (uint32_t i = 0; i < run->count; i++)
		mps |= run->items[i].mps;
	return mps;
}

int holder_list_to_pod_resources(struct holder_list *list, struct arena *arena, struct array *ret,
				 struct error *err)
{
	struct array elements;
	struct run run;
	uint32_t at = 0;

	if (make_elements(list, arena, sizeof(struct report_pod_resource), &elements, err) != 0)
		return -1;
	for (uint32_t i = 0; next_run(list, &at, &run); i++) {
		struct report_pod_resource *element = ARRAY_AT(elements, struct report_pod_resource,
							       i);
		if (!arena_copy(arena, run.items[0].namespace, &element->namespace) ||
		    !arena_copy(arena, run.items[0].pod, &element->name) ||
		    !arena_copy(arena, run.items[0].container, &element->container) ||
		    !arena_copy(arena, run.items[0].resource, &element->resource))
			return error_no_memory(err);
		if (copy_devices(&run, arena, &element->device_ids, err) != 0)
			return -1;
	}
	*ret = elements;
	return 0;
}

int holder_list_to_checkpoint_entries(struct holder_list *list, struct arena *arena,
				      struct array *ret, struct error *err)
{
	struct array elements;
	struct run run;
	uint32_t at = 0;

	if (make_elements(list, arena, sizeof(struct report_checkpoint_entry), &elements, err) != 0)
		return -1;
	for (uint32_t i = 0; next_run(list, &at, &run); i++) {
		struct report_checkpoint_entry *element = ARRAY_AT(
			elements, struct report_checkpoint_entry, i);
		element->mps = has_mps(&run);
		if (!arena_copy(arena, run.items[0].pod, &element->pod_uid) ||
		    !arena_copy(arena, run.items[0].container, &element->container) ||
		    !arena_copy(arena, run.items[0].resource, &element->resource))
			return error_no_memory(err);
		if (copy_devices(&run, arena, &element->device_ids, err) != 0)
			return -1;
	}
	*ret = elements;
	return 0;
}

int holder_list_to_resource_devices(struct holder_list *list, struct arena *arena,
				    struct array *ret, struct error *err)
{
	struct array elements;
	struct run run;
	uint32_t at = 0;

	if (make_elements(list, arena, sizeof(struct report_resource_devices), &elements, err) != 0)
		return -1;
	for (uint32_t i = 0; next_run(list, &at, &run); i++) {
		struct report_resource_devices *element = ARRAY_AT(
			elements, struct report_resource_devices, i);
		if (!arena_copy(arena, run.items[0].resource, &element->resource))
			return error_no_memory(err);
		if (copy_devices(&run, arena, &element->device_ids, err) != 0)
			return -1;
	}
	*ret = elements;
	return 0;
}
