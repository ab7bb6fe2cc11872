/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ReportFresh comes first: when the node is silent everything else is old, whatever it says. A
 * condition that is missing is as good as one that is Unknown. Ready is about tenants; health and
 * drift have words of their own.
 */

#include "kubectl/report_state.h"

#include "base/sbuf.h"
#include "kubectl/words.h"

static bool is_true(const struct condition *condition)
{
	return condition && condition->status == CONDITION_TRUE;
}

static enum report_state_kind kind_of(const struct condition *fresh)
{
	if (is_true(fresh))
		return REPORT_STATE_CURRENT;
	if (!fresh || fresh->status != CONDITION_FALSE)
		return REPORT_STATE_PENDING;
	return view_equal(fresh->reason, VIEW("NoAgent")) ? REPORT_STATE_NO_AGENT
							  : REPORT_STATE_STALE;
}

const char *report_state_name(enum report_state_kind kind)
{
	static const char *const names[] = {"Current", "Stale", "NoAgent", "Pending"};
	return names[kind];
}

struct report_state report_state_of(const struct attribution_status *status)
{
	const struct condition *fresh = attribution_find_condition(status, VIEW("ReportFresh"));
	const struct condition *ready = attribution_find_condition(status, VIEW("Ready"));
	const struct condition *cause = is_true(fresh) ? ready : fresh;
	struct report_state state = {
		.kind = kind_of(fresh),
		.is_fresh = is_true(fresh),
		.is_current = is_true(fresh) && is_true(ready),
	};
	if (cause) {
		state.reason = cause->reason;
		state.message = cause->message;
		state.since = cause->last_transition_time;
	}
	return state;
}

void report_state_write(const struct attribution_status *status, struct sbuf *buf)
{
	struct report_state state = report_state_of(status);
	if (state.kind == REPORT_STATE_CURRENT && !state.is_current)
		sbuf_append(buf, words_known(state.reason));
	else
		sbuf_append(buf, view_from(report_state_name(state.kind)));
	if (!state.is_current)
		sbuf_append_char(buf, '*');
}

void report_state_note(const struct attribution *device, int64_t now, struct sbuf *buf)
{
	struct report_state state = report_state_of(&device->status);
	if (state.is_current)
		return;
	sbuf_append(buf, words_known(state.reason));
	words_since(buf, state.since, now);
	if (state.message.len > 0) {
		sbuf_append(buf, VIEW(": "));
		sbuf_append(buf, state.message);
	}
	if (!state.is_fresh)
		sbuf_append(buf, VIEW("; what rests on its reports is the last that was known"));
}
