/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ReportFresh comes first: when the node is silent everything else is old, whatever it says. A
 * condition that is missing is as good as one that is Unknown. Ready is about tenants; health and
 * drift have words of their own.
 */

#include "kubectl/standing.h"

#include "base/sbuf.h"
#include "kubectl/words.h"

static bool is_true(const struct condition *condition)
{
	return condition && condition->status == CONDITION_TRUE;
}

struct standing standing_of(const struct attribution_status *status)
{
	const struct condition *fresh = attribution_find_condition(status, VIEW("ReportFresh"));
	const struct condition *ready = attribution_find_condition(status, VIEW("Ready"));
	const struct condition *cause = is_true(fresh) ? ready : fresh;
	struct standing standing = {
		.is_fresh = is_true(fresh),
		.is_current = is_true(fresh) && is_true(ready),
	};
	if (cause) {
		standing.reason = cause->reason;
		standing.message = cause->message;
		standing.since = cause->last_transition_time;
	}
	return standing;
}

void standing_write(const struct attribution_status *status, struct sbuf *buf)
{
	struct standing standing = standing_of(status);
	if (standing.is_current) {
		sbuf_append(buf, VIEW("Current"));
		return;
	}
	sbuf_append(buf, words_known(standing.reason));
	sbuf_append_char(buf, '*');
}

void standing_note(const struct attribution *device, int64_t now, struct sbuf *buf)
{
	struct standing standing = standing_of(&device->status);
	if (standing.is_current)
		return;
	sbuf_append(buf, words_known(standing.reason));
	if (standing.since > 0) {
		sbuf_append(buf, VIEW(" for "));
		words_age(buf, standing.since, now);
	}
	if (standing.message.len > 0) {
		sbuf_append(buf, VIEW(": "));
		sbuf_append(buf, standing.message);
	}
	if (!standing.is_fresh)
		sbuf_append(buf, VIEW("; what rests on its reports is the last that was known"));
}
