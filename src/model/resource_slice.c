/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_slice.h"

#include <assert.h>

/* Kubernetes bounds names at 253 bytes and the values of attributes at 64. */
#define MAX_TEXT 253u

static const struct compact_row device_rows[] = {
	COMPACT_TEXTS_ROW(resource_slice_device, name, pci_bus_id),
	COMPACT_PLAIN_ROW(resource_slice_device, memory_mib, memory_mib),
	{0},
};

static const struct compact_row rows[] = {
	COMPACT_TEXTS_ROW(resource_slice, name, pool),
	COMPACT_PLAIN_ROW(resource_slice, generation, slice_count),
	COMPACT_ARRAY_ROW(resource_slice, devices, struct resource_slice_device, device_rows),
	{0},
};

int resource_slice_new(const struct resource_slice_fields *fields,
		       struct resource_slice **ret_slice, struct error *err)
{
	struct resource_slice slice = fields->slice;
	void *copy;

	assert(slice.devices.count <= RESOURCE_SLICE_MAX_DEVICES);
	slice.devices = array_of(fields->devices, slice.devices.count);
	if (compact_new(rows, &slice, sizeof(slice), MAX_TEXT, &copy, err) < 0)
		return error_wrap(err, "slice");
	*ret_slice = copy;
	return 0;
}

bool resource_slice_has_pool_of(const struct resource_slice *a, const struct resource_slice *b)
{
	return view_equal(a->pool, b->pool) && view_equal(a->driver, b->driver);
}

static bool is_unplaced(const struct resource_slice *slice)
{
	return slice->driver.len > 0 && slice->node.len == 0;
}

static int admit(struct record_set *records, const struct record *record, const struct record *old,
		 struct error *err)
{
	const struct node_state *node_state = record->node_state;
	(void)records;
	if (!node_state || (old && old->node_state == node_state) ||
	    node_state->n_slices < RESOURCE_SLICE_SET_MAX_OF_NODE)
		return 0;
	return error_set(err, ERROR_LIMIT, 0, "node %.*s has more than %u slices",
			 VIEW_ARG(node_state->name), RESOURCE_SLICE_SET_MAX_OF_NODE);
}

/* Touches before the old one is unlinked: a node that has nothing else is told of nothing then. */
static void change(struct record_set *records, struct record *old, struct record *record,
		   const struct record_event *event)
{
	struct resource_slice_set *set = CONTAINER_OF(records, struct resource_slice_set, records);
	assert(set->n_unplaced > 0 || !old || !is_unplaced(old->object));
	set->n_unplaced -= old && is_unplaced(old->object);
	set->n_unplaced += record && is_unplaced(record->object);
	if (old && old->node_state) {
		assert(old->node_state->n_slices > 0);
		old->node_state->n_slices--;
		node_state_touch(records->node_states, old->node_state, event->is_initial);
	}
	if (record && record->node_state) {
		list_append(&record->node_state->slices, &record->link);
		record->node_state->n_slices++;
		node_state_touch(records->node_states, record->node_state, event->is_initial);
	}
}

static int make(const void *fields, void **ret_object, struct error *err)
{
	struct resource_slice *slice;
	if (resource_slice_new(fields, &slice, err) < 0)
		return -1;
	*ret_object = slice;
	return 0;
}

static struct view node_of(const void *slice)
{
	return ((const struct resource_slice *)slice)->node;
}

static const struct record_kind kind = {
	.rows = rows,
	.make = make,
	.node_of = node_of,
	.admit = admit,
	.change = change,
};

void resource_slice_set_init(struct resource_slice_set *set, struct node_state_set *node_states)
{
	*set = (struct resource_slice_set){0};
	record_set_init(&set->records, &kind, node_states);
}

static bool describes(const struct resource_slice *slice, struct view uuid)
{
	ARRAY_EACH(const struct resource_slice_device, device, slice->devices)
		if (view_equal_ignoring_case(device->uuid, uuid) ||
		    view_equal_ignoring_case(device->parent_uuid, uuid))
			return true;
	return false;
}

bool resource_slice_set_names_device(const struct node_state *node_state, struct view uuid)
{
	for (const struct list *l = node_state->slices.next; l != &node_state->slices; l = l->next)
		if (describes(CONTAINER_OF(l, struct record, link)->object, uuid))
			return true;
	return false;
}
