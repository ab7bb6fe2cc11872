/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What speaks against the device is a row of the table in assess/health.def, from worst to best. All
 * rows that fit are reasons, and the first of them gives the state. What is known to be wrong is worse
 * than not knowing: a device that fell off the bus stays Unhealthy when NVML does not list it any more.
 */

#include "assess/health.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "assess/health.def"
#include "assess/health_finding.h"
#include "assess/health_reading.h"
#include "assess/xid.h"
#include "base/limits.h"
#include "model/condition_parts.h"

/* The longest reason of an XID error, with its NUL. */
#define XID_REASON_SIZE 32u
/* Until the node's next report or heartbeat nothing is known that was not known before. */
#define LEAST_WAIT_MS 10000

enum finding {
#define NAME(name, ...) name,
#define NO_NAME(...)
	HEALTH_TABLE(NAME, NO_NAME) N_FINDINGS
};

enum matter { OTHER, ERROR };

struct row {
	struct view reason; /* empty: */
	enum xid_class xid; /* of error events, each number of which is a reason */
	enum finding finding;
	int state;  /* enum attribution_health */
	int action; /* enum attribution_recovery */
	enum matter matter;
	struct view message;
};

/* So there is room for each number of an error, and each finding. */
static_assert(LIMIT_HEALTH_REASONS >= LIMIT_HEALTH_EVENTS + N_FINDINGS, "reasons are left out");
static_assert(N_FINDINGS <= 64 && (int)N_FINDINGS == (int)N_HEALTH_FINDINGS, "findings are bits");

static const struct row table[] = {
#define FINDING_ROW(name, reason, state, action, matter, source, message, ...)                     \
	{VIEW_INIT(reason),         XID_INFORMATIONAL, name, ATTRIBUTION_HEALTH_##state,           \
	 ATTRIBUTION_RECOVERY_##action, matter,            VIEW_INIT(message)},
#define XIDS_ROW(class, state, action, ...)                                                        \
	{VIEW_INIT(""), class, N_FINDINGS, ATTRIBUTION_HEALTH_##state, ATTRIBUTION_RECOVERY_##action, \
	 ERROR, VIEW_INIT("")},
	HEALTH_TABLE(FINDING_ROW, XIDS_ROW)
};

struct judge {
	const struct health_input *input;
	const struct health_previous *last; /* published, by whichever node; NULL: nothing */
	bool is_listed; /* by NVML, now */
	bool was_away;  /* missing from NVML's list, or lost */
	struct report_condition condition; /* not present: nothing is read */
	struct events events;
	bool found[N_FINDINGS];
	bool is_content; /* the driver asks for nothing, and no more is wrong than XID errors that */
			 /* ask for less than a reboot */
	struct view *reasons;
	uint32_t n_reasons;
	struct health health;
};

/* What was published */

/* The bit of a finding. */
static uint64_t bit_of(enum finding finding)
{
	assert((unsigned)finding < N_FINDINGS);
	return UINT64_C(1) << finding;
}

static bool has(const struct health_previous *published, enum finding finding)
{
	return published && published->found & bit_of(finding);
}

static uint64_t findings_of(struct view reason)
{
	uint64_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].reason.len > 0 && view_equal(table[i].reason, reason))
			found |= bit_of(table[i].finding);
	return found;
}

struct health_previous health_read_previous(const struct attribution_health_state *published)
{
	struct health_previous previous = {
		.recovery_action = published->recovery_action,
		.events_since_uptime_ms = published->events_since_uptime_ms,
	};
	const struct view xid = VIEW(HEALTH_XID_REASON);

	for (uint32_t i = 0; i < published->reasons.count; i++) {
		const struct view reason = *ARRAY_AT(published->reasons, struct view, i);

		previous.found |= findings_of(reason);
		if (previous.n_xids < LIMIT_HEALTH_REASONS && view_starts_with(reason, xid) &&
		    view_parse_i64(view_from_offset(reason, xid.len),
				   &previous.xids[previous.n_xids]))
			previous.n_xids++;
	}
	return previous;
}

bool health_was_listed(const struct health_previous *published)
{
	return !has(published, DEVICE_MISSING) && !has(published, NVML_UNAVAILABLE);
}

bool health_was_missing(const struct health_previous *published)
{
	return has(published, DEVICE_MISSING);
}

