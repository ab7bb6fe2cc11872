/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A UID that the API server does not know is one that it does not know yet or no more. That it is
 * the latter is told by the list of ended pods and, after a restart of the controller, by what was
 * published: a pod that was a tenant was known once.
 *
 * One report can name one ID in thousands of entries of either book. So what is asked for is kept
 * once for each ID and container name, and once for each of those in the hands of a pod: no question
 * takes a walk over entries.
 */

#include "join/book.h"

#include <assert.h>

struct book_place {
	struct view id;
	struct view container;
	uint8_t standings; /* 1 << enum book_standing */
	bool is_supported; /* as that of a pod that is not known */
};

struct book_tie {
	const struct pod *pod;
	uint32_t place;
	bool is_supported;
};

struct book_held {
	const struct pod *pod;
	struct view container;
	bool is_supported;
};

struct reader {
	const struct node_pods *node_pods;
	const struct past *past;
	struct lookup ended, elsewhere; /* UIDs of the input */
};

/* Standings */

static int index_uids(const struct view *uids, size_t n, struct arena *arena,
		      struct lookup *ret_lookup, struct error *err)
{
	if (lookup_make(ret_lookup, n, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		lookup_add(ret_lookup, lookup_hash(0, uids[i]));
	return 0;
}

static bool contains(const struct lookup *lookup, const struct view *uids, struct view uid)
{
	uint32_t at = lookup_first(lookup, lookup_hash(0, uid));

	while (at != LOOKUP_END && !view_equal(uids[at], uid))
		at = lookup_next(lookup, at);
	return at != LOOKUP_END;
}

static enum book_standing judge(const struct reader *reader, struct view uid, const struct pod *pod)
{
	const struct join_input *input = reader->node_pods->input;

	if (pod)
		return pod_is_over(pod) ? BOOK_ENDED : BOOK_LIVE;
	if (contains(&reader->elsewhere, input->elsewhere, uid))
		return BOOK_REFUSED;
	return contains(&reader->ended, input->ended, uid) || past_has(reader->past, uid)
		       ? BOOK_ENDED
		       : BOOK_UNKNOWN;
}

static void read_entries(const struct reader *reader, struct book *book)
{
	const struct array entries = reader->node_pods->input->report->checkpoint.entries;
	for (uint32_t i = 0; i < entries.count; i++) {
		const struct report_checkpoint_entry *said = ARRAY_AT(
			entries, struct report_checkpoint_entry, i);
		const struct pod *pod = node_pods_find_uid(reader->node_pods, said->pod_uid);
		book->entries[book->n_entries++] = (struct book_entry){
			.said = said,
			.pod = pod,
			.standing = judge(reader, said->pod_uid, pod),
		};
	}
}

/* What is kept of IDs */

static uint32_t hash_place(struct view id, struct view container)
{
	return lookup_hash(lookup_hash(0, container), id);
}

static uint32_t find_place(const struct book *book, uint32_t hash, struct view id,
			   struct view container)
{
	uint32_t at = lookup_first(&book->places, hash);

	while (at != LOOKUP_END && !(view_equal(book->place_items[at].id, id) &&
				     view_equal(book->place_items[at].container, container)))
		at = lookup_next(&book->places, at);
	return at;
}

static uint32_t add_place(struct book *book, struct view id, struct view container)
{
	uint32_t hash = hash_place(id, container);
	uint32_t at = find_place(book, hash, id, container);

	if (at == LOOKUP_END) {
		at = lookup_add(&book->places, hash);
		book->place_items[at] = (struct book_place){.id = id, .container = container};
	}
	return at;
}

static uint32_t hash_pod(uint32_t hash, const struct pod *pod)
{
	return lookup_hash(hash, pod_uid(pod));
}

/* At LOOKUP_END, the place of what is not in the checkpoint, there is none. */
static uint32_t find_tie(const struct book *book, uint32_t place, const struct pod *pod)
{
	uint32_t at = lookup_first(&book->ties, hash_pod(place, pod));

	while (at != LOOKUP_END &&
	       !(book->tie_items[at].place == place && book->tie_items[at].pod == pod))
		at = lookup_next(&book->ties, at);
	return at;
}

static uint32_t add_tie(struct book *book, uint32_t place, const struct pod *pod)
{
	uint32_t at = find_tie(book, place, pod);

	if (at == LOOKUP_END) {
		at = lookup_add(&book->ties, hash_pod(place, pod));
		book->tie_items[at] = (struct book_tie){.place = place, .pod = pod};
	}
	return at;
}

static struct book_held *find_held(const struct book *book, const struct pod *pod,
				   struct view container)
{
	uint32_t at = lookup_first(&book->helds, hash_pod(lookup_hash(0, container), pod));

	for (; at != LOOKUP_END; at = lookup_next(&book->helds, at)) {
		struct book_held *held = &book->held_items[at];
		if (held->pod == pod && view_equal(held->container, container))
			return held;
	}
	return NULL;
}

/* Of those that are added more than once the last is the one that is found. */
static void add_held(struct book *book, const struct pod *pod, struct view container)
{
	uint32_t hash = hash_pod(lookup_hash(0, container), pod);

	book->held_items[lookup_add(&book->helds, hash)] = (struct book_held){
		.pod = pod, .container = container};
}

static void index_entry(struct book *book, const struct book_entry *entry)
{
	const struct array ids = entry->said->device_ids;

	assert(entry->standing < BOOK_N_STANDINGS);
	assert(entry->standing != BOOK_LIVE || entry->pod);
	for (uint32_t i = 0; i < ids.count; i++) {
		uint32_t place = add_place(book, *ARRAY_AT(ids, struct view, i),
					   entry->said->container);
		book->place_items[place].standings |= (uint8_t)(1u << entry->standing);
		book->refs[book->n_ids++] = entry->standing == BOOK_LIVE
						    ? add_tie(book, place, entry->pod)
						    : place;
	}
	if (entry->standing == BOOK_LIVE)
		add_held(book, entry->pod, entry->said->container);
}

/* Making it */

static size_t count_ids(struct array entries)
{
	size_t n = 0;
	for (uint32_t i = 0; i < entries.count; i++)
		n += ARRAY_AT(entries, struct report_checkpoint_entry, i)->device_ids.count;
	return n;
}

static int make_room(struct book *book, struct array entries, struct arena *arena,
		     struct error *err)
{
	size_t n_ids = count_ids(entries);

	book->entries = arena_alloc(arena, entries.count, sizeof(*book->entries));
	book->held_items = arena_alloc(arena, entries.count, sizeof(*book->held_items));
	book->place_items = arena_alloc(arena, n_ids, sizeof(*book->place_items));
	book->tie_items = arena_alloc(arena, n_ids, sizeof(*book->tie_items));
	book->refs = arena_alloc(arena, n_ids, sizeof(*book->refs));
	if (!book->entries || !book->held_items || !book->place_items || !book->tie_items ||
	    !book->refs)
		return error_no_memory(err);
	if (lookup_make(&book->places, n_ids, arena, err) < 0 ||
	    lookup_make(&book->ties, n_ids, arena, err) < 0)
		return -1;
	return lookup_make(&book->helds, entries.count, arena, err);
}

int book_read(const struct node_pods *node_pods, const struct past *past, struct arena *arena,
	      struct book *ret_book, struct error *err)
{
	const struct join_input *input = node_pods->input;
	struct reader reader = {.node_pods = node_pods, .past = past};
	struct book book = {0};

	if (make_room(&book, input->report->checkpoint.entries, arena, err) < 0 ||
	    index_uids(input->ended, input->n_ended, arena, &reader.ended, err) < 0 ||
	    index_uids(input->elsewhere, input->n_elsewhere, arena, &reader.elsewhere, err) < 0)
		return -1;
	read_entries(&reader, &book);
	for (uint32_t i = 0; i < book.n_entries; i++)
		index_entry(&book, &book.entries[i]);
	assert(book.n_entries == input->report->checkpoint.entries.count);
	*ret_book = book;
	return 0;
}

/* Asking it */

unsigned book_standings(const struct book *book, struct view id, struct view container)
{
	uint32_t at = find_place(book, hash_place(id, container), id, container);
	return at != LOOKUP_END ? book->place_items[at].standings : 0;
}

bool book_names(const struct book *book, struct view id, struct view container,
		const struct pod *pod)
{
	uint32_t place = find_place(book, hash_place(id, container), id, container);
	return find_tie(book, place, pod) != LOOKUP_END;
}

void book_support(struct book *book, struct view id, struct view container, const struct pod *pod)
{
	uint32_t place = find_place(book, hash_place(id, container), id, container);
	uint32_t tie = pod ? find_tie(book, place, pod) : LOOKUP_END;

	if (tie != LOOKUP_END)
		book->tie_items[tie].is_supported = true;
	else if (place != LOOKUP_END && !pod)
		book->place_items[place].is_supported = true;
}

void book_settle(struct book *book)
{
	const uint32_t *ref = book->refs;

	for (uint32_t i = 0; i < book->n_entries; i++) {
		struct book_entry *entry = &book->entries[i];
		for (uint32_t n = entry->said->device_ids.count; n > 0; n--, ref++)
			entry->is_supported |= entry->standing == BOOK_LIVE
						       ? book->tie_items[*ref].is_supported
						       : book->place_items[*ref].is_supported;
		if (entry->is_supported && entry->standing == BOOK_LIVE)
			find_held(book, entry->pod, entry->said->container)->is_supported = true;
	}
	assert(ref == book->refs + book->n_ids);
}

bool book_has(const struct book *book, const struct pod *pod, struct view container, bool supported)
{
	const struct book_held *held = find_held(book, pod, container);
	return held && (held->is_supported || !supported);
}
