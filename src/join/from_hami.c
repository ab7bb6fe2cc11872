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
};

static int compare_pods(const struct pod *a, const struct pod *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int by_holder(const void *a, const void *b)
{
	const struct hami_id *x = a, *y = b;
	int order = compare_pods(x->pod, y->pod);
	return order ? order : view_compare_pairs(x->container, x->id, y->container, y->id);
}

/* Lists those of all pods: readers that come later add none. */
static void list_ids(struct facts_draft *draft)
{
	const struct facts *facts = draft->facts;
	size_t n = 0;
	if (!ARENA_NEW(draft->hami_ids, draft->arena, facts->n_items)) {
		draft->has_failed = true;
		return;
	}
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		if (item->is_hami && item->owner->pod)
			draft->hami_ids[n++] = (struct hami_id){
				item->owner->pod, item->owner->container, item->id, item->device, i, false};
	}
	sort_items(draft->hami_ids, n, sizeof(*draft->hami_ids), by_holder);
	draft->n_hami_ids = n;
}

/* How many IDs compare with that container of the pod (NULL: with any) as less than `limit`. */
static size_t count_below(const struct hami_pod *of, const struct view *container, int limit)
{
	size_t low = 0, high = of->draft->n_hami_ids;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct hami_id *id = &of->draft->hami_ids[middle];
		int order = compare_pods(id->pod, of->pod);
		if (!order && container)
			order = view_compare(id->container, *container);
		if (order < limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One of the container's that is the device's, else any; of several the lowest. NULL: it has none. */
static struct hami_id *find_id(const struct hami_pod *of, struct view container, size_t device)
{
	const size_t end = count_below(of, &container, 1);
	struct hami_id *found = NULL;
	for (size_t i = count_below(of, &container, 0); i < end; i++) {
		struct hami_id *id = &of->draft->hami_ids[i];
		if (id->is_taken || (found && id->device != device))
			continue;
		found = id;
		if (id->device == device)
			break;
	}
	return found;
}

/* Takes the facts of one ID back, for it stands for that device. False: the container has none. */
static bool take_id(const struct hami_pod *of, struct view container, size_t device)
{
	struct hami_id *id = find_id(of, container, device);
	if (!id)
		return false;
	const struct hami_id *end = &of->draft->hami_ids[count_below(of, &container, 1)];
	for (const struct view taken = id->id; id < end && view_equal(id->id, taken); id++) {
		of->draft->facts->items[id->at].witnesses = 0;
		id->is_taken = true;
	}
	return true;
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

void from_hami_read(struct facts_draft *draft, const struct pod *pod)
{
	struct view names[POD_MAX_CONTAINERS], part, text = pod_gpu(pod)->hami_devices;
	const struct hami_pod of = {draft, pod};
	size_t n;
	bool by_position;
	if (text.len == 0 || pod_state(pod)->is_reservation)
		return;
	if (!draft->hami_ids)
		list_ids(draft);
	if (count_below(&of, NULL, 1) - count_below(&of, NULL, 0) > LIMIT_HAMI_IDS)
		return;
	n = list_containers(&of, true, names);
	by_position = hami_text_count(text, false) != n;
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
