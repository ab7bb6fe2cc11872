/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What speaks against the device is a row of a table, from worst to best. All rows that fit are
 * reasons, and the first of them gives the state. What is known to be wrong is worse than not knowing:
 * a device that fell off the bus stays Unhealthy when NVML does not list it any more.
 */

#include "join/health.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "join/events.h"
#include "join/xid.h"

/* Room for the message of a healthy device. */
#define READ_SIZE 512

/* What may speak against the device. */
#define UNHEALTHY ATTRIBUTION_HEALTH_UNHEALTHY
#define DEGRADED ATTRIBUTION_HEALTH_DEGRADED

struct row {
	enum xid_class xid; /* of error events, each number of which is a reason; or 0: */
	bool is_so;
	enum reason reason;
	enum message message;
	enum attribution_health state;
	enum attribution_recovery recovery;
};

struct judge {
	const struct subject *subject;
	const struct previous *before; /* this node's published status; NULL: none */
	bool is_listed;                /* by NVML, now */
	bool was_missing;              /* from NVML's list */
	bool was_away;                 /* missing or lost */
	struct report_condition condition; /* zeroed: not known */
	struct events events;
	struct view *reasons;
	uint32_t n_reasons;
	struct health health;
};

/* Evidence */

/* A device that was missing when NVML failed is still missing: else its return would not be seen. */
static bool is_missing(const struct judge *judge)
{
	const struct facts *facts = judge->subject->facts;
	return facts->input->report && !judge->is_listed &&
	       (facts->devices->nvml == DEVICES_NVML_OK || judge->was_missing);
}

/* In MIG mode, and not cut into instances yet. */
static bool has_nothing_to_offer(const struct report_device *reported)
{
	return reported && reported->mig.current && reported->partitions.present &&
	       reported->partitions.count == 0;
}

/* It was on offer once, as what is held must have been, and no good source has it on offer now. */
static bool is_withdrawn(const struct judge *judge)
{
	const struct subject *subject = judge->subject;
	const struct source *source = &subject->facts->source;

	if (subject->is_offered || subject->is_claimed || !subject->is_offer_known ||
	    is_missing(judge) || judge->condition.lost ||
	    has_nothing_to_offer(subject->device->reported))
		return false;
	if (previous_had_reason(judge->before, REASON_NOT_ADVERTISED))
		return true;
	return !source->is_settling &&
	       (source_is_good(source->pod_resources) || source_is_good(source->checkpoint)) &&
	       (subject->n_slots > 0 ||
		(subject->published && subject->published->slots.total > 0));
}

static bool reads_memory_errors(const struct report_condition *c)
{
	return c->ecc_volatile.uncorrected >= 0 || c->remapped_rows.present ||
	       c->retired_pages.present;
}

/* NVML's message may say that events cannot be watched, and nothing else can be read. */
static bool is_unread(const struct judge *judge)
{
	const struct report_condition *c = &judge->condition;
	const struct report *report = judge->subject->facts->input->report;
	return report && judge->is_listed && c->present && !c->lost && !reads_memory_errors(c) &&
	       c->recovery == REPORT_RECOVERY_UNREAD && report->sources.nvml.message.len > 0;
}

/* Reasons */

static void add_reason(struct judge *judge, const struct row *row, struct view reason,
		       struct view message)
{
	struct health *health = &judge->health;

	if (judge->n_reasons < LIMIT_HEALTH_REASONS)
		judge->reasons[judge->n_reasons++] = reason;
	if (judge->n_reasons > 1)
		return;
	health->state.state = (int)row->state;
	health->state.recovery_action = (int)row->recovery;
	health->reason = reason;
	health->message = message;
}

/* True when the event was published, and was settled then, or has been since. */
static bool is_history(const struct judge *judge, const struct attribution_health_event *event)
{
	const int64_t booted_after = judge->subject->facts->input->booted_after;

	return events_have(judge->events.published, event) &&
	       (!previous_had_xid(judge->before, event->xid) ||
		(booted_after > 0 && event->event_time <= booted_after) ||
		(judge->is_listed && !judge->condition.lost && judge->was_away));
}

