/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which parts the annotation has differs from release to release, but not how HAMi's plugin reads
 * them. It does not learn for which container the kubelet asks, and gives the first part that is
 * not empty and that it has not given yet. The kubelet asks for the init containers first, then for
 * the main ones, each in the order of the pod, and only for those that request something. So the
 * n-th part that is not empty is that of the n-th container that holds IDs of HAMi's.
 *
 * Where these are not as many, not all holders are known (the List has no init containers), or
 * somebody has edited the annotation. Then it is read by position if it has a part for each
 * container, and not at all otherwise.
 */

#include "join/from_hami.h"

#include <assert.h>

/* HAMi's IDs that a container has */

/* The ID to be taken for a device: one of its own, else the lowest, in whatever order they came. */
static bool is_better(const struct fact *a, const struct fact *b, size_t device)
{
	bool x = a->device == device, y = b->device == device;
	return x != y ? x : view_compare(a->id, b->id) < 0;
}

static bool is_hami_of(const struct fact *item, const struct pod *pod, struct view container)
{
	return item->is_hami && item->owner->pod == pod &&
	       view_equal(item->owner->container, container);
}

/* The best for the device; NULL: the container has none. */
static const struct fact *find_id(const struct facts *facts, const struct pod *pod,
				  struct view container, size_t device)
{
	const struct fact *found = NULL;
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (is_hami_of(item, pod, container) &&
		    (!found || is_better(item, found, device)))
			found = item;
	}
	return found;
}

/* Removes the facts of one ID, for it stands for that device. False: the container has none. */
static bool take_id(struct facts *facts, const struct pod *pod, struct view container,
		    size_t device)
{
	const struct fact *taken = find_id(facts, pod, container, device);
	size_t n = 0;

	if (!taken)
		return false;
	const struct view id = taken->id;
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (!is_hami_of(item, pod, container) || !view_equal(item->id, id))
			facts->items[n++] = *item;
	}
	assert(n < facts->n_items);
	facts->n_items = n;
	return true;
}

/* The annotation */

/* A bracket behind it, which tells a part of a MIG device, does not matter here. */
static struct view uuid_of(struct view device)
{
	struct view uuid, rest;
	view_cut(device, VIEW(","), &uuid, &rest);
	return uuid;
}

/* HAMi calls a part empty that has no device, or one without a UUID. */
static bool is_empty(struct view part)
{
	return uuid_of(part).len == 0;
}

static size_t count_parts(struct view text, bool with_empty)
{
	struct view part;
	size_t n = 0;
	while (text.len > 0) {
		view_cut(text, VIEW(";"), &part, &text);
		n += with_empty || !is_empty(part);
	}
	return n;
}

/*
 * A device that is not the node's, not known yet, or still another node's does not count: then all
 * that is known is that the pod has one of this node's.
 */
static void read_part(struct facts_draft *draft, const struct pod *pod, struct view container,
		      struct view part)
{
	const struct devices *devices = draft->facts->devices;
	struct view text;

	while (part.len > 0) {
		view_cut(part, VIEW(":"), &text, &part);
		const struct device *device = devices_find(devices, uuid_of(text)).device;
		if (!device || device->is_elsewhere ||
		    !take_id(draft->facts, pod, container, (size_t)(device - devices->devices)))
			continue;
		facts_add_on(draft,
			     facts_add_container(draft, pod, container, VIEW("nvidia.com/gpu")),
			     device, (struct fact){.witnesses = WITNESS_HAMI});
	}
}

/* The containers of which the annotation may have a part, or those of them that hold IDs of HAMi's,
 * in the order in which the kubelet asks. Returns how many. */
static size_t list_containers(const struct facts *facts, const struct pod *pod, bool are_holders,
			      struct view names[POD_MAX_CONTAINERS])
{
	const uint32_t n = pod_gpu(pod)->containers.count;
	size_t n_names = 0;

	for (uint32_t i = 0; i < 2 * n; i++) {
		const struct pod_container *c = pod_container_at(pod, i < n ? i : i - n);
		bool is_main = c->kind == POD_CONTAINER_MAIN;
		if (c->kind == POD_CONTAINER_EPHEMERAL || is_main != (i >= n) ||
		    (are_holders && !find_id(facts, pod, c->name, FACT_NOWHERE)))
			continue;
		assert(n_names < POD_MAX_CONTAINERS);
		names[n_names++] = c->name;
	}
	return n_names;
}

static void read_pod(struct facts_draft *draft, const struct pod *pod)
{
	struct view names[POD_MAX_CONTAINERS], part, text = pod_gpu(pod)->hami_devices;
	size_t n = list_containers(draft->facts, pod, true, names);
	const bool by_position = count_parts(text, false) != n;

	if (by_position)
		n = list_containers(draft->facts, pod, false, names);
	if (count_parts(text, by_position) != n)
		return;
	for (size_t i = 0; text.len > 0;) {
		view_cut(text, VIEW(";"), &part, &text);
		if (!by_position && is_empty(part))
			continue;
		assert(i < n);
		read_part(draft, pod, names[i++], part);
	}
}

void from_hami_read(struct facts_draft *draft)
{
	const struct node_pods *node_pods = &draft->facts->node_pods;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		const struct pod *pod = node_pods->gpu_pods[i];
		if (pod_gpu(pod)->hami_devices.len > 0 && !pod_is_over(pod) && !pod_state(pod)->is_reservation)
			read_pod(draft, pod);
	}
}
