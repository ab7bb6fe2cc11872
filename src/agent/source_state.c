/* SPDX-License-Identifier: Apache-2.0 */

#include "agent/source_state.h"

#include <string.h>

#include "base/utf8.h"

static bool update(struct source_state *source, enum report_source_state state, bool hangs,
		   struct view message)
{
	struct view cut = utf8_truncate(message, sizeof(source->text));
	if (source->said.state == (int)state && source->said.hangs == hangs &&
	    view_equal(source->said.message, cut))
		return false;
	if (cut.len > 0)
		memmove(source->text, cut.ptr, cut.len);
	source->said.state = (int)state;
	source->said.hangs = hangs;
	source->said.has_driver_mismatch = false;
	source->said.message = (struct view){source->text, cut.len};
	return true;
}

bool source_state_succeed(struct source_state *source, int64_t wall_now, struct view message)
{
	source->said.observed_at = wall_now;
	return update(source, REPORT_SOURCE_OK, false, message);
}

bool source_state_fail(struct source_state *source, const struct error *why)
{
	source->said.failures++;
	return update(source, REPORT_SOURCE_ERROR, false, view_from(why->text));
}

bool source_state_hang(struct source_state *source, const struct error *why)
{
	source->said.hang_count += !source->said.hangs;
	return update(source, REPORT_SOURCE_ERROR, true, view_from(why->text));
}

bool source_state_vanish(struct source_state *source, struct view message)
{
	bool was_there = source->said.observed_at != 0;
	source->said.failures += was_there;
	return update(source, was_there ? REPORT_SOURCE_ERROR : REPORT_SOURCE_ABSENT, false, message);
}
