/* SPDX-License-Identifier: Apache-2.0 */

/*
 * While an agent is silent the condition Healthy tells of the silence, and its time is that of the
 * silence. So the time of a device that is last known to fail is that of the error event, if any.
 */

#include "kubectl/failing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "assess/health_finding.h"
#include "join/wording.h"
#include "kubectl/remedy.h"
#include "kubectl/report_state.h"

#define NOT_FAILING (-1)

/* A reason that tells of the silence only, and nothing of the device. */
static bool is_silence(struct view reason)
{
	return view_equal(reason, health_finding_word(HEALTH_FINDING_NO_AGENT));
}

static bool has_reason(const struct attribution_health_state *health)
{
	for (uint32_t i = 0; i < health->reasons.count; i++) {
		if (!is_silence(*ARRAY_AT(health->reasons, struct view, i)))
			return true;
	}
	return false;
}

/* How bad it is, 0 being worst. */
static int rank_of(const struct attribution *device)
{
	const struct attribution_health_state *health = &device->status.health;
	switch (health->state) {
	case ATTRIBUTION_HEALTH_UNHEALTHY:
		return 0;
	case ATTRIBUTION_HEALTH_DEGRADED:
		return 1;
	case ATTRIBUTION_HEALTH_UNKNOWN:
		return has_reason(health) ? 2 : NOT_FAILING;
	default:
		return NOT_FAILING;
	}
}

static bool is_healthy(const struct attribution_status *status)
{
	return status->health.state == ATTRIBUTION_HEALTH_HEALTHY &&
	       report_state_of(status).is_fresh;
}

/* The newest event of that reason; NULL: it is no event's. Events are newest first. */
static const struct attribution_health_event *
find_event_of(const struct attribution_health_state *health, struct view reason)
{
	for (uint32_t i = 0; i < health->events.count; i++) {
		const struct attribution_health_event *event =
			ARRAY_AT(health->events, struct attribution_health_event, i);
		char text[32];
		snprintf(text, sizeof(text), HEALTH_XID_REASON "%" PRId64, event->xid);
		if (view_equal(view_from(text), reason))
			return event;
	}
	return NULL;
}

/*
 * The event of the worst reason. A driver that recommends an action itself gives a reason that stands
 * before the error's: the first error that asks for the same action is then the one.
 */
static const struct attribution_health_event *find_event(const struct attribution_health_state *health)
{
	for (uint32_t i = 0; i < health->reasons.count; i++) {
		const struct attribution_health_event *event =
			find_event_of(health, *ARRAY_AT(health->reasons, struct view, i));
		if (event && (i == 0 || remedy_is_asked_by(event, health->recovery_action)))
			return event;
	}
	return NULL;
}

static int64_t since_of(const struct failing_row *row)
{
	const struct attribution_status *status = &row->device->status;
	const struct condition *healthy = attribution_find_condition(status, wording_condition(CONDITION_HEALTHY));
	bool is_unknown = status->health.state == ATTRIBUTION_HEALTH_UNKNOWN;
	if (healthy && healthy->status == (is_unknown ? CONDITION_UNKNOWN : CONDITION_FALSE) &&
	    !(is_unknown && row->is_last_known))
		return healthy->last_transition_time;
	return row->event ? row->event->event_time : 0;
}

static struct failing_row row_of(const struct attribution *device, size_t order)
{
	struct failing_row row = {
		.device = device,
		.event = find_event(&device->status.health),
		.is_last_known = !report_state_of(&device->status).is_fresh,
		.order = order,
	};
	row.since = since_of(&row);
	return row;
}

static int compare(const void *left, const void *right)
{
	const struct failing_row *a = left, *b = right;
	int order = rank_of(a->device) - rank_of(b->device);
	if (order == 0)
		order = (a->since == 0) - (b->since == 0);
	if (order == 0)
		order = (a->since > b->since) - (a->since < b->since);
	return order ? order : (a->order > b->order) - (a->order < b->order);
}

static void sort_out(struct failing *found, const struct attribution *device, size_t order)
{
	if (rank_of(device) == NOT_FAILING) {
		if (!is_healthy(&device->status))
			found->unknown[found->n_unknown++] = device;
		return;
	}
	found->rows[found->n_rows] = row_of(device, order);
	if (found->rows[found->n_rows++].is_last_known)
		found->silent[found->n_silent++] = device;
}

int failing_find(const struct attribution *const *devices, size_t n_devices, struct arena *arena,
		 struct failing *ret, struct error *err)
{
	struct failing found = {
		.rows = arena_alloc(arena, n_devices, sizeof(struct failing_row)),
		.unknown = arena_alloc(arena, n_devices, sizeof(struct attribution *)),
		.silent = arena_alloc(arena, n_devices, sizeof(struct attribution *)),
	};
	if (!found.rows || !found.unknown || !found.silent)
		return error_no_memory(err);
	for (size_t i = 0; i < n_devices; i++)
		sort_out(&found, devices[i], i);
	if (found.n_rows > 1)
		qsort(found.rows, found.n_rows, sizeof(struct failing_row), compare);
	*ret = found;
	return 0;
}
