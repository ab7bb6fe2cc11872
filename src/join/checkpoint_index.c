/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A report can name one ID in thousands of entries of both sources. So there is one place for each
 * ID and container name, and one for each of these and live pod. A live pod's container itself has the
 * place of the empty ID. Pods that were published are looked up, for a report can name thousands of others.
 */

#include "join/checkpoint_index.h"

enum checkpoint_standing checkpoint_index_judge(const struct checkpoint_index *checkpoint,
						const struct facts *facts, struct view uid,
						const struct pod *pod)
{
	if (pod)
		return pod_is_over(pod) ? CHECKPOINT_ENDED : CHECKPOINT_LIVE;
	if (node_pods_is_elsewhere(&facts->node_pods, uid))
		return CHECKPOINT_REFUSED;
	return view_is_found(uid, facts->input->ended, facts->input->n_ended) ||
			       keyed_find(&checkpoint->published, KEYED_KEY(uid))
		       ? CHECKPOINT_ENDED : CHECKPOINT_UNKNOWN;
}

static struct keyed_key key_of(struct view id, struct view container, const struct pod *pod)
{
	return KEYED_KEY(id, container, pod ? pod_uid(pod) : (struct view){0});
}

struct checkpoint_place *checkpoint_index_find(const struct checkpoint_index *checkpoint, struct view id,
					       struct view container, const struct pod *pod)
{
	return keyed_find(&checkpoint->places, key_of(id, container, pod));
}

static void add_place(struct checkpoint_index *checkpoint, struct view id, struct view container,
		      const struct pod *pod, unsigned standing)
{
	struct checkpoint_place *place =
		keyed_ensure(&checkpoint->places, key_of(id, container, pod), sizeof(*place));
	if (place)
		place->standings |= standing;
}

static void index_published(const struct devices *devices, struct checkpoint_index *checkpoint)
{
	checkpoint->published.arena = checkpoint->places.arena;
	for (size_t i = 0; i < devices->n_devices; i++)
		if (devices->devices[i].previous)
			previous_index_pods(devices->devices[i].previous, &checkpoint->published);
}

/* Where each pod is known, nobody asks for those that were published. */
static void index_entry(const struct facts *facts, const struct report_checkpoint_entry *entry,
			struct checkpoint_index *checkpoint)
{
	const struct pod *pod = node_pods_find_uid(&facts->node_pods, entry->pod_uid);
	const struct view container = entry->container;
	if (!pod && !checkpoint->published.arena)
		index_published(facts->devices, checkpoint);
	const unsigned standing = checkpoint_index_judge(checkpoint, facts, entry->pod_uid, pod);
	const bool is_live = standing == CHECKPOINT_LIVE;
	ARRAY_EACH(const struct view, id, entry->device_ids) {
		add_place(checkpoint, *id, container, NULL, standing);
		if (is_live)
			add_place(checkpoint, *id, container, pod, standing);
	}
	if (is_live)
		add_place(checkpoint, (struct view){0}, container, pod, standing);
}

int checkpoint_index_make(const struct facts_draft *draft, struct checkpoint_index *ret, struct error *err)
{
	const struct report *report = draft->facts->input->report;
	*ret = (struct checkpoint_index){.places.arena = draft->arena};
	ARRAY_EACH(const struct report_checkpoint_entry, entry, report->checkpoint.entries)
		index_entry(draft->facts, entry, ret);
	return arena_check(draft->arena, err);
}