/* The next number of that class that speaks against the device, in ascending order; NULL: none. */
static const struct attribution_health_event *next_xid(const struct judge *judge,
						       enum xid_class class,
						       const struct attribution_health_event *last)
{
	const struct attribution_health_event *next = NULL;

	for (uint32_t i = 0; i < judge->events.n_items; i++) {
		const struct attribution_health_event *event = &judge->events.items[i];
		if ((!last || event->xid > last->xid) && (!next || event->xid < next->xid) &&
		    xid_look_up(event->xid).class == class && !is_history(judge, event))
			next = event;
	}
	return next;
}

static int add_xids(struct judge *judge, const struct row *row, struct error *err)
{
	const struct attribution_health_event *event = NULL;
	struct arena *arena = judge->subject->arena;

	while ((event = next_xid(judge, row->xid, event))) {
		char text[WORDING_XID_SIZE], line[LIMIT_TEXT_MEANING + 32];
		int len = snprintf(line, sizeof(line), "XID %" PRId64 ": %.*s", event->xid,
				   VIEW_ARG(xid_look_up(event->xid).meaning));
		struct view reason, message;
		if (!arena_copy(arena, wording_xid(event->xid, text), &reason) ||
		    !arena_copy(arena, (struct view){line, (size_t)len}, &message))
			return error_no_memory(err);
		add_reason(judge, row, reason, message);
	}
	return 0;
}

static int add_rows(struct judge *judge, const struct row *rows, size_t n_rows, struct error *err)
{
	for (const struct row *row = rows; row < rows + n_rows; row++) {
		if (row->xid && add_xids(judge, row, err) < 0)
			return -1;
		if (row->is_so)
			add_reason(judge, row, wording_reason(row->reason),
				   wording_message(row->message));
	}
	return 0;
}

static int find_unhealthy(struct judge *judge, struct error *err)
{
	const struct report_condition *c = &judge->condition;
	const struct row rows[] = {
		{XID_NEEDS_REBOOT, .state = UNHEALTHY, .recovery = ATTRIBUTION_RECOVERY_REBOOT},
		{0, c->lost, REASON_GPU_LOST, MESSAGE_GPU_LOST, UNHEALTHY,
		 ATTRIBUTION_RECOVERY_REBOOT},
		{0, c->remapped_rows.failed, REASON_ROW_REMAP_FAILED, MESSAGE_ROW_REMAP_FAILED,
		 UNHEALTHY, ATTRIBUTION_RECOVERY_REPLACE},
		{0, c->recovery == REPORT_RECOVERY_RECOVER_IMEX_DOMAIN, REASON_RECOVER_IMEX_DOMAIN,
		 MESSAGE_RECOVER_IMEX_DOMAIN, UNHEALTHY, ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN},
		{0, c->recovery == REPORT_RECOVERY_REBOOT, REASON_REBOOT_REQUIRED,
		 MESSAGE_REBOOT_REQUIRED, UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT},
		{0, c->recovery == REPORT_RECOVERY_RESET || c->reset_required,
		 REASON_RESET_REQUIRED, MESSAGE_RESET_REQUIRED, UNHEALTHY,
		 ATTRIBUTION_RECOVERY_RESET},
		{XID_NEEDS_RESET, .state = UNHEALTHY, .recovery = ATTRIBUTION_RECOVERY_RESET},
	};
	return add_rows(judge, rows, ARRAY_SIZE(rows), err);
}

