/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kubelet does not rewrite the checkpoint when a pod ends. So an entry of a pod that was never
 * known is left over when a complete List has nothing of it.
 *
 * A report can name one ID in thousands of entries of both sources. So there is one place for each
 * ID and container name, and one for each of these and live pod. A live pod's container itself has the
 * place of the empty ID.
 */

#include "join/from_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

struct checkpoint_place {
	struct view id, container;
	const struct pod *pod; /* live; NULL: whosever */
	unsigned standings;
	bool is_marked;
};

/* After a restart of the controller what was published tells who was known once. */
static enum checkpoint_standing judge(const struct facts *facts, struct view uid,
				      const struct pod *pod)
{
	if (pod)
		return pod_is_over(pod) ? CHECKPOINT_ENDED : CHECKPOINT_LIVE;
	if (node_pods_is_elsewhere(&facts->node_pods, uid))
		return CHECKPOINT_REFUSED;
	if (node_pods_has_ended(&facts->node_pods, uid))
		return CHECKPOINT_ENDED;
	for (size_t i = 0; i < facts->devices->n_devices; i++) {
		if (previous_had_pod(facts->devices->devices[i].previous, uid))
			return CHECKPOINT_ENDED;
	}
	return CHECKPOINT_UNKNOWN;
}

/* Places */

static uint32_t hash_place(struct view id, struct view container, const struct pod *pod)
{
	return lookup_hash(lookup_hash(lookup_hash(0, id), container),
			   pod ? pod_uid(pod) : (struct view){0});
}

/* NULL: there is none. */
static struct checkpoint_place *find(const struct checkpoint_index *checkpoint, struct view id,
				     struct view container, const struct pod *pod)
{
	uint32_t at = lookup_first(&checkpoint->lookup, hash_place(id, container, pod));

	for (; at != LOOKUP_END; at = lookup_next(&checkpoint->lookup, at)) {
		struct checkpoint_place *place = &checkpoint->places[at];
		if (place->pod == pod && view_equal(place->id, id) &&
		    view_equal(place->container, container))
			return place;
	}
	return NULL;
}

static void add_place(struct checkpoint_index *checkpoint, struct checkpoint_place place)
{
	struct checkpoint_place *found = find(checkpoint, place.id, place.container, place.pod);

	if (found)
		found->standings |= place.standings;
	else
		checkpoint->places[lookup_add(&checkpoint->lookup,
					      hash_place(place.id, place.container, place.pod))] =
			place;
}

static void index_entry(const struct facts *facts, const struct report_checkpoint_entry *entry,
			struct checkpoint_index *checkpoint)
{
	const struct pod *pod = node_pods_find_uid(&facts->node_pods, entry->pod_uid);
	struct checkpoint_place place = {.container = entry->container,
					 .standings = judge(facts, entry->pod_uid, pod)};

	for (uint32_t i = 0; i < entry->device_ids.count; i++) {
		place.id = *ARRAY_AT(entry->device_ids, struct view, i);
		add_place(checkpoint, place);
	}
	if (place.standings != CHECKPOINT_LIVE)
		return;
	place.pod = pod;
	for (uint32_t i = 0; i < entry->device_ids.count; i++) {
		place.id = *ARRAY_AT(entry->device_ids, struct view, i);
		add_place(checkpoint, place);
	}
	place.id = (struct view){0};
	add_place(checkpoint, place);
}

static const struct report_checkpoint_entry *entry_at(const struct facts *facts, uint32_t i)
{
	return ARRAY_AT(facts->input->report->checkpoint.entries, struct report_checkpoint_entry, i);
}

int from_checkpoint_index(const struct facts_draft *draft, struct checkpoint_index *ret, struct error *err)
{
	const struct facts *facts = draft->facts;
	const uint32_t n_entries = facts->input->report->checkpoint.entries.count;
	size_t n = 0;

	*ret = (struct checkpoint_index){0};
	for (uint32_t i = 0; i < n_entries; i++)
		n += 2 * (size_t)entry_at(facts, i)->device_ids.count + 1;
	ret->places = arena_alloc(draft->arena, n, sizeof(*ret->places));
	if (!ret->places)
		return error_no_memory(err);
	if (lookup_make(&ret->lookup, n, draft->arena, err) < 0)
		return -1;
	for (uint32_t i = 0; i < n_entries; i++)
		index_entry(facts, entry_at(facts, i), ret);
	assert(ret->lookup.n <= n);
	return 0;
}

