/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pod.h"

#include <assert.h>
#include <stddef.h>
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
	struct view hami_devices;
	struct view kai_group;
	struct view kai_device;
	struct view kai_container;
	struct pod_container *containers;
	struct pod_allocation *allocations;
	struct pod_claim *claims;
	struct view *kai_groups;
	int64_t started_at;
	uint32_t n_containers;
	uint32_t n_allocations;
	uint32_t n_claims;
	uint32_t n_kai_groups;
	uint32_t containers_left_out;
	uint32_t ephemeral_left_out;
	uint32_t allocations_left_out;
	uint32_t claims_left_out;
	uint32_t kai_groups_left_out;
	bool hami_left_out;
	max_align_t behind[]; /* the four arrays, then all texts */
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

static struct view put(char **text, struct view v)
{
	struct view copy = {*text, v.len};

	if (v.len > 0)
		memcpy(*text, v.ptr, v.len);
	*text += v.len;
	return copy;
}

static size_t texts_size(const struct pod_fields *fields)
{
	size_t size = fields->owner_kind.len + fields->owner_name.len + fields->hami_devices.len +
		      fields->kai_group.len + fields->kai_device.len + fields->kai_container.len;

	for (uint32_t i = 0; i < fields->n_containers; i++)
		size += fields->containers[i].name.len + fields->containers[i].id.len;
	for (uint32_t i = 0; i < fields->n_allocations; i++)
		size += fields->allocations[i].container.len + fields->allocations[i].resource.len +
			fields->allocations[i].id.len;
	for (uint32_t i = 0; i < fields->n_claims; i++)
		size += fields->claims[i].container.len + fields->claims[i].claim.len +
			fields->claims[i].request.len;
	for (uint32_t i = 0; i < fields->n_kai_groups; i++)
		size += fields->kai_groups[i].len;
	return size;
}

static size_t arrays_size(const struct pod_fields *fields)
{
	return fields->n_containers * sizeof(struct pod_container) +
	       fields->n_allocations * sizeof(struct pod_allocation) +
	       fields->n_claims * sizeof(struct pod_claim) +
	       fields->n_kai_groups * sizeof(struct view);
}

static void put_arrays(const struct pod_fields *fields, struct pod_extra *extra, char **text)
{
	for (uint32_t i = 0; i < fields->n_containers; i++) {
		extra->containers[i] = fields->containers[i];
		extra->containers[i].name = put(text, fields->containers[i].name);
		extra->containers[i].id = put(text, fields->containers[i].id);
	}
	for (uint32_t i = 0; i < fields->n_allocations; i++)
		extra->allocations[i] = (struct pod_allocation){
			.container = put(text, fields->allocations[i].container),
			.resource = put(text, fields->allocations[i].resource),
			.id = put(text, fields->allocations[i].id),
		};
	for (uint32_t i = 0; i < fields->n_claims; i++)
		extra->claims[i] = (struct pod_claim){
			.container = put(text, fields->claims[i].container),
			.claim = put(text, fields->claims[i].claim),
			.request = put(text, fields->claims[i].request),
		};
	for (uint32_t i = 0; i < fields->n_kai_groups; i++)
		extra->kai_groups[i] = put(text, fields->kai_groups[i]);
}

static int extra_new(const struct pod_fields *fields, struct pod_extra **ret_extra,
		     struct error *err)
{
	struct pod_extra *extra;
	char *text;

	assert(fields->n_containers <= POD_MAX_CONTAINERS);
	assert(fields->n_allocations <= POD_MAX_ALLOCATIONS);
	assert(fields->n_claims <= POD_MAX_CLAIMS);
	assert(fields->n_kai_groups <= POD_MAX_KAI_GROUPS);
	extra = malloc(sizeof(*extra) + arrays_size(fields) + texts_size(fields));
	if (!extra)
		return error_no_memory(err);
	extra->n_containers = fields->n_containers;
	extra->n_allocations = fields->n_allocations;
	extra->n_claims = fields->n_claims;
	extra->n_kai_groups = fields->n_kai_groups;
	extra->started_at = fields->started_at;
	extra->containers_left_out = fields->containers_left_out;
	extra->ephemeral_left_out = fields->ephemeral_left_out;
	extra->hami_left_out = fields->hami_left_out;
	extra->allocations_left_out = fields->allocations_left_out;
	extra->claims_left_out = fields->claims_left_out;
	extra->kai_groups_left_out = fields->kai_groups_left_out;
	extra->containers = (struct pod_container *)extra->behind;
	extra->allocations = (struct pod_allocation *)(extra->containers + extra->n_containers);
	extra->claims = (struct pod_claim *)(extra->allocations + extra->n_allocations);
	extra->kai_groups = (struct view *)(extra->claims + extra->n_claims);
	text = (char *)(extra->kai_groups + extra->n_kai_groups);
	put_arrays(fields, extra, &text);
	extra->owner_kind = put(&text, fields->owner_kind);
	extra->owner_name = put(&text, fields->owner_name);
	extra->hami_devices = put(&text, fields->hami_devices);
	extra->kai_group = put(&text, fields->kai_group);
	extra->kai_device = put(&text, fields->kai_device);
	extra->kai_container = put(&text, fields->kai_container);
	assert(text == (char *)(extra->kai_groups + extra->n_kai_groups) + texts_size(fields));
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
	return pod_kai_group(pod).len > 0 || (pod->extra && pod->extra->n_kai_groups > 0);
}