static int find_lesser(struct judge *judge, struct error *err)
{
	const struct report_condition *c = &judge->condition;
	const struct facts *facts = judge->subject->facts;
	const bool is_nvml_away = facts->input->report && facts->devices->nvml != DEVICES_NVML_OK;
	const bool hangs = is_nvml_away && facts->input->report->sources.nvml.hangs;
	const struct row rows[] = {
		{0, c->recovery == REPORT_RECOVERY_DRAIN_AND_RESET, REASON_DRAIN_REQUIRED,
		 MESSAGE_DRAIN_REQUIRED, DEGRADED, ATTRIBUTION_RECOVERY_DRAIN_AND_RESET},
		{0, c->recovery == REPORT_RECOVERY_DRAIN_P2P, REASON_DRAIN_REQUIRED,
		 MESSAGE_DRAIN_P2P_REQUIRED, DEGRADED, ATTRIBUTION_RECOVERY_DRAIN_P2P},
		{0, c->remapped_rows.pending, REASON_ROW_REMAP_PENDING, MESSAGE_ROW_REMAP_PENDING,
		 DEGRADED, ATTRIBUTION_RECOVERY_RESET},
		{0, c->retired_pages.pending, REASON_RETIRED_PAGES_PENDING,
		 MESSAGE_RETIRED_PAGES_PENDING, DEGRADED, ATTRIBUTION_RECOVERY_RESET},
		{0, c->ecc_volatile.uncorrected > 0, REASON_UNCORRECTABLE_ECC,
		 MESSAGE_UNCORRECTABLE_ECC, DEGRADED, ATTRIBUTION_RECOVERY_RESET},
		{0, c->recovery == REPORT_RECOVERY_OTHER, REASON_RECOVERY_REQUIRED,
		 MESSAGE_RECOVERY_REQUIRED, DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN},
		{XID_LOOK_CLOSER, .state = DEGRADED, .recovery = ATTRIBUTION_RECOVERY_UNKNOWN},
		{0, is_withdrawn(judge), REASON_NOT_ADVERTISED, MESSAGE_NOT_ADVERTISED, DEGRADED},
		{0, is_missing(judge), REASON_DEVICE_MISSING, MESSAGE_DEVICE_MISSING,
		 ATTRIBUTION_HEALTH_UNKNOWN},
		{0, hangs, REASON_NVML_HANGS, MESSAGE_NVML_HANGS, ATTRIBUTION_HEALTH_UNKNOWN},
		{0, is_nvml_away && !hangs, REASON_NVML_UNAVAILABLE, MESSAGE_NVML_UNAVAILABLE,
		 ATTRIBUTION_HEALTH_UNKNOWN},
		{0, is_unread(judge), REASON_HEALTH_UNREAD, MESSAGE_HEALTH_UNREAD,
		 ATTRIBUTION_HEALTH_UNKNOWN},
		{0, !facts->input->report, REASON_NO_AGENT, MESSAGE_NO_AGENT_FOR_HEALTH,
		 ATTRIBUTION_HEALTH_UNKNOWN},
	};
	return add_rows(judge, rows, ARRAY_SIZE(rows), err);
}

/*
 * What the driver recommends counts before what the error alone would ask for. Exceptions: a lost
 * device does not tell, nothing mends a card whose rows cannot be remapped, and "none" is no remedy
 * for an unhealthy device.
 */
static void heed_driver(struct judge *judge)
{
	static const enum attribution_recovery actions[] = {
		[REPORT_RECOVERY_NONE] = ATTRIBUTION_RECOVERY_NONE,
		[REPORT_RECOVERY_RESET] = ATTRIBUTION_RECOVERY_RESET,
		[REPORT_RECOVERY_REBOOT] = ATTRIBUTION_RECOVERY_REBOOT,
		[REPORT_RECOVERY_DRAIN_P2P] = ATTRIBUTION_RECOVERY_DRAIN_P2P,
		[REPORT_RECOVERY_DRAIN_AND_RESET] = ATTRIBUTION_RECOVERY_DRAIN_AND_RESET,
		[REPORT_RECOVERY_RECOVER_IMEX_DOMAIN] = ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN,
	};
	struct attribution_health_state *state = &judge->health.state;
	const int told = judge->condition.recovery;

	if (judge->n_reasons > 0 && told > REPORT_RECOVERY_UNREAD &&
	    told < REPORT_RECOVERY_OTHER && !judge->condition.lost &&
	    state->recovery_action != ATTRIBUTION_RECOVERY_REPLACE &&
	    (told != REPORT_RECOVERY_NONE || state->state != ATTRIBUTION_HEALTH_UNHEALTHY))
		state->recovery_action = (int)actions[told];
}