static struct view xid_reason(int64_t code, char text[static XID_REASON_SIZE])
{
	int len = snprintf(text, XID_REASON_SIZE, HEALTH_XID_REASON "%" PRId64, code);
	assert(len > 0 && (unsigned)len < XID_REASON_SIZE);
	return (struct view){text, (size_t)len};
}

static bool had_xid(const struct judge *judge, int64_t code)
{
	for (uint32_t i = 0; judge->last && i < judge->last->n_xids; i++)
		if (judge->last->xids[i] == code)
			return true;
	return false;
}

/* Evidence */

/* A device that was missing when NVML failed is still missing: else its return would not be seen. */
static bool is_missing(const struct judge *judge)
{
	const struct health_input *input = judge->input;
	return input->report && !judge->is_listed &&
	       (input->list == REPORT_LIST_GOOD || has(judge->input->published, DEVICE_MISSING));
}

/* In MIG mode, and not cut into instances yet. */
static bool has_nothing_to_offer(const struct report_device *reported)
{
	return reported && reported->mig.current && reported->partitions.present &&
	       reported->partitions.count == 0;
}

static bool is_withdrawn(const struct judge *judge)
{
	const struct health_input *input = judge->input;
	return input->is_off_offer && !is_missing(judge) && !judge->found[GPU_LOST] &&
	       !has_nothing_to_offer(input->reported) &&
	       (input->is_withdrawn || has(judge->input->published, NOT_ADVERTISED));
}

/*
 * What the agent has not decided since it started is as it was published, for a boot long. So its
 * restart changes nothing.
 */
static bool is_decided(const struct judge *judge, int verdict, enum finding finding)
{
	const struct report_device *reported = judge->input->reported;
	if (verdict != REPORT_UNDECIDED)
		return verdict == REPORT_YES;
	return judge->input->is_same_boot && (!reported || reported->condition.present) &&
	       has(judge->input->published, finding);
}

/* Errors cannot be watched, nothing else is read, and no reset is asked for instead. */
static bool is_unread(const struct judge *judge)
{
	const struct report_condition *c = &judge->condition;
	return judge->is_listed && c->present && !c->lost && !c->reset_required &&
	       condition_parts_find(c) == 0 && judge->input->report->events_since == 0;
}

/*
 * What was wrong stays so until it is read to be well, or the node is booted. That it cannot be read
 * tells nothing: NVML may not list the device, or not tell of it while it has MIG instances.
 */
static bool is_so(const struct judge *judge, bool is_read, bool is_told, enum finding finding)
{
	return is_read ? is_told : judge->input->is_same_boot && has(judge->input->published, finding);
}

/* No boot mends the card, and none of another node does. */
static bool is_remap_failed(const struct judge *judge)
{
	const struct report_remapped_rows *rows = &judge->condition.remapped_rows;
	return rows->present ? rows->failed : has(judge->last, ROW_REMAP_FAILED);
}

/*
 * A device that must be reset answers nothing else. So where the driver has no recovery action to tell,
 * memory errors that can be read again show that this is over. One call that fails shows nothing.
 */
static bool must_be_reset(const struct judge *judge)
{
	const struct report_condition *c = &judge->condition;
	const bool is_read = c->reset_required || c->recovery != REPORT_RECOVERY_UNREAD ||
			     (c->recovery_unsupported && condition_parts_have_memory_errors(c));
	return is_so(judge, is_read, c->reset_required || c->recovery == REPORT_RECOVERY_RESET,
		     RESET_REQUIRED);
}

/* What the driver asks for. */
static void look_at_recovery(struct judge *judge)
{
	static const struct {
		enum finding finding;
		int recovery; /* enum report_recovery */
	} rows[] = {
		{RECOVER_IMEX_DOMAIN, REPORT_RECOVERY_RECOVER_IMEX_DOMAIN},
		{REBOOT_REQUIRED, REPORT_RECOVERY_REBOOT},
		{DRAIN_REQUIRED, REPORT_RECOVERY_DRAIN_AND_RESET},
		{DRAIN_P2P_REQUIRED, REPORT_RECOVERY_DRAIN_P2P},
		{RECOVERY_REQUIRED, REPORT_RECOVERY_OTHER},
	};
	const struct report_condition *c = &judge->condition;
	const struct health_previous *published = judge->input->published;
	const bool is_read = c->recovery != REPORT_RECOVERY_UNREAD;
	bool *found = judge->found;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		found[rows[i].finding] =
			is_so(judge, is_read, c->recovery == rows[i].recovery, rows[i].finding);
	/* These two have one reason; the action tells them apart. */
	if (found[DRAIN_REQUIRED] && found[DRAIN_P2P_REQUIRED])
		found[published->recovery_action == ATTRIBUTION_RECOVERY_DRAIN_P2P
			      ? DRAIN_REQUIRED
			      : DRAIN_P2P_REQUIRED] = false;
	found[RESET_REQUIRED] = must_be_reset(judge);
}

