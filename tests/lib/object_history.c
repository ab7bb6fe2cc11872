/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/object_history.h"

#include <assert.h>
#include <string.h>

void object_history_init(struct object_history *history)
{
	history->version = history->compacted = OBJECT_HISTORY_FIRST;
	history->ceiling = 0;
	history->n_serials = 0;
	history->n_changes = 0;
	memset(history->objects, 0, sizeof(history->objects));
}

static bool was_given(const struct object_history *history, unsigned name, uint64_t version)
{
	for (size_t i = 0; i < history->n_changes; i++) {
		const struct object_history_change *change = &history->changes[i];
		if (change->is_lost && change->name == name && change->state.version == version)
			return true;
	}
	return false;
}

/*
 * The version of the next change of this object; 0: there may be none. One that the object had before the
 * restoration is left out: base/store.h takes an object of the same version for the same.
 */
static uint64_t next_version(const struct object_history *history, unsigned name)
{
	uint64_t version = history->version + 1;
	while (was_given(history, name, version))
		version++;
	if (history->n_changes == OBJECT_HISTORY_CHANGES ||
	    (history->ceiling > 0 && version >= history->ceiling))
		return 0;
	return version;
}

static void keep(struct object_history *history, enum object_history_type type, unsigned name,
		 const struct object_state *state)
{
	history->version = state->version;
	history->changes[history->n_changes++] =
		(struct object_history_change){type, name, false, *state};
}

void object_history_put(struct object_history *history, unsigned name)
{
	struct object_state *object = &history->objects[name];
	uint64_t version = next_version(history, name);
	bool is_new = object->serial == 0;
	if (version == 0)
		return;
	object->serial = ++history->n_serials;
	object->version = version;
	if (is_new)
		object->born = object->serial;
	keep(history, is_new ? OBJECT_HISTORY_ADDED : OBJECT_HISTORY_MODIFIED, name, object);
}

void object_history_delete(struct object_history *history, unsigned name)
{
	struct object_state last = history->objects[name];
	last.version = next_version(history, name);
	if (last.serial == 0 || last.version == 0)
		return;
	history->objects[name] = (struct object_state){0};
	keep(history, OBJECT_HISTORY_DELETED, name, &last);
}

void object_history_pass(struct object_history *history, unsigned n)
{
	if (history->ceiling == 0 || history->version + n < history->ceiling)
		history->version += n;
}

void object_history_compact(struct object_history *history, uint64_t version)
{
	assert(version <= history->version);
	if (version > history->compacted)
		history->compacted = version;
}

void object_history_restore(struct object_history *history, uint64_t version)
{
	assert(version >= history->compacted && version <= history->version);
	for (size_t i = 0; i < history->n_changes; i++)
		history->changes[i].is_lost |= history->changes[i].state.version > version;
	history->version = version;
	object_history_at(history, version, history->objects);
}

void object_history_at(const struct object_history *history, uint64_t version,
		       struct object_state ret[OBJECT_HISTORY_NAMES])
{
	memset(ret, 0, OBJECT_HISTORY_NAMES * sizeof(ret[0]));
	for (size_t i = 0; i < history->n_changes; i++) {
		const struct object_history_change *change = &history->changes[i];
		if (change->is_lost || change->state.version > version)
			continue;
		ret[change->name] = change->type == OBJECT_HISTORY_DELETED ? (struct object_state){0}
									   : change->state;
	}
}

const struct object_history_change *object_history_after(const struct object_history *history,
							 uint64_t version)
{
	const struct object_history_change *first = NULL;
	for (size_t i = history->n_changes; i-- > 0;) {
		const struct object_history_change *change = &history->changes[i];
		if (change->is_lost)
			continue;
		if (change->state.version <= version)
			break;
		first = change;
	}
	return first;
}
