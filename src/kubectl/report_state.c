/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The state of the report comes first: while the node is silent everything else is old, whatever it
 * says. A condition only tells why. Ready is about tenants; health and drift have words of their own.
 */

#include "kubectl/report_state.h"

#include "base/sbuf.h"
#include "join/wording.h"
#include "kubectl/words.h"

struct report_state report_state_of(const struct attribution_status *status)
{
	const struct condition *ready = attribution_find_condition(status, wording_condition(CONDITION_READY));
	const struct condition *cause = ready;
	struct report_state state = {
		.is_fresh = status->report_state == ATTRIBUTION_REPORT_CURRENT,
	};
	state.is_current = state.is_fresh && ready && ready->status == CONDITION_TRUE;
	if (status->report_state == ATTRIBUTION_REPORT_UNSET) {
		state.message = VIEW("the status has no reportState that this version knows");
		return state;
	}
	if (!state.is_fresh)
		cause = attribution_find_condition(status, wording_condition(CONDITION_REPORT_FRESH));
	if (cause) {
		state.reason = cause->reason;
		state.message = cause->message;
		state.since = cause->last_transition_time;
	}
	return state;
}

void report_state_write(const struct attribution_status *status, bool has_no_leader, struct sbuf *buf)
{
	struct report_state state = report_state_of(status);
	if (state.is_fresh && !state.is_current)
		sbuf_append(buf, words_known(state.reason));
	else if (state.is_current && has_no_leader)
		sbuf_append(buf, VIEW("NoLeader"));
	else
		sbuf_append(buf, words_report_state(status->report_state));
	if (!state.is_current || has_no_leader)
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
	if (device->status.report_state == ATTRIBUTION_REPORT_STALE)
		sbuf_append(buf, VIEW("; what rests on its reports is the last that was known"));
}