/* An agent that starts while links are down has not seen that there were more. */
static int links_verdict(const struct judge *judge)
{
	const struct report_condition *c = &judge->condition;

	if (c->nvlinks.present && c->nvlinks.active < judge->input->most_nvlinks)
		return REPORT_YES;
	return c->nvlinks_down;
}

/* What the driver tells of the device. */
static void look_at_condition(struct judge *judge)
{
	const struct report_condition *c = &judge->condition;
	const struct report_remapped_rows *rows = &c->remapped_rows;
	bool *found = judge->found;

	found[GPU_LOST] = is_so(judge, c->present, c->lost, GPU_LOST);
	found[ROW_REMAP_FAILED] = is_remap_failed(judge);
	found[ROW_REMAP_PENDING] = is_so(judge, rows->present, rows->pending, ROW_REMAP_PENDING);
	found[RETIRED_PAGES_PENDING] = is_so(judge, c->retired_pages.present,
					     c->retired_pages.pending, RETIRED_PAGES_PENDING);
	found[UNCORRECTABLE_ECC] = is_so(judge, c->ecc_volatile.uncorrected >= 0,
					 c->ecc_volatile.uncorrected > 0, UNCORRECTABLE_ECC);
	found[FABRIC_NOT_READY] = is_so(judge, c->fabric != REPORT_FABRIC_UNREAD,
					c->fabric != REPORT_FABRIC_COMPLETED, FABRIC_NOT_READY);
	found[NVLINK_DOWN] = is_decided(judge, links_verdict(judge), NVLINK_DOWN);
	found[THERMAL_SLOWDOWN] = is_decided(judge, c->slowdown.thermal, THERMAL_SLOWDOWN);
	found[POWER_BRAKE] = is_decided(judge, c->slowdown.power_brake, POWER_BRAKE);
	found[HW_SLOWDOWN] = is_decided(judge, c->slowdown.hardware, HW_SLOWDOWN);
	found[PCIE_LINK_DEGRADED] = is_decided(judge, c->pcie_degraded, PCIE_LINK_DEGRADED);
}

/* What follows from who speaks of the device, and who does not. */
static void look_at_sources(struct judge *judge)
{
	const struct report *report = judge->input->report;
	bool *found = judge->found;

	found[PLUGIN_UNHEALTHY] = judge->input->is_plugin_unhealthy;
	found[NOT_ADVERTISED] = is_withdrawn(judge);
	found[DEVICE_MISSING] = is_missing(judge);
	found[NVML_HANGS] = report && judge->input->list != REPORT_LIST_GOOD &&
			    report->sources.nvml.hangs;
	found[NVML_UNAVAILABLE] = report && judge->input->list != REPORT_LIST_GOOD &&
				  !report->sources.nvml.hangs;
	found[HEALTH_UNREAD] = is_unread(judge);
	found[NO_AGENT] = !report;
}

/* Reasons */

static void add_reason(struct judge *judge, const struct row *row, struct view reason,
		       struct view message)
{
	struct health *health = &judge->health;

	assert(judge->n_reasons < LIMIT_HEALTH_REASONS);
	judge->reasons[judge->n_reasons++] = reason;
	if (judge->n_reasons > 1)
		return;
	health->state.state = row->state;
	health->state.recovery_action = row->action;
	health->status = row->state == ATTRIBUTION_HEALTH_UNKNOWN ? CONDITION_UNKNOWN : CONDITION_FALSE;
	health->reason = reason;
	health->message = message;
	health->is_withdrawn = row->finding == NOT_ADVERTISED;
}

/* By the agent, while it ran. */
static bool was_reset_watched(const struct judge *judge,
			      const struct attribution_health_event *event)
{
	const struct report_condition *c = &judge->condition;
	const bool is_later = judge->input->heard_uptime_ms > 0
				      ? event->uptime_ms <= c->reset_uptime_ms
				      : event->event_time <= c->reset_time;
	return is_later && c->reset_time > 0;
}

