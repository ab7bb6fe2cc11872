/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pod.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * A cluster has a hundred thousand of these and nearly all of them only answer "is there a pod of
 * this UID on this node": so one block holds the fixed part and the texts behind it, and what only
 * a pod with a GPU has is a second block that the others lack.
 */

/* Kubernetes bounds namespaces at 63 bytes and names at 253; UIDs and hashes are shorter. */
#define MAX_TEXT 512

struct pod_extra {
	struct view owner_kind;
	struct view owner_name;
	uint32_t n_containers;
	struct pod_container containers[]; /* then their names, and the owner's */
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
	bool containers_terminated : 1;
	bool system : 1;
	char text[];
};

static struct view put(char **text, struct view v)
{
	struct view copy = {*text, v.len};

	if (v.len > 0)
		memcpy(*text, v.ptr, v.len);
	*text += v.len;
	return copy;
}

static int extra_new(const struct pod_fields *fields, struct pod_extra **ret_extra,
		     struct error *err)
{
	size_t size = fields->owner_kind.len + fields->owner_name.len;
	struct pod_extra *extra;
	char *text;

	assert(fields->n_containers <= POD_MAX_CONTAINERS);
	for (uint32_t i = 0; i < fields->n_containers; i++)
		size += fields->containers[i].name.len;
	extra = malloc(sizeof(*extra) + fields->n_containers * sizeof(extra->containers[0]) + size);
	if (!extra)
		return error_no_memory(err);
	text = (char *)&extra->containers[fields->n_containers];
	extra->n_containers = fields->n_containers;
	for (uint32_t i = 0; i < fields->n_containers; i++) {
		extra->containers[i] = fields->containers[i];
		extra->containers[i].name = put(&text, fields->containers[i].name);
	}
	extra->owner_kind = put(&text, fields->owner_kind);
	extra->owner_name = put(&text, fields->owner_name);
	*ret_extra = extra;
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
	pod->containers_terminated = fields->containers_terminated;
	pod->system = fields->system;
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
	if (fields->node.len > 0)
		pod->node = intern_ref(intern, fields->node);
	if (fields->node.len > 0 && !pod->node) {
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

struct view pod_owner_kind(const struct pod *pod)
{
	return pod->extra ? pod->extra->owner_kind : (struct view){0};
}

struct view pod_owner_name(const struct pod *pod)
{
	return pod->extra ? pod->extra->owner_name : (struct view){0};
}

enum pod_phase pod_phase(const struct pod *pod)
{
	return (enum pod_phase)pod->phase;
}

bool pod_is_deleting(const struct pod *pod)
{
	return pod->deleting;
}

bool pod_is_admission_failed(const struct pod *pod)
{
	return pod->admission_failed;
}

bool pod_wants_gpu(const struct pod *pod)
{
	return pod->wants_gpu;
}

bool pod_is_system(const struct pod *pod)
{
	return pod->system;
}

bool pod_is_over(const struct pod *pod)
{
	bool terminal = pod->phase == POD_PHASE_SUCCEEDED || pod->phase == POD_PHASE_FAILED;

	if (pod->admission_failed)
		return true;
	return terminal && pod->containers_terminated;
}

const struct pod_container *pod_find_container(const struct pod *pod, struct view name)
{
	for (uint32_t i = 0; i < pod_count_containers(pod); i++)
		if (view_equal(pod->extra->containers[i].name, name))
			return &pod->extra->containers[i];
	return NULL;
}

uint32_t pod_count_containers(const struct pod *pod)
{
	return pod->extra ? pod->extra->n_containers : 0;
}

const struct pod_container *pod_container_at(const struct pod *pod, uint32_t i)
{
	assert(i < pod_count_containers(pod));
	return &pod->extra->containers[i];
}

static bool containers_equal(const struct pod *a, const struct pod *b)
{
	if (pod_count_containers(a) != pod_count_containers(b))
		return false;
	for (uint32_t i = 0; i < pod_count_containers(a); i++) {
		const struct pod_container *x = pod_container_at(a, i);
		const struct pod_container *y = pod_container_at(b, i);

		if (!view_equal(x->name, y->name) || x->kind != y->kind || x->state != y->state ||
		    x->wants_gpu != y->wants_gpu)
			return false;
	}
	return true;
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
	       a->admission_failed == b->admission_failed &&
	       a->wants_gpu == b->wants_gpu &&
	       a->containers_terminated == b->containers_terminated && a->system == b->system &&
	       texts_equal(a, b) && view_equal(pod_owner_kind(a), pod_owner_kind(b)) &&
	       view_equal(pod_owner_name(a), pod_owner_name(b)) && containers_equal(a, b);
}
