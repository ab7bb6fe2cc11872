/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A report can ask for thousands of pods, so both keys are indexed. Of two pods with one key the one
 * that wants a GPU is meant. Others count too: a GPU resource may have any name.
 */

#include "join/node_pods.h"

static struct keyed_key name_of(const struct pod *pod)
{
	return KEYED_KEY(pod_namespace(pod), pod_name(pod));
}

static void index_pod(struct node_pods *node_pods, const struct pod *pod)
{
	keyed_add(&node_pods->names, name_of(pod), pod);
	keyed_add(&node_pods->uids, KEYED_KEY(pod_uid(pod)), pod);
	if (pod_config_hash(pod).len > 0)
		keyed_add(&node_pods->hashes, KEYED_KEY(pod_config_hash(pod)), pod);
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
	for (size_t i = input->n_ends; i > 0; i--)
		keyed_add(&node_pods->ends, KEYED_KEY(input->ends[i - 1].pod_uid), &input->ends[i - 1]);
}

static void index_set(const struct pod *const *pods, size_t n, struct keyed *set)
{
	for (size_t i = 0; i < n; i++)
		keyed_add(set, KEYED_KEY(pod_uid(pods[i])), pods[i]);
}

int node_pods_take(const struct join_input *input, struct arena *arena, struct node_pods *ret_node_pods,
		   struct error *err)
{
	const struct array list = input->report ? input->report->pod_resources : (struct array){0};
	const struct keyed nothing = {.arena = arena};
	struct node_pods node_pods = {
		.input = input, .uids = nothing, .hashes = nothing, .names = nothing, .listed = nothing,
		.told_later = nothing, .lacking = nothing, .awaiting = nothing, .ends = nothing,
	};
	if (!ARENA_NEW(node_pods.gpu_pods, arena, input->n_pods))
		return error_no_memory(err);
	for (size_t i = 0; i < input->n_pods; i++)
		if (pod_state(input->pods[i])->wants_gpu)
			node_pods.gpu_pods[node_pods.n_gpu_pods++] = input->pods[i];
	index_pods(&node_pods);
	index_set(input->told_later, input->n_told_later, &node_pods.told_later);
	index_set(input->lacking, input->n_lacking, &node_pods.lacking);
	index_set(input->awaiting, input->n_awaiting, &node_pods.awaiting);
	ARRAY_EACH(const struct report_pod_resource, said, list)
		keyed_add(&node_pods.listed, KEYED_KEY(said->namespace, said->name), said);
	*ret_node_pods = node_pods;
	return arena_check(arena, err);
}

/*
 * Whoever may edit a pod may copy the hash of a static one: of two that live nobody can tell which is the
 * kubelet's.
 */
const struct pod *node_pods_find_uid(const struct node_pods *node_pods, struct view uid)
{
	const struct pod *found = keyed_find(&node_pods->uids, KEYED_KEY(uid));
	size_t n_alive = 0;
	if (found)
		return found;
	KEYED_EACH(item, &node_pods->hashes, KEYED_KEY(uid)) {
		const struct pod *pod = item->value;
		const bool is_alive = !pod_is_over(pod) && !pod_state(pod)->deleting;
		if (!found || is_alive)
			found = pod;
		n_alive += is_alive;
	}
	return n_alive > 1 ? NULL : found;
}

const struct pod *node_pods_find_name(const struct node_pods *node_pods, struct view namespace, struct view name)
{
	return keyed_find(&node_pods->names, KEYED_KEY(namespace, name));
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
	KEYED_EACH(item, &node_pods->names, name_of(pod))
		if (item->value == pod)
			return keyed_find(&node_pods->listed, name_of(pod));
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
