/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each message is walked once; the spec (what was asked for) is skipped by its length.
 *
 * Field numbers: k8s.io/api/resource/v1/generated.proto and
 * k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "schema/resource_claim_doc.h"

#include <stddef.h>
#include <string.h>

#include "schema/dra_driver.h"
#include "wire/pbscan.h"

enum { CLAIM_METADATA = 1, CLAIM_STATUS = 3 };
enum { METADATA_NAME = 1, METADATA_NAMESPACE = 3 };
enum { STATUS_ALLOCATION = 1, STATUS_RESERVED_FOR = 2 };
enum { ALLOCATION_DEVICES = 1 };
enum { DEVICES_RESULTS = 1 };
enum {
	RESULT_REQUEST = 1,
	RESULT_DRIVER = 2,
	RESULT_POOL = 3,
	RESULT_DEVICE = 4,
	RESULT_ADMIN_ACCESS = 5,
	RESULT_SHARE_ID = 9,
};
enum { CONSUMER_API_GROUP = 1, CONSUMER_RESOURCE = 3, CONSUMER_UID = 5 };

static int decode_metadata(struct view message, struct resource_claim_fields *fields,
			   struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == METADATA_NAME)
			fields->name = field.bytes;
		else if (field.number == METADATA_NAMESPACE)
			fields->namespace = field.bytes;
	}
	return pbscan_check(&scan, "metadata", err);
}

static int add_result(struct resource_claim_fields *fields,
		      const struct resource_claim_result *result, struct error *err)
{
	if (fields->claim.results.count == RESOURCE_CLAIM_MAX_RESULTS)
		return error_set(err, ERROR_LIMIT, 0, "more than %u devices",
				 RESOURCE_CLAIM_MAX_RESULTS);
	fields->results[fields->claim.results.count++] = *result;
	return 0;
}

static void set_result_text(struct resource_claim_result *result, const struct pbscan_field *field)
{
	switch (field->number) {
	case RESULT_REQUEST:
		result->request = field->bytes;
		break;
	case RESULT_DRIVER:
		result->driver = field->bytes;
		break;
	case RESULT_POOL:
		result->pool = field->bytes;
		break;
	case RESULT_DEVICE:
		result->device = field->bytes;
		break;
	case RESULT_SHARE_ID:
		result->share_id = field->bytes;
		break;
	default:
		break;
	}
}

static int decode_result(struct view message, struct resource_claim_fields *fields,
			 struct error *err)
{
	struct resource_claim_result result = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire == PBSCAN_BYTES)
			set_result_text(&result, &field);
		else if (field.number == RESULT_ADMIN_ACCESS && field.wire == PBSCAN_VARINT)
			result.is_admin = field.value != 0;
	}
	if (pbscan_check(&scan, "result", err) != 0)
		return -1;
	return dra_driver_is_known(result.driver) ? add_result(fields, &result, err) : 0;
}

static int decode_devices(struct view message, struct resource_claim_fields *fields,
			  struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == DEVICES_RESULTS && field.wire == PBSCAN_BYTES &&
		    decode_result(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "devices", err);
}

static int decode_allocation(struct view message, struct resource_claim_fields *fields,
			     struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == ALLOCATION_DEVICES && field.wire == PBSCAN_BYTES &&
		    decode_devices(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "allocation", err);
}

static int add_consumer(struct resource_claim_fields *fields, struct view uid, struct error *err)
{
	if (fields->claim.consumers.count == RESOURCE_CLAIM_MAX_CONSUMERS)
		return error_set(err, ERROR_LIMIT, 0, "reserved for more than %u pods",
				 RESOURCE_CLAIM_MAX_CONSUMERS);
	fields->consumers[fields->claim.consumers.count++] = uid;
	return 0;
}

static int decode_consumer(struct view message, struct resource_claim_fields *fields,
			   struct error *err)
{
	struct view group = {0}, resource = {0}, uid = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == CONSUMER_API_GROUP)
			group = field.bytes;
		else if (field.number == CONSUMER_RESOURCE)
			resource = field.bytes;
		else if (field.number == CONSUMER_UID)
			uid = field.bytes;
	}
	if (pbscan_check(&scan, "reservation", err) != 0)
		return -1;
	if (group.len == 0 && view_equal(resource, VIEW("pods")) && uid.len > 0)
		return add_consumer(fields, uid, err);
	fields->claim.has_other_consumers = true;
	return 0;
}

static int decode_status(struct view message, struct resource_claim_fields *fields,
			 struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		fields->claim.is_allocated |= field.number == STATUS_ALLOCATION;
		if (field.number == STATUS_ALLOCATION &&
		    decode_allocation(field.bytes, fields, err) != 0)
			return -1;
		if (field.number == STATUS_RESERVED_FOR &&
		    decode_consumer(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "status", err);
}

static int decode_claim(struct view message, struct resource_claim_fields *fields,
			struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == CLAIM_METADATA &&
		    decode_metadata(field.bytes, fields, err) != 0)
			return -1;
		if (field.number == CLAIM_STATUS && decode_status(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "claim", err);
}

int resource_claim_doc_decode(struct view message, struct resource_claim_fields *ret_fields,
			      struct error *err)
{
	memset(ret_fields, 0, offsetof(struct resource_claim_fields, results));
	if (decode_claim(message, ret_fields, err) != 0)
		return error_wrap(err, "claim %.*s/%.*s", VIEW_ARG(ret_fields->namespace),
				  VIEW_ARG(ret_fields->name));
	if (ret_fields->name.len == 0 || ret_fields->namespace.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "claim: no name or no namespace");
	return 0;
}
