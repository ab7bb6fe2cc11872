/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever is accepted as a slice has a name, counts in bounds, and texts that lie in the message;
 * only one of a driver of GPUs has more than that.
 */

#include <assert.h>

#include "schema/dra_driver.h"
#include "schema/resource_slice_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct view message, struct view text)
{
	assert(text.len == 0 || (text.ptr >= message.ptr && text.len <= message.len &&
				 text.ptr <= message.ptr + message.len - text.len));
}

static void check_device(struct view message, const struct resource_slice_device *device)
{
	check_inside(message, device->name);
	check_inside(message, device->uuid);
	check_inside(message, device->parent_uuid);
	check_inside(message, device->model);
	check_inside(message, device->compute_capability);
	check_inside(message, device->driver_version);
	check_inside(message, device->cuda_version);
	check_inside(message, device->pci_bus_id);
	assert(device->memory_mib >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct resource_slice_fields fields;
	struct view message = {(const char *)data, size};
	struct error err;

	if (resource_slice_doc_decode(message, &fields, &err) != 0)
		return 0;
	assert(fields.slice.name.len > 0);
	assert(fields.slice.devices.count <= RESOURCE_SLICE_MAX_DEVICES);
	assert(fields.slice.driver.len == 0
		       ? fields.slice.node.len + fields.slice.pool.len + fields.slice.devices.count == 0
		       : dra_driver_is_known(fields.slice.driver));
	check_inside(message, fields.slice.name);
	check_inside(message, fields.slice.node);
	check_inside(message, fields.slice.pool);
	for (uint32_t i = 0; i < fields.slice.devices.count; i++)
		check_device(message, &fields.devices[i]);
	return 0;
}