unsigned from_checkpoint_standings(const struct checkpoint_index *checkpoint, struct view id,
				   struct view container)
{
	const struct checkpoint_place *place = find(checkpoint, id, container, NULL);
	return place ? place->standings : 0;
}

bool from_checkpoint_names(const struct checkpoint_index *checkpoint, struct view id,
			   struct view container, const struct pod *pod)
{
	assert(pod);
	return find(checkpoint, id, container, pod);
}

void from_checkpoint_mark(struct checkpoint_index *checkpoint, struct view id, struct view container)
{
	struct checkpoint_place *place = find(checkpoint, id, container, NULL);
	if (place)
		place->is_marked = true;
}

/* Facts */

static bool is_left_over(const struct facts *facts, const struct checkpoint_index *checkpoint,
			 const struct report_checkpoint_entry *entry)
{
	for (uint32_t i = 0; i < entry->device_ids.count; i++) {
		const struct view id = *ARRAY_AT(entry->device_ids, struct view, i);
		if (find(checkpoint, id, entry->container, NULL)->is_marked)
			return false;
	}
	return facts->source.pod_resources == SOURCE_COMPLETE;
}

static void add_entry(struct facts_draft *draft, const struct report_checkpoint_entry *entry,
		      const struct pod *pod)
{
	struct holder *holder = facts_add_holder(
		draft, (struct holder){
			       .pod_uid = pod ? pod_uid(pod) : entry->pod_uid,
			       .container = entry->container,
			       .resource = entry->resource,
			       .pod = pod,
		       });
	const struct fact what = {
		.witnesses = WITNESS_CHECKPOINT,
		.mps = entry->mps ? FACT_MPS_USED : FACT_MPS_NOT_USED,
	};
	for (uint32_t i = 0; i < entry->device_ids.count; i++)
		facts_add(draft, holder, *ARRAY_AT(entry->device_ids, struct view, i), what);
}

static void read_entry(struct facts_draft *draft, const struct checkpoint_index *checkpoint,
		       const struct report_checkpoint_entry *entry)
{
	struct facts *facts = draft->facts;
	const struct pod *pod = node_pods_find_uid(&facts->node_pods, entry->pod_uid);
	const enum checkpoint_standing standing = judge(facts, entry->pod_uid, pod);

	/* When a pod is deleted on another node, it does not become one that nobody knows here. */
	if (standing == CHECKPOINT_REFUSED)
		facts->claims_refused++;
	if (!pod && standing != CHECKPOINT_UNKNOWN)
		facts->ended[facts->n_ended++] = entry->pod_uid;
	else if (standing == CHECKPOINT_LIVE ||
		 (standing == CHECKPOINT_UNKNOWN && !is_left_over(facts, checkpoint, entry)))
		add_entry(draft, entry, pod);
}

static int by_text(const void *a, const void *b)
{
	return view_compare(*(const struct view *)a, *(const struct view *)b);
}

static void sort_ended(struct facts *facts)
{
	size_t n = 0;
	qsort(facts->ended, facts->n_ended, sizeof(*facts->ended), by_text);
	for (size_t i = 0; i < facts->n_ended; i++) {
		if (n == 0 || !view_equal(facts->ended[n - 1], facts->ended[i]))
			facts->ended[n++] = facts->ended[i];
	}
	assert(n <= facts->n_ended);
	facts->n_ended = n;
}

int from_checkpoint_read(struct facts_draft *draft, const struct checkpoint_index *checkpoint,
			 struct error *err)
{
	struct facts *facts = draft->facts;
	const uint32_t n = facts->input->report->checkpoint.entries.count;

	facts->ended = arena_alloc(draft->arena, n, sizeof(*facts->ended));
	if (!facts->ended)
		return error_no_memory(err);
	for (uint32_t i = 0; i < n; i++)
		read_entry(draft, checkpoint, entry_at(facts, i));
	sort_ended(facts);
	return 0;
}
