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

struct pod_extra {
	struct pod_workload workload;
	struct view hami_devices;
	struct view kai_group;
	struct view kai_device;
	struct view kai_container;
	struct array containers;  /* struct pod_container */
	struct array allocations; /* struct pod_allocation */
	struct array claims;      /* struct pod_claim */
	struct array kai_groups;  /* struct view */
	int64_t started_at;
	uint32_t containers_left_out;
	uint32_t ephemeral_left_out;
	uint32_t allocations_left_out;
	uint32_t claims_left_out;
	uint32_t kai_groups_left_out;
	bool hami_left_out;
};

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

static const struct compact_row extra_rows[] = {
	COMPACT_TEXT_ROW(pod_extra, workload.group),
	COMPACT_TEXT_ROW(pod_extra, workload.kind),
	COMPACT_TEXT_ROW(pod_extra, workload.name),
	COMPACT_TEXT_ROW(pod_extra, hami_devices),
	COMPACT_TEXT_ROW(pod_extra, kai_group),
	COMPACT_TEXT_ROW(pod_extra, kai_device),
	COMPACT_TEXT_ROW(pod_extra, kai_container),
	COMPACT_ARRAY_ROW(pod_extra, containers, struct pod_container, container_rows),
	COMPACT_ARRAY_ROW(pod_extra, allocations, struct pod_allocation, allocation_rows),
	COMPACT_ARRAY_ROW(pod_extra, claims, struct pod_claim, claim_rows),
	COMPACT_ARRAY_ROW(pod_extra, kai_groups, struct view, compact_text),
	COMPACT_PLAIN_ROW(pod_extra, started_at),
	COMPACT_PLAIN_ROW(pod_extra, containers_left_out),
	COMPACT_PLAIN_ROW(pod_extra, ephemeral_left_out),
	COMPACT_PLAIN_ROW(pod_extra, allocations_left_out),
	COMPACT_PLAIN_ROW(pod_extra, claims_left_out),
	COMPACT_PLAIN_ROW(pod_extra, kai_groups_left_out),
	COMPACT_PLAIN_ROW(pod_extra, hami_left_out),
	{0},
};

enum text {
	TEXT_UID,
	TEXT_KEY, /* "namespace/name" */
	TEXT_CONFIG_HASH,
	N_TEXTS,
};

struct pod {
	struct interned *node;   /* NULL: not scheduled */
	struct pod_extra *extra; /* NULL: wants no GPU */
	uint16_t lengths[N_TEXTS];
	uint16_t namespace_len;
	uint8_t phase;
	bool deleting : 1;
	bool admission_failed : 1;
	bool wants_gpu : 1;
	bool no_container_runs : 1;
	bool system : 1;
	bool is_reservation : 1;
	char text[];
};

static void put(char **text, struct view v)
{
	if (v.len > 0)
		memcpy(*text, v.ptr, v.len);
	*text += v.len;
}

static struct array array_of(const void *items, uint32_t count)
{
	return (struct array){(void *)(uintptr_t)items, count, true};
}

static int extra_new(const struct pod_fields *fields, struct pod_extra **ret_extra,
		     struct error *err)
{
	const struct pod_extra extra = {
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
	if (compact_new(extra_rows, &extra, sizeof(extra), &copy, err) < 0)
		return -1;
	*ret_extra = copy;
	return 0;
}

static int check_lengths(const struct pod_fields *fields, struct error *err)
{
	if (fields->uid.len > MAX_TEXT || fields->config_hash.len > MAX_TEXT ||
	    fields->namespace.len + 1 + fields->name.len > MAX_TEXT)
		return error_set(err, ERROR_LIMIT, 0, "pod: names are longer than %d bytes",
				 MAX_TEXT);
	return 0;
}

static void put_texts(const struct pod_fields *fields, struct pod *pod)
{
	char *text = pod->text;

	put(&text, fields->uid);
	put(&text, fields->namespace);
	*text++ = '/';
	put(&text, fields->name);
	put(&text, fields->config_hash);
	pod->lengths[TEXT_UID] = (uint16_t)fields->uid.len;
	pod->lengths[TEXT_KEY] = (uint16_t)(fields->namespace.len + 1 + fields->name.len);
	pod->lengths[TEXT_CONFIG_HASH] = (uint16_t)fields->config_hash.len;
	pod->namespace_len = (uint16_t)fields->namespace.len;
}

static void put_facts(const struct pod_fields *fields, struct pod *pod)
{
	pod->phase = (uint8_t)fields->phase;
	pod->deleting = fields->deleting;
	pod->admission_failed = fields->admission_failed;
	pod->wants_gpu = fields->wants_gpu;
	pod->no_container_runs = fields->no_container_runs;
	pod->system = fields->system;
	pod->is_reservation = fields->is_reservation;
}

int pod_new(struct intern *intern, const struct pod_fields *fields, struct pod **ret_pod,
	    struct error *err)
{
	size_t size = fields->uid.len + fields->namespace.len + 1 + fields->name.len +
		      fields->config_hash.len;
	struct pod *pod;

