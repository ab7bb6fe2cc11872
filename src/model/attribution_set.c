/* SPDX-License-Identifier: Apache-2.0 */
#include "model/attribution_set.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "model/pod_set.h"
#include "model/resource_slice.h"

static const struct attribution_record *record_of(const struct record *record)
{
	return CONTAINER_OF(record, struct attribution_record, base);
}

/* quiet: the node state that need not be touched; NULL: there is none. */
static void touch(const struct attribution_set *set, const struct record *record, const struct record_event *event,
		  const struct node_state *quiet)
{
	struct view name = record_of(record)->attribution.name;
	const struct node_state *node_state;
	if (record->node_state != quiet)
		node_state_touch(set->records.node_states, record->node_state, event->is_initial);
	for (unsigned i = 0; (node_state = device_reporters_node_state(set->reporters, name, i)); i++)
		if (node_state != record->node_state && node_state != quiet)
			node_state_touch(set->records.node_states, node_state, event->is_initial);
}

bool attribution_set_is_named(const struct node_state *node_state, struct view uuid)
{
	return pod_set_names_device(node_state, uuid) || resource_slice_set_names_device(node_state, uuid);
}

/*
 * An object went. A node without an agent may have the device, and nothing will speak of it again: so
 * it is touched here. Nearly always an agent reports the device, or the object was that node's.
 */
static void touch_agentless(const struct attribution_set *set, const struct record *record,
			    const struct record_event *event)
{
	const struct attribution *object = &record_of(record)->attribution;
	const struct node_state *node_state = NULL;
	if (device_reporters_node_state(set->reporters, object->name, 0) ||
	    (record->node_state && !record->node_state->report &&
	     attribution_set_is_named(record->node_state, object->uuid)))
		return;
	while ((node_state = node_state_next(set->records.node_states, node_state)))
		if (!node_state->report && attribution_set_is_named(node_state, object->uuid))
			node_state_touch(set->records.node_states, node_state, event->is_initial);
}

static void tell(const struct attribution_set *set, const struct record *old, const struct record *now)
{
	for (size_t i = 0; i < ATTRIBUTION_SET_LISTENERS; i++)
		if (set->listeners[i].changed)
			set->listeners[i].changed(set->listeners[i].owner, old ? &record_of(old)->attribution : NULL,
						  now ? &record_of(now)->attribution : NULL);
}

static bool is_expected(const struct attribution_set *set, const struct record *now)
{
	return now && now->node_state && set->expected &&
	       set->expected(set->expected_owner, now->node_state->name, &record_of(now)->attribution);
}

static void change(struct record_set *records, struct record *old, struct record *base,
		   const struct record_event *event)
{
	const struct attribution_set *set = CONTAINER_OF(records, struct attribution_set, records);
	const struct node_state *quiet = is_expected(set, base) ? base->node_state : NULL;
	struct attribution_record *record;
	if (old)
		touch(set, old, event, quiet);
	if (!base) {
		touch_agentless(set, old, event);
		tell(set, old, NULL);
		return;
	}
	record = CONTAINER_OF(base, struct attribution_record, base);
	arena_join(&record->arena, record->take);
	if (base->node_state)
		list_append(&base->node_state->attributions, &base->link);
	touch(set, base, event, quiet);
	tell(set, old, base);
}

static void free_record(struct record_set *records, struct record *base)
{
	struct attribution_record *record = CONTAINER_OF(base, struct attribution_record, base);
	(void)records;
	arena_deinit(&record->arena);
	free(record);
}

static const struct record_kind kind = {
	.change = change,
	.free = free_record,
};

void attribution_set_init(struct attribution_set *set, struct node_state_set *node_states,
			  const struct device_reporters *reporters)
{
	*set = (struct attribution_set){0};
	record_set_init(&set->records, &kind, node_states);
	set->reporters = reporters;
}

void attribution_set_listen(struct attribution_set *set, attribution_set_fn changed, void *owner)
{
	size_t i = 0;
	while (i < ATTRIBUTION_SET_LISTENERS && set->listeners[i].changed)
		i++;
	assert(i < ATTRIBUTION_SET_LISTENERS);
	set->listeners[i].changed = changed;
	set->listeners[i].owner = owner;
}

void attribution_set_leave(struct attribution_set *set, const void *owner)
{
	for (size_t i = 0; i < ATTRIBUTION_SET_LISTENERS; i++)
		if (set->listeners[i].owner == owner)
			set->listeners[i].changed = NULL;
}

int attribution_set_put(struct attribution_set *set, const struct attribution *attribution,
			struct arena *take_arena, const struct record_event *event, struct error *err)
{
	struct attribution_record *record = calloc(1, sizeof(*record));
	if (!record)
		return error_no_memory(err);
	arena_init(&record->arena, LIMIT_OBJECT_BYTES);
	record->take = take_arena;
	record->attribution = *attribution;
	record->base.key = attribution->name;
	return record_set_put(&set->records, &record->base, attribution->status.node_name, event, err);
}

const struct attribution_record *attribution_set_find(const struct attribution_set *set, struct view name)
{
	const struct record *record = record_set_find(&set->records, name);
	return record ? record_of(record) : NULL;
}
