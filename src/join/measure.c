/* SPDX-License-Identifier: Apache-2.0 */

/* Tells assess/activity.h what the join knows of one device. */

#include "join/subject.h"

#include <assert.h>

#include "assess/activity.h"

static enum activity_silence silence_of(const struct subject *subject)
{
	if (!subject->facts->input->report && !subject->is_awaited)
		return ACTIVITY_NO_AGENT;
	return input_is_fresh(subject->facts->input) ? ACTIVITY_HEARD : ACTIVITY_STALE;
}

int measure_activity(struct subject *subject, struct error *err)
{
	const struct join_input *join = subject->facts->input;
	struct attribution_status *status = subject->status;
	const struct previous *previous = subject->device->published;
	const struct attribution_status *published = subject->published;
	const bool is_in_boot = previous_boot(previous, join->report) == REPORT_BOOT_SAME;
	const bool is_by_same_agent = is_in_boot && published->report.instance == join->report->instance;
	const struct activity_input input = {
		.silence = silence_of(subject),
		.reported = subject->device->reported,
		.is_dated = subject->facts->devices->nvml != REPORT_LIST_GOOD,
		.sampled_at = join->report ? join->report->sources.nvml.observed_at : 0,
		.heard_at = examine_heard_at(join),
		.observed_at = join->report ? join->report->observed_at : 0,
		.former_heard_at = join->former_heard_at,
		.is_partitioned = attribution_is_partitioned(status->sharing.mode),
		.published = previous ? previous->activity : (struct activity_previous){0},
		.published_partitions = published ? published->partitions : (struct array){0},
		.is_published_in_boot = is_in_boot,
		.published_at = is_by_same_agent ? published->report.observation_time : 0,
		.now_wall_ms = join->now_wall_ms,
		.arena = subject->arena,
	};
	assert(!previous == !published);
	subject->activity_again_in_ms = activity_again_in(&input);
	return activity_judge(&input, status->partitions, &status->partitions, &status->activity, err);
}
