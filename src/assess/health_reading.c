/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/health_reading.h"

#include <assert.h>
#include <stdio.h>

#include "assess/health.def"
#include "model/condition_parts.h"

#define READ_SIZE 512 /* room for the message */
#define XID_ERRORS (REPORT_PART_ALL + 1u) /* a bit beside those of parts */

/* That nothing was found says little without what was looked at. */
int health_reading_say(const struct report_condition *c, const struct report *report,
		       struct arena *arena, struct view *ret_message, struct error *err)
{
	static const struct {
		unsigned part;
		struct view name;
	} parts[] = {
		{XID_ERRORS, VIEW_INIT("XID errors")},
		{REPORT_PART_ECC, VIEW_INIT("ECC")},
		{REPORT_PART_ROWS, VIEW_INIT("row remapping")},
		{REPORT_PART_RECOVERY, VIEW_INIT("recovery action")},
		{REPORT_PART_SLOWDOWN, VIEW_INIT("slowdown")},
		{REPORT_PART_LINKS, VIEW_INIT("links")},
	};
	const unsigned read = condition_parts_find(c) | (unsigned)c->parts_read |
			      (report->events_since > 0 ? XID_ERRORS : 0u);
	char text[READ_SIZE];
	int len = snprintf(text, sizeof(text), "%s", HEALTH_NOTHING_FOUND_MESSAGE);

	for (int is_read = 1; is_read >= 0; is_read--) {
		const char *separator = is_read ? "; read: " : "; cannot be read here: ";
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			if (((parts[i].part & read) != 0) != is_read)
				continue;
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%.*s", separator,
					VIEW_ARG(parts[i].name));
			separator = ", ";
		}
	}
	assert(len > 0 && (size_t)len < sizeof(text));
	if (!arena_copy(arena, (struct view){text, (size_t)len}, ret_message))
		return error_no_memory(err);
	return 0;
}
