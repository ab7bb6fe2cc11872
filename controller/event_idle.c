/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_idle.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "controller/event_note.h"

#define ARENA_CAP (64u * LIMIT_KIB)
/* Numbers that are looked for in one place, newest first. */
#define GROUP 16u

int event_idle_init(struct event_idle *idle, int64_t after_ms, int64_t wall_ms, struct error *err)
{
	*idle = (struct event_idle){.after_ms = after_ms, .looked_at = wall_ms};
	idle->told = calloc(2 * LIMIT_EVENT_TENANCIES, sizeof(*idle->told));
	if (!idle->told)
		return error_no_memory(err);
	idle->seen = idle->told + LIMIT_EVENT_TENANCIES;
	return 0;
}

void event_idle_deinit(struct event_idle *idle)
{
	free(idle->told);
}

static uint64_t hash_holding(const struct attribution *object,
			     const struct event_changes_holding *holding)
{
	return event_changes_hash_holding(event_note_hash_text(EVENT_NOTE_BASIS, object->uid),
					  holding);
}

static uint64_t hash_version(const struct attribution *object)
{
	return event_note_hash_text(event_note_hash_text(EVENT_NOTE_BASIS, object->uid),
				    object->resource_version);
}

/* False: it was known. */
static bool learn(uint64_t *known, uint64_t hash)
{
	uint64_t *group = &known[hash % (LIMIT_EVENT_TENANCIES / GROUP) * GROUP];

	for (size_t i = 0; i < GROUP; i++)
		if (group[i] == hash)
			return false;
	memmove(group + 1, group, (GROUP - 1) * sizeof(*group));
	group[0] = hash;
	return true;
}

/* What an object has, in this look. */
struct look {
	struct event_idle *idle;
	const struct attribution *object;
	int64_t wall_ms;
	bool is_anew, knows_anew; /* it was published anew since the last look; that is known */
	struct event_changes_holding chosen[LIMIT_TENANTS]; /* to be told */
	size_t n_chosen;
	size_t n_left_out; /* that had no room among them */
};

/* Since when it has been due to be told; INT64_MAX: never. */
static int64_t due_at(const struct look *look, const struct event_changes_holding *holding)
{
	const struct attribution_activity_state *device = &look->object->status.activity;
	const struct attribution_partition *partition = holding->partition;
	const int state = partition ? partition->activity.state : device->state;
	const int64_t idle_since = partition ? partition->activity.idle_since : device->idle_since;
	const int64_t since = holding->tenant->start_time > idle_since
				      ? holding->tenant->start_time
				      : idle_since;

	return state == ATTRIBUTION_ACTIVITY_IDLE && since > 0 ? since + look->idle->after_ms
							       : INT64_MAX;
}

/* That the object was seen in this version is learned once something of it is due. */
static bool is_anew(struct look *look)
{
	if (!look->knows_anew)
		look->is_anew = learn(look->idle->seen, hash_version(look->object)) &&
				look->idle->has_looked;
	look->knows_anew = true;
	return look->is_anew;
}

/* Who was due at the first look already counts as told. */
static void consider(struct look *look, const struct event_changes_holding *holding)
{
	struct event_idle *idle = look->idle;
	const int64_t due = due_at(look, holding);
	bool is_new;

	if (due > look->wall_ms)
		return;
	is_new = is_anew(look) || due > idle->looked_at;
	if ((!is_new && idle->has_looked) || !learn(idle->told, hash_holding(look->object, holding)) ||
	    !is_new)
		return;
	if (look->n_chosen < ARRAY_SIZE(look->chosen))
		look->chosen[look->n_chosen++] = *holding;
	else
		look->n_left_out++;
}

/* Is it one of them, and is said by itself whether it is idle? */
static bool holds(const struct attribution_tenant *tenant,
		  const struct attribution_partition *partition)
{
	const struct view *held = tenant->partitions.items;

	for (uint32_t i = 0; i < tenant->partitions.count; i++)
		if (view_equal(held[i], partition->uuid))
			return partition->activity.state != ATTRIBUTION_ACTIVITY_UNSET;
	return false;
}

/* Who is not known to hold a partition holds the device. */
static void consider_tenant(struct look *look, const struct attribution_tenant *tenant)
{
	const struct array partitions = look->object->status.partitions;
	struct event_changes_holding holding = {tenant, NULL};

	for (uint32_t i = 0; i < partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(partitions, struct attribution_partition, i);

		if (!holds(tenant, partition))
			continue;
		holding.partition = partition;
		consider(look, &holding);
	}
	if (!holding.partition)
		consider(look, &holding);
}

static int compare_addresses(const void *a, const void *b)
{
	const uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;

	return (first > second) - (first < second);
}

/* By partition, and then in the order of the tenants: both lie in arrays of the object. */
static int compare_holdings(const void *a, const void *b)
{
	const struct event_changes_holding *first = a, *second = b;
	const int order = compare_addresses(first->partition, second->partition);

	return order != 0 ? order : compare_addresses(first->tenant, second->tenant);
}

static void tell_object(struct look *look, event_idle_fn tell, void *owner)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct event_change change;
	struct error error;

	look->idle->n_told++;
	qsort(look->chosen, look->n_chosen, sizeof(look->chosen[0]), compare_holdings);
	arena_init(&arena, ARENA_CAP);
	if (event_changes_of_idleness(look->object, look->chosen, look->n_chosen, &arena, &change,
				      &error) < 0)
		LOG_WARN("Idle GPU not told", LOG_TEXT("object", look->object->name),
			 LOG_ERROR_FIELD(&error));
	else
		tell(owner, look->object->status.node_name, &change);
}

static void look_at(struct event_idle *idle, const struct attribution *object, int64_t wall_ms,
		    event_idle_fn tell, void *owner)
{
	struct look look = {.idle = idle, .object = object, .wall_ms = wall_ms};
	const struct array all = object->status.tenants;

	for (uint32_t i = 0; i < all.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(all, struct attribution_tenant, i);

		if (attribution_is_counted(tenant))
			consider_tenant(&look, tenant);
	}
	if (look.n_chosen == 0 || !tell)
		return;
	idle->n_left_out += look.n_left_out;
	if (idle->n_told == LIMIT_EVENT_QUEUE)
		idle->n_left_out++;
	else
		tell_object(&look, tell, owner);
}

/* An object of which nothing is idle is the usual one. */
static bool is_any_idle(const struct attribution_status *status)
{
	const struct attribution_partition *partition = status->partitions.items;

	for (uint32_t i = 0; i < status->partitions.count; i++)
		if (partition[i].activity.state == ATTRIBUTION_ACTIVITY_IDLE)
			return true;
	return status->activity.state == ATTRIBUTION_ACTIVITY_IDLE;
}

void event_idle_look(struct event_idle *idle, const struct inventory *inventory, int64_t wall_ms,
		     event_idle_fn tell, void *owner)
{
	const struct attribution *object = NULL;

	if (wall_ms <= idle->looked_at)
		return;
	idle->n_told = 0;
	while ((object = inventory_next_attribution(inventory, object)))
		if (is_any_idle(&object->status))
			look_at(idle, object, wall_ms, tell, owner);
	idle->looked_at = wall_ms;
	idle->has_looked = true;
}
