/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A container names a claim as its pod calls it. Where the object's name stands depends on the
 * claim:
 *
 *	| claim                                        | its object is named in      |
 *	|----------------------------------------------|-----------------------------|
 *	| was there before the pod                     | the spec                    |
 *	| made from one of the pod's templates         | the status                  |
 *	| made by the scheduler for extended resources | the status, with containers |
 *
 * So the uses are collected first, and get their objects when those are met.
 *
 * Field numbers: k8s.io/api/core/v1/generated.proto.
 */

#include "schema/pod_doc_claim.h"

#include "wire/pbscan.h"

enum { CLAIM_USE_NAME = 1, CLAIM_USE_REQUEST = 2 };
enum { POD_CLAIM_NAME = 1, POD_CLAIM_OBJECT = 3 };
enum { CLAIM_STATUS_NAME = 1, CLAIM_STATUS_OBJECT = 2 };
enum { EXTENDED_MAPPING = 1, EXTENDED_OBJECT = 2 };
enum { MAPPING_CONTAINER = 1, MAPPING_RESOURCE = 2, MAPPING_REQUEST = 3 };

static void add_claim(struct pod_fields *fields, struct pod_claim claim)
{
	if (fields->gpu.claims.count < POD_MAX_CLAIMS)
		fields->claims[fields->gpu.claims.count++] = claim;
	else
		fields->gpu.claims_left_out++;
}

int pod_doc_claim_decode_use(struct view message, struct pod_fields *fields, struct error *err)
{
	struct pod_claim claim = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == CLAIM_USE_NAME && field.wire == PBSCAN_BYTES)
			claim.claim = field.bytes;
		else if (field.number == CLAIM_USE_REQUEST && field.wire == PBSCAN_BYTES)
			claim.request = field.bytes;
	}
	if (pbscan_check(&scan, "claim", err) != 0)
		return -1;
	add_claim(fields, claim);
	return 0;
}

static bool is_mapping_of(struct view message, struct view container, struct view resource)
{
	struct view name = {0}, mapped = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == MAPPING_CONTAINER && field.wire == PBSCAN_BYTES)
			name = field.bytes;
		else if (field.number == MAPPING_RESOURCE && field.wire == PBSCAN_BYTES)
			mapped = field.bytes;
	}
	return view_equal(name, container) && view_equal(mapped, resource);
}

bool pod_doc_claim_serves(struct view extended, struct view container, struct view resource)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, extended);
	while (pbscan_next(&scan, &field)) {
		if (field.number == EXTENDED_MAPPING && field.wire == PBSCAN_BYTES &&
		    is_mapping_of(field.bytes, container, resource))
			return true;
	}
	return false;
}

/* The uses of what the pod calls `name` are uses of that object. */
static void resolve_claim(struct pod_fields *fields, struct pod_doc_claim_resolved *resolved,
			  struct view name, struct view object)
{
	for (uint32_t i = 0; i < fields->gpu.claims.count && object.len > 0; i++) {
		if (resolved->is_done[i] || !view_equal(fields->claims[i].claim, name))
			continue;
		fields->claims[i].claim = object;
		resolved->is_done[i] = true;
	}
}

/* PodResourceClaim and PodResourceClaimStatus differ in a field's number only. */
static int decode_name(struct view message, unsigned name_number, unsigned object_number,
		       struct pod_fields *fields, struct pod_doc_claim_resolved *resolved,
		       struct error *err)
{
	struct view name = {0}, object = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == name_number && field.wire == PBSCAN_BYTES)
			name = field.bytes;
		else if (field.number == object_number && field.wire == PBSCAN_BYTES)
			object = field.bytes;
	}
	resolve_claim(fields, resolved, name, object);
	return pbscan_check(&scan, "claim", err);
}

int pod_doc_claim_decode(struct view message, struct pod_fields *fields,
			 struct pod_doc_claim_resolved *resolved, struct error *err)
{
	return decode_name(message, POD_CLAIM_NAME, POD_CLAIM_OBJECT, fields, resolved, err);
}

int pod_doc_claim_decode_status(struct view message, struct pod_fields *fields,
				struct pod_doc_claim_resolved *resolved, struct error *err)
{
	return decode_name(message, CLAIM_STATUS_NAME, CLAIM_STATUS_OBJECT, fields, resolved, err);
}

/* An extended resource that was served by a claim that the scheduler made. */
static int decode_mapping(struct view message, struct pod_fields *fields, struct error *err)
{
	struct pod_claim claim = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == MAPPING_CONTAINER && field.wire == PBSCAN_BYTES)
			claim.container = field.bytes;
		else if (field.number == MAPPING_REQUEST && field.wire == PBSCAN_BYTES)
			claim.request = field.bytes;
	}
	if (pbscan_check(&scan, "request mapping", err) != 0)
		return -1;
	add_claim(fields, claim);
	return 0;
}

int pod_doc_claim_decode_extended(struct view message, struct pod_fields *fields,
				  struct pod_doc_claim_resolved *resolved, struct error *err)
{
	uint32_t first = fields->gpu.claims.count;
	struct view object = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == EXTENDED_OBJECT && field.wire == PBSCAN_BYTES)
			object = field.bytes;
		else if (field.number == EXTENDED_MAPPING && field.wire == PBSCAN_BYTES &&
			 decode_mapping(field.bytes, fields, err) != 0)
			return -1;
	}
	for (uint32_t i = first; i < fields->gpu.claims.count; i++) {
		fields->claims[i].claim = object;
		resolved->is_done[i] = object.len > 0;
	}
	return pbscan_check(&scan, "extended resource claim", err);
}

void pod_doc_claim_drop_unresolved(struct pod_fields *fields,
				   const struct pod_doc_claim_resolved *resolved)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < fields->gpu.claims.count; i++) {
		if (resolved->is_done[i])
			fields->claims[n++] = fields->claims[i];
	}
	fields->gpu.claims.count = n;
}