/* As several reports tell, maybe while no agent ran. The driver must go on asking for nothing. */
static bool was_reset_unwatched(const struct judge *judge,
				const struct attribution_health_event *event)
{
	const struct health_input *input = judge->input;
	return input->heard_uptime_ms > 0 && input->reset_uptime_ms > 0 &&
	       event->uptime_ms <= input->reset_uptime_ms &&
	       judge->condition.recovery == REPORT_RECOVERY_NONE;
}

static bool was_reset_since(const struct judge *judge, const struct attribution_health_event *event)
{
	return judge->is_content &&
	       (was_reset_watched(judge, event) || was_reset_unwatched(judge, event));
}

static int64_t age_of(const struct judge *judge, const struct attribution_health_event *event)
{
	const struct health_input *input = judge->input;
	return input->heard_uptime_ms > 0 ? input->heard_uptime_ms - event->uptime_ms
					  : input->heard_at - event->event_time;
}

/* The driver was asked long after, and asked for nothing. */
static bool is_quiet_since(const struct judge *judge, const struct attribution_health_event *event)
{
	return judge->condition.recovery == REPORT_RECOVERY_NONE && judge->is_content &&
	       age_of(judge, event) >= judge->input->quiet_ms;
}

/*
 * Clocks may be set; they count only where it is not known in which boot the errors were published. The
 * boot of a node that has not got the card any more settles nothing.
 */
static bool was_booted_since(const struct judge *judge, int64_t time)
{
	const struct health_input *input = judge->input;
	const bool was_booted = input->is_other_boot ||
				(!input->is_same_boot && input->booted_after > 0 &&
				 time <= input->booted_after);

	return was_booted && !judge->found[DEVICE_MISSING];
}

/* True when what the error asks for was done since then, or is not needed. */
static bool is_mended(const struct judge *judge, const struct attribution_health_event *event)
{
	const enum xid_class class = xid_look_up(event->xid).class;

	return was_booted_since(judge, event->event_time) ||
	       (class == XID_NEEDS_REBOOT && judge->is_listed && !judge->found[GPU_LOST] &&
		judge->was_away) ||
	       (class == XID_NEEDS_RESET && was_reset_since(judge, event)) ||
	       (class == XID_LOOK_CLOSER &&
		(was_reset_since(judge, event) || is_quiet_since(judge, event)));
}

/* True when the event was published, and was settled then, or has been since. */
static bool is_history(const struct judge *judge, const struct attribution_health_event *event)
{
	return events_have(judge->events.published, event) &&
	       (!had_xid(judge, event->xid) || is_mended(judge, event));
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

static bool has_own_error(const struct judge *judge)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].reason.len > 0 && table[i].matter == ERROR &&
		    judge->found[table[i].finding])
			return true;
	return next_xid(judge, XID_NEEDS_REBOOT, NULL) != NULL;
}

static int add_xids(struct judge *judge, const struct row *row, struct error *err)
{
	const struct attribution_health_event *event = NULL;
	struct arena *arena = judge->input->arena;

	while ((event = next_xid(judge, row->xid, event))) {
		char text[XID_REASON_SIZE], line[LIMIT_TEXT_MEANING + 32];
		int len = snprintf(line, sizeof(line), HEALTH_XID_MESSAGE, event->xid,
				   VIEW_ARG(xid_look_up(event->xid).meaning));
		struct view reason, message;
		assert(len > 0 && (size_t)len < sizeof(line));
		if (!arena_copy(arena, xid_reason(event->xid, text), &reason) ||
		    !arena_copy(arena, (struct view){line, (size_t)len}, &message))
			return error_no_memory(err);
		add_reason(judge, row, reason, message);
	}
	return 0;
}

/* Time alone settles an error that the driver is silent about. The node may be heard only now and then. */
static void look_again(struct judge *judge)
{
	const struct attribution_health_event *event = NULL;
	int64_t *again = &judge->health.again_in_ms;

	if (judge->condition.recovery != REPORT_RECOVERY_NONE || !judge->is_content)
		return;
	for (uint32_t i = 0; i < judge->events.n_items; i++) {
		event = &judge->events.items[i];
		if (xid_look_up(event->xid).class != XID_LOOK_CLOSER || is_history(judge, event))
			continue;
		int64_t left = judge->input->quiet_ms - age_of(judge, event);
		if (left < LEAST_WAIT_MS)
			left = LEAST_WAIT_MS;
		if (*again < 0 || left < *again)
			*again = left;
	}
}

