/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_slice.h"

#include <assert.h>

#include "model/compact.h"

/* Kubernetes bounds names at 253 bytes and the values of attributes at 64. */
#define MAX_TEXT 253u

static const struct compact_row device_rows[] = {
	COMPACT_TEXT_ROW(resource_slice_device, name),
	COMPACT_TEXT_ROW(resource_slice_device, uuid),
	COMPACT_TEXT_ROW(resource_slice_device, parent_uuid),
	COMPACT_TEXT_ROW(resource_slice_device, model),
	COMPACT_TEXT_ROW(resource_slice_device, compute_capability),
	COMPACT_TEXT_ROW(resource_slice_device, driver_version),
	COMPACT_TEXT_ROW(resource_slice_device, cuda_version),
	COMPACT_TEXT_ROW(resource_slice_device, pci_bus_id),
	COMPACT_PLAIN_ROW(resource_slice_device, memory_mib),
	{0},
};

static const struct compact_row slice_rows[] = {
	COMPACT_TEXT_ROW(resource_slice, name),
	COMPACT_TEXT_ROW(resource_slice, driver),
	COMPACT_TEXT_ROW(resource_slice, node),
	COMPACT_TEXT_ROW(resource_slice, pool),
	COMPACT_PLAIN_ROW(resource_slice, generation),
	COMPACT_PLAIN_ROW(resource_slice, slice_count),
	COMPACT_ARRAY_ROW(resource_slice, devices, struct resource_slice_device, device_rows),
	{0},
};

int resource_slice_new(const struct resource_slice_fields *fields,
		       struct resource_slice **ret_slice, struct error *err)
{
	const struct resource_slice slice = {
		.name = fields->name,
		.driver = fields->driver,
		.node = fields->node,
		.pool = fields->pool,
		.generation = fields->generation,
		.slice_count = fields->slice_count,
		.devices = {(void *)(uintptr_t)fields->devices, fields->n_devices, true},
	};
	void *copy;

	assert(fields->n_devices <= RESOURCE_SLICE_MAX_DEVICES);
	if (compact_longest(slice_rows, &slice) > MAX_TEXT)
		return error_set(err, ERROR_LIMIT, 0, "slice: a text is longer than %u bytes",
				 MAX_TEXT);
	if (compact_new(slice_rows, &slice, sizeof(slice), &copy, err) < 0)
		return -1;
	*ret_slice = copy;
	return 0;
}

bool resource_slice_has_pool_of(const struct resource_slice *a, const struct resource_slice *b)
{
	return view_equal(a->pool, b->pool) && view_equal(a->driver, b->driver);
}

bool resource_slice_equal(const struct resource_slice *a, const struct resource_slice *b)
{
	return compact_equal(slice_rows, a, b);
}
