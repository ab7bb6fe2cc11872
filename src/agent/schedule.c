/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two deadlines: for the quick sample that finds a new allocation, and for the full one. A sign of
 * a change sets the deadline only if no earlier one is set, so a stream of signs cannot postpone
 * the sample. A change is looked for at most debounce_ms after its first sign. A full sample
 * contains the quick one and clears both deadlines, except for a List that may not be requested
 * yet.
 *
 * A full sample follows some time after a quick one (FOLLOW_UP_MS). A new allocation often brings
 * changes that cause no event: another compute mode, or a new partition.
 */

#include "agent/schedule.h"

#include <assert.h>

#include "base/compiler.h"

enum { FOLLOW_UP_MS = 2000, THROTTLE_BASE_MS = 1000, THROTTLE_CAP_MS = 30000 };

/* Since the kubelet's restart. */
static const uint32_t SETTLING_MS[] = {500, 2000, 5000, 15000};

static void pull(uint64_t *deadline, uint64_t at)
{
	if (at < *deadline)
		*deadline = at;
}

static uint64_t after_interval(struct schedule *schedule, uint64_t now)
{
	uint64_t interval = schedule->config.interval_ms;
	return now + prng_between(&schedule->prng, interval - interval / 10, interval);
}

void schedule_init(struct schedule *schedule, const struct schedule_config *config, uint64_t now,
		   uint64_t seed)
{
	assert(config->interval_ms > 0);
	*schedule = (struct schedule){
		.config = *config,
		.allocation_at = SCHEDULE_NEVER,
		.everything_at = now,
		.n_settling = ARRAY_SIZE(SETTLING_MS),
	};
	prng_init(&schedule->prng, seed);
	backoff_init(&schedule->throttle, THROTTLE_BASE_MS, THROTTLE_CAP_MS);
}

void schedule_checkpoint_written(struct schedule *schedule, uint64_t now)
{
	pull(&schedule->allocation_at, now + schedule->config.debounce_ms);
}

void schedule_node_changed(struct schedule *schedule, uint64_t now)
{
	pull(&schedule->everything_at, now + schedule->config.debounce_ms);
}

void schedule_kubelet_restarted(struct schedule *schedule, uint64_t now)
{
	schedule->restarted_at = now;
	schedule->n_settling = 0;
	schedule->kubelet_open_at = now;
	backoff_reset(&schedule->throttle);
	pull(&schedule->everything_at, now + schedule->config.debounce_ms);
}

/* The deadline of the next full sample, those after the kubelet's restart included. */
static void set_next_full(struct schedule *schedule, uint64_t now)
{
	schedule->everything_at = after_interval(schedule, now);
	while (schedule->n_settling < ARRAY_SIZE(SETTLING_MS)) {
		uint64_t at = schedule->restarted_at + SETTLING_MS[schedule->n_settling];
		if (at > now) {
			pull(&schedule->everything_at, at);
			break;
		}
		schedule->n_settling++;
	}
}

unsigned schedule_take_due(struct schedule *schedule, uint64_t now)
{
	if (schedule_next_at(schedule) > now)
		return 0;
	unsigned parts = SCHEDULE_ALL;
	if (schedule->everything_at <= now) {
		set_next_full(schedule, now);
	} else {
		parts = SCHEDULE_ALLOCATION;
		pull(&schedule->everything_at, now + FOLLOW_UP_MS);
	}
	schedule->allocation_at = SCHEDULE_NEVER;
	if (schedule->kubelet_open_at > now) {
		parts &= ~(unsigned)(SCHEDULE_LIST | SCHEDULE_ADVERTISED);
		schedule->allocation_at = schedule->kubelet_open_at;
	}
	return parts;
}

void schedule_kubelet_answered(struct schedule *schedule, bool throttled, uint64_t now)
{
	if (!throttled) {
		backoff_reset(&schedule->throttle);
		return;
	}
	schedule->kubelet_open_at = now + backoff_next(&schedule->throttle, &schedule->prng);
	pull(&schedule->allocation_at, schedule->kubelet_open_at);
}

uint64_t schedule_next_at(const struct schedule *schedule)
{
	uint64_t at = schedule->everything_at;
	pull(&at, schedule->allocation_at);
	return at;
}
