/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource_slice.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * One block: the struct, the devices, then all text. The texts of a device are named once, in a
 * table, for measuring, copying and comparing.
 */

/* Kubernetes bounds names at 253 bytes and the values of attributes at 64. */
#define MAX_TEXT 253u

static const size_t device_texts[] = {
	offsetof(struct resource_slice_device, name),
	offsetof(struct resource_slice_device, uuid),
	offsetof(struct resource_slice_device, parent_uuid),

	offsetof(struct resource_slice_device, model),
	offsetof(struct resource_slice_device, compute_capability),
	offsetof(struct resource_slice_device, driver_version),
	offsetof(struct resource_slice_device, cuda_version),
	offsetof(struct resource_slice_device, pci_bus_id),
};

static struct view text_of(const struct resource_slice_device *device, size_t which)
{
	return *(const struct view *)(const void *)((const char *)device + device_texts[which]);
}

static void set_text(struct resource_slice_device *device, size_t which, struct view text)
{
	*(struct view *)(void *)((char *)device + device_texts[which]) = text;
}

/* Adds the length of a text to *size. False: it is too long. */
static bool measure(struct view text, size_t *size)
{
	*size += text.len;
	return text.len <= MAX_TEXT;
}

static int block_size(const struct resource_slice_fields *fields, size_t *ret_size,
		      struct error *err)
{
	const struct view own[] = {fields->name, fields->node, fields->driver, fields->pool};
	size_t size = sizeof(struct resource_slice) +
		      fields->n_devices * sizeof(struct resource_slice_device);
	bool fits = true;

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		fits &= measure(own[i], &size);
	for (uint32_t i = 0; i < fields->n_devices; i++)
		for (size_t k = 0; k < ARRAY_SIZE(device_texts); k++)
			fits &= measure(text_of(&fields->devices[i], k), &size);
	if (!fits)
		return error_set(err, ERROR_LIMIT, 0, "slice: a text is longer than %u bytes",
				 MAX_TEXT);
	*ret_size = size;
	return 0;
}

static struct view put(char **text, struct view v)
{
	struct view copy = {*text, v.len};

	if (v.len > 0)
		memcpy(*text, v.ptr, v.len);
	*text += v.len;
	return copy;
}

static void put_devices(const struct resource_slice_fields *fields,
			struct resource_slice_device *devices, char **text)
{
	for (uint32_t i = 0; i < fields->n_devices; i++) {
		devices[i].memory_mib = fields->devices[i].memory_mib;
		for (size_t k = 0; k < ARRAY_SIZE(device_texts); k++)
			set_text(&devices[i], k, put(text, text_of(&fields->devices[i], k)));
	}
}

int resource_slice_new(const struct resource_slice_fields *fields,
		       struct resource_slice **ret_slice, struct error *err)
{
	struct resource_slice_device *devices;
	struct resource_slice *slice;
	size_t size;
	char *text;

	assert(fields->n_devices <= RESOURCE_SLICE_MAX_DEVICES);
	if (block_size(fields, &size, err) < 0)
		return -1;
	slice = malloc(size);
	if (!slice)
		return error_no_memory(err);
	devices = (struct resource_slice_device *)(void *)(slice + 1);
	text = (char *)(devices + fields->n_devices);
	put_devices(fields, devices, &text);
	*slice = (struct resource_slice){
		.name = put(&text, fields->name),
		.node = put(&text, fields->node),
		.driver = put(&text, fields->driver),
		.pool = put(&text, fields->pool),
		.generation = fields->generation,
		.slice_count = fields->slice_count,
		.devices = {.items = devices, .count = fields->n_devices, .present = true},
	};
	assert(text == (char *)slice + size);
	*ret_slice = slice;
	return 0;
}

void resource_slice_free(struct resource_slice *slice)
{
	free(slice);
}

bool resource_slice_has_pool_of(const struct resource_slice *a, const struct resource_slice *b)
{
	return view_equal(a->pool, b->pool) && view_equal(a->driver, b->driver);
}

static bool devices_equal(const struct resource_slice_device *a,
			  const struct resource_slice_device *b)
{
	for (size_t k = 0; k < ARRAY_SIZE(device_texts); k++)
		if (!view_equal(text_of(a, k), text_of(b, k)))
			return false;
	return a->memory_mib == b->memory_mib;
}

bool resource_slice_equal(const struct resource_slice *a, const struct resource_slice *b)
{
	if (!view_equal(a->name, b->name) || !view_equal(a->node, b->node) ||
	    !resource_slice_has_pool_of(a, b) || a->generation != b->generation ||
	    a->slice_count != b->slice_count || a->devices.count != b->devices.count)
		return false;
	for (uint32_t i = 0; i < a->devices.count; i++)
		if (!devices_equal(ARRAY_AT(a->devices, struct resource_slice_device, i),
				   ARRAY_AT(b->devices, struct resource_slice_device, i)))
			return false;
	return true;
}
