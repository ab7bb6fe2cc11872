/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pod.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/compact.h"

/*
 * A cluster has a hundred thousand of these. Nearly all only answer whether there is a pod of this
 * UID on this node. So one block holds the fixed part and the texts behind it. What only a pod with a
 * GPU has is a second block.
 */

/* Kubernetes bounds namespaces at 63 bytes and names at 253; UIDs and hashes are shorter. */
#define MAX_TEXT 512

static const struct compact_row container_rows[] = {
	COMPACT_TEXTS_ROW(pod_container, name, name),
	COMPACT_PLAIN_ROW(pod_container, kind, wants_gpu),
	COMPACT_TEXTS_ROW(pod_container, id, resource),
	{0},
};

static const struct compact_row allocation_rows[] = {
	COMPACT_TEXTS_ROW(pod_allocation, container, id),
	COMPACT_PLAIN_ROW(pod_allocation, is_unhealthy, is_unhealthy),
	{0},
};

static const struct compact_row claim_rows[] = {
	COMPACT_TEXTS_ROW(pod_claim, container, request),
	{0},
};

static const struct compact_row gpu_rows[] = {
	COMPACT_TEXTS_ROW(pod_gpu, workload, refused_resource),
	COMPACT_ARRAY_ROW(pod_gpu, containers, struct pod_container, container_rows),
	COMPACT_ARRAY_ROW(pod_gpu, allocations, struct pod_allocation, allocation_rows),
	COMPACT_ARRAY_ROW(pod_gpu, claims, struct pod_claim, claim_rows),
	COMPACT_ARRAY_ROW(pod_gpu, kai_groups, struct view, compact_text),
	COMPACT_PLAIN_ROW(pod_gpu, started_at, hami_left_out),
	{0},
};

_Static_assert(sizeof(struct pod_state) == 9, "bytes only: it is compared as such");

struct pod {
	struct pod_gpu *gpu; /* NULL: wants no GPU */
	uint16_t uid_len;
	uint16_t namespace_len;
	uint16_t name_len;
	uint16_t hash_len;
	struct pod_state state;
	char text[]; /* the UID, "namespace/name", and the hash */
};

static int copy_gpu(const struct pod_fields *fields, struct pod_gpu **ret_gpu, struct error *err)
{
	struct pod_gpu gpu = fields->gpu;
	void *copy;

	assert(gpu.containers.count <= POD_MAX_CONTAINERS);
	assert(gpu.allocations.count <= POD_MAX_ALLOCATIONS);
	assert(gpu.claims.count <= POD_MAX_CLAIMS);
	assert(gpu.kai_groups.count <= POD_MAX_KAI_GROUPS);
	gpu.containers = array_of(fields->containers, gpu.containers.count);
	gpu.allocations = array_of(fields->allocations, gpu.allocations.count);
	gpu.claims = array_of(fields->claims, gpu.claims.count);
	gpu.kai_groups = array_of(fields->kai_groups, gpu.kai_groups.count);
	if (compact_new(gpu_rows, &gpu, sizeof(gpu), COMPACT_ANY_TEXT, &copy, err) < 0)
		return -1;
	*ret_gpu = copy;
	return 0;
}

static void put_texts(const struct pod_fields *fields, char *to)
{
	const struct view texts[] = {fields->uid, fields->namespace, VIEW("/"), fields->name,
				     fields->config_hash};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		to += view_copy(texts[i], to).len;
}

int pod_new(const struct pod_fields *fields, struct pod **ret_pod, struct error *err)
{
	const size_t key_len = fields->namespace.len + 1 + fields->name.len;
	struct pod *pod;
	if (fields->uid.len > MAX_TEXT || fields->config_hash.len > MAX_TEXT || key_len > MAX_TEXT)
		return error_set(err, ERROR_LIMIT, 0, "pod: names are longer than %d bytes", MAX_TEXT);
	pod = calloc(1, sizeof(*pod) + fields->uid.len + key_len + fields->config_hash.len);
	if (!pod)
		return error_no_memory(err);
	*pod = (struct pod){
		.uid_len = (uint16_t)fields->uid.len,
		.namespace_len = (uint16_t)fields->namespace.len,
		.name_len = (uint16_t)fields->name.len,
		.hash_len = (uint16_t)fields->config_hash.len,
		.state = fields->state,
	};
	put_texts(fields, pod->text);
	if (fields->state.wants_gpu && copy_gpu(fields, &pod->gpu, err) < 0) {
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

const struct pod_state *pod_state(const struct pod *pod)
{
	return &pod->state;
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

bool pod_is_in_kai_group(const struct pod *pod, struct view group)
{
	const struct pod_gpu *gpu = pod_gpu(pod);
	return group.len > 0 &&
	       (view_equal(gpu->kai_group, group) ||
		view_is_among(group, gpu->kai_groups.items, gpu->kai_groups.count));
}

bool pod_is_over(const struct pod *pod)
{
	const struct pod_state *state = &pod->state;
	bool terminal = state->phase == POD_PHASE_SUCCEEDED || state->phase == POD_PHASE_FAILED;
	return state->admission_failed || (terminal && state->no_container_runs);
}

const struct pod_container *pod_container_at(const struct pod *pod, uint32_t i)
{
	assert(i < pod_gpu(pod)->containers.count);
	return ARRAY_AT(pod->gpu->containers, struct pod_container, i);
}

const struct pod_container *pod_find_container(const struct pod *pod, struct view name)
{
	ARRAY_EACH(const struct pod_container, c, pod_gpu(pod)->containers)
		if (view_equal(c->name, name))
			return c;
	return NULL;
}

bool pod_equal(const struct pod *a, const struct pod *b)
{
	return memcmp(&a->state, &b->state, sizeof(a->state)) == 0 &&
	       view_equal(pod_uid(a), pod_uid(b)) && view_equal(pod_key(a), pod_key(b)) &&
	       view_equal(pod_config_hash(a), pod_config_hash(b)) &&
	       compact_equal(gpu_rows, pod_gpu(a), pod_gpu(b));
}
