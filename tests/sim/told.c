/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Events may come long after the status that they tell of, as there are limits. So what has ever been
 * said of an object counts, and who has ever been named by an error.
 */

#include "sim/told.h"

#include <stdio.h>
#include <string.h>

#include "assess/drift.h"
#include "base/arena.h"
#include "base/limits.h"
#include "controller/event_changes.h"
#include "join/wording.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/diagnosis.h"
#include "sim/differences.h"
#include "sim/oracle.h"
#include "sim/world.h"
#include "wire/jmap_decode.h"

#define MAX_OBJECTS 64 /* and nodes */
#define BIT(type) (1u << EVENT_##type)

struct subject {
	char name[64];
	unsigned said;  /* bits of enum event_type */
	unsigned drifts; /* that there are, as bits */
};

struct event {
	struct view reason, kind, name, uid;
};

static struct subject subjects[MAX_OBJECTS];
static int n_subjects;
static char named[WORLD_MAX_PODS][LIMIT_TEXT_UID + 1];
static int n_named;
static unsigned n_events;
static bool is_forbidden;

static const struct jmap_row regarding_rows[] = {
	{"kind", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(event, kind), .limit = LIMIT_TEXT_LABEL},
	{"name", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(event, name), .limit = LIMIT_TEXT_NAME},
	{"uid", JMAP_TEXT, 0, JMAP_AT(event, uid), .limit = LIMIT_TEXT_UID},
	{0},
};

static const struct jmap_row event_rows[] = {
	{"reason", JMAP_TEXT, JMAP_REQUIRED, JMAP_AT(event, reason), .limit = LIMIT_EVENT_WORD},
	{"regarding", JMAP_OBJECT, JMAP_REQUIRED, .offset = 0, .rows = regarding_rows},
	{0},
};

void told_reset(void)
{
	memset(subjects, 0, sizeof(subjects));
	n_subjects = 0;
	n_named = 0;
	n_events = 0;
	is_forbidden = false;
}

unsigned told_events(void)
{
	return n_events;
}

void told_forbid(void)
{
	is_forbidden = true;
}

static struct subject *subject_of(struct view name)
{
	for (int i = 0; i < n_subjects; i++)
		if (view_equal(view_from(subjects[i].name), name))
			return &subjects[i];
	check(n_subjects < MAX_OBJECTS);
	snprintf(subjects[n_subjects].name, sizeof(subjects[0].name), "%.*s", VIEW_ARG(name));
	return &subjects[n_subjects++];
}

/* What statuses say */

static bool is_named(struct view uid)
{
	for (int i = 0; i < n_named; i++)
		if (view_equal(view_from(named[i]), uid))
			return true;
	return false;
}

static void note_named(const struct attribution_health_event *error)
{
	for (uint32_t i = 0; i < error->tenants.count; i++) {
		struct view uid =
			ARRAY_AT(error->tenants, struct attribution_event_tenant, i)->pod_uid;

		if (is_named(uid))
			continue;
		check(n_named < WORLD_MAX_PODS);
		snprintf(named[n_named++], sizeof(named[0]), "%.*s", VIEW_ARG(uid));
	}
}

static unsigned said_of_health(const struct attribution_status *status, unsigned before)
{
	unsigned said = status->health.events.count > 0 ? BIT(XID_ERROR) : 0;

	for (uint32_t i = 0; i < status->health.events.count; i++)
		note_named(ARRAY_AT(status->health.events, struct attribution_health_event, i));
	if (status->health.state == ATTRIBUTION_HEALTH_UNHEALTHY)
		said |= BIT(GPU_UNHEALTHY);
	if (status->health.state == ATTRIBUTION_HEALTH_DEGRADED)
		said |= BIT(GPU_DEGRADED);
	if (status->health.state == ATTRIBUTION_HEALTH_HEALTHY &&
	    (before & (BIT(GPU_UNHEALTHY) | BIT(GPU_DEGRADED))))
		said |= BIT(GPU_RECOVERED);
	return said;
}

