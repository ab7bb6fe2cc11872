/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The driver must be known before the devices are read: it says whether they are of interest at
 * all, and which domain their attributes are in. Protobuf does not promise an order of fields. So
 * the spec is walked once for its own fields and once more for the devices.
 *
 * Field numbers: k8s.io/api/resource/v1/generated.proto and
 * k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto. Names of attributes: those of NVIDIA's
 * driver, and those that Kubernetes has standardised.
 */

#include "schema/resource_slice_doc.h"

#include <stddef.h>
#include <string.h>

#include "schema/dra_driver.h"
#include "schema/map_entry.h"
#include "schema/quantity.h"
#include "wire/pbscan.h"

enum { SLICE_METADATA = 1, SLICE_SPEC = 2 };
enum { METADATA_NAME = 1 };
enum { SPEC_DRIVER = 1, SPEC_POOL = 2, SPEC_NODE_NAME = 3, SPEC_DEVICES = 6 };
enum { POOL_NAME = 1, POOL_GENERATION = 2, POOL_SLICE_COUNT = 3 };
enum { DEVICE_NAME = 1, DEVICE_ATTRIBUTES = 2, DEVICE_CAPACITY = 3 };
enum { ATTRIBUTE_STRING = 4, ATTRIBUTE_VERSION = 5 };
enum { CAPACITY_VALUE = 1, QUANTITY_TEXT = 1 };

#define MIB (INT64_C(1) << 20)

static const struct {
	struct view name; /* without the driver's domain */
	size_t offset;
} attributes[] = {
	{VIEW_INIT("uuid"), offsetof(struct resource_slice_device, uuid)},
	{VIEW_INIT("parentUUID"), offsetof(struct resource_slice_device, parent_uuid)},

	{VIEW_INIT("productName"), offsetof(struct resource_slice_device, model)},
	{VIEW_INIT("cudaComputeCapability"),
	 offsetof(struct resource_slice_device, compute_capability)},
	{VIEW_INIT("driverVersion"), offsetof(struct resource_slice_device, driver_version)},
	{VIEW_INIT("cudaDriverVersion"), offsetof(struct resource_slice_device, cuda_version)},
	{VIEW_INIT("resource.kubernetes.io/pciBusID"),
	 offsetof(struct resource_slice_device, pci_bus_id)},
	/* Before it was standardised. */
	{VIEW_INIT("pcieBusID"), offsetof(struct resource_slice_device, pci_bus_id)},
};

static int decode_metadata(struct view message, struct resource_slice_fields *fields,
			   struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == METADATA_NAME && field.wire == PBSCAN_BYTES)
			fields->slice.name = field.bytes;
	}
	return pbscan_check(&scan, "metadata", err);
}

static int decode_pool(struct view message, struct resource_slice_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == POOL_NAME && field.wire == PBSCAN_BYTES)
			fields->slice.pool = field.bytes;
		else if (field.number == POOL_GENERATION && field.wire == PBSCAN_VARINT)
			fields->slice.generation = (int64_t)field.value;
		else if (field.number == POOL_SLICE_COUNT && field.wire == PBSCAN_VARINT)
			fields->slice.slice_count = (int64_t)field.value;
	}
	return pbscan_check(&scan, "pool", err);
}

/* An attribute has one value of one type; here only texts and versions are of interest. */
static int decode_value(struct view message, struct view *ret_text, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if ((field.number == ATTRIBUTE_STRING || field.number == ATTRIBUTE_VERSION) &&
		    field.wire == PBSCAN_BYTES)
			*ret_text = field.bytes;
	}
	return pbscan_check(&scan, "attribute", err);
}

static int decode_attribute(struct view message, struct view driver,
			    struct resource_slice_device *device, struct error *err)
{
	struct map_entry attribute;
	struct view name;

	if (map_entry_decode(message, &attribute, err) != 0)
		return -1;
	name = dra_driver_attribute(driver, attribute.key);
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		void *text = (char *)device + attributes[i].offset;

		if (view_equal(name, attributes[i].name))
			return decode_value(attribute.value, text, err);
	}
	return 0;
}

