/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nearly always the pod in question is one of the few that want a GPU, so those are looked at
 * first; the others count too, for what asks for a GPU is a matter of resource names.
 */

#include "core/census.h"

int census_take(const struct join_input *input, struct arena *arena, struct census *ret_census,
		struct error *err)
{
	struct census census = {.input = input};

	census.gpu_pods = arena_alloc(arena, input->n_pods, sizeof(*census.gpu_pods));
	if (!census.gpu_pods)
		return error_no_memory(err);
	for (size_t i = 0; i < input->n_pods; i++) {
		if (pod_wants_gpu(input->pods[i]))
			census.gpu_pods[census.n_gpu_pods++] = input->pods[i];
	}
	*ret_census = census;
	return 0;
}

static bool is_pod(const struct pod *pod, struct view uid)
{
	struct view hash = pod_config_hash(pod);
	return view_equal(pod_uid(pod), uid) || (hash.len > 0 && view_equal(hash, uid));
}

static const struct pod *find_uid(const struct pod *const *pods, size_t n_pods, struct view uid)
{
	for (size_t i = 0; i < n_pods; i++) {
		if (is_pod(pods[i], uid))
			return pods[i];
	}
	return NULL;
}

const struct pod *census_find_uid(const struct census *census, struct view uid)
{
	const struct pod *pod = find_uid(census->gpu_pods, census->n_gpu_pods, uid);
	return pod ? pod : find_uid(census->input->pods, census->input->n_pods, uid);
}

static bool is_called(const struct pod *pod, struct view namespace, struct view name)
{
	return view_equal(pod_name(pod), name) && view_equal(pod_namespace(pod), namespace);
}

static const struct pod *find_name(const struct pod *const *pods, size_t n_pods,
				   struct view namespace, struct view name)
{
	for (size_t i = 0; i < n_pods; i++) {
		if (is_called(pods[i], namespace, name))
			return pods[i];
	}
	return NULL;
}

const struct pod *census_find_name(const struct census *census, struct view namespace,
				   struct view name)
{
	const struct pod *pod = find_name(census->gpu_pods, census->n_gpu_pods, namespace, name);
	return pod ? pod : find_name(census->input->pods, census->input->n_pods, namespace, name);
}

static bool is_in_list(struct array list, const struct pod *pod)
{
	for (uint32_t i = 0; i < list.count; i++) {
		const struct report_pod_resource *said =
			ARRAY_AT(list, struct report_pod_resource, i);
		if (is_called(pod, said->namespace, said->name))
			return true;
	}
	return false;
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
		    !is_in_list(census->input->report->pod_resources, census->gpu_pods[i]))
			return false;
	}
	return true;
}
