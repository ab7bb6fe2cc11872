/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pod.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model/compact.h"

/*
 * A cluster has a hundred thousand of these and nearly all of them only answer "is there a pod of
 * this UID on this node": so one block holds the fixed part and the texts behind it, and what only
 * a pod with a GPU has is a second block that the others lack.
 */

/* Kubernetes bounds namespaces at 63 bytes and names at 253; UIDs and hashes are shorter. */
#define MAX_TEXT 512

static const struct compact_row container_rows[] = {
	COMPACT_TEXT_ROW(pod_container, name),
	COMPACT_PLAIN_ROW(pod_container, kind),
	COMPACT_PLAIN_ROW(pod_container, state),
	COMPACT_PLAIN_ROW(pod_container, wants_gpu),
	COMPACT_TEXT_ROW(pod_container, id),
	{0},
};

static const struct compact_row allocation_rows[] = {
	COMPACT_TEXT_ROW(pod_allocation, container),
	COMPACT_TEXT_ROW(pod_allocation, resource),
	COMPACT_TEXT_ROW(pod_allocation, id),
	{0},
};

static const struct compact_row claim_rows[] = {
	COMPACT_TEXT_ROW(pod_claim, container),
	COMPACT_TEXT_ROW(pod_claim, claim),
	COMPACT_TEXT_ROW(pod_claim, request),
	{0},
};

static const struct compact_row gpu_rows[] = {
	COMPACT_TEXT_ROW(pod_gpu, workload.group),
	COMPACT_TEXT_ROW(pod_gpu, workload.kind),
	COMPACT_TEXT_ROW(pod_gpu, workload.name),
	COMPACT_TEXT_ROW(pod_gpu, hami_devices),
	COMPACT_TEXT_ROW(pod_gpu, kai_group),
	COMPACT_TEXT_ROW(pod_gpu, kai_device),
	COMPACT_TEXT_ROW(pod_gpu, kai_container),
	COMPACT_ARRAY_ROW(pod_gpu, containers, struct pod_container, container_rows),
	COMPACT_ARRAY_ROW(pod_gpu, allocations, struct pod_allocation, allocation_rows),
	COMPACT_ARRAY_ROW(pod_gpu, claims, struct pod_claim, claim_rows),
	COMPACT_ARRAY_ROW(pod_gpu, kai_groups, struct view, compact_text),
	COMPACT_PLAIN_ROW(pod_gpu, started_at),
	COMPACT_PLAIN_ROW(pod_gpu, containers_left_out),
	COMPACT_PLAIN_ROW(pod_gpu, ephemeral_left_out),
	COMPACT_PLAIN_ROW(pod_gpu, allocations_left_out),
	COMPACT_PLAIN_ROW(pod_gpu, claims_left_out),
	COMPACT_PLAIN_ROW(pod_gpu, kai_groups_left_out),
	COMPACT_PLAIN_ROW(pod_gpu, hami_left_out),
	{0},
};

struct pod {
	struct pod_gpu *gpu; /* NULL: wants no GPU */
	uint16_t uid_len;
	uint16_t namespace_len;
	uint16_t name_len;
	uint16_t hash_len;
	uint8_t phase;
	bool deleting : 1;
	bool admission_failed : 1;
	bool wants_gpu : 1;
	bool no_container_runs : 1;
	bool system : 1;
	bool is_reservation : 1;
	char text[]; /* the UID, "namespace/name", and the hash */
};

static struct array array_of(const void *items, uint32_t count)
{
	return (struct array){(void *)(uintptr_t)items, count, true};
}

static int copy_gpu(const struct pod_fields *fields, struct pod_gpu **ret_gpu, struct error *err)
{
	const struct pod_gpu gpu = {
		.workload = fields->workload,
		.hami_devices = fields->hami_devices,
		.kai_group = fields->kai_group,
		.kai_device = fields->kai_device,
		.kai_container = fields->kai_container,
		.containers = array_of(fields->containers, fields->n_containers),
		.allocations = array_of(fields->allocations, fields->n_allocations),
		.claims = array_of(fields->claims, fields->n_claims),
		.kai_groups = array_of(fields->kai_groups, fields->n_kai_groups),
		.started_at = fields->started_at,
		.containers_left_out = fields->containers_left_out,
		.ephemeral_left_out = fields->ephemeral_left_out,
		.allocations_left_out = fields->allocations_left_out,
		.claims_left_out = fields->claims_left_out,
		.kai_groups_left_out = fields->kai_groups_left_out,
		.hami_left_out = fields->hami_left_out,
	};
	void *copy;

	assert(fields->n_containers <= POD_MAX_CONTAINERS);
	assert(fields->n_allocations <= POD_MAX_ALLOCATIONS);
	assert(fields->n_claims <= POD_MAX_CLAIMS);
	assert(fields->n_kai_groups <= POD_MAX_KAI_GROUPS);
	if (compact_new(gpu_rows, &gpu, sizeof(gpu), &copy, err) < 0)
		return -1;
	*ret_gpu = copy;
	return 0;
}

static char *put(char *to, struct view text)
{
	if (text.len > 0)
		memcpy(to, text.ptr, text.len);
	return to + text.len;
}

static void put_texts(const struct pod_fields *fields, char *to)
{
	to = put(to, fields->uid);
	to = put(to, fields->namespace);
	*to++ = '/';
	to = put(to, fields->name);
	put(to, fields->config_hash);
}

