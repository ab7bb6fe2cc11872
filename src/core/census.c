/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A report can ask for thousands of pods, so both keys are indexed. Of two pods with one key the one
 * that wants a GPU is meant; but others count too, for what asks for a GPU is a matter of resource
 * names.
 */

#include "core/census.h"

#include <assert.h>
#include <stdlib.h>

struct census_name {
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

static void index_pod(struct census *census, const struct pod *pod)
{
	uint32_t hash = hash_name(pod_namespace(pod), pod_name(pod));

	census->by_uid[lookup_add(&census->uids, lookup_hash(0, pod_uid(pod)))] = pod;
	if (pod_config_hash(pod).len > 0)
		census->by_hash[lookup_add(&census->hashes, lookup_hash(0, pod_config_hash(pod)))] =
			pod;
	census->by_name[lookup_add(&census->names, hash)] = (struct census_name){.pod = pod};
}

/* Who is added last is found first. */
static void index_pods(struct census *census)
{
	const struct join_input *input = census->input;

	for (size_t i = input->n_pods; i > 0; i--) {
		if (!pod_wants_gpu(input->pods[i - 1]))
			index_pod(census, input->pods[i - 1]);
	}
	for (size_t i = census->n_gpu_pods; i > 0; i--)
		index_pod(census, census->gpu_pods[i - 1]);
}

static void mark_listed(struct census *census, const struct report_pod_resource *said)
{
	uint32_t at = lookup_first(&census->names, hash_name(said->namespace, said->name));

	for (; at != LOOKUP_END; at = lookup_next(&census->names, at)) {
		struct census_name *item = &census->by_name[at];
		item->is_listed |= is_called(item->pod, said->namespace, said->name);
	}
}

static int make_room(struct census *census, struct arena *arena, struct error *err)
{
	size_t n = census->input->n_pods;

	census->gpu_pods = arena_alloc(arena, n, sizeof(*census->gpu_pods));
	census->by_uid = arena_alloc(arena, n, sizeof(*census->by_uid));
	census->by_hash = arena_alloc(arena, n, sizeof(*census->by_hash));
	census->by_name = arena_alloc(arena, n, sizeof(*census->by_name));
	if (!census->gpu_pods || !census->by_uid || !census->by_hash || !census->by_name)
		return error_no_memory(err);
	if (lookup_make(&census->uids, n, arena, err) < 0 ||
	    lookup_make(&census->hashes, n, arena, err) < 0)
		return -1;
	return lookup_make(&census->names, n, arena, err);
}

int census_take(const struct join_input *input, struct arena *arena, struct census *ret_census,
		struct error *err)
{
	struct census census = {.input = input};
	const struct array list = input->report ? input->report->pod_resources : (struct array){0};

	for (size_t i = 1; i < input->n_elsewhere; i++) /* bsearch() rests on it */
		assert(view_compare(input->elsewhere[i - 1], input->elsewhere[i]) < 0);
	if (make_room(&census, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < input->n_pods; i++) {
		if (pod_wants_gpu(input->pods[i]))
			census.gpu_pods[census.n_gpu_pods++] = input->pods[i];
	}
	assert(census.n_gpu_pods <= input->n_pods);
	index_pods(&census);
	for (uint32_t i = 0; i < list.count; i++)
		mark_listed(&census, ARRAY_AT(list, struct report_pod_resource, i));
	*ret_census = census;
	return 0;
}

/* Whoever may edit a pod may copy the hash of a static one: of two that live nobody can tell which
 * is the kubelet's. */
static const struct pod *find_hash(const struct census *census, struct view hash)
{
	const struct pod *found = NULL;
	size_t n_alive = 0;
	uint32_t at = lookup_first(&census->hashes, lookup_hash(0, hash));

	for (; at != LOOKUP_END; at = lookup_next(&census->hashes, at)) {
		const struct pod *pod = census->by_hash[at];
		bool is_alive = !pod_is_over(pod) && !pod_is_deleting(pod);

		if (!view_equal(pod_config_hash(pod), hash))
			continue;
		if (!found || is_alive)
			found = pod;
		n_alive += is_alive;
	}
	return n_alive > 1 ? NULL : found;
}

const struct pod *census_find_uid(const struct census *census, struct view uid)
{
	uint32_t at = lookup_first(&census->uids, lookup_hash(0, uid));

	while (at != LOOKUP_END && !view_equal(pod_uid(census->by_uid[at]), uid))
		at = lookup_next(&census->uids, at);
	return at != LOOKUP_END ? census->by_uid[at] : find_hash(census, uid);
}

const struct pod *census_find_name(const struct census *census, struct view namespace,
				   struct view name)
{
	uint32_t at = lookup_first(&census->names, hash_name(namespace, name));

	while (at != LOOKUP_END && !is_called(census->by_name[at].pod, namespace, name))
		at = lookup_next(&census->names, at);
	return at != LOOKUP_END ? census->by_name[at].pod : NULL;
}

static int by_text(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

bool census_is_elsewhere(const struct census *census, struct view uid)
{
	const struct join_input *input = census->input;

	return input->n_elsewhere > 0 &&
	       bsearch(&uid, input->elsewhere, input->n_elsewhere, sizeof(uid), by_text);
}

int64_t census_ended_at(const struct census *census, struct view uid)
{
	const struct join_input *input = census->input;
	const struct pod *pod = census_find_uid(census, uid);

	for (size_t i = 0; i < input->n_ends && (!pod || pod_is_over(pod)); i++) {
		if (view_equal(input->ends[i].pod_uid, uid))
			return input->now_wall_ms - input->ends[i].age_ms;
	}
	return input->now_wall_ms - (!pod && input->ended_for_ms > 0 ? input->ended_for_ms : 0);
}

bool census_is_read_since(const struct census *census, const struct pod *pod)
{
	const struct join_input *input = census->input;

	for (size_t i = 0; i < input->n_told_later; i++) {
		if (input->told_later[i] == pod)
			return false;
	}
	return input->listed_at >= pod_started_at(pod) + POD_GRANULARITY_MS;
}

bool census_is_named(const struct census *census, const struct pod *pod)
{
	uint32_t at = lookup_first(&census->names, hash_name(pod_namespace(pod), pod_name(pod)));

	while (at != LOOKUP_END && census->by_name[at].pod != pod)
		at = lookup_next(&census->names, at);
	return at != LOOKUP_END && census->by_name[at].is_listed;
}

/* Lists never contain ordinary init containers. */
static bool must_be_listed(const struct pod *pod)
{
	if (pod_is_over(pod))
		return false;
	for (uint32_t i = 0; i < pod_count_containers(pod); i++) {
		const struct pod_container *c = pod_container_at(pod, i);
		if (c->wants_gpu && c->kind != POD_CONTAINER_INIT)
			return true;
	}
	return false;
}

bool census_is_listed(const struct census *census)
{
	for (size_t i = 0; i < census->n_gpu_pods; i++) {
		if (must_be_listed(census->gpu_pods[i]) &&
		    !census_is_named(census, census->gpu_pods[i]))
			return false;
	}
	return true;
}