/*
 * That nothing was found says little without what was looked at. An NVML source with a message may
 * have failed to watch events: then nothing is said of XID errors.
 */
static int say_what_was_read(struct judge *judge, struct error *err)
{
	const struct report_condition *c = &judge->condition;
	const struct report *report = judge->subject->facts->input->report;
	const struct {
		int is_read; /* 1, 0; another: not known */
		struct view name;
	} parts[] = {
		{report->sources.nvml.message.len == 0 ? 1 : -1, VIEW("XID errors")},
		{c->ecc_volatile.uncorrected >= 0, VIEW("ECC")},
		{c->remapped_rows.present || c->retired_pages.present, VIEW("row remapping")},
		{c->recovery != REPORT_RECOVERY_UNREAD, VIEW("recovery action")},
	};
	char text[READ_SIZE];
	int len = snprintf(text, sizeof(text), "%.*s",
			   VIEW_ARG(wording_message(MESSAGE_NOTHING_FOUND)));

	for (int is_read = 1; is_read >= 0; is_read--) {
		const char *separator = is_read ? "; read: " : "; cannot be read here: ";
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			if (parts[i].is_read != is_read)
				continue;
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%.*s", separator,
					VIEW_ARG(parts[i].name));
			separator = ", ";
		}
	}
	assert((size_t)len < sizeof(text));
	if (!arena_copy(judge->subject->arena, (struct view){text, (size_t)len},
			&judge->health.message))
		return error_no_memory(err);
	return 0;
}

/* From worst to best; the first reason gives state and action. A device without any is Healthy. */
static int find_reasons(struct judge *judge, struct error *err)
{
	judge->reasons = arena_alloc(judge->subject->arena, LIMIT_HEALTH_REASONS,
				     sizeof(*judge->reasons));
	if (!judge->reasons)
		return error_no_memory(err);
	if (find_unhealthy(judge, err) < 0 || find_lesser(judge, err) < 0)
		return -1;
	heed_driver(judge);
	return judge->n_reasons == 0 && judge->condition.present ? say_what_was_read(judge, err) : 0;
}

int health_judge(const struct subject *subject, struct health *ret_health, struct error *err)
{
	const struct previous *previous = subject->device->previous;
	const struct previous *before = subject->device->published;
	struct judge judge = {
		.subject = subject,
		.before = before,
		.events =
			{
				.subject = subject,
				.before = before,
				.published = previous ? previous->status->health.events
						      : (struct array){0},
			},
		.is_listed = subject->device->reported &&
			     subject->facts->devices->nvml == DEVICES_NVML_OK,
		.was_missing = previous_had_reason(before, REASON_DEVICE_MISSING),
		.health = {
			.state = {.state = ATTRIBUTION_HEALTH_HEALTHY,
				  .recovery_action = ATTRIBUTION_RECOVERY_NONE},
			.reason = wording_reason(REASON_NOTHING_FOUND),
			.message = wording_message(MESSAGE_NOTHING_FOUND),
		},
	};

	judge.was_away = judge.was_missing || previous_had_reason(before, REASON_GPU_LOST);
	if (subject->device->reported && subject->device->reported->condition.present)
		judge.condition = subject->device->reported->condition;
	if (events_collect(&judge.events, err) < 0 || find_reasons(&judge, err) < 0)
		return -1;
	judge.health.state.reasons =
		(struct array){judge.n_reasons > 0 ? judge.reasons : NULL, judge.n_reasons, true};
	judge.health.state.events =
		(struct array){judge.events.n_items > 0 ? judge.events.items : NULL, judge.events.n_items, true};
	*ret_health = judge.health;
	return 0;
}