/* The text of the quantity that a capacity has as its value. */
static int decode_quantity(struct view message, struct view *ret_text, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;
	struct view quantity = {0};

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == CAPACITY_VALUE && field.wire == PBSCAN_BYTES)
			quantity = field.bytes;
	}
	if (pbscan_check(&scan, "capacity", err) != 0)
		return -1;
	pbscan_init(&scan, quantity);
	while (pbscan_next(&scan, &field)) {
		if (field.number == QUANTITY_TEXT && field.wire == PBSCAN_BYTES)
			*ret_text = field.bytes;
	}
	return pbscan_check(&scan, "quantity", err);
}

static int decode_capacity(struct view message, struct view driver,
			   struct resource_slice_device *device, struct error *err)
{
	struct map_entry capacity;
	struct view text = {0};
	int64_t bytes;

	if (map_entry_decode(message, &capacity, err) != 0)
		return -1;
	if (!view_equal(dra_driver_attribute(driver, capacity.key), VIEW("memory")))
		return 0;
	if (decode_quantity(capacity.value, &text, err) != 0)
		return -1;
	if (quantity_parse(text, &bytes))
		device->memory_mib = bytes / MIB;
	return 0;
}

static int decode_device_field(const struct pbscan_field *field, struct view driver,
			       struct resource_slice_device *device, struct error *err)
{
	switch (field->number) {
	case DEVICE_NAME:
		device->name = field->bytes;
		return 0;
	case DEVICE_ATTRIBUTES:
		return decode_attribute(field->bytes, driver, device, err);
	case DEVICE_CAPACITY:
		return decode_capacity(field->bytes, driver, device, err);
	default:
		return 0;
	}
}

static int decode_device(struct view message, struct resource_slice_fields *fields,
			 struct error *err)
{
	struct resource_slice_device *device = &fields->devices[fields->slice.devices.count];
	struct pbscan scan;
	struct pbscan_field field;

	if (fields->slice.devices.count == RESOURCE_SLICE_MAX_DEVICES)
		return error_set(err, ERROR_LIMIT, 0, "more than %u devices",
				 RESOURCE_SLICE_MAX_DEVICES);
	*device = (struct resource_slice_device){0};
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire == PBSCAN_BYTES &&
		    decode_device_field(&field, fields->slice.driver, device, err) != 0)
			return -1;
	}
	fields->slice.devices.count++;
	return pbscan_check(&scan, "device", err);
}

static int decode_devices(struct view spec, struct resource_slice_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, spec);
	while (pbscan_next(&scan, &field)) {
		if (field.number == SPEC_DEVICES && field.wire == PBSCAN_BYTES &&
		    decode_device(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "spec", err);
}

/* All of the spec but its devices. */
static int decode_head(struct view spec, struct resource_slice_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, spec);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == SPEC_DRIVER)
			fields->slice.driver = field.bytes;
		else if (field.number == SPEC_NODE_NAME)
			fields->slice.node = field.bytes;
		else if (field.number == SPEC_POOL && decode_pool(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "spec", err);
}

static void keep_name(struct resource_slice_fields *fields)
{
	struct view name = fields->slice.name;

	memset(fields, 0, offsetof(struct resource_slice_fields, devices));
	fields->slice.name = name;
}

static int decode_spec(struct view message, struct resource_slice_fields *fields, struct error *err)
{
	if (decode_head(message, fields, err) != 0)
		return -1;
	if (dra_driver_is_known(fields->slice.driver))
		return decode_devices(message, fields, err);
	keep_name(fields);
	return 0;
}

static int find_parts(struct view message, struct view parts[static SLICE_SPEC + 1],
		      struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number <= SLICE_SPEC && field.wire == PBSCAN_BYTES)
			parts[field.number] = field.bytes;
	}
	return pbscan_check(&scan, "slice", err);
}

int resource_slice_doc_decode(struct view message, struct resource_slice_fields *ret_fields,
			      struct error *err)
{
	struct view parts[SLICE_SPEC + 1] = {0};

	memset(ret_fields, 0, offsetof(struct resource_slice_fields, devices));
	if (find_parts(message, parts, err) != 0 ||
	    decode_metadata(parts[SLICE_METADATA], ret_fields, err) != 0)
		return -1;
	if (ret_fields->slice.name.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "slice: no name");
	if (decode_spec(parts[SLICE_SPEC], ret_fields, err) != 0)
		return error_wrap(err, "slice %.*s", VIEW_ARG(ret_fields->slice.name));
	return 0;
}
