/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A report can ask for thousands of pods, so both keys are indexed. Of two pods with one key the one
 * that wants a GPU is meant. Others count too: a GPU resource may have any name.
 */

#include "join/node_pods.h"

#include <assert.h>

struct node_pods_name {
	const struct pod *pod;
	bool is_listed; /* the List has a pod of that name */
};

static uint32_t hash_name(struct view namespace, struct view name)
{
	return lookup_hash(lookup_hash(0, namespace), name);
}

static bool is_called(const struct pod *pod, struct view namespace, struct view name)
{
	return view_equal(pod_name(pod), name) && view_equal(pod_namespace(pod), namespace);
}

static void index_id(struct node_pods *node_pods, struct view id, const struct pod *pod)
{
	node_pods->by_id[lookup_add(&node_pods->ids, lookup_hash(0, id))] = pod;
}

static void index_pod(struct node_pods *node_pods, const struct pod *pod)
{
	uint32_t at = lookup_add(&node_pods->names, hash_name(pod_namespace(pod), pod_name(pod)));
	node_pods->by_name[at] = (struct node_pods_name){.pod = pod};
	index_id(node_pods, pod_uid(pod), pod);
	if (pod_config_hash(pod).len > 0)
		index_id(node_pods, pod_config_hash(pod), pod);
}

/* Who is added last is found first. */
static void index_pods(struct node_pods *node_pods)
{
	const struct join_input *input = node_pods->input;
	for (size_t i = input->n_pods; i > 0; i--)
		if (!pod_state(input->pods[i - 1])->wants_gpu)
			index_pod(node_pods, input->pods[i - 1]);
	for (size_t i = node_pods->n_gpu_pods; i > 0; i--)
		index_pod(node_pods, node_pods->gpu_pods[i - 1]);
}

static void mark_listed(struct node_pods *node_pods, const struct report_pod_resource *said)
{
	LOOKUP_EACH(at, &node_pods->names, hash_name(said->namespace, said->name)) {
		struct node_pods_name *item = &node_pods->by_name[at];
		item->is_listed |= is_called(item->pod, said->namespace, said->name);
	}
}

