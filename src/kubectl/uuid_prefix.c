/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In order, a UUID has the longest beginning in common with one of its two neighbours. UUIDs are
 * added in any order and sorted when the first is looked up after that.
 */

#include "kubectl/uuid_prefix.h"

#include <stdlib.h>

#include "base/limits.h"

#define PREFIX_LEN 4 /* "GPU-", "MIG-" */

void uuid_prefix_init(struct uuid_prefix *known)
{
	*known = (struct uuid_prefix){0};
	arena_init(&known->arena, LIMIT_MIB * 256u);
}

void uuid_prefix_deinit(struct uuid_prefix *known)
{
	arena_deinit(&known->arena);
	free(known->names);
	known->names = NULL;
}

static void copy_lower(struct view text, char *to)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		to[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
}

/* The place of the first of the sorted names that does not come before the name. */
static size_t find(const struct uuid_prefix *known, struct view name)
{
	size_t low = 0, high = known->n_sorted;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (view_compare(known->names[middle], name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_known(const struct uuid_prefix *known, struct view name)
{
	size_t i = find(known, name);
	return i < known->n_sorted && view_equal(known->names[i], name);
}

static int make_room(struct uuid_prefix *known, struct error *err)
{
	if (known->n_names < known->room)
		return 0;
	if (known->n_names >= UUID_PREFIX_MAX_DEVICES)
		return error_set(err, ERROR_LIMIT, 0, "more than %u devices",
				 UUID_PREFIX_MAX_DEVICES);
	size_t room = known->room > 0 ? 2 * known->room : 64;
	struct view *names = reallocarray(known->names, room, sizeof(*names));
	if (!names)
		return error_no_memory(err);
	known->names = names;
	known->room = room;
	return 0;
}

int uuid_prefix_add(struct uuid_prefix *known, struct view uuid, struct error *err)
{
	char *name = arena_alloc(&known->arena, uuid.len, 1);
	if (!name)
		return error_no_memory(err);
	copy_lower(uuid, name);
	if (is_known(known, (struct view){name, uuid.len}))
		return 0;
	if (make_room(known, err) != 0)
		return -1;
	known->names[known->n_names++] = (struct view){name, uuid.len};
	return 0;
}

static int compare(const void *left, const void *right)
{
	return view_compare(*(const struct view *)left, *(const struct view *)right);
}

static void sort(struct uuid_prefix *known)
{
	size_t n = 0;
	if (known->n_sorted == known->n_names)
		return;
	qsort(known->names, known->n_names, sizeof(struct view), compare);
	for (size_t i = 0; i < known->n_names; i++) {
		if (n == 0 || !view_equal(known->names[n - 1], known->names[i]))
			known->names[n++] = known->names[i];
	}
	known->n_names = n;
	known->n_sorted = n;
}

/* The characters that a UUID needs to differ from a name, which is in lower case. */
static size_t needed(struct view uuid, struct view name)
{
	size_t i = 0;
	while (i < uuid.len && i < name.len &&
	       view_equal_ignoring_case((struct view){uuid.ptr + i, 1}, (struct view){name.ptr + i, 1}))
		i++;
	return i == uuid.len && i == name.len ? 0 : i + 1;
}

size_t uuid_prefix_len(struct uuid_prefix *known, struct view uuid)
{
	char name[256];
	size_t len = UUID_PREFIX_MIN;
	if (uuid.len > sizeof(name))
		return uuid.len;
	sort(known);
	copy_lower(uuid, name);
	size_t at = find(known, (struct view){name, uuid.len});
	/* The name itself is at `at`, if it is known. */
	for (size_t i = at > 0 ? at - 1 : 0; i < known->n_sorted && i <= at + 1; i++) {
		size_t n = needed(uuid, known->names[i]);
		if (n > len)
			len = n;
	}
	return len < uuid.len ? len : uuid.len;
}

static bool begins(struct view uuid, struct view text)
{
	return uuid.len >= text.len &&
	       view_equal_ignoring_case((struct view){uuid.ptr, text.len}, text);
}

static bool fits(struct view uuid, struct view text)
{
	return begins(uuid, text) ||
	       (uuid.len > PREFIX_LEN && begins(view_from_offset(uuid, PREFIX_LEN), text));
}

bool uuid_prefix_fits(struct view text, const struct attribution *device)
{
	if (fits(device->uuid, text))
		return true;
	for (uint32_t i = 0; i < device->status.partitions.count; i++) {
		const struct attribution_partition *partition = ARRAY_AT(
			device->status.partitions, struct attribution_partition, i);
		if (fits(partition->uuid, text))
			return true;
	}
	return false;
}

bool uuid_prefix_object_name(struct view text, char ret[static UUID_PREFIX_NAME_SIZE])
{
	if (text.len != UUID_PREFIX_NAME_SIZE - 1 || !begins(text, VIEW("gpu-")))
		return false;
	copy_lower(text, ret);
	ret[text.len] = '\0';
	return true;
}
