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

static uint64_t hash_tenancy(const struct attribution *object,
			     const struct attribution_tenant *tenant)
{
	uint64_t hash = event_note_hash_text(EVENT_NOTE_BASIS, object->uid);

	hash = event_note_hash_text(hash, tenant->pod_uid);
	hash = event_note_hash_text(hash, tenant->container);
	return event_note_hash_number(hash, tenant->start_time);
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

/* Since when it has been due to be told; INT64_MAX: never. */
static int64_t due_at(const struct event_idle *idle, const struct attribution *object,
		      const struct attribution_tenant *tenant)
{
	const int64_t idle_since = object->status.activity.idle_since;
	const int64_t since = tenant->start_time > idle_since ? tenant->start_time : idle_since;

	return attribution_is_counted(tenant) && since > 0 ? since + idle->after_ms : INT64_MAX;
}

static void tell_object(struct event_idle *idle, const struct attribution *object,
			const struct attribution_tenant *const *tenants, size_t n,
			event_idle_fn tell, void *owner)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct event_change change;
	struct error error;

	idle->n_told++;
	arena_init(&arena, ARENA_CAP);
	if (event_changes_of_idleness(object, tenants, n, &arena, &change, &error) < 0)
		LOG_WARN("Idle GPU not told", LOG_TEXT("object", object->name),
			 LOG_ERROR_FIELD(&error));
	else
		tell(owner, object->status.node_name, &change);
}

/* Returns how many of those who are due are to be told. At the first look the others count as told. */
static size_t choose(struct event_idle *idle, const struct attribution *object,
		     const struct attribution_tenant *const *due, size_t n_due,
		     const struct attribution_tenant **chosen)
{
	const bool is_anew = learn(idle->seen, hash_version(object)) && idle->has_looked;
	size_t n = 0;

	for (size_t i = 0; i < n_due; i++) {
		const bool is_new = is_anew || due_at(idle, object, due[i]) > idle->looked_at;

		if ((is_new || !idle->has_looked) &&
		    learn(idle->told, hash_tenancy(object, due[i])) && is_new)
			chosen[n++] = due[i];
	}
	return n;
}

static void look_at(struct event_idle *idle, const struct attribution *object, int64_t wall_ms,
		    event_idle_fn tell, void *owner)
{
	const struct attribution_tenant *due[LIMIT_TENANTS], *chosen[LIMIT_TENANTS];
	const struct array all = object->status.tenants;
	size_t n = 0;

	for (uint32_t i = 0; i < all.count && n < LIMIT_TENANTS; i++) {
		due[n] = ARRAY_AT(all, struct attribution_tenant, i);
		n += due_at(idle, object, due[n]) <= wall_ms;
	}
	n = n > 0 ? choose(idle, object, due, n, chosen) : 0;
	if (n > 0 && idle->n_told == LIMIT_EVENT_QUEUE)
		idle->n_left_out++;
	else if (n > 0)
		tell_object(idle, object, chosen, n, tell, owner);
}

void event_idle_look(struct event_idle *idle, const struct inventory *inventory, int64_t wall_ms,
		     event_idle_fn tell, void *owner)
{
	const struct attribution *object = NULL;

	if (wall_ms <= idle->looked_at)
		return;
	idle->n_told = 0;
	while ((object = inventory_next_attribution(inventory, object)))
		if (object->status.activity.state == ATTRIBUTION_ACTIVITY_IDLE)
			look_at(idle, object, wall_ms, tell, owner);
	idle->looked_at = wall_ms;
	idle->has_looked = true;
}
