/* SPDX-License-Identifier: Apache-2.0 */

/*
 * HAMi: the annotation hami.io/vgpu-devices-allocated. HAMi's plugin gives other devices than its IDs
 * name. Such an ID is a placeholder, and the annotation says which devices it stands for. It has
 * "UUID,type,memory,cores:" for a device, and ";" behind each container's part. Whoever may edit a pod
 * may write it. So it makes a tenant only where the kubelet gave an ID of HAMi's, and confirms none.
 *
 * HAMi's parts, by release (pkg/scheduler/score.go, pkg/device/devices.go: Resourcereqs):
 *
 *	before 2.7.0	one for each main container; empty ones may be missing, or elsewhere (its
 *			issue 991, pull request 1299)
 *	2.7.0 .. 2.8.3	one for each main container
 *	2.9.0		one for each init container, sidecars among them, then for the main ones (1650)
 *	2.10.0		the same, and the empty ones are missing where devices are registered by the
 *			name of their model, as NVIDIA's are (issue 2899)
 *
 * Which parts the annotation has differs from release to release, but not how HAMi's plugin reads
 * them. The plugin does not learn for which container the kubelet asks. It gives the first part that
 * is not empty and not given yet. The kubelet asks for the init containers first, then for the main
 * ones, in the order of the pod. It asks only for those that request something. So the n-th part that
 * is not empty is that of the n-th container that holds IDs of HAMi's.
 *
 * Where these are not as many, not all holders are known (the List has no init containers), or
 * somebody has edited the annotation. Then it is read by position if it has a part for each
 * container, and not at all otherwise.
 */

#include "join/readers.h"

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
	return item->is_hami && item->owner->pod == pod && view_equal(item->owner->container, container);
}

/* The best for the device; NULL: the container has none. */
static const struct fact *find_id(const struct facts *facts, const struct pod *pod,
				  struct view container, size_t device)
{
	const struct fact *found = NULL;
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (is_hami_of(item, pod, container) && (!found || is_better(item, found, device)))
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
 * A device that is not known, or still another node's, does not count. The pod then has some device
 * of this node.
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

/* The containers of which the annotation may have a part, in the order in which the kubelet asks.
 * are_holders: only those that hold IDs of HAMi's. Returns how many. */
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

void from_hami_read(struct facts_draft *draft, const struct pod *pod)
{
	struct view names[POD_MAX_CONTAINERS], part, text = pod_gpu(pod)->hami_devices;
	size_t n;
	bool by_position;
	if (text.len == 0 || pod_state(pod)->is_reservation)
		return;
	n = list_containers(draft->facts, pod, true, names);
	by_position = count_parts(text, false) != n;
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
