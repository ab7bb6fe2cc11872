/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_finder.h"

#include "base/limits.h"

#define API_VERSION "gpuattribution.dev/v1alpha1"
#define MAX_CHANGES (LIMIT_EVENT_PODS + 8u)

static const bool warnings[] = {
#define IS_WARNING true
#define IS_NORMAL false
#define IS(name, reason, type, ...) IS_##type,
	EVENT_TABLE(IS)
};

struct kube_event_object event_finder_object_of(struct view name, struct view uid)
{
	return (struct kube_event_object){
		.api_version = VIEW(API_VERSION), .kind = VIEW("GPUAttribution"), .name = name, .uid = uid};
}

struct kube_event_object event_finder_object(const struct event_finder *finder)
{
	return event_finder_object_of(finder->device->name, finder->device->previous->uid);
}

static uint64_t hash_change(enum event_type type, const struct kube_event_object *regarding,
			    uint64_t what)
{
	uint64_t hash = event_note_hash_text(EVENT_NOTE_BASIS, event_change_reason(type));

	hash = event_note_hash_text(hash, regarding->name);
	hash = event_note_hash_text(hash, regarding->uid);
	return event_note_hash_number(hash, (int64_t)what);
}

struct event_change event_finder_make(enum event_type type,
				       const struct kube_event_object *regarding, uint64_t topic,
				       int64_t when)
{
	return (struct event_change){
		.type = type,
		.is_warning = warnings[type],
		.regarding = *regarding,
		.id = event_note_hash_number(hash_change(type, regarding, topic), when),
		.topic = topic,
		.count = 1,
	};
}

static void copy_text(struct event_finder *finder, struct view *text)
{
	if (!arena_copy(finder->arena, *text, text))
		error_no_memory(&finder->err);
}

static void copy_object(struct event_finder *finder, struct kube_event_object *object)
{
	copy_text(finder, &object->namespace);
	copy_text(finder, &object->name);
	copy_text(finder, &object->uid);
}

/* Adds it, with the note as it is by now. */
void event_finder_add(struct event_finder *finder, struct event_change change)
{
	if (!finder->changes && finder->err.kind == ERROR_NONE) {
		finder->changes = arena_alloc(finder->arena, MAX_CHANGES, sizeof(*finder->changes));
		if (!finder->changes)
			error_no_memory(&finder->err);
	}
	if (finder->err.kind != ERROR_NONE || finder->n == MAX_CHANGES)
		return;
	copy_object(finder, &change.regarding);
	copy_object(finder, &change.related);
	if (event_note_take(&finder->note, finder->arena, &change.note, &finder->err) == 0)
		finder->changes[finder->n++] = change;
}
