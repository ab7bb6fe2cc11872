/* SPDX-License-Identifier: Apache-2.0 */

/* Tells assess/activity.h what the join knows of one device. */

#include "join/stages.h"

#include <assert.h>

#include "assess/activity.h"

static enum activity_silence silence_of(const struct subject *subject, bool is_fresh)
{
	if (!subject->facts->input->report && !subject->is_awaited)
		return ACTIVITY_NO_AGENT;
	return is_fresh ? ACTIVITY_HEARD : ACTIVITY_STALE;
}

static bool is_partitioned(int mode)
{
	return mode == ATTRIBUTION_MODE_MIG || mode == ATTRIBUTION_MODE_MIG_TIME_SLICED;
}

static bool is_of_boot(const struct attribution_status *published, const struct report *report)
{
	return published && report && view_equal(published->report.boot_id, report->boot_id);
}

/* When the report was made that the published status rests on, if the same agent made it; else 0. */
static int64_t published_at(const struct attribution_status *published, const struct report *report)
{
	return is_of_boot(published, report) && published->report.instance == report->instance
		       ? published->report.observation_time
		       : 0;
}

int measure_activity(const struct subject *subject, bool is_fresh,
		     struct attribution_status *status, int64_t *ret_again_in_ms,
		     struct error *err)
{
	const struct join_input *join = subject->facts->input;
	const struct previous *previous = subject->device->published;
	const struct attribution_status *published = subject->published;
	const struct activity_input input = {
		.silence = silence_of(subject, is_fresh),
		.reported = subject->device->reported,
		.is_dated = subject->facts->devices->nvml != DEVICES_NVML_OK,
		.sampled_at = join->report ? join->report->sources.nvml.observed_at : 0,
		.heard_at = examine_heard_at(join),
		.observed_at = join->report ? join->report->observed_at : 0,
		.former_heard_at = join->former_heard_at,
		.is_partitioned = is_partitioned(status->sharing.mode),
		.published = previous ? previous->activity : (struct activity_previous){0},
		.published_partitions = published ? published->partitions : (struct array){0},
		.is_published_in_boot = is_of_boot(published, join->report),
		.published_at = published_at(published, join->report),
		.now_wall_ms = join->now_wall_ms,
		.arena = subject->arena,
	};
	assert(!previous == !published);
	*ret_again_in_ms = activity_again_in(&input);
	return activity_judge(&input, status->partitions, &status->partitions, &status->activity,
			      err);
}
