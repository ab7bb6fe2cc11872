/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each message is walked once. What is not needed (most of a pod) is skipped by its length, so the
 * cost is that of the fields' heads, not of their contents. In a large cluster nearly all pods want
 * no GPU; for those the statuses of the containers are not looked at.
 *
 * So the parts of a pod are read in this order:
 * 1. the metadata;
 * 2. the spec, with the part of the status about resources that a claim serves. Now it is known
 *    whether the pod wants a GPU;
 * 3. the status.
 * This file knows that order. The messages in these parts are read by pod_doc_metadata.c,
 * pod_doc_container.c and pod_doc_claim.c, which do not know it.
 *
 * Field numbers: k8s.io/api/core/v1/generated.proto.
 */

#include "schema/pod_doc.h"

#include <stddef.h>
#include <string.h>

#include "schema/gpu_resource.h"
#include "schema/pod_doc_claim.h"
#include "schema/pod_doc_container.h"
#include "schema/pod_doc_metadata.h"
#include "wire/pbscan.h"

enum { POD_METADATA = 1, POD_SPEC = 2, POD_STATUS = 3 };
enum {
	SPEC_CONTAINERS = 2,
	SPEC_SERVICE_ACCOUNT = 8,
	SPEC_NODE_NAME = 10,
	SPEC_INIT_CONTAINERS = 20,
	SPEC_EPHEMERAL_CONTAINERS = 34,
	SPEC_RESOURCE_CLAIMS = 39,
};
enum {
	STATUS_PHASE = 1,
	STATUS_CONDITIONS = 2,
	STATUS_MESSAGE = 3,
	STATUS_REASON = 4,
	STATUS_START_TIME = 7,
	STATUS_CONTAINERS = 8,
	STATUS_INIT_CONTAINERS = 10,
	STATUS_EPHEMERAL_CONTAINERS = 13,
	STATUS_RESOURCE_CLAIMS = 15,
	STATUS_EXTENDED_CLAIM = 18,
};
enum { TIME_SECONDS = 1 };
enum { CONDITION_TYPE = 1, CONDITION_STATUS = 2 };

#define MAX_SECONDS UINT64_C(253402300799) /* the last of the year 9999 */

static const struct {
	struct view name;
	enum pod_phase phase;
} phases[] = {
	{VIEW_INIT("Pending"), POD_PHASE_PENDING},
	{VIEW_INIT("Running"), POD_PHASE_RUNNING},
	{VIEW_INIT("Succeeded"), POD_PHASE_SUCCEEDED},
	{VIEW_INIT("Failed"), POD_PHASE_FAILED},
};

static enum pod_phase find_phase(struct view name)
{
	for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
		if (view_equal(name, phases[i].name))
			return phases[i].phase;
	}
	return POD_PHASE_UNKNOWN;
}

/* They come after all others, so that they are those for which there is no room. */
static int decode_all_ephemeral(struct view spec, struct pod_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, spec);
	while (pbscan_next(&scan, &field)) {
		if (field.number == SPEC_EPHEMERAL_CONTAINERS && field.wire == PBSCAN_BYTES &&
		    pod_doc_container_decode_ephemeral(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "spec", err);
}

static int decode_spec_field(const struct pbscan_field *field, struct view extended,
			     struct pod_fields *fields, struct error *err)
{
	switch (field->number) {
	case SPEC_NODE_NAME:
		fields->node = field->bytes;
		return 0;
	case SPEC_CONTAINERS:
		return pod_doc_container_decode(field->bytes, POD_CONTAINER_MAIN, extended, fields,
						err);
	case SPEC_INIT_CONTAINERS:
		return pod_doc_container_decode(field->bytes, POD_CONTAINER_INIT, extended, fields,
						err);
	default:
		return 0;
	}
}

/* A resource that a claim serves may have any name, and the claim may be of a GPU. */
static int decode_spec(struct view message, struct view extended, struct pod_fields *fields,
		       struct error *err)
{
	struct view account = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == SPEC_SERVICE_ACCOUNT)
			account = field.bytes;
		else if (decode_spec_field(&field, extended, fields, err) != 0)
			return -1;
	}
	pod_doc_metadata_bear_out(fields, account);
	fields->state.wants_gpu |= fields->gpu.claims.count > 0 || extended.len > 0;
	if (!fields->state.wants_gpu) {
		fields->gpu.containers.count = 0;
		fields->gpu.containers_left_out = 0;
	}
	if (pbscan_check(&scan, "spec", err) != 0)
		return -1;
	return fields->state.wants_gpu ? decode_all_ephemeral(message, fields, err) : 0;
}

/* The nanoseconds are never set. A time that cannot be one of a pod is none. */
static int decode_time(struct view message, int64_t *ret_ms, struct error *err)
{
	uint64_t seconds = 0;
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == TIME_SECONDS && field.wire == PBSCAN_VARINT)
			seconds = field.value;
	}
	if (pbscan_check(&scan, "time", err) != 0)
		return -1;
	*ret_ms = seconds <= MAX_SECONDS ? (int64_t)seconds * 1000 : 0;
	return 0;
}

