/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/shared_report.h"

#include <assert.h>
#include <stdlib.h>

struct shared_report *shared_report_new(size_t arena_cap, struct error *err)
{
	struct shared_report *report = calloc(1, sizeof(*report));

	if (!report) {
		error_no_memory(err);
		return NULL;
	}
	atomic_init(&report->references, 1);
	arena_init(&report->arena, arena_cap);
	return report;
}

bool shared_report_charge(struct shared_report *report, struct memory_share *share, size_t replaced)
{
	const size_t size = sizeof(*report) + report->arena.allocated;

	assert(!report->share);
	if (!memory_share_replace(share, replaced, size))
		return false;
	report->share = share;
	report->charged = size;
	return true;
}

struct shared_report *shared_report_ref(struct shared_report *report)
{
	unsigned before = atomic_fetch_add_explicit(&report->references, 1, memory_order_relaxed);

	assert(before > 0 && "whoever asks has one");
	(void)before;
	return report;
}

void shared_report_unref(void *report)
{
	struct shared_report *given = report;
	unsigned before;

	if (!given)
		return;
	before = atomic_fetch_sub_explicit(&given->references, 1, memory_order_acq_rel);
	assert(before > 0);
	if (before > 1)
		return;
	arena_deinit(&given->arena);
	if (given->share)
		memory_share_release(given->share, given->charged);
	free(given);
}

void shared_report_unrefp(struct shared_report **report)
{
	shared_report_unref(*report);
}
