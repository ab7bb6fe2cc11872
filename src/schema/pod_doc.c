/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each message is walked once, and what is not needed (most of a pod) is skipped by its length:
 * the cost is that of the fields' heads, not of their contents. In a large cluster nearly all pods
 * want no GPU; for those the statuses of the containers are not looked at.
 *
 * Field numbers: k8s.io/api/core/v1/generated.proto and
 * k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "schema/pod_doc.h"

#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "schema/gpu_resource.h"
#include "schema/map_entry.h"
#include "schema/quantity.h"
#include "wire/pbscan.h"

enum { POD_METADATA = 1, POD_SPEC = 2, POD_STATUS = 3 };
enum {
	METADATA_NAME = 1,
	METADATA_NAMESPACE = 3,
	METADATA_UID = 5,
	METADATA_DELETION_TIMESTAMP = 9,
	METADATA_LABELS = 11,
	METADATA_ANNOTATIONS = 12,
	METADATA_OWNER_REFERENCES = 13,
};
enum { OWNER_KIND = 1, OWNER_NAME = 3, OWNER_CONTROLLER = 6 };
enum {
	SPEC_CONTAINERS = 2,
	SPEC_SERVICE_ACCOUNT = 8,
	SPEC_NODE_NAME = 10,
	SPEC_INIT_CONTAINERS = 20,
	SPEC_EPHEMERAL_CONTAINERS = 34,
	SPEC_RESOURCE_CLAIMS = 39,
};
enum { CONTAINER_NAME = 1, CONTAINER_RESOURCES = 8, CONTAINER_RESTART_POLICY = 24 };
enum { EPHEMERAL_COMMON = 1 }; /* numbered as a Container is */
enum { RESOURCES_LIMITS = 1, RESOURCES_CLAIMS = 3 };
enum { CLAIM_USE_NAME = 1, CLAIM_USE_REQUEST = 2 };
enum { POD_CLAIM_NAME = 1, POD_CLAIM_OBJECT = 3 };
enum {
	STATUS_PHASE = 1,
	STATUS_REASON = 4,
	STATUS_START_TIME = 7,
	STATUS_CONTAINERS = 8,
	STATUS_INIT_CONTAINERS = 10,
	STATUS_EPHEMERAL_CONTAINERS = 13,
	STATUS_RESOURCE_CLAIMS = 15,
	STATUS_EXTENDED_CLAIM = 18,
};
enum { TIME_SECONDS = 1 };
enum { CLAIM_STATUS_NAME = 1, CLAIM_STATUS_OBJECT = 2 };
enum { EXTENDED_MAPPING = 1, EXTENDED_OBJECT = 2 };
enum { MAPPING_CONTAINER = 1, MAPPING_RESOURCE = 2, MAPPING_REQUEST = 3 };
enum {
	CONTAINER_STATUS_NAME = 1,
	CONTAINER_STATUS_STATE = 2,
	CONTAINER_STATUS_ID = 8,
	CONTAINER_STATUS_ALLOCATED = 14,
};
enum { ALLOCATED_NAME = 1, ALLOCATED_RESOURCES = 2 };
enum { HEALTH_ID = 1 };
enum { STATE_WAITING = 1, STATE_RUNNING = 2, STATE_TERMINATED = 3 };

#define MAX_SECONDS UINT64_C(253402300799) /* the last of the year 9999 */

/* Pods of the GPU operator that take a device to try it out. They run under its account, which is
 * not everybody's to use. */
static const struct view system_apps[] = {
	VIEW_INIT("nvidia-device-plugin-validator"),
	VIEW_INIT("nvidia-cuda-validator"),
};

static const struct {
	struct view name;
	enum pod_phase phase;
} phases[] = {
	{VIEW_INIT("Pending"), POD_PHASE_PENDING},
	{VIEW_INIT("Running"), POD_PHASE_RUNNING},
	{VIEW_INIT("Succeeded"), POD_PHASE_SUCCEEDED},
	{VIEW_INIT("Failed"), POD_PHASE_FAILED},
};

