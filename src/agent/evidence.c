/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parts are left out in the order in which the controller can do without them. Processes only
 * corroborate. Advertised IDs are only compared with the intended sharing. The List has no pod
 * UIDs, but the checkpoint has. Devices and the checkpoint's entries stay: without them there is
 * nothing to attribute.
 *
 * A part that is left out is "not known", and its source is in error with the reason. A shortened
 * list would instead claim that its other members do not exist.
 */

#include "agent/evidence.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "schema/report_check.h"
#include "schema/report_doc.h"

#define TOO_LARGE "left out: with it the report would be larger than the protocol allows"

/* Copies of what a reduction changes; the original stays as it is. */
struct reduction {
	struct report report;
	struct report_device devices[LIMIT_REPORT_DEVICES];
};

static void blame(struct report_source *source, struct view message)
{
	source->state = REPORT_SOURCE_ERROR;
	source->message = message;
}

static void drop_processes(struct reduction *reduction)
{
	struct array *devices = &reduction->report.devices;
	for (uint32_t i = 0; i < devices->count; i++)
		ARRAY_AT(*devices, struct report_device, i)->processes = (struct array){0};
	blame(&reduction->report.sources.processes, VIEW(TOO_LARGE));
}

static void drop_advertised(struct reduction *reduction)
{
	struct report *report = &reduction->report;
	report->allocatable = (struct array){0};
	report->checkpoint.registered = (struct array){0};
	blame(&report->sources.pod_resources, VIEW("allocatable " TOO_LARGE));
	blame(&report->sources.checkpoint, VIEW("registered " TOO_LARGE));
}

static void drop_pod_resources(struct reduction *reduction)
{
	reduction->report.pod_resources = (struct array){0};
	blame(&reduction->report.sources.pod_resources, VIEW(TOO_LARGE));
}

static const struct {
	enum evidence_loss loss;
	void (*drop)(struct reduction *reduction);
} reductions[] = {
	{EVIDENCE_PROCESSES, drop_processes},
	{EVIDENCE_ADVERTISED, drop_advertised},
	{EVIDENCE_POD_RESOURCES, drop_pod_resources},
};

static void reduction_init(struct reduction *reduction, const struct report *report)
{
	reduction->report = *report;
	struct array *devices = &reduction->report.devices;
	assert(devices->count <= LIMIT_REPORT_DEVICES);
	if (devices->count == 0)
		return;
	memcpy(reduction->devices, devices->items,
	       devices->count * sizeof(reduction->devices[0]));
	devices->items = reduction->devices;
}

/* True when it fits or memory ran out: another try with less is of no use. */
static bool try_encode(const struct report *report, struct sbuf *buf, size_t before)
{
	buf->failure = ERROR_NONE;
	sbuf_truncate(buf, before);
	if (report_check_count_ids(report) > LIMIT_REPORT_ALL_IDS ||
	    report_check_count_processes(report) > LIMIT_REPORT_ALL_PROCESSES)
		buf->failure = ERROR_LIMIT;
	else
		report_doc_encode(report, buf);
	return buf->failure != ERROR_LIMIT;
}

int evidence_encode(const struct report *report, struct sbuf *buf, unsigned *ret_loss,
		    struct error *err)
{
	if (sbuf_check(buf, "report", err) < 0)
		return -1;
	struct reduction reduction;
	size_t before = buf->len;
	unsigned loss = 0;
	bool done = try_encode(report, buf, before);
	if (!done)
		reduction_init(&reduction, report);
	for (size_t i = 0; i < ARRAY_SIZE(reductions) && !done; i++) {
		reductions[i].drop(&reduction);
		loss |= reductions[i].loss;
		done = try_encode(&reduction.report, buf, before);
	}
	if (sbuf_check(buf, "report", err) < 0) {
		sbuf_truncate(buf, before);
		buf->failure = ERROR_NONE;
		return -1;
	}
	*ret_loss = loss;
	return 0;
}
