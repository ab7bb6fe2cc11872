/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/health_reading.h"

#include <assert.h>
#include <stdio.h>

#include "assess/health.def"

#define READ_SIZE 512 /* room for the message */

bool health_reading_has_memory_errors(const struct report_condition *c)
{
	return c->ecc_volatile.uncorrected >= 0 || c->remapped_rows.present ||
	       c->retired_pages.present;
}

bool health_reading_has_links(const struct report_condition *c)
{
	return c->nvlinks.present || c->fabric != REPORT_FABRIC_UNREAD || c->pcie_lanes.present;
}

/* That nothing was found says little without what was looked at. */
int health_reading_say(const struct report_condition *c, const struct report *report,
		       struct arena *arena, struct view *ret_message, struct error *err)
{
	const struct {
		bool is_read;
		struct view name;
	} parts[] = {
		{report->events_since > 0, VIEW("XID errors")},
		{c->ecc_volatile.uncorrected >= 0, VIEW("ECC")},
		{c->remapped_rows.present || c->retired_pages.present, VIEW("row remapping")},
		{c->recovery != REPORT_RECOVERY_UNREAD, VIEW("recovery action")},
		{c->slowdown.present, VIEW("slowdown")},
		{health_reading_has_links(c), VIEW("links")},
	};
	char text[READ_SIZE];
	int len = snprintf(text, sizeof(text), "%s", HEALTH_NOTHING_FOUND_MESSAGE);

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
	assert(len > 0 && (size_t)len < sizeof(text));
	if (!arena_copy(arena, (struct view){text, (size_t)len}, ret_message))
		return error_no_memory(err);
	return 0;
}