static const struct view system_account = VIEW_INIT("nvidia-operator-validator");

/* Which of the pod's uses of claims are known to be of which object. */
struct resolved {
	bool is_done[POD_MAX_CLAIMS];
};

static bool is_system_app(struct view app)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_apps); i++) {
		if (view_equal(app, system_apps[i]))
			return true;
	}
	return false;
}

/* Where KAI, and its predecessor, keep the pods that hold a GPU for others: nobody else may. */
static bool is_reservation_namespace(struct view namespace)
{
	return view_equal(namespace, VIEW("kai-resource-reservation")) ||
	       view_equal(namespace, VIEW("runai-reservation"));
}

static enum pod_phase find_phase(struct view name)
{
	for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
		if (view_equal(name, phases[i].name))
			return phases[i].phase;
	}
	return POD_PHASE_UNKNOWN;
}

static void add_kai_group(struct pod_fields *fields, struct view group)
{
	if (fields->n_kai_groups < POD_MAX_KAI_GROUPS)
		fields->kai_groups[fields->n_kai_groups++] = group;
	else
		fields->kai_groups_left_out++;
}

/* KAI writes the one label on a pod that shares one GPU, and one of the others for each of several. */
static int decode_label(struct view message, struct pod_fields *fields, struct error *err)
{
	struct map_entry label;

	if (map_entry_decode(message, &label, err) != 0)
		return -1;
	if (view_equal(label.key, VIEW("app")))
		fields->system = is_system_app(label.value);
	else if (view_equal(label.key, VIEW("runai-gpu-group")))
		fields->kai_group = label.value;
	else if (view_starts_with(label.key, VIEW("runai-gpu-group/")) && label.value.len > 0)
		add_kai_group(fields, label.value);
	return 0;
}

/* Without it the pod's devices are those that HAMi chose, whichever these are: core/stand_in.h. */
static void set_hami(struct pod_fields *fields, struct view devices)
{
	fields->hami_left_out = devices.len > POD_MAX_HAMI_TEXT;
	fields->hami_devices = fields->hami_left_out ? (struct view){0} : devices;
}

static int decode_annotation(struct view message, struct pod_fields *fields, struct view *mirror,
			     struct error *err)
{
	struct map_entry annotation;

	if (map_entry_decode(message, &annotation, err) != 0)
		return -1;
	if (view_equal(annotation.key, VIEW("kubernetes.io/config.hash")))
		fields->config_hash = annotation.value;
	else if (view_equal(annotation.key, VIEW("kubernetes.io/config.mirror")))
		*mirror = annotation.value;
	else if (view_equal(annotation.key, VIEW("hami.io/vgpu-devices-allocated")))
		set_hami(fields, annotation.value);
	else if (view_equal(annotation.key, VIEW("run.ai/reserve_for_gpu_index")) &&
		 annotation.value.len <= LIMIT_TEXT_UUID)
		fields->kai_device = annotation.value;
	else if (view_equal(annotation.key, VIEW("gpu-fraction-container-name")) &&
		 annotation.value.len <= LIMIT_TEXT_LABEL)
		fields->kai_container = annotation.value;
	return 0;
}

static int decode_owner(struct view message, struct pod_fields *fields, struct error *err)
{
	struct view kind = {0}, name = {0};
	bool is_controller = false;
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == OWNER_KIND && field.wire == PBSCAN_BYTES)
			kind = field.bytes;
		else if (field.number == OWNER_NAME && field.wire == PBSCAN_BYTES)
			name = field.bytes;
		else if (field.number == OWNER_CONTROLLER && field.wire == PBSCAN_VARINT)
			is_controller = field.value != 0;
	}
	if (pbscan_check(&scan, "owner", err) != 0)
		return -1;
	if (is_controller) {
		fields->owner_kind = kind;
		fields->owner_name = name;
	}
	return 0;
}