static int index_set(const struct pod *const *pods, size_t n, struct arena *arena, struct keyed *ret, struct error *err)
{
	if (n > 0 && keyed_make(ret, n, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		keyed_add(ret, KEYED_KEY(pod_uid(pods[i])), pods[i]);
	return 0;
}

/* Who is added last is found first. */
static int index_ends(struct node_pods *node_pods, struct arena *arena, struct error *err)
{
	const struct join_input *input = node_pods->input;
	if (input->n_ends > 0 && keyed_make(&node_pods->ends, input->n_ends, arena, err) < 0)
		return -1;
	for (size_t i = input->n_ends; i > 0; i--)
		keyed_add(&node_pods->ends, KEYED_KEY(input->ends[i - 1].pod_uid), &input->ends[i - 1]);
	return 0;
}

static int index_sets(struct node_pods *node_pods, struct arena *arena, struct error *err)
{
	const struct join_input *input = node_pods->input;
	if (index_set(input->told_later, input->n_told_later, arena, &node_pods->told_later, err) < 0 ||
	    index_set(input->lacking, input->n_lacking, arena, &node_pods->lacking, err) < 0 ||
	    index_set(input->awaiting, input->n_awaiting, arena, &node_pods->awaiting, err) < 0)
		return -1;
	return index_ends(node_pods, arena, err);
}

int node_pods_take(const struct join_input *input, struct arena *arena, struct node_pods *ret_node_pods,
		   struct error *err)
{
	struct node_pods node_pods = {.input = input};
	const struct array list = input->report ? input->report->pod_resources : (struct array){0};
	const size_t n = input->n_pods;
	if (!ARENA_NEW(node_pods.gpu_pods, arena, n) || !ARENA_NEW(node_pods.by_id, arena, 2 * n) ||
	    !ARENA_NEW(node_pods.by_name, arena, n))
		return error_no_memory(err);
	if (lookup_make(&node_pods.ids, 2 * n, arena, err) < 0 ||
	    lookup_make(&node_pods.names, n, arena, err) < 0 || index_sets(&node_pods, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (pod_state(input->pods[i])->wants_gpu)
			node_pods.gpu_pods[node_pods.n_gpu_pods++] = input->pods[i];
	index_pods(&node_pods);
	ARRAY_EACH(const struct report_pod_resource, said, list)
		mark_listed(&node_pods, said);
	assert(node_pods.n_gpu_pods <= n && node_pods.names.n == n);
	*ret_node_pods = node_pods;
	return 0;
}

/*
 * Whoever may edit a pod may copy the hash of a static one: of two that live nobody can tell which is the
 * kubelet's.
 */
static const struct pod *find_hash(const struct node_pods *node_pods, struct view hash, uint32_t key)
{
	const struct pod *found = NULL;
	size_t n_alive = 0;
	LOOKUP_EACH(at, &node_pods->ids, key) {
		const struct pod *pod = node_pods->by_id[at];
		bool is_alive = !pod_is_over(pod) && !pod_state(pod)->deleting;

		if (pod == found || !view_equal(pod_config_hash(pod), hash))
			continue;
		if (!found || is_alive)
			found = pod;
		n_alive += is_alive;
	}
	return n_alive > 1 ? NULL : found;
}

const struct pod *node_pods_find_uid(const struct node_pods *node_pods, struct view uid)
{
	const uint32_t key = lookup_hash(0, uid);
	LOOKUP_EACH(at, &node_pods->ids, key)
		if (view_equal(pod_uid(node_pods->by_id[at]), uid))
			return node_pods->by_id[at];
	return find_hash(node_pods, uid, key);
}

const struct pod *node_pods_find_name(const struct node_pods *node_pods, struct view namespace, struct view name)
{
	LOOKUP_EACH(at, &node_pods->names, hash_name(namespace, name))
		if (is_called(node_pods->by_name[at].pod, namespace, name))
			return node_pods->by_name[at].pod;
	return NULL;
}

bool node_pods_is_lacking(const struct node_pods *node_pods, const struct pod *pod)
{
	return pod && keyed_find(&node_pods->lacking, KEYED_KEY(pod_uid(pod)));
}

bool node_pods_is_awaiting(const struct node_pods *node_pods, const struct pod *pod)
{
	return pod && keyed_find(&node_pods->awaiting, KEYED_KEY(pod_uid(pod)));
}

bool node_pods_is_elsewhere(const struct node_pods *node_pods, struct view uid)
{
	return view_is_found(uid, node_pods->input->elsewhere, node_pods->input->n_elsewhere);
}

int64_t node_pods_ended_at(const struct node_pods *node_pods, struct view uid)
{
	const struct join_input *input = node_pods->input;
	const struct pod *pod = node_pods_find_uid(node_pods, uid);
	const struct join_end *end =
		!pod || pod_is_over(pod) ? keyed_find(&node_pods->ends, KEYED_KEY(uid)) : NULL;
	if (end)
		return input->now_wall_ms - end->age_ms;
	return input->now_wall_ms - (!pod && input->ended_for_ms > 0 ? input->ended_for_ms : 0);
}

bool node_pods_is_read_since(const struct node_pods *node_pods, const struct pod *pod)
{
	const struct join_input *input = node_pods->input;
	return !keyed_find(&node_pods->told_later, KEYED_KEY(pod_uid(pod))) &&
	       input->listed_at >= pod_gpu(pod)->started_at + POD_GRANULARITY_MS;
}

bool node_pods_is_named(const struct node_pods *node_pods, const struct pod *pod)
{
	LOOKUP_EACH(at, &node_pods->names, hash_name(pod_namespace(pod), pod_name(pod)))
		if (node_pods->by_name[at].pod == pod)
			return node_pods->by_name[at].is_listed;
	return false;
}

/* Lists never contain ordinary init containers. */
static bool must_be_listed(const struct pod *pod)
{
	ARRAY_EACH(const struct pod_container, c, pod_gpu(pod)->containers)
		if (c->wants_gpu && c->kind != POD_CONTAINER_INIT)
			return !pod_is_over(pod);
	return false;
}

bool node_pods_is_listed(const struct node_pods *node_pods)
{
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++)
		if (must_be_listed(node_pods->gpu_pods[i]) &&
		    !node_pods_is_named(node_pods, node_pods->gpu_pods[i]))
			return false;
	return true;
}