static int add_rows(struct judge *judge, struct error *err)
{
	for (const struct row *row = table; row < table + ARRAY_SIZE(table); row++) {
		if (row->reason.len == 0 && add_xids(judge, row, err) < 0)
			return -1;
		if (row->reason.len > 0 && judge->found[row->finding])
			add_reason(judge, row, row->reason, row->message);
	}
	return 0;
}

/*
 * What the driver recommends counts before what the error alone would ask for. Exceptions: a lost
 * device does not tell, nothing mends a card whose rows cannot be remapped, and "none" is no remedy
 * for an unhealthy device. It is old where nothing is known.
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

	if (told > REPORT_RECOVERY_UNREAD && told < REPORT_RECOVERY_OTHER && !judge->condition.lost &&
	    state->recovery_action != ATTRIBUTION_RECOVERY_REPLACE &&
	    (told != REPORT_RECOVERY_NONE || state->state == ATTRIBUTION_HEALTH_DEGRADED))
		state->recovery_action = (int)actions[told];
}

/* From worst to best; the first reason gives state and action. A device without any is Healthy. */
static int find_reasons(struct judge *judge, struct error *err)
{
	judge->reasons = arena_alloc(judge->input->arena, LIMIT_HEALTH_REASONS,
				     sizeof(*judge->reasons));
	if (!judge->reasons)
		return error_no_memory(err);
	look_at_recovery(judge);
	look_at_condition(judge);
	look_at_sources(judge);
	judge->is_content = judge->is_listed && !has_own_error(judge);
	if (add_rows(judge, err) < 0)
		return -1;
	look_again(judge);
	heed_driver(judge);
	if (judge->n_reasons > 0 || !judge->condition.present)
		return 0;
	return health_reading_say(judge->input->reported, judge->input->report,
				  judge->input->arena, &judge->health.message, err);
}

static struct array list_of(const void *items, uint32_t n)
{
	return (struct array){n > 0 ? (void *)(uintptr_t)items : NULL, n, true};
}

/*
 * The time since boot names the watch. While the agent cannot say whether it goes on, it is the one that
 * was published: a new one is written once it is known.
 */
static void date_watch(const struct health_input *input, struct attribution_health_state *ret)
{
	const struct report *report = input->report;
	if (!report || report->events_since == 0)
		return;
	ret->events_since = report->events_since;
	ret->events_since_uptime_ms = report->events_since_uptime_ms;
	if (ret->events_since_uptime_ms == 0 && input->is_same_boot && input->published)
		ret->events_since_uptime_ms = input->published->events_since_uptime_ms;
}

int health_judge(const struct health_input *input, struct health *ret_health, struct error *err)
{
	struct judge judge = {
		.input = input,
		.events =
			{
				.report = input->report,
				.reported = input->reported,
				.holders = input->holders,
				.published = input->published_events,
				.published_partitions = input->published_partitions,
				.is_same_boot = input->is_same_boot,
				.uptime_ms = input->heard_uptime_ms,
				.arena = input->arena,
			},
		.is_listed = input->reported && input->list == REPORT_LIST_GOOD,
		.last = input->published ? input->published : input->former,
		.condition.ecc_volatile.uncorrected = -1,
		.health = {
			.state = {.state = ATTRIBUTION_HEALTH_HEALTHY,
				  .recovery_action = ATTRIBUTION_RECOVERY_NONE},
			.status = CONDITION_TRUE,
			.reason = VIEW(HEALTH_NOTHING_FOUND),
			.message = VIEW(HEALTH_NOTHING_FOUND_MESSAGE),
			.again_in_ms = -1,
		},
	};

	assert(!input->is_same_boot || !input->is_other_boot);
	assert(!input->reported || input->report);
	assert(!input->is_withdrawn || input->is_off_offer);
	judge.was_away = has(judge.last, DEVICE_MISSING) || has(judge.last, GPU_LOST);
	if (input->reported && input->reported->condition.present)
		judge.condition = input->reported->condition;
	if (events_collect(&judge.events, err) < 0 || find_reasons(&judge, err) < 0)
		return -1;
	assert(judge.n_reasons > 0 || judge.health.state.state == ATTRIBUTION_HEALTH_HEALTHY);
	judge.health.state.reasons = list_of(judge.reasons, judge.n_reasons);
	date_watch(input, &judge.health.state);
	judge.health.state.events = list_of(judge.events.items, judge.events.n_items);
	*ret_health = judge.health;
	return 0;
}