static int decode_condition(struct view message, struct pod_fields *fields, struct error *err)
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
		fields->state.is_ready = view_equal(status, VIEW("True"));
	return pbscan_check(&scan, "condition", err);
}

/*
 * "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1,
 * Available: 0, which is unexpected", as kubelets have said it since 1.9. The resource, or empty.
 */
static struct view find_refused(struct view message)
{
	struct view resource, rest, end;

	if (!view_cut(message, VIEW("devices unavailable for "), &end, &rest) ||
	    !view_cut(rest, VIEW(". Requested: "), &resource, &rest) ||
	    !gpu_resource_is_known(resource) ||
	    !view_cut(rest, VIEW(", Available: 0"), &end, &rest) ||
	    (rest.len > 0 && rest.ptr[0] >= '0' && rest.ptr[0] <= '9'))
		return (struct view){0};
	return resource;
}

static int decode_status_field(const struct pbscan_field *field, struct pod_fields *fields,
			       struct pod_doc_claim_resolved *resolved, struct error *err)
{
	switch (field->number) {
	case STATUS_PHASE:
		fields->state.phase = (uint8_t)find_phase(field->bytes);
		return 0;
	case STATUS_REASON:
		fields->state.admission_failed = view_equal(field->bytes,
						      VIEW("UnexpectedAdmissionError"));
		return 0;
	case STATUS_CONDITIONS:
		return fields->state.operand ? decode_condition(field->bytes, fields, err) : 0;
	case STATUS_MESSAGE:
		fields->gpu.refused_resource = find_refused(field->bytes);
		return 0;
	case STATUS_START_TIME:
		return fields->state.wants_gpu ? decode_time(field->bytes, &fields->gpu.started_at, err) : 0;
	case STATUS_CONTAINERS:
	case STATUS_INIT_CONTAINERS:
	case STATUS_EPHEMERAL_CONTAINERS:
		return fields->state.wants_gpu
			       ? pod_doc_container_decode_status(
					 field->bytes, field->number == STATUS_EPHEMERAL_CONTAINERS,
					 fields, err)
			       : 0;
	case STATUS_RESOURCE_CLAIMS:
		return pod_doc_claim_decode_status(field->bytes, fields, resolved, err);
	case STATUS_EXTENDED_CLAIM:
		return pod_doc_claim_decode_extended(field->bytes, fields, resolved, err);
	default:
		return 0;
	}
}

static int decode_status(struct view message, struct pod_fields *fields,
			 struct pod_doc_claim_resolved *resolved, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	fields->state.no_container_runs = fields->state.wants_gpu;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire == PBSCAN_BYTES &&
		    decode_status_field(&field, fields, resolved, err) != 0)
			return -1;
	}
	if (!fields->state.admission_failed)
		fields->gpu.refused_resource = (struct view){0};
	return pbscan_check(&scan, "status", err);
}

/* The spec names claims; those made from a template are named by the status only. */
static int name_claims(struct view spec, struct pod_fields *fields,
		       struct pod_doc_claim_resolved *resolved, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	if (fields->gpu.claims.count == 0)
		return 0;
	pbscan_init(&scan, spec);
	while (pbscan_next(&scan, &field)) {
		if (field.number == SPEC_RESOURCE_CLAIMS && field.wire == PBSCAN_BYTES &&
		    pod_doc_claim_decode(field.bytes, fields, resolved, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "spec", err);
}

/* The spec says which containers a status is about, so the parts are found before they are read. */
static int find_parts(struct view message, struct view parts[static POD_STATUS + 1],
		      struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number <= POD_STATUS && field.wire == PBSCAN_BYTES)
			parts[field.number] = field.bytes;
	}
	return pbscan_check(&scan, "pod", err);
}

/* Of the status; it says by whom the spec's limits are served. */
static struct view find_extended_claim(struct view status)
{
	struct view found = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, status);
	while (pbscan_next(&scan, &field)) {
		if (field.number == STATUS_EXTENDED_CLAIM && field.wire == PBSCAN_BYTES)
			found = field.bytes;
	}
	return found;
}

int pod_doc_decode(struct view message, struct pod_fields *ret_fields, struct error *err)
{
	struct view parts[POD_STATUS + 1] = {0}, extended;
	struct pod_doc_claim_resolved resolved = {0};
	struct pod_fields *fields = ret_fields;

	memset(fields, 0, offsetof(struct pod_fields, containers));
	if (find_parts(message, parts, err) != 0 ||
	    pod_doc_metadata_decode(parts[POD_METADATA], fields, err) != 0)
		return -1;
	if (fields->name.len == 0 || fields->uid.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "pod: no name or no UID");
	extended = find_extended_claim(parts[POD_STATUS]);
	if (decode_spec(parts[POD_SPEC], extended, fields, err) != 0 ||
	    name_claims(parts[POD_SPEC], fields, &resolved, err) != 0 ||
	    decode_status(parts[POD_STATUS], fields, &resolved, err) != 0)
		return error_wrap(err, "pod %.*s/%.*s", VIEW_ARG(fields->namespace),
				  VIEW_ARG(fields->name));
	pod_doc_claim_drop_unresolved(fields, &resolved);
	return 0;
}
