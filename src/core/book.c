/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A UID that the API server does not know is one that it does not know yet or no more. That it is
 * the latter is told by the list of ended pods and, after a restart of the controller, by what was
 * published: a pod that was a tenant was known once.
 */

#include "core/book.h"

#include <stdlib.h>

struct reader {
	const struct join_input *input;
	const struct census *census;
	const struct roster *roster;
};

static bool contains(const struct view *uids, size_t n, struct view uid)
{
	for (size_t i = 0; i < n; i++) {
		if (view_equal(uids[i], uid))
			return true;
	}
	return false;
}

static bool was_tenant(const struct attribution_status *status, struct view uid)
{
	for (uint32_t i = 0; i < status->tenants.count; i++) {
		const struct attribution_tenant *t =
			ARRAY_AT(status->tenants, struct attribution_tenant, i);
		if (t->phase != ATTRIBUTION_PHASE_PENDING &&
		    t->phase != ATTRIBUTION_PHASE_UNRESOLVED && view_equal(t->pod_uid, uid))
			return true;
	}
	for (uint32_t i = 0; i < status->recent_tenants.count; i++) {
		if (view_equal(ARRAY_AT(status->recent_tenants, struct attribution_past_tenant, i)
				       ->pod_uid,
			       uid))
			return true;
	}
	return false;
}

/* A UID is one pod's wherever it was: the objects of cards that came from elsewhere count too. */
static bool has_ended(const struct reader *reader, struct view uid)
{
	if (contains(reader->input->ended, reader->input->n_ended, uid))
		return true;
	for (size_t i = 0; i < reader->roster->n_devices; i++) {
		const struct join_previous *previous = reader->roster->devices[i].previous;
		if (previous && was_tenant(&previous->object->status, uid))
			return true;
	}
	return false;
}

static enum book_standing judge(const struct reader *reader, struct view uid,
				const struct pod *pod)
{
	if (pod)
		return pod_is_over(pod) ? BOOK_ENDED : BOOK_LIVE;
	if (contains(reader->input->elsewhere, reader->input->n_elsewhere, uid))
		return BOOK_REFUSED;
	return has_ended(reader, uid) ? BOOK_ENDED : BOOK_UNKNOWN;
}

static void read_entries(const struct reader *reader, struct book *book)
{
	const struct array entries = reader->input->report->checkpoint.entries;
	for (uint32_t i = 0; i < entries.count; i++) {
		const struct report_checkpoint_entry *said =
			ARRAY_AT(entries, struct report_checkpoint_entry, i);
		const struct pod *pod = census_find_uid(reader->census, said->pod_uid);
		book->entries[book->n_entries++] = (struct book_entry){
			.said = said,
			.pod = pod,
			.standing = judge(reader, said->pod_uid, pod),
		};
	}
}

static int by_id(const void *a, const void *b)
{
	const struct book_ref *x = a, *y = b;
	int order = view_compare(x->id, y->id);
	return order ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

static void index_ids(struct book *book)
{
	for (uint32_t i = 0; i < book->n_entries; i++) {
		const struct array ids = book->entries[i].said->device_ids;
		for (uint32_t j = 0; j < ids.count; j++)
			book->refs[book->n_refs++] =
				(struct book_ref){*ARRAY_AT(ids, struct view, j), i};
	}
	qsort(book->refs, book->n_refs, sizeof(*book->refs), by_id);
}

static size_t count_ids(struct array entries)
{
	size_t n = 0;
	for (uint32_t i = 0; i < entries.count; i++)
		n += ARRAY_AT(entries, struct report_checkpoint_entry, i)->device_ids.count;
	return n;
}

int book_read(const struct census *census, const struct roster *roster, struct arena *arena,
	      struct book *ret_book, struct error *err)
{
	const struct reader reader = {census->input, census, roster};
	const struct array entries = census->input->report->checkpoint.entries;
	struct book book = {0};

	book.entries = arena_alloc(arena, entries.count, sizeof(*book.entries));
	book.refs = arena_alloc(arena, count_ids(entries), sizeof(*book.refs));
	if (!book.entries || !book.refs)
		return error_no_memory(err);
	read_entries(&reader, &book);
	index_ids(&book);
	*ret_book = book;
	return 0;
}

/* Index of the first reference to that ID, or where it would be. */
static size_t find_id(const struct book *book, struct view id)
{
	size_t low = 0, high = book->n_refs;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (view_compare(book->refs[middle].id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* *at is one more than the index of the reference that was looked at last. */
struct book_entry *book_next(const struct book *book, struct view id, struct view container,
			     size_t *at)
{
	size_t i = *at > 0 ? *at : find_id(book, id);
	for (; i < book->n_refs && view_equal(book->refs[i].id, id); i++) {
		struct book_entry *entry = &book->entries[book->refs[i].entry];
		if (view_equal(entry->said->container, container)) {
			*at = i + 1;
			return entry;
		}
	}
	return NULL;
}

bool book_has(const struct book *book, const struct pod *pod, struct view container,
	      bool supported)
{
	for (uint32_t i = 0; i < book->n_entries; i++) {
		const struct book_entry *entry = &book->entries[i];
		if (entry->pod == pod && (entry->is_supported || !supported) &&
		    view_equal(entry->said->container, container))
			return true;
	}
	return false;
}
