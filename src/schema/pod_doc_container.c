/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The spec says which containers there are and what they want, the status by their names what
 * became of them. Only their limits are read: a GPU is an extended resource, it always has a limit,
 * and that equals the request.
 *
 * Field numbers: k8s.io/api/core/v1/generated.proto.
 */

#include "schema/pod_doc_container.h"

#include "base/limits.h"
#include "schema/gpu_resource.h"
#include "schema/map_entry.h"
#include "schema/pod_doc_claim.h"
#include "schema/quantity.h"
#include "wire/pbscan.h"

enum { CONTAINER_NAME = 1, CONTAINER_RESOURCES = 8, CONTAINER_RESTART_POLICY = 24 };
enum { EPHEMERAL_COMMON = 1 }; /* numbered as a Container is */
enum { RESOURCES_LIMITS = 1, RESOURCES_CLAIMS = 3 };
enum {
	CONTAINER_STATUS_NAME = 1,
	CONTAINER_STATUS_STATE = 2,
	CONTAINER_STATUS_ID = 8,
	CONTAINER_STATUS_ALLOCATED = 14,
};
enum { ALLOCATED_NAME = 1, ALLOCATED_RESOURCES = 2 };
enum { HEALTH_ID = 1, HEALTH_HEALTH = 2 };
enum { STATE_WAITING = 1, STATE_RUNNING = 2, STATE_TERMINATED = 3 };

static int decode_limit(struct view message, struct view extended, struct pod_container *container,
			struct error *err)
{
	struct map_entry limit;
	int64_t n;

	if (map_entry_decode(message, &limit, err) != 0)
		return -1;
	if (!gpu_resource_is_known(limit.key) ||
	    pod_doc_claim_serves(extended, container->name, limit.key))
		return 0;
	if (map_entry_decode_quantity(message, &limit, err) != 0)
		return -1;
	/* An amount of no known form is some. */
	if (quantity_parse(limit.value, &n) && n <= 0)
		return 0;
	container->resource = container->wants_gpu ? (struct view){0} : limit.key;
	container->wants_gpu = true;
	return 0;
}

static int decode_resources(struct view message, struct view extended, struct pod_fields *fields,
			    struct pod_container *container, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == RESOURCES_CLAIMS &&
		    pod_doc_claim_decode_use(field.bytes, fields, err) != 0)
			return -1;
		if (field.number == RESOURCES_LIMITS &&
		    decode_limit(field.bytes, extended, container, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "resources", err);
}

static void add_container(struct pod_fields *fields, const struct pod_container *container)
{
	fields->state.wants_gpu |= container->wants_gpu;
	if (fields->gpu.containers.count < POD_MAX_CONTAINERS)
		fields->containers[fields->gpu.containers.count++] = *container;
	else if (container->kind == POD_CONTAINER_EPHEMERAL)
		fields->gpu.ephemeral_left_out++;
	else
		fields->gpu.containers_left_out++;
}

/* Ephemeral containers have no resources; Kubernetes takes none. */
int pod_doc_container_decode(struct view message, enum pod_container_kind kind,
			     struct view extended, struct pod_fields *fields, struct error *err)
{
	struct pod_container container = {.kind = kind};
	uint32_t n_claims = fields->gpu.claims.count;
	struct view resources = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == CONTAINER_NAME)
			container.name = field.bytes;
		else if (field.number == CONTAINER_RESTART_POLICY && kind == POD_CONTAINER_INIT &&
			 view_equal(field.bytes, VIEW("Always")))
			container.kind = POD_CONTAINER_SIDECAR;
		else if (field.number == CONTAINER_RESOURCES && kind != POD_CONTAINER_EPHEMERAL)
			resources = field.bytes;
	}
	if (pbscan_check(&scan, "container", err) != 0 ||
	    decode_resources(resources, extended, fields, &container, err) != 0)
		return -1;
	for (; n_claims < fields->gpu.claims.count; n_claims++)
		fields->claims[n_claims].container = container.name;
	add_container(fields, &container);
	return 0;
}

int pod_doc_container_decode_ephemeral(struct view message, struct pod_fields *fields,
				       struct error *err)
{
	struct view common = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == EPHEMERAL_COMMON && field.wire == PBSCAN_BYTES)
			common = field.bytes;
	}
	if (pbscan_check(&scan, "ephemeral container", err) != 0)
		return -1;
	return pod_doc_container_decode(common, POD_CONTAINER_EPHEMERAL, (struct view){0}, fields,
					err);
}