/* is_of_node: of the drifts of the node, else of the device's. */
static void note_drifts(struct subject *subject, const struct attribution_status *status,
			bool is_of_node)
{
	unsigned drifts = 0;

	for (uint32_t i = 0; i < status->intent.drifts.count; i++) {
		const enum drift_type type = drift_type_of(
			ARRAY_AT(status->intent.drifts, struct attribution_drift, i)->type);

		check(type < N_DRIFT_TYPES);
		if (drift_is_of_node(type) == is_of_node)
			drifts |= 1u << type;
	}
	if (drifts & DRIFT_BIT(UNALLOCATED_USE))
		subject->said |= BIT(UNALLOCATED_USE);
	if (drifts & ~DRIFT_BIT(UNALLOCATED_USE))
		subject->said |= BIT(DRIFT_FOUND);
	if (subject->drifts & ~drifts)
		subject->said |= BIT(DRIFT_RESOLVED);
	subject->drifts = drifts;
}

/* It, or a MIG device of it. */
static bool is_any_idle(const struct attribution_status *status)
{
	const struct attribution_partition *partition = status->partitions.items;

	for (uint32_t i = 0; i < status->partitions.count; i++)
		if (partition[i].activity.state == ATTRIBUTION_ACTIVITY_IDLE)
			return true;
	return status->activity.state == ATTRIBUTION_ACTIVITY_IDLE;
}

void told_wrote(struct view name, const struct attribution_status *status)
{
	const struct condition *attributed = attribution_find_condition(status, VIEW("Attributed"));
	struct subject *subject = subject_of(name);

	subject->said |= said_of_health(status, subject->said);
	if (attributed && wording_reason_of(attributed->reason) == REASON_SLOT_HELD_TWICE)
		subject->said |= BIT(SLOT_HELD_TWICE);
	if (is_any_idle(status) && status->tenants.count > 0)
		subject->said |= BIT(GPU_IDLE);
	note_drifts(subject, status, false);
	if (status->node_name.len > 0)
		note_drifts(subject_of(status->node_name), status, true);
}

/* What Events say */

static enum event_type type_of(struct view reason)
{
	int type = 0;

	while (type < N_EVENT_TYPES &&
	       !view_equal(event_change_reason((enum event_type)type), reason))
		type++;
	return (enum event_type)type;
}

/* Which kinds of objects Events of a type are about. */
static const struct {
	enum event_type type;
	const char *kinds[2];
} rows[] = {
	{EVENT_GPU_UNHEALTHY, {"GPUAttribution"}},
	{EVENT_GPU_DEGRADED, {"GPUAttribution"}},
	{EVENT_GPU_RECOVERED, {"GPUAttribution"}},
	{EVENT_XID_ERROR, {"GPUAttribution", "Pod"}},
	{EVENT_GPU_IDLE, {"GPUAttribution"}},
	{EVENT_DRIFT_FOUND, {"GPUAttribution", "Node"}},
	{EVENT_DRIFT_RESOLVED, {"GPUAttribution", "Node"}},
	{EVENT_SLOT_HELD_TWICE, {"GPUAttribution"}},
	{EVENT_UNALLOCATED_USE, {"GPUAttribution"}},
};

static bool is_about(enum event_type type, struct view kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].type == type)
			return view_equal(kind, view_from(rows[i].kinds[0])) ||
			       (rows[i].kinds[1] && view_equal(kind, view_from(rows[i].kinds[1])));
	return false;
}

static bool was_said(const struct event *event, enum event_type type)
{
	if (!is_about(type, event->kind))
		return false;
	if (view_equal(event->kind, VIEW("Pod")))
		return is_named(event->uid);
	return subject_of(event->name)->said & 1u << type;
}

static void judge(const struct event *event)
{
	const enum event_type type = type_of(event->reason);

	if (!was_said(event, type))
		oracle_accuse(ORACLE_FALSE_EVENT, "%.*s is told of %.*s %.*s, and no status said so",
			      VIEW_ARG(event->reason), VIEW_ARG(event->kind), VIEW_ARG(event->name));
	if (is_forbidden && type != EVENT_GPU_IDLE && !diagnosis_may_settle() && !differences_may_expire())
		oracle_accuse(ORACLE_NEEDLESS, "%.*s is told though nothing has happened",
			      VIEW_ARG(event->reason));
}

void told_event(const char *method, struct view body)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct event event = {0};
	struct error err;

	n_events++;
	if (oracle_is_verbose)
		printf("%9.3f s: %s Event: %.*s\n",
		       (double)(clockwork_now() - CLOCKWORK_START_MS) / 1000, method, VIEW_ARG(body));
	if (strcmp(method, "POST") != 0)
		return;
	arena_init(&arena, LIMIT_MIB);
	check(jmap_decode(body, LIMIT_REPORT_DEPTH, event_rows, &arena, &event, sizeof(event),
			  &err) == 0);
	judge(&event);
}