static int decode_metadata_field(const struct pbscan_field *field, struct pod_fields *fields,
				 struct view *mirror, struct error *err)
{
	switch (field->number) {
	case METADATA_NAME:
		fields->name = field->bytes;
		return 0;
	case METADATA_NAMESPACE:
		fields->namespace = field->bytes;
		return 0;
	case METADATA_UID:
		fields->uid = field->bytes;
		return 0;
	case METADATA_DELETION_TIMESTAMP:
		fields->deleting = true;
		return 0;
	case METADATA_LABELS:
		return decode_label(field->bytes, fields, err);
	case METADATA_ANNOTATIONS:
		return decode_annotation(field->bytes, fields, mirror, err);
	case METADATA_OWNER_REFERENCES:
		return decode_owner(field->bytes, fields, err);
	default:
		return 0;
	}
}

/*
 * Anybody may write another pod's hash on his own. A kubelet that mirrors a static pod writes the
 * hash twice, and its Node as the owner; what else claims to be one, it deletes (core/census.c).
 */
static bool is_mirror(const struct pod_fields *fields, struct view mirror)
{
	return mirror.len > 0 && view_equal(mirror, fields->config_hash) &&
	       view_equal(fields->owner_kind, VIEW("Node"));
}

static int decode_metadata(struct view message, struct pod_fields *fields, struct error *err)
{
	struct view mirror = {0};
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire == PBSCAN_BYTES &&
		    decode_metadata_field(&field, fields, &mirror, err) != 0)
			return -1;
	}
	if (!is_mirror(fields, mirror))
		fields->config_hash = (struct view){0};
	fields->is_reservation =
		fields->kai_group.len > 0 && is_reservation_namespace(fields->namespace);
	fields->wants_gpu = fields->kai_group.len > 0 || fields->n_kai_groups > 0;
	return pbscan_check(&scan, "metadata", err);
}

static void add_claim(struct pod_fields *fields, struct pod_claim claim)
{
	if (fields->n_claims < POD_MAX_CLAIMS)
		fields->claims[fields->n_claims++] = claim;
	else
		fields->claims_left_out++;
}

/* Here `claim` is still what the pod calls it. */
static int decode_claim_use(struct view message, struct pod_fields *fields, struct error *err)
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

/* A claim serves it, and not the kubelet's plugin. The status is checked when it is decoded. */
static bool is_served(struct view extended, struct view container, struct view resource)
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

/* A GPU is an extended resource: it always has a limit, and that equals the request. */
static int decode_limit(struct view message, struct view extended, struct pod_container *container,
			struct error *err)
{
	struct map_entry limit;
	int64_t n;

	if (map_entry_decode(message, &limit, err) != 0)
		return -1;
	if (!gpu_resource_is_known(limit.key) || is_served(extended, container->name, limit.key))
		return 0;
	if (map_entry_decode_quantity(message, &limit, err) != 0)
		return -1;
	/* An amount of no known form is some. */
	container->wants_gpu |= !quantity_parse(limit.value, &n) || n > 0;
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
		    decode_claim_use(field.bytes, fields, err) != 0)
			return -1;
		if (field.number == RESOURCES_LIMITS &&
		    decode_limit(field.bytes, extended, container, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "resources", err);
}

static void add_container(struct pod_fields *fields, const struct pod_container *container)
{
	fields->wants_gpu |= container->wants_gpu;
	if (fields->n_containers < POD_MAX_CONTAINERS)
		fields->containers[fields->n_containers++] = *container;
	else if (container->kind == POD_CONTAINER_EPHEMERAL)
		fields->ephemeral_left_out++;
	else
		fields->containers_left_out++;
}

/* Ephemeral containers have no resources; Kubernetes takes none. */
static int decode_container(struct view message, enum pod_container_kind kind, struct view extended,
			    struct pod_fields *fields, struct error *err)
{
	struct pod_container container = {.kind = kind};
	uint32_t n_claims = fields->n_claims;
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
	for (; n_claims < fields->n_claims; n_claims++)
		fields->claims[n_claims].container = container.name;
	add_container(fields, &container);
	return 0;
}

