/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each part of the status has a function here that compares it. What several devices of a node tell
 * alike is told by each of them that a plan changes, with the same id, as any of their writes may fail.
 */

#include "controller/event_changes.h"

#include "controller/event_drifts.h"
#include "controller/event_errors.h"
#include "controller/event_finder.h"
#include "join/wording.h"

/* Health */

static struct view worst_reason(const struct attribution_status *status)
{
	return status->health.reasons.count > 0 ? *ARRAY_AT(status->health.reasons, struct view, 0)
						: (struct view){0};
}

static bool is_ill(const struct attribution_status *status)
{
	return status->health.state == ATTRIBUTION_HEALTH_DEGRADED ||
	       status->health.state == ATTRIBUTION_HEALTH_UNHEALTHY;
}

/* Of what a status can say again and again: the version that it replaces makes it this occurrence. */
static int64_t version_of(const struct event_finder *finder)
{
	return (int64_t)event_note_hash_text(EVENT_NOTE_BASIS,
					     finder->device->previous->resource_version);
}

static void tell_illness(struct event_finder *finder)
{
	const struct condition *healthy =
		attribution_find_condition(finder->after, wording_condition(CONDITION_HEALTHY));
	const struct kube_event_object object = event_finder_object(finder);
	const struct view reason = worst_reason(finder->after);
	const bool is_unhealthy = finder->after->health.state == ATTRIBUTION_HEALTH_UNHEALTHY;

	if (healthy && healthy->message.len > 0) {
		event_note_add(&finder->note, healthy->message);
		event_note_add(&finder->note, VIEW(" "));
	}
	event_note_add(&finder->note, VIEW("("));
	event_note_add(&finder->note, reason);
	event_note_add(&finder->note, VIEW(")"));
	event_finder_add(finder, event_finder_make(is_unhealthy ? EVENT_GPU_UNHEALTHY : EVENT_GPU_DEGRADED, &object,
				event_note_hash_text(EVENT_NOTE_BASIS, reason), version_of(finder)));
}

static void add_recovery(struct event_finder *finder, enum event_use use)
{
	const struct kube_event_object object = event_finder_object(finder);
	struct event_change change =
		event_finder_make(EVENT_GPU_RECOVERED, &object, 0, version_of(finder));

	change.use = use;
	event_finder_add(finder, change);
}

static void note_recovery(struct event_finder *finder)
{
	const struct array reasons = finder->before->health.reasons;

	event_note_add(&finder->note, VIEW("it is healthy again; before there was "));
	for (uint32_t i = 0; i < reasons.count; i++) {
		event_note_add(&finder->note, i > 0 ? VIEW(", ") : VIEW(""));
		event_note_add(&finder->note, *ARRAY_AT(reasons, struct view, i));
	}
}

static void compare_health(struct event_finder *finder)
{
	const int before = finder->before->health.state, after = finder->after->health.state;
	const bool is_same = before == after && view_equal(worst_reason(finder->before),
							   worst_reason(finder->after));
	const bool is_well = after == ATTRIBUTION_HEALTH_HEALTHY;

	if (is_ill(finder->after)) {
		if (!is_same)
			tell_illness(finder);
	} else if (is_ill(finder->before)) {
		note_recovery(finder);
		add_recovery(finder, is_well ? EVENT_TELL : EVENT_AWAIT_RECOVERY);
	} else if (is_well && before == ATTRIBUTION_HEALTH_UNKNOWN) {
		add_recovery(finder, EVENT_END_RECOVERY);
	}
}

/* Slots */

static bool is_held_twice(const struct condition *attributed)
{
	return attributed && wording_reason_of(attributed->reason) == REASON_SLOT_HELD_TWICE;
}

static void compare_slots(struct event_finder *finder)
{
	const struct view type = wording_condition(CONDITION_ATTRIBUTED);
	const struct condition *attributed = attribution_find_condition(finder->after, type);
	const struct kube_event_object object = event_finder_object(finder);

	if (!is_held_twice(attributed) ||
	    is_held_twice(attribution_find_condition(finder->before, type)))
		return;
	event_note_add(&finder->note, attributed->message);
	event_finder_add(finder, event_finder_make(
					 EVENT_SLOT_HELD_TWICE, &object,
					 event_note_hash_text(EVENT_NOTE_BASIS, attributed->message),
					 version_of(finder)));
}