	if (check_lengths(fields, err) < 0)
		return -1;
	pod = calloc(1, sizeof(*pod) + size);
	if (!pod)
		return error_no_memory(err);
	put_texts(fields, pod);
	put_facts(fields, pod);
	if (fields->node.len > 0 && !(pod->node = intern_ref(intern, fields->node))) {
		pod_free(intern, pod);
		return error_no_memory(err);
	}
	if (fields->wants_gpu && extra_new(fields, &pod->extra, err) < 0) {
		pod_free(intern, pod);
		return -1;
	}
	*ret_pod = pod;
	return 0;
}

void pod_free(struct intern *intern, struct pod *pod)
{
	if (!pod)
		return;
	intern_unref(intern, pod->node);
	free(pod->extra);
	free(pod);
}

static struct view text_at(const struct pod *pod, enum text which)
{
	size_t offset = 0;

	assert(which < ARRAY_SIZE(pod->lengths));
	for (unsigned i = 0; i < which; i++)
		offset += pod->lengths[i];
	return (struct view){pod->text + offset, pod->lengths[which]};
}

struct view pod_key(const struct pod *pod)
{
	return text_at(pod, TEXT_KEY);
}

struct view pod_namespace(const struct pod *pod)
{
	return (struct view){pod_key(pod).ptr, pod->namespace_len};
}

struct view pod_name(const struct pod *pod)
{
	assert(pod->namespace_len < pod_key(pod).len);
	return view_from_offset(pod_key(pod), pod->namespace_len + 1u);
}

struct view pod_uid(const struct pod *pod)
{
	return text_at(pod, TEXT_UID);
}

struct view pod_node(const struct pod *pod)
{
	return interned_view(pod->node);
}

struct view pod_config_hash(const struct pod *pod)
{
	return text_at(pod, TEXT_CONFIG_HASH);
}

struct pod_workload pod_workload(const struct pod *pod)
{
	return pod->extra ? pod->extra->workload : (struct pod_workload){0};
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

bool pod_is_status_cut(const struct pod *pod)
{
	return pod->extra && pod->extra->allocations_left_out > 0;
}

bool pod_has_more_containers(const struct pod *pod)
{
	return pod->extra && pod->extra->containers_left_out > 0;
}

bool pod_has_more_ephemeral(const struct pod *pod)
{
	return pod->extra && pod->extra->ephemeral_left_out > 0;
}

uint32_t pod_left_out(const struct pod *pod)
{
	const struct pod_extra *extra = pod->extra;

	return extra ? extra->containers_left_out + extra->ephemeral_left_out +
			       extra->allocations_left_out + extra->claims_left_out +
			       extra->kai_groups_left_out + extra->hami_left_out
		     : 0;
}

int64_t pod_started_at(const struct pod *pod)
{
	return pod->extra ? pod->extra->started_at : 0;
}

struct view pod_hami_devices(const struct pod *pod)
{
	return pod->extra ? pod->extra->hami_devices : (struct view){0};
}

struct view pod_kai_group(const struct pod *pod)
{
	return pod->extra ? pod->extra->kai_group : (struct view){0};
}

struct view pod_kai_device(const struct pod *pod)
{
	return pod->extra ? pod->extra->kai_device : (struct view){0};
}

struct view pod_kai_container(const struct pod *pod)
{
	return pod->extra ? pod->extra->kai_container : (struct view){0};
}

bool pod_has_kai_group(const struct pod *pod)
{
	return pod_kai_group(pod).len > 0 || (pod->extra && pod->extra->kai_groups.count > 0);
}

bool pod_is_in_kai_group(const struct pod *pod, struct view group)
{
	if (group.len == 0)
		return false;
	for (uint32_t i = 0; pod->extra && i < pod->extra->kai_groups.count; i++) {
		if (view_equal(*ARRAY_AT(pod->extra->kai_groups, struct view, i), group))
			return true;
	}
	return view_equal(pod_kai_group(pod), group);
}

bool pod_is_over(const struct pod *pod)
{
	bool terminal = pod->phase == POD_PHASE_SUCCEEDED || pod->phase == POD_PHASE_FAILED;

	if (pod->admission_failed)
		return true;
	return terminal && pod->no_container_runs;
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
	return pod->extra ? pod->extra->containers.count : 0;
}

const struct pod_container *pod_container_at(const struct pod *pod, uint32_t i)
{
	assert(i < pod_count_containers(pod));
	return ARRAY_AT(pod->extra->containers, struct pod_container, i);
}

const struct pod_allocation *pod_allocations(const struct pod *pod, uint32_t *ret_n)
{
	*ret_n = pod->extra ? pod->extra->allocations.count : 0;
	return pod->extra ? pod->extra->allocations.items : NULL;
}

const struct pod_claim *pod_claims(const struct pod *pod, uint32_t *ret_n)
{
	*ret_n = pod->extra ? pod->extra->claims.count : 0;
	return pod->extra ? pod->extra->claims.items : NULL;
}

static bool extras_equal(const struct pod_extra *a, const struct pod_extra *b)
{
	return a && b ? compact_equal(extra_rows, a, b) : a == b;
}

static bool texts_equal(const struct pod *a, const struct pod *b)
{
	for (unsigned i = 0; i < N_TEXTS; i++)
		if (!view_equal(text_at(a, (enum text)i), text_at(b, (enum text)i)))
			return false;
	return true;
}

bool pod_equal(const struct pod *a, const struct pod *b)
{
	return a->node == b->node && a->phase == b->phase && a->deleting == b->deleting &&
	       a->admission_failed == b->admission_failed && a->wants_gpu == b->wants_gpu &&
	       a->no_container_runs == b->no_container_runs && a->system == b->system &&
	       a->is_reservation == b->is_reservation && texts_equal(a, b) && extras_equal(a->extra, b->extra);
}
