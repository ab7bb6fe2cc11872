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

const struct compact_row resource_slice_rows[] = {
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
	if (compact_new(resource_slice_rows, &slice, sizeof(slice), MAX_TEXT, &copy, err) < 0)
		return error_wrap(err, "slice");
	*ret_slice = copy;
	return 0;
}

bool resource_slice_has_pool_of(const struct resource_slice *a, const struct resource_slice *b)
{
	return view_equal(a->pool, b->pool) && view_equal(a->driver, b->driver);
}
