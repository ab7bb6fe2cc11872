/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each message is walked once; what is not needed (images, addresses, managed fields) is skipped by
 * its length.
 *
 * Field numbers: k8s.io/api/core/v1/generated.proto and
 * k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "schema/node_doc.h"

#include "schema/gpu_resource.h"
#include "schema/map_entry.h"
#include "schema/quantity.h"
#include "wire/pbscan.h"

enum { NODE_METADATA = 1, NODE_STATUS = 3 };
enum { METADATA_NAME = 1, METADATA_UID = 5, METADATA_LABELS = 11 };
enum { STATUS_CAPACITY = 1, STATUS_ALLOCATABLE = 2, STATUS_CONDITIONS = 4, STATUS_NODE_INFO = 7 };
enum { CONDITION_TYPE = 1, CONDITION_STATUS = 2 };
enum { INFO_BOOT_ID = 3, INFO_KUBELET_VERSION = 7 };

#define LABEL_PREFIX VIEW("nvidia.com/")

static int decode_label(struct view message, struct node_fields *fields, struct error *err)
{
	struct map_entry label;

	if (map_entry_decode(message, &label, err) != 0)
		return -1;
	if (view_starts_with(label.key, LABEL_PREFIX) && fields->n_labels < NODE_MAX_LABELS)
		fields->labels[fields->n_labels++] = (struct node_label){
			.key = view_from_offset(label.key, LABEL_PREFIX.len),
			.value = label.value,
		};
	return 0;
}

static int decode_metadata(struct view message, struct node_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == METADATA_NAME)
			fields->name = field.bytes;
		else if (field.number == METADATA_UID)
			fields->uid = field.bytes;
		else if (field.number == METADATA_LABELS &&
			 decode_label(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "metadata", err);
}

/* The resource of that name, made if need be; NULL when there is no room. */
static struct node_resource *find_resource(struct node_fields *fields, struct view name)
{
	for (uint32_t i = 0; i < fields->n_resources; i++) {
		if (view_equal(fields->resources[i].name, name))
			return &fields->resources[i];
	}
	if (fields->n_resources == NODE_MAX_RESOURCES)
		return NULL;
	struct node_resource *resource = &fields->resources[fields->n_resources++];
	*resource = (struct node_resource){.name = name};
	return resource;
}

static int decode_amount(struct view message, uint32_t list, struct node_fields *fields,
			 struct error *err)
{
	struct map_entry entry;
	int64_t amount;

	if (map_entry_decode_quantity(message, &entry, err) != 0)
		return -1;
	if (!gpu_resource_is_known(entry.key) || !quantity_parse(entry.value, &amount))
		return 0;
	struct node_resource *resource = find_resource(fields, entry.key);
	if (resource && list == STATUS_CAPACITY)
		resource->capacity = amount;
	else if (resource)
		resource->allocatable = amount;
	return 0;
}

static enum node_ready ready_of(struct view status)
{
	if (view_equal(status, VIEW("True")))
		return NODE_READY_TRUE;
	if (view_equal(status, VIEW("False")))
		return NODE_READY_FALSE;
	return NODE_READY_UNKNOWN;
}

static int decode_condition(struct view message, struct node_fields *fields, struct error *err)
{
	struct view type = {0}, status = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == CONDITION_TYPE && field.wire == PBSCAN_BYTES)
			type = field.bytes;
		else if (field.number == CONDITION_STATUS && field.wire == PBSCAN_BYTES)
			status = field.bytes;
	}
	if (view_equal(type, VIEW("Ready")))
		fields->ready = ready_of(status);
	return pbscan_check(&scan, "condition", err);
}

static int decode_info(struct view message, struct node_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == INFO_BOOT_ID && field.wire == PBSCAN_BYTES)
			fields->boot_id = field.bytes;
		else if (field.number == INFO_KUBELET_VERSION && field.wire == PBSCAN_BYTES)
			fields->kubelet_version = field.bytes;
	}
	return pbscan_check(&scan, "nodeInfo", err);
}

static int decode_status_field(const struct pbscan_field *field, struct node_fields *fields,
			       struct error *err)
{
	switch (field->number) {
	case STATUS_CAPACITY:
	case STATUS_ALLOCATABLE:
		return decode_amount(field->bytes, field->number, fields, err);
	case STATUS_CONDITIONS:
		return decode_condition(field->bytes, fields, err);
	case STATUS_NODE_INFO:
		return decode_info(field->bytes, fields, err);
	default:
		return 0;
	}
}

static int decode_status(struct view message, struct node_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire == PBSCAN_BYTES && decode_status_field(&field, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "status", err);
}

static int decode_node(struct view message, struct node_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == NODE_METADATA && decode_metadata(field.bytes, fields, err) != 0)
			return -1;
		if (field.number == NODE_STATUS && decode_status(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "node", err);
}

int node_doc_decode(struct view message, struct node_fields *ret_fields, struct error *err)
{
	struct node_fields fields = {0};

	if (decode_node(message, &fields, err) != 0)
		return -1;
	if (fields.name.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "node: no name");
	*ret_fields = fields;
	return 0;
}