/* Of the three members one is set; none of them means waiting. */
static int decode_state(struct view message, enum pod_container_state *ret_state, struct error *err)
{
	enum pod_container_state state = POD_CONTAINER_WAITING;
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == STATE_RUNNING)
			state = POD_CONTAINER_RUNNING;
		else if (field.number == STATE_TERMINATED)
			state = POD_CONTAINER_TERMINATED;
		else if (field.number == STATE_WAITING)
			state = POD_CONTAINER_WAITING;
	}
	if (pbscan_check(&scan, "state", err) != 0)
		return -1;
	*ret_state = state;
	return 0;
}

/* "containerd://0123..." */
static struct view id_of(struct view text)
{
	for (size_t i = 0; i + 3 <= text.len; i++) {
		struct view rest = view_from_offset(text, i);
		if (view_starts_with(rest, VIEW("://")))
			return view_from_offset(rest, 3);
	}
	return text;
}

static void set_state(struct pod_fields *fields, struct view name, struct view id,
		      enum pod_container_state state)
{
	for (uint32_t i = 0; i < fields->gpu.containers.count; i++) {
		if (!view_equal(fields->containers[i].name, name))
			continue;
		fields->containers[i].state = state;
		fields->containers[i].id = id.len <= LIMIT_TEXT_UID ? id : (struct view){0};
	}
}

static int decode_health(struct view message, struct pod_allocation *allocation, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == HEALTH_ID && field.wire == PBSCAN_BYTES)
			allocation->id = field.bytes;
		if (field.number == HEALTH_HEALTH && field.wire == PBSCAN_BYTES)
			allocation->is_unhealthy = view_equal(field.bytes, VIEW("Unhealthy"));
	}
	return pbscan_check(&scan, "resource health", err);
}

static void add_allocation(struct pod_fields *fields, const struct pod_allocation *allocation)
{
	if (fields->gpu.allocations.count < POD_MAX_ALLOCATIONS &&
	    allocation->id.len <= LIMIT_TEXT_DEVICE_ID)
		fields->allocations[fields->gpu.allocations.count++] = *allocation;
	else
		fields->gpu.allocations_left_out++;
}

/* A claim's devices stand under "claim:...": the claim itself says more. */
static int decode_allocated(struct view message, struct pod_fields *fields, struct error *err)
{
	struct pod_allocation allocation = {0};
	uint32_t first = fields->gpu.allocations.count, left_out = fields->gpu.allocations_left_out;
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == ALLOCATED_NAME)
			allocation.resource = field.bytes;
		if (field.number != ALLOCATED_RESOURCES)
			continue;
		allocation.id = (struct view){0};
		allocation.is_unhealthy = false;
		if (decode_health(field.bytes, &allocation, err) != 0)
			return -1;
		if (allocation.id.len > 0)
			add_allocation(fields, &allocation);
	}
	if (pbscan_check(&scan, "allocated resources", err) != 0)
		return -1;
	if (!gpu_resource_is_known(allocation.resource)) {
		fields->gpu.allocations.count = first;
		fields->gpu.allocations_left_out = left_out;
	}
	for (uint32_t i = first; i < fields->gpu.allocations.count; i++)
		fields->allocations[i].resource = allocation.resource;
	return 0;
}

/* What runs in an ephemeral container keeps no device from being free. */
int pod_doc_container_decode_status(struct view message, bool is_ephemeral,
				    struct pod_fields *fields, struct error *err)
{
	struct view name = {0}, id = {0};
	enum pod_container_state state = POD_CONTAINER_WAITING;
	uint32_t first = fields->gpu.allocations.count;
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == CONTAINER_STATUS_NAME)
			name = field.bytes;
		else if (field.number == CONTAINER_STATUS_ID)
			id = id_of(field.bytes);
		else if (field.number == CONTAINER_STATUS_STATE &&
			 decode_state(field.bytes, &state, err) != 0)
			return -1;
		else if (field.number == CONTAINER_STATUS_ALLOCATED && !is_ephemeral &&
			 decode_allocated(field.bytes, fields, err) != 0)
			return -1;
	}
	if (pbscan_check(&scan, "container status", err) != 0)
		return -1;
	for (uint32_t i = first; i < fields->gpu.allocations.count; i++)
		fields->allocations[i].container = name;
	set_state(fields, name, id, state);
	if (!is_ephemeral)
		fields->state.no_container_runs &= state != POD_CONTAINER_RUNNING;
	return 0;
}
