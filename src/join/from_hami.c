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
	const struct hami_id *ids; /* of facts, which are taken back when they have no witnesses */
	size_t n;
};

/* The ID to be taken for a device: one of its own, else the lowest, in whatever order they came. */
static bool is_better(const struct fact *a, const struct fact *b, size_t device)
{
	bool x = a->device == device, y = b->device == device;
	return x != y ? x : view_compare(a->id, b->id) < 0;
}

static int by_pod(const void *a, const void *b)
{
	const struct hami_id *x = a, *y = b;
	return ((uintptr_t)x->pod > (uintptr_t)y->pod) - ((uintptr_t)x->pod < (uintptr_t)y->pod);
}

/* Lists those of all pods, by pod: readers that come later add none. */
static void list_ids(struct facts_draft *draft)
{
	const struct facts *facts = draft->facts;
	size_t n = 0;
	if (!ARENA_NEW(draft->hami_ids, draft->arena, facts->n_items)) {
		draft->has_failed = true;
		return;
	}
	for (size_t i = 0; i < facts->n_items; i++)
		if (facts->items[i].is_hami && facts->items[i].owner->pod)
			draft->hami_ids[n++] = (struct hami_id){facts->items[i].owner->pod, i};
	sort_items(draft->hami_ids, n, sizeof(*draft->hami_ids), by_pod);
	draft->n_hami_ids = n;
}

static bool is_hami_of(const struct fact *item, struct view container)
{
	return item->witnesses != 0 && view_equal(item->owner->container, container);
}

/* The best for the device; NULL: the container has none. */
static struct fact *find_id(const struct hami_pod *of, struct view container, size_t device)
{
	struct fact *found = NULL;
	for (size_t i = 0; i < of->n; i++) {
		struct fact *item = &of->draft->facts->items[of->ids[i].at];
		if (is_hami_of(item, container) && (!found || is_better(item, found, device)))
			found = item;
	}
	return found;
}

/* Takes the facts of one ID back, for it stands for that device. False: the container has none. */
static bool take_id(const struct hami_pod *of, struct view container, size_t device)
{
	const struct fact *taken = find_id(of, container, device);
	if (!taken)
		return false;
	const struct view id = taken->id;
	for (size_t i = 0; i < of->n; i++) {
		struct fact *item = &of->draft->facts->items[of->ids[i].at];
		if (is_hami_of(item, container) && view_equal(item->id, id))
			item->witnesses = 0;
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
	struct hami_pod of = {draft, pod, NULL, 0};
	size_t n;
	bool by_position;
	if (text.len == 0 || pod_state(pod)->is_reservation)
		return;
	if (!draft->hami_ids)
		list_ids(draft);
	for (size_t i = draft->n_hami_ids; i > 0 && (uintptr_t)draft->hami_ids[i - 1].pod >= (uintptr_t)pod; i--)
		if (draft->hami_ids[i - 1].pod == pod) {
			of.ids = &draft->hami_ids[i - 1];
			of.n++;
		}
	if (of.n > LIMIT_HAMI_IDS)
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