bool pod_is_in_kai_group(const struct pod *pod, struct view group)
{
	if (group.len == 0)
		return false;
	for (uint32_t i = 0; pod->extra && i < pod->extra->n_kai_groups; i++) {
		if (view_equal(pod->extra->kai_groups[i], group))
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

const struct pod_allocation *pod_allocations(const struct pod *pod, uint32_t *ret_n)
{
	*ret_n = pod->extra ? pod->extra->n_allocations : 0;
	return pod->extra ? pod->extra->allocations : NULL;
}

const struct pod_claim *pod_claims(const struct pod *pod, uint32_t *ret_n)
{
	*ret_n = pod->extra ? pod->extra->n_claims : 0;
	return pod->extra ? pod->extra->claims : NULL;
}

static bool containers_equal(const struct pod *a, const struct pod *b)
{
	if (pod_count_containers(a) != pod_count_containers(b))
		return false;
	for (uint32_t i = 0; i < pod_count_containers(a); i++) {
		const struct pod_container *x = pod_container_at(a, i);
		const struct pod_container *y = pod_container_at(b, i);

		if (!view_equal(x->name, y->name) || x->kind != y->kind || x->state != y->state ||
		    x->wants_gpu != y->wants_gpu || !view_equal(x->id, y->id))
			return false;
	}
	return true;
}

static bool allocations_equal(const struct pod *a, const struct pod *b)
{
	uint32_t n, n_other;
	const struct pod_allocation *x = pod_allocations(a, &n);
	const struct pod_allocation *y = pod_allocations(b, &n_other);

	if (n != n_other)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!view_equal(x[i].id, y[i].id) || !view_equal(x[i].container, y[i].container) ||
		    !view_equal(x[i].resource, y[i].resource))
			return false;
	return true;
}

static bool claims_equal(const struct pod *a, const struct pod *b)
{
	uint32_t n, n_other;
	const struct pod_claim *x = pod_claims(a, &n);
	const struct pod_claim *y = pod_claims(b, &n_other);

	if (n != n_other)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!view_equal(x[i].claim, y[i].claim) ||
		    !view_equal(x[i].container, y[i].container) ||
		    !view_equal(x[i].request, y[i].request))
			return false;
	return true;
}

static bool groups_equal(const struct pod *a, const struct pod *b)
{
	uint32_t n = a->extra ? a->extra->n_kai_groups : 0;

	if (n != (b->extra ? b->extra->n_kai_groups : 0))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!view_equal(a->extra->kai_groups[i], b->extra->kai_groups[i]))
			return false;
	return true;
}

static bool extras_equal(const struct pod *a, const struct pod *b)
{
	return pod_started_at(a) == pod_started_at(b) &&
	       view_equal(pod_owner_kind(a), pod_owner_kind(b)) &&
	       view_equal(pod_owner_name(a), pod_owner_name(b)) &&
	       view_equal(pod_hami_devices(a), pod_hami_devices(b)) &&
	       view_equal(pod_kai_group(a), pod_kai_group(b)) &&
	       view_equal(pod_kai_device(a), pod_kai_device(b)) &&
	       view_equal(pod_kai_container(a), pod_kai_container(b)) && groups_equal(a, b) &&
	       containers_equal(a, b) && allocations_equal(a, b) && claims_equal(a, b) &&
	       pod_is_status_cut(a) == pod_is_status_cut(b) &&
	       pod_has_more_containers(a) == pod_has_more_containers(b) &&
	       pod_has_more_ephemeral(a) == pod_has_more_ephemeral(b) &&
	       pod_left_out(a) == pod_left_out(b);
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
	       a->is_reservation == b->is_reservation && texts_equal(a, b) && extras_equal(a, b);
}
