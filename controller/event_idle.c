/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_idle.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "controller/event_note.h"

#define ARENA_CAP (64u * LIMIT_KIB)
/* Tenancies that are looked for in one place, newest first. */
#define GROUP 16u

int event_idle_init(struct event_idle *idle, int64_t after_ms, int64_t wall_ms, struct error *err)
{
	*idle = (struct event_idle){.after_ms = after_ms, .looked_at = wall_ms};
	idle->told = calloc(LIMIT_EVENT_TENANCIES, sizeof(*idle->told));
	return idle->told ? 0 : error_no_memory(err);
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

static uint64_t *group_of(const struct event_idle *idle, uint64_t hash)
{
	return &idle->told[hash % (LIMIT_EVENT_TENANCIES / GROUP) * GROUP];
}

static bool was_told(const struct event_idle *idle, uint64_t hash)
{
	const uint64_t *group = group_of(idle, hash);

	for (size_t i = 0; i < GROUP; i++)
		if (group[i] == hash)
			return true;
	return false;
}

static void remember(struct event_idle *idle, uint64_t hash)
{
	uint64_t *group = group_of(idle, hash);

	memmove(group + 1, group, (GROUP - 1) * sizeof(*group));
	group[0] = hash;
}

/* It came to be so since the last look. */
static bool is_due(const struct event_idle *idle, const struct attribution *object,
		   const struct attribution_tenant *tenant, int64_t wall_ms)
{
	const int64_t idle_since = object->status.activity.idle_since;
	const int64_t since = tenant->start_time > idle_since ? tenant->start_time : idle_since;
	const int64_t due = since + idle->after_ms;

	return attribution_is_counted(tenant) && since > 0 && due > idle->looked_at &&
	       due <= wall_ms;
}

static bool is_told_now(struct event_idle *idle, const struct attribution *object,
			const struct attribution_tenant *tenant)
{
	const uint64_t hash = hash_tenancy(object, tenant);

	if (was_told(idle, hash))
		return false;
	remember(idle, hash);
	return true;
}

static void tell_object(struct event_idle *idle, const struct attribution *object,
			const struct attribution_tenant *const *due, size_t n_due,
			event_idle_fn tell, void *owner)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	const struct attribution_tenant *tenants[LIMIT_TENANTS];
	struct event_change change;
	struct error error;
	size_t n = 0;

	for (size_t i = 0; i < n_due; i++)
		if (is_told_now(idle, object, due[i]))
			tenants[n++] = due[i];
	if (n == 0)
		return;
	idle->n_told++;
	arena_init(&arena, ARENA_CAP);
	if (event_changes_of_idleness(object, tenants, n, &arena, &change, &error) < 0)
		LOG_WARN("Idle GPU not told", LOG_TEXT("object", object->name),
			 LOG_ERROR_FIELD(&error));
	else
		tell(owner, object->status.node_name, &change);
}

static void look_at(struct event_idle *idle, const struct attribution *object, int64_t wall_ms,
		    event_idle_fn tell, void *owner)
{
	const struct attribution_tenant *due[LIMIT_TENANTS];
	const struct array all = object->status.tenants;
	size_t n = 0;

	for (uint32_t i = 0; i < all.count && n < LIMIT_TENANTS; i++) {
		due[n] = ARRAY_AT(all, struct attribution_tenant, i);
		n += is_due(idle, object, due[n], wall_ms);
	}
	if (n > 0 && idle->n_told == LIMIT_EVENT_QUEUE)
		idle->n_left_out++;
	else if (n > 0)
		tell_object(idle, object, due, n, tell, owner);
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
}