static int decode_ephemeral(struct view message, struct pod_fields *fields, struct error *err)
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
	return decode_container(common, POD_CONTAINER_EPHEMERAL, (struct view){0}, fields, err);
}

/* They come after all others, so that they are those for which there is no room. */
static int decode_all_ephemeral(struct view spec, struct pod_fields *fields, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, spec);
	while (pbscan_next(&scan, &field)) {
		if (field.number == SPEC_EPHEMERAL_CONTAINERS && field.wire == PBSCAN_BYTES &&
		    decode_ephemeral(field.bytes, fields, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "spec", err);
}

/* The uses of what the pod calls `name` are uses of that object. */
static void resolve_claim(struct pod_fields *fields, struct resolved *resolved, struct view name,
			  struct view object)
{
	for (uint32_t i = 0; i < fields->n_claims && object.len > 0; i++) {
		if (resolved->is_done[i] || !view_equal(fields->claims[i].claim, name))
			continue;
		fields->claims[i].claim = object;
		resolved->is_done[i] = true;
	}
}

/* PodResourceClaim and PodResourceClaimStatus differ in a field's number only. */
static int decode_claim_name(struct view message, unsigned name_number, unsigned object_number,
			     struct pod_fields *fields, struct resolved *resolved,
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

static int decode_spec_field(const struct pbscan_field *field, struct view extended,
			     struct pod_fields *fields, struct error *err)
{
	switch (field->number) {
	case SPEC_NODE_NAME:
		fields->node = field->bytes;
		return 0;
	case SPEC_CONTAINERS:
		return decode_container(field->bytes, POD_CONTAINER_MAIN, extended, fields, err);
	case SPEC_INIT_CONTAINERS:
		return decode_container(field->bytes, POD_CONTAINER_INIT, extended, fields, err);
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
	fields->system &= view_equal(account, system_account);
	/* HAMi gives what a container asked the kubelet for. */
	if (!fields->wants_gpu)
		set_hami(fields, (struct view){0});
	fields->wants_gpu |= fields->n_claims > 0 || extended.len > 0;
	if (!fields->wants_gpu) {
		fields->n_containers = 0;
		fields->containers_left_out = 0;
	}
	if (pbscan_check(&scan, "spec", err) != 0)
		return -1;
	return fields->wants_gpu ? decode_all_ephemeral(message, fields, err) : 0;
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
	for (uint32_t i = 0; i < fields->n_containers; i++) {
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
	}
	return pbscan_check(&scan, "resource health", err);
}

static void add_allocation(struct pod_fields *fields, const struct pod_allocation *allocation)
{
	if (fields->n_allocations < POD_MAX_ALLOCATIONS &&
	    allocation->id.len <= LIMIT_TEXT_DEVICE_ID)
		fields->allocations[fields->n_allocations++] = *allocation;
	else
		fields->allocations_left_out++;
}

/* A claim's devices stand under "claim:...": the claim itself says more. */
static int decode_allocated(struct view message, struct pod_fields *fields, struct error *err)
{
	struct pod_allocation allocation = {0};
	uint32_t first = fields->n_allocations, left_out = fields->allocations_left_out;
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
		if (decode_health(field.bytes, &allocation, err) != 0)
			return -1;
		if (allocation.id.len > 0)
			add_allocation(fields, &allocation);
	}
	if (pbscan_check(&scan, "allocated resources", err) != 0)
		return -1;
	if (!gpu_resource_is_known(allocation.resource)) {
		fields->n_allocations = first;
		fields->allocations_left_out = left_out;
	}
	for (uint32_t i = first; i < fields->n_allocations; i++)
		fields->allocations[i].resource = allocation.resource;
	return 0;
}

/* What runs in an ephemeral container keeps no device from being free. */
static int decode_container_status(struct view message, bool is_ephemeral,
				   struct pod_fields *fields, struct error *err)
{
	struct view name = {0}, id = {0};
	enum pod_container_state state = POD_CONTAINER_WAITING;
	uint32_t first = fields->n_allocations;
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
	for (uint32_t i = first; i < fields->n_allocations; i++)
		fields->allocations[i].container = name;
	set_state(fields, name, id, state);
	if (!is_ephemeral)
		fields->no_container_runs &= state != POD_CONTAINER_RUNNING;
	return 0;
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

static int decode_extended_claim(struct view message, struct pod_fields *fields,
				 struct resolved *resolved, struct error *err)
{
	uint32_t first = fields->n_claims;
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
	for (uint32_t i = first; i < fields->n_claims; i++) {
		fields->claims[i].claim = object;
		resolved->is_done[i] = object.len > 0;
	}
	return pbscan_check(&scan, "extended resource claim", err);
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

static int decode_status_field(const struct pbscan_field *field, struct pod_fields *fields,
			       struct resolved *resolved, struct error *err)
{
	switch (field->number) {
	case STATUS_PHASE:
		fields->phase = find_phase(field->bytes);
		return 0;
	case STATUS_REASON:
		fields->admission_failed = view_equal(field->bytes,
						      VIEW("UnexpectedAdmissionError"));
		return 0;
	case STATUS_START_TIME:
		return fields->wants_gpu ? decode_time(field->bytes, &fields->started_at, err) : 0;
	case STATUS_CONTAINERS:
	case STATUS_INIT_CONTAINERS:
	case STATUS_EPHEMERAL_CONTAINERS:
		return fields->wants_gpu
			       ? decode_container_status(
					 field->bytes, field->number == STATUS_EPHEMERAL_CONTAINERS,
					 fields, err)
			       : 0;
	case STATUS_RESOURCE_CLAIMS:
		return decode_claim_name(field->bytes, CLAIM_STATUS_NAME, CLAIM_STATUS_OBJECT,
					 fields, resolved, err);
	case STATUS_EXTENDED_CLAIM:
		return decode_extended_claim(field->bytes, fields, resolved, err);
	default:
		return 0;
	}
}

static int decode_status(struct view message, struct pod_fields *fields, struct resolved *resolved,
			 struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	fields->no_container_runs = fields->wants_gpu;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire == PBSCAN_BYTES &&
		    decode_status_field(&field, fields, resolved, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "status", err);
}

/* The spec names claims; those made from a template are named by the status only. */
static int name_claims(struct view spec, struct pod_fields *fields, struct resolved *resolved,
		       struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	if (fields->n_claims == 0)
		return 0;
	pbscan_init(&scan, spec);
	while (pbscan_next(&scan, &field)) {
		if (field.number == SPEC_RESOURCE_CLAIMS && field.wire == PBSCAN_BYTES &&
		    decode_claim_name(field.bytes, POD_CLAIM_NAME, POD_CLAIM_OBJECT, fields,
				      resolved, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "spec", err);
}

/* A claim that has no object yet gives nothing. */
static void drop_unresolved(struct pod_fields *fields, const struct resolved *resolved)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < fields->n_claims; i++) {
		if (resolved->is_done[i])
			fields->claims[n++] = fields->claims[i];
	}
	fields->n_claims = n;
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
	struct resolved resolved = {0};
	struct pod_fields *fields = ret_fields;

	memset(fields, 0, offsetof(struct pod_fields, containers));
	if (find_parts(message, parts, err) != 0 ||
	    decode_metadata(parts[POD_METADATA], fields, err) != 0)
		return -1;
	if (fields->name.len == 0 || fields->uid.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "pod: no name or no UID");
	extended = find_extended_claim(parts[POD_STATUS]);
	if (decode_spec(parts[POD_SPEC], extended, fields, err) != 0 ||
	    name_claims(parts[POD_SPEC], fields, &resolved, err) != 0 ||
	    decode_status(parts[POD_STATUS], fields, &resolved, err) != 0)
		return error_wrap(err, "pod %.*s/%.*s", VIEW_ARG(fields->namespace),
				  VIEW_ARG(fields->name));
	drop_unresolved(fields, &resolved);
	return 0;
}
