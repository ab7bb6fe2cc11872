/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The API server does not know a UID yet, or no more. The list of ended pods tells which and, after
 * a restart of the controller, what was published: a pod that was a tenant was known once.
 *
 * A report can name one ID in thousands of entries of both sources. So there is one place for each
 * ID and container name, and one for each of these and live pod, sorted, and found without a walk
 * over entries. A live pod's container itself has the place of the empty ID.
 */

#include "join/checkpoint_index.h"

#include <assert.h>
#include <stdlib.h>

struct checkpoint_index_place {
	struct view id;
	struct view container;
	const struct pod *pod; /* live; NULL: whosever */
	unsigned standings;    /* 1 << enum checkpoint_standing */
	bool is_marked;
};

static enum checkpoint_standing judge(const struct node_pods *node_pods,
				      const struct previous_index *previous,
				      struct view uid, const struct pod *pod)
{
	if (pod)
		return pod_is_over(pod) ? CHECKPOINT_ENDED : CHECKPOINT_LIVE;
	if (node_pods_is_elsewhere(node_pods, uid))
		return CHECKPOINT_REFUSED;
	return node_pods_has_ended(node_pods, uid) || previous_index_has(previous, uid)
		       ? CHECKPOINT_ENDED
		       : CHECKPOINT_UNKNOWN;
}

static int compare_places(const void *a, const void *b)
{
	const struct checkpoint_index_place *x = a, *y = b;
	int order = view_compare(x->id, y->id);

	if (!order)
		order = view_compare(x->container, y->container);
	if (!order && x->pod && y->pod)
		order = view_compare(pod_uid(x->pod), pod_uid(y->pod));
	return order ? order : !!x->pod - !!y->pod;
}

static size_t count_places(const struct checkpoint_index_entry *entry)
{
	const size_t n_ids = entry->said->device_ids.count;
	return entry->standing == CHECKPOINT_LIVE ? 2 * n_ids + 1 : n_ids;
}

static void add_places(struct checkpoint_index *index, const struct checkpoint_index_entry *entry)
{
	const struct array ids = entry->said->device_ids;
	struct checkpoint_index_place place = {
		.container = entry->said->container,
		.standings = 1u << entry->standing,
	};
	struct checkpoint_index_place *next = &index->places[index->n_places];

	for (uint32_t i = 0; i < ids.count; i++) {
		place.id = *ARRAY_AT(ids, struct view, i);
		*next++ = place;
	}
	place.pod = entry->pod;
	for (uint32_t i = 0; entry->standing == CHECKPOINT_LIVE && i <= ids.count; i++) {
		place.id = i > 0 ? *ARRAY_AT(ids, struct view, i - 1) : (struct view){0};
		*next++ = place;
	}
	index->n_places = (size_t)(next - index->places);
}

static void sort_places(struct checkpoint_index *index)
{
	struct checkpoint_index_place *places = index->places;
	size_t n = 0;

	qsort(places, index->n_places, sizeof(*places), compare_places);
	for (size_t i = 0; i < index->n_places; i++) {
		if (n > 0 && compare_places(&places[n - 1], &places[i]) == 0)
			places[n - 1].standings |= places[i].standings;
		else
			places[n++] = places[i];
	}
	assert(n <= index->n_places);
	index->n_places = n;
}

int checkpoint_index_make(const struct node_pods *node_pods, const struct previous_index *previous,
			  struct arena *arena, struct checkpoint_index *ret_index,
			  struct error *err)
{
	const struct array said = node_pods->input->report->checkpoint.entries;
	struct checkpoint_index index = {.n_entries = said.count};
	size_t n = 0;

	index.entries = arena_alloc(arena, said.count, sizeof(*index.entries));
	if (!index.entries)
		return error_no_memory(err);
	for (uint32_t i = 0; i < said.count; i++) {
		struct checkpoint_index_entry *entry = &index.entries[i];
		entry->said = ARRAY_AT(said, struct report_checkpoint_entry, i);
		entry->pod = node_pods_find_uid(node_pods, entry->said->pod_uid);
		entry->standing = judge(node_pods, previous, entry->said->pod_uid, entry->pod);
		n += count_places(entry);
	}
	index.places = arena_alloc(arena, n, sizeof(*index.places));
	if (!index.places)
		return error_no_memory(err);
	for (uint32_t i = 0; i < said.count; i++)
		add_places(&index, &index.entries[i]);
	assert(index.n_places == n);
	sort_places(&index);
	*ret_index = index;
	return 0;
}

/* NULL: there is none. */
static struct checkpoint_index_place *find(const struct checkpoint_index *index, struct view id,
					   struct view container, const struct pod *pod)
{
	const struct checkpoint_index_place key = {.id = id, .container = container, .pod = pod};
	return bsearch(&key, index->places, index->n_places, sizeof(key), compare_places);
}

unsigned checkpoint_index_standings(const struct checkpoint_index *index, struct view id,
				    struct view container)
{
	const struct checkpoint_index_place *place = find(index, id, container, NULL);
	return place ? place->standings : 0;
}

bool checkpoint_index_names(const struct checkpoint_index *index, struct view id,
			    struct view container, const struct pod *pod)
{
	assert(pod);
	return find(index, id, container, pod);
}

void checkpoint_index_mark(struct checkpoint_index *index, struct view id, struct view container,
			   const struct pod *pod)
{
	struct checkpoint_index_place *place = find(index, id, container, pod);

	if (!place)
		return;
	place->is_marked = true;
	if (pod)
		find(index, (struct view){0}, container, pod)->is_marked = true;
}

bool checkpoint_index_is_marked(const struct checkpoint_index *index,
				const struct checkpoint_index_entry *entry)
{
	const struct array ids = entry->said->device_ids;

	assert(entry->standing != CHECKPOINT_LIVE);
	for (uint32_t i = 0; i < ids.count; i++) {
		struct view id = *ARRAY_AT(ids, struct view, i);
		if (find(index, id, entry->said->container, NULL)->is_marked)
			return true;
	}
	return false;
}

bool checkpoint_index_agrees(const struct checkpoint_index *index, const struct pod *pod,
			     struct view container)
{
	const struct checkpoint_index_place *place = find(index, (struct view){0}, container, pod);
	assert(pod);
	return place && place->is_marked;
}
