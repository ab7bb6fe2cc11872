/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Names of pods and nodes tend to differ at their end, and say at their beginning what they are: so
 * both are kept. If texts then read the same, their end is replaced by a number: the place of the text
 * in their order.
 */

#include "kubectl/shorten.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubectl/printable.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define ARENA_BYTES ((size_t)1 << 30)

static int compare_full(const void *left, const void *right)
{
	const struct shorten_entry *a = left, *b = right;
	return view_compare(a->full, b->full);
}

static int compare_cut(const void *left, const void *right)
{
	const struct shorten_entry *a = left, *b = right;
	return view_compare(a->cut, b->cut);
}

/* The byte at which character n of a well-formed text begins. */
static size_t offset_of(struct view text, size_t n)
{
	size_t i = 0;
	for (; i < text.len; i++) {
		bool is_first = ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
		if (is_first && n-- == 0)
			break;
	}
	return i;
}

/* The beginning of the text and, behind an ellipsis, `end`: `width` characters in all. */
static bool cut(struct shorten *shorten, struct shorten_entry *entry, struct view end, size_t width)
{
	size_t head = offset_of(entry->full, width - 1 - printable_width(end));
	size_t len = head + sizeof(ELLIPSIS) - 1 + end.len;
	char *to = arena_alloc(&shorten->arena, len, 1);
	if (!to)
		return false;
	memcpy(to, entry->full.ptr, head);
	memcpy(to + head, ELLIPSIS, sizeof(ELLIPSIS) - 1);
	memcpy(to + len - end.len, end.ptr, end.len);
	entry->cut = (struct view){to, len};
	return true;
}

static bool cut_all(struct shorten *shorten, size_t width, bool is_numbered)
{
	char number[24];
	for (size_t i = 0; i < shorten->n; i++) {
		struct shorten_entry *entry = &shorten->entries[i];
		size_t n = printable_width(entry->full);
		struct view end = view_from_offset(entry->full,
						   offset_of(entry->full, n - width / 2));
		entry->cut = entry->full;
		if (n <= width)
			continue;
		if (is_numbered) {
			snprintf(number, sizeof(number), "~%zu", i + 1);
			end = view_from(number);
		}
		if (!cut(shorten, entry, end, width))
			return false;
	}
	return true;
}

static bool are_distinct(struct shorten *shorten, bool *ret)
{
	struct shorten_entry *entries =
		arena_alloc(&shorten->arena, shorten->n, sizeof(struct shorten_entry));
	if (!entries)
		return false;
	memcpy(entries, shorten->entries, shorten->n * sizeof(struct shorten_entry));
	qsort(entries, shorten->n, sizeof(struct shorten_entry), compare_cut);
	*ret = true;
	for (size_t i = 1; i < shorten->n; i++)
		*ret &= !view_equal(entries[i - 1].cut, entries[i].cut);
	return true;
}

/* Each text once, in order. */
static bool collect(struct shorten *shorten, const struct view *texts, size_t n)
{
	struct shorten_entry *entries =
		arena_alloc(&shorten->arena, n, sizeof(struct shorten_entry));
	if (!entries)
		return false;
	for (size_t i = 0; i < n; i++)
		entries[i].full = texts[i];
	qsort(entries, n, sizeof(struct shorten_entry), compare_full);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !view_equal(entries[i].full, entries[shorten->n - 1].full))
			entries[shorten->n++] = entries[i];
	}
	shorten->entries = entries;
	return true;
}

int shorten_init(struct shorten *shorten, const struct view *texts, size_t n, size_t width,
		 struct error *err)
{
	bool distinct;
	assert(width >= SHORTEN_MIN_WIDTH);
	*shorten = (struct shorten){0};
	arena_init(&shorten->arena, ARENA_BYTES);
	if (!collect(shorten, texts, n) || !cut_all(shorten, width, false) ||
	    !are_distinct(shorten, &distinct) || (!distinct && !cut_all(shorten, width, true)))
		return error_no_memory(err);
	return 0;
}

void shorten_deinit(struct shorten *shorten)
{
	arena_deinit(&shorten->arena);
}

struct view shorten_find(const struct shorten *shorten, struct view text)
{
	struct shorten_entry key = {.full = text};
	const struct shorten_entry *found = bsearch(&key, shorten->entries, shorten->n,
						    sizeof(struct shorten_entry), compare_full);
	assert(found);
	return found->cut;
}
