/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Of an agent that tells of "links" only it is not known which of them it has read. What the values of
 * this moment show may not be so at the next: so the message has that word for all of them.
 *
 * NVML documents of remapped rows alone that they are not supported while there are MIG instances. What
 * else is not supported under MIG may be so without: then no cause is told.
 */

#include "assess/health_reading.h"

#include <assert.h>
#include <stdio.h>

#include "assess/health.def"
#include "model/condition_parts.h"

#define READ_SIZE 512 /* room for the message */
#define XID_ERRORS (REPORT_PART_ALL + 1u) /* a bit beside those of parts */
#define EACH_LINK ((unsigned)REPORT_PART_NVLINK | REPORT_PART_FABRIC | REPORT_PART_PCIE)

/* Parts, as bits. */
struct reading {
	unsigned read;
	unsigned hidden_by_mig;
	unsigned unnamed; /* these are not told apart */
};

static struct reading reading_of(const struct report_device *device, const struct report *report)
{
	const struct report_condition *c = &device->condition;
	const bool has_links_only = (c->parts_read & REPORT_PART_LINKS) != 0 &&
				    (c->further_parts_read & EACH_LINK) == 0;

	return (struct reading){
		.read = condition_parts_find(c) | (unsigned)c->parts_read |
			((unsigned)c->further_parts_read & EACH_LINK) |
			(report->events_since > 0 ? XID_ERRORS : 0u),
		.hidden_by_mig =
			device->mig.current && c->rows_unsupported ? REPORT_PART_ROWS : 0u,
		.unnamed = has_links_only ? EACH_LINK : REPORT_PART_LINKS,
	};
}

/* That nothing was found says little without what was looked at. */
int health_reading_say(const struct report_device *device, const struct report *report,
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
		{REPORT_PART_NVLINK, VIEW_INIT("NVLink")},
		{REPORT_PART_FABRIC, VIEW_INIT("fabric")},
		{REPORT_PART_PCIE, VIEW_INIT("PCIe")},
	};
	const struct reading reading = reading_of(device, report);
	char text[READ_SIZE];
	int len = snprintf(text, sizeof(text), "%s", HEALTH_NOTHING_FOUND_MESSAGE);

	for (int is_read = 1; is_read >= 0; is_read--) {
		const char *separator = is_read ? "; read: " : "; cannot be read here: ";
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			const unsigned part = parts[i].part;
			const bool is_hidden = !is_read && (part & reading.hidden_by_mig) != 0;
			if (((part & reading.read) != 0) != is_read || (part & reading.unnamed) != 0)
				continue;
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%.*s%s", separator,
					VIEW_ARG(parts[i].name), is_hidden ? " (MIG)" : "");
			separator = ", ";
		}
	}
	assert(len > 0 && (size_t)len < sizeof(text));
	if (!arena_copy(arena, (struct view){text, (size_t)len}, ret_message))
		return error_no_memory(err);
	return 0;
}