struct event_change_node event_changes_of_node(const struct join_device *devices, size_t n)
{
	return event_drifts_of_node(devices, n);
}

int event_changes_of_device(const struct join_device *device,
			    const struct event_change_node *node, struct arena *arena,
			    struct event_change **ret_changes, size_t *ret_n, struct error *err)
{
	struct event_finder finder = {.device = device, .node = node, .arena = arena};

	*ret_changes = NULL;
	*ret_n = 0;
	if (device->action != JOIN_WRITE || !device->previous)
		return 0;
	finder.before = &device->previous->status;
	finder.after = &device->status;
	event_note_init(&finder.note);
	compare_health(&finder);
	event_errors_compare(&finder);
	event_drifts_compare(&finder);
	compare_slots(&finder);
	event_note_deinit(&finder.note);
	if (finder.err.kind != ERROR_NONE) {
		*err = finder.err;
		return -1;
	}
	*ret_changes = finder.changes;
	*ret_n = finder.n;
	return 0;
}

int event_changes_of_health(const struct attribution *before, const struct attribution *now,
			    struct arena *arena, struct event_change *ret_change,
			    bool *ret_is_any, struct error *err)
{
	const struct join_device device = {.name = now->name, .previous = before};
	struct event_finder finder = {
		.device = &device, .before = &before->status, .after = &now->status, .arena = arena};

	event_note_init(&finder.note);
	compare_health(&finder);
	event_note_deinit(&finder.note);
	if (finder.err.kind != ERROR_NONE) {
		*err = finder.err;
		return -1;
	}
	*ret_is_any = finder.n > 0;
	if (finder.n > 0)
		*ret_change = finder.changes[0];
	return 0;
}

/* Idleness */

uint64_t event_changes_hash_holding(uint64_t hash, const struct event_changes_holding *holding)
{
	const struct attribution_tenant *tenant = holding->tenant;

	hash = event_note_hash_text(hash, tenant->pod_uid);
	hash = event_note_hash_text(hash, tenant->container);
	hash = event_note_hash_number(hash, tenant->start_time);
	return holding->partition ? event_note_hash_text(hash, holding->partition->uuid) : hash;
}

/* Those who hold the same follow each other, and are told together. */
static void note_holding(struct event_note *note, const struct attribution *object,
			 const struct event_changes_holding *holding,
			 const struct event_changes_holding *before)
{
	const struct attribution_partition *partition = holding->partition;

	if (before && before->partition == partition) {
		event_note_add(note, VIEW(", "));
	} else {
		event_note_next(note);
		if (partition) {
			event_note_add(note, VIEW("MIG device "));
			event_note_add(note, partition->uuid);
			event_note_add(note, VIEW(" "));
		}
		event_note_add(note, VIEW("idle since "));
		event_note_add_time(note, partition ? partition->activity.idle_since
						    : object->status.activity.idle_since);
		event_note_add(note, partition ? VIEW(", held by ") : VIEW("; held by "));
	}
	event_note_add(note, holding->tenant->pod_namespace);
	event_note_add(note, VIEW("/"));
	event_note_add(note, holding->tenant->pod_name);
}

int event_changes_of_idleness(const struct attribution *object,
			      const struct event_changes_holding *holdings, size_t n,
			      struct arena *arena, struct event_change *ret_change,
			      struct error *err)
{
	CLEANUP(event_note_deinit) struct event_note note = {0};
	const struct kube_event_object regarding = event_finder_object_of(object->name, object->uid);
	uint64_t held = EVENT_NOTE_BASIS;

	event_note_init(&note);
	for (size_t i = 0; i < n; i++) {
		note_holding(&note, object, &holdings[i], i > 0 ? &holdings[i - 1] : NULL);
		held = event_changes_hash_holding(held, &holdings[i]);
	}
	*ret_change = event_finder_make(EVENT_GPU_IDLE, &regarding, held, 0);
	return event_note_take(&note, arena, &ret_change->note, err);
}
