/* SPDX-License-Identifier: Apache-2.0 */

/*
 * HAMi: the annotation hami.io/vgpu-devices-allocated. HAMi's plugin gives other devices than its IDs
 * name. Such an ID is a placeholder, and the annotation says which devices it stands for. Whoever may edit a pod
 * may write it. So it makes a tenant only where the kubelet gave an ID of HAMi's, and confirms none.
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

#include "assess/hami_text.h"
#include "base/limits.h"
#include "base/sort.h"

/* HAMi's IDs that a container has */

struct hami_pod {
	struct facts_draft *draft;
	const struct pod *pod;
	struct fact *ids[LIMIT_HAMI_IDS]; /* facts of them, by ID */
	size_t n_ids;
};

static int by_id(const void *a, const void *b)
{
	const struct fact *const *x = a, *const *y = b;
	return view_compare((*x)->id, (*y)->id);
}

/* One of the container's that is the device's, else any; of several the lowest. NULL: it has none. */
static struct fact *const *find_id(const struct hami_pod *of, struct view container, size_t device)
{
	struct fact *const *found = NULL, *const *end = of->ids + of->n_ids;
	for (struct fact *const *id = of->ids; id < end && !(found && (*found)->device == device); id++)
		if ((*id)->witnesses != 0 && (!found || (*id)->device == device) &&
		    view_equal((*id)->owner->container, container))
			found = id;
	return found;
}

/* Takes the facts of one ID back, for it stands for that device. False: the container has none. */
static bool take_id(const struct hami_pod *of, struct view container, size_t device)
{
	struct fact *const *taken = find_id(of, container, device), *const *end = of->ids + of->n_ids;
	for (struct fact *const *id = taken; id && id < end && view_equal((*id)->id, (*taken)->id); id++)
		if (view_equal((*id)->owner->container, container))
			(*id)->witnesses = 0;
	return taken;
}

/* The annotation */

/*
 * A device that is not known, or still another node's, does not count. The pod then has some device
 * of this node.
 */
static void read_part(const struct hami_pod *of, struct view container, struct view part)
{
	const struct devices *devices = of->draft->facts->devices;
	struct view text;
	while (part.len > 0) {
		view_cut(part, VIEW(":"), &text, &part);
		const struct device *device = devices_find(devices, hami_text_uuid(text)).device;
		if (!device || device->is_elsewhere ||
		    !take_id(of, container, (size_t)(device - devices->devices)))
			continue;
		facts_add_on(of->draft, facts_add_container(of->draft, of->pod, container, VIEW("nvidia.com/gpu")),
			     device, (struct fact){.witnesses = WITNESS_HAMI});
	}
}

/* The containers of which the annotation may have a part, in the order in which the kubelet asks.
 * are_holders: only those that hold IDs of HAMi's. Returns how many. */
static size_t list_containers(const struct hami_pod *of, bool are_holders, struct view names[POD_MAX_CONTAINERS])
{
	const uint32_t n = pod_gpu(of->pod)->containers.count;
	size_t n_names = 0;
	for (uint32_t i = 0; i < 2 * n; i++) {
		const struct pod_container *c = pod_container_at(of->pod, i < n ? i : i - n);
		bool is_main = c->kind == POD_CONTAINER_MAIN;
		if (c->kind == POD_CONTAINER_EPHEMERAL || is_main != (i >= n) ||
		    (are_holders && !find_id(of, c->name, FACT_NOWHERE)))
			continue;
		assert(n_names < POD_MAX_CONTAINERS);
		names[n_names++] = c->name;
	}
	return n_names;
}

static void read_pod(struct facts_draft *draft, const struct pod *pod, const struct keyed *ids)
{
	struct view names[POD_MAX_CONTAINERS], part, text = pod_gpu(pod)->hami_devices;
	if (text.len == 0 || pod_state(pod)->is_reservation)
		return;
	struct hami_pod of = {.draft = draft, .pod = pod};
	KEYED_EACH(item, ids, KEYED_KEY(pod_uid(pod))) {
		if (of.n_ids == LIMIT_HAMI_IDS)
			return;
		of.ids[of.n_ids++] = item->value;
	}
	sort_items(of.ids, of.n_ids, sizeof(*of.ids), by_id);
	size_t n = list_containers(&of, true, names);
	const bool by_position = hami_text_count(text, false) != n;
	if (by_position)
		n = list_containers(&of, false, names);
	if (hami_text_count(text, by_position) != n)
		return;
	for (size_t i = 0; text.len > 0;) {
		view_cut(text, VIEW(";"), &part, &text);
		if (!by_position && hami_text_is_empty(part))
			continue;
		assert(i < n);
		read_part(&of, names[i++], part);
	}
}

void from_hami_read(struct facts_draft *draft)
{
	const struct node_pods *node_pods = &draft->facts->node_pods;
	struct keyed ids = {.arena = draft->arena}; /* of all pods, by UID */
	for (const struct fact *item = draft->items; item; item = item->next)
		if (item->is_hami && item->owner->pod)
			keyed_add(&ids, KEYED_KEY(item->owner->pod_uid), item);
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++)
		read_pod(draft, node_pods->gpu_pods[i], &ids);
}