int pod_new(const struct pod_fields *fields, struct pod **ret_pod, struct error *err)
{
	const size_t key_len = fields->namespace.len + 1 + fields->name.len;
	struct pod *pod;

	if (fields->uid.len > MAX_TEXT || fields->config_hash.len > MAX_TEXT || key_len > MAX_TEXT)
		return error_set(err, ERROR_LIMIT, 0, "pod: names are longer than %d bytes",
				 MAX_TEXT);
	pod = calloc(1, sizeof(*pod) + fields->uid.len + key_len + fields->config_hash.len);
	if (!pod)
		return error_no_memory(err);
	*pod = (struct pod){
		.uid_len = (uint16_t)fields->uid.len,
		.namespace_len = (uint16_t)fields->namespace.len,
		.name_len = (uint16_t)fields->name.len,
		.hash_len = (uint16_t)fields->config_hash.len,
		.phase = (uint8_t)fields->phase,
		.deleting = fields->deleting,
		.admission_failed = fields->admission_failed,
		.wants_gpu = fields->wants_gpu,
		.no_container_runs = fields->no_container_runs,
		.system = fields->system,
		.is_reservation = fields->is_reservation,
	};
	put_texts(fields, pod->text);
	if (fields->wants_gpu && copy_gpu(fields, &pod->gpu, err) < 0) {
		pod_free(pod);
		return -1;
	}
	*ret_pod = pod;
	return 0;
}

void pod_free(struct pod *pod)
{
	if (pod)
		free(pod->gpu);
	free(pod);
}

struct view pod_uid(const struct pod *pod)
{
	return (struct view){pod->text, pod->uid_len};
}

struct view pod_key(const struct pod *pod)
{
	return (struct view){pod->text + pod->uid_len, pod->namespace_len + 1u + pod->name_len};
}

struct view pod_namespace(const struct pod *pod)
{
	return (struct view){pod_key(pod).ptr, pod->namespace_len};
}

struct view pod_name(const struct pod *pod)
{
	return view_from_offset(pod_key(pod), pod->namespace_len + 1u);
}

struct view pod_config_hash(const struct pod *pod)
{
	return (struct view){pod_name(pod).ptr + pod->name_len, pod->hash_len};
}

enum pod_phase pod_phase(const struct pod *pod)
{
	return (enum pod_phase)pod->phase;
}

bool pod_is_deleting(const struct pod *pod)
{
	return pod->deleting;
}

bool pod_wants_gpu(const struct pod *pod)
{
	return pod->wants_gpu;
}

bool pod_is_system(const struct pod *pod)
{
	return pod->system;
}

bool pod_is_reservation(const struct pod *pod)
{
	return pod->is_reservation;
}

const struct pod_gpu *pod_gpu(const struct pod *pod)
{
	static const struct pod_gpu none;
	return pod->gpu ? pod->gpu : &none;
}

uint32_t pod_left_out(const struct pod *pod)
{
	const struct pod_gpu *gpu = pod_gpu(pod);
	return gpu->containers_left_out + gpu->ephemeral_left_out + gpu->allocations_left_out +
	       gpu->claims_left_out + gpu->kai_groups_left_out + gpu->hami_left_out;
}

int64_t pod_started_at(const struct pod *pod)
{
	return pod_gpu(pod)->started_at;
}

bool pod_is_in_kai_group(const struct pod *pod, struct view group)
{
	const struct pod_gpu *gpu = pod_gpu(pod);

	if (group.len == 0)
		return false;
	for (uint32_t i = 0; i < gpu->kai_groups.count; i++) {
		if (view_equal(*ARRAY_AT(gpu->kai_groups, struct view, i), group))
			return true;
	}
	return view_equal(gpu->kai_group, group);
}

bool pod_is_over(const struct pod *pod)
{
	bool terminal = pod->phase == POD_PHASE_SUCCEEDED || pod->phase == POD_PHASE_FAILED;
	return pod->admission_failed || (terminal && pod->no_container_runs);
}

const struct pod_container *pod_find_container(const struct pod *pod, struct view name)
{
	for (uint32_t i = 0; i < pod_count_containers(pod); i++)
		if (view_equal(pod_container_at(pod, i)->name, name))
			return pod_container_at(pod, i);
	return NULL;
}

uint32_t pod_count_containers(const struct pod *pod)
{
	return pod_gpu(pod)->containers.count;
}

const struct pod_container *pod_container_at(const struct pod *pod, uint32_t i)
{
	assert(i < pod_count_containers(pod));
	return ARRAY_AT(pod->gpu->containers, struct pod_container, i);
}

const struct pod_allocation *pod_allocations(const struct pod *pod, uint32_t *ret_n)
{
	*ret_n = pod_gpu(pod)->allocations.count;
	return pod_gpu(pod)->allocations.items;
}

const struct pod_claim *pod_claims(const struct pod *pod, uint32_t *ret_n)
{
	*ret_n = pod_gpu(pod)->claims.count;
	return pod_gpu(pod)->claims.items;
}

bool pod_equal(const struct pod *a, const struct pod *b)
{
	return a->phase == b->phase && a->deleting == b->deleting &&
	       a->admission_failed == b->admission_failed && a->wants_gpu == b->wants_gpu &&
	       a->no_container_runs == b->no_container_runs && a->system == b->system &&
	       a->is_reservation == b->is_reservation && view_equal(pod_uid(a), pod_uid(b)) &&
	       view_equal(pod_key(a), pod_key(b)) &&
	       view_equal(pod_config_hash(a), pod_config_hash(b)) &&
	       compact_equal(gpu_rows, pod_gpu(a), pod_gpu(b));
}
