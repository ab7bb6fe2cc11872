/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A report can name one ID in thousands of entries of both sources. So there is one place for each
 * ID and container name, and one for each of these and live pod. A live pod's container itself has the
 * place of the empty ID. Pods that were published are looked up, for a report can name thousands of others.
 */

#include "join/checkpoint_index.h"

#include <assert.h>

/* Pods that were published */

static int list_published(const struct facts *facts, struct arena *arena,
			  struct checkpoint_index *checkpoint, struct error *err)
{
	const struct devices *devices = facts->devices;
	size_t max = 0, n = 0;
	for (size_t i = 0; i < devices->n_devices; i++)
		max += previous_max_pods(devices->devices[i].previous);
	if (!ARENA_NEW(checkpoint->published, arena, max))
		return error_no_memory(err);
	for (size_t i = 0; i < devices->n_devices; i++)
		n += previous_list_pods(devices->devices[i].previous, &checkpoint->published[n]);
	if (lookup_make(&checkpoint->by_uid, n, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		lookup_add(&checkpoint->by_uid, lookup_hash(0, checkpoint->published[i]));
	return 0;
}

static bool is_published(const struct checkpoint_index *checkpoint, struct view uid)
{
	LOOKUP_EACH(at, &checkpoint->by_uid, lookup_hash(0, uid))
		if (view_equal(checkpoint->published[at], uid))
			return true;
	return false;
}

enum checkpoint_standing checkpoint_index_judge(const struct checkpoint_index *checkpoint,
						const struct facts *facts, struct view uid,
						const struct pod *pod)
{
	if (pod)
		return pod_is_over(pod) ? CHECKPOINT_ENDED : CHECKPOINT_LIVE;
	if (node_pods_is_elsewhere(&facts->node_pods, uid))
		return CHECKPOINT_REFUSED;
	return view_is_found(uid, facts->input->ended, facts->input->n_ended) ||
			       is_published(checkpoint, uid)
		       ? CHECKPOINT_ENDED : CHECKPOINT_UNKNOWN;
}

/* Places */

static uint32_t hash_place(struct view id, struct view container, const struct pod *pod)
{
	return lookup_hash(lookup_hash(lookup_hash(0, id), container),
			   pod ? pod_uid(pod) : (struct view){0});
}

static struct checkpoint_place *find(const struct checkpoint_index *checkpoint, struct view id,
				     struct view container, const struct pod *pod, uint32_t hash)
{
	LOOKUP_EACH(at, &checkpoint->lookup, hash) {
		struct checkpoint_place *place = &checkpoint->places[at];
		if (place->pod == pod && view_equal(place->id, id) &&
		    view_equal(place->container, container))
			return place;
	}
	return NULL;
}

struct checkpoint_place *checkpoint_index_find(const struct checkpoint_index *checkpoint, struct view id,
					       struct view container, const struct pod *pod)
{
	return find(checkpoint, id, container, pod, hash_place(id, container, pod));
}

static void add_place(struct checkpoint_index *checkpoint, struct view id, struct view container,
		      const struct pod *pod, unsigned standing)
{
	const uint32_t hash = hash_place(id, container, pod);
	struct checkpoint_place *place = find(checkpoint, id, container, pod, hash);
	if (!place) {
		place = &checkpoint->places[lookup_add(&checkpoint->lookup, hash)];
		*place = (struct checkpoint_place){.id = id, .container = container, .pod = pod};
	}
	place->standings |= standing;
}

/* Where each pod is known, nobody asks for those that were published. */
static int index_entry(const struct facts_draft *draft, const struct report_checkpoint_entry *entry,
		       struct checkpoint_index *checkpoint, struct error *err)
{
	const struct facts *facts = draft->facts;
	const struct pod *pod = node_pods_find_uid(&facts->node_pods, entry->pod_uid);
	const struct view container = entry->container;
	if (!pod && !checkpoint->published && list_published(facts, draft->arena, checkpoint, err) < 0)
		return -1;
	const unsigned standing = checkpoint_index_judge(checkpoint, facts, entry->pod_uid, pod);
	const bool is_live = standing == CHECKPOINT_LIVE;
	ARRAY_EACH(const struct view, id, entry->device_ids) {
		add_place(checkpoint, *id, container, NULL, standing);
		if (is_live)
			add_place(checkpoint, *id, container, pod, standing);
	}
	if (is_live)
		add_place(checkpoint, (struct view){0}, container, pod, standing);
	return 0;
}

int checkpoint_index_make(const struct facts_draft *draft, struct checkpoint_index *ret, struct error *err)
{
	const struct array all = draft->facts->input->report->checkpoint.entries;
	size_t n = 0;
	*ret = (struct checkpoint_index){0};
	ARRAY_EACH(const struct report_checkpoint_entry, entry, all)
		n += 2 * (size_t)entry->device_ids.count + 1;
	if (!ARENA_NEW(ret->places, draft->arena, n))
		return error_no_memory(err);
	if (lookup_make(&ret->lookup, n, draft->arena, err) < 0)
		return -1;
	ARRAY_EACH(const struct report_checkpoint_entry, entry, all)
		if (index_entry(draft, entry, ret, err) < 0)
			return -1;
	assert(ret->lookup.n <= n);
	return 0;
}
