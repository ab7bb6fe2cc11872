/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each partition is judged by itself, and so is a device that has none. A device with partitions is
 * Active if any of them is, Idle if all are, and else Unknown.
 *
 * A time that a report tells is published only if it is not later than the report.
 */

#include "assess/activity.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"

/* Until the node's next report or heartbeat nothing is known that was not known before. */
#define LEAST_WAIT_MS 10000

/* By enum activity_reason. */
static const struct view reason_words[] = {
	VIEW_INIT(""),
#define REASON(name, word, text) VIEW_INIT(word),
	ACTIVITY_REASONS(REASON)
#undef REASON
};

/* By enum report_activity_source. */
static const struct view source_words[] = {
	VIEW_INIT(""),
	VIEW_INIT("NVMLUtilization"),
	VIEW_INIT("GPM"),
	VIEW_INIT("DCGM"),
	VIEW_INIT("NoProcess"),
};
static_assert(ARRAY_SIZE(source_words) == REPORT_ACTIVITY_NO_PROCESS + 1, "each source has a word");
static_assert(ARRAY_SIZE(source_words) <= LIMIT_EVIDENCE, "all of them may be evidence");

/* What was published of the device, or of a partition. */
struct published {
	int state; /* enum attribution_activity */
	int64_t idle_since;
};

struct verdict {
	int state; /* enum attribution_activity */
	enum activity_reason reason;
	int64_t idle_since;
	int source; /* enum report_activity_source */
};

enum activity_reason activity_reason_of(struct view word)
{
	for (size_t i = 0; i < ARRAY_SIZE(reason_words); i++) {
		if (view_equal(reason_words[i], word))
			return (enum activity_reason)i;
	}
	return ACTIVITY_REASON_NONE;
}

struct view activity_source(int source)
{
	assert(source >= 0 && (size_t)source < ARRAY_SIZE(source_words));
	return source_words[source];
}

struct activity_previous activity_read_previous(const struct attribution_activity_state *published)
{
	return (struct activity_previous){
		.state = published->state,
		.reason = activity_reason_of(published->reason),
		.idle_since = published->idle_since,
		.last_transition_time = published->last_transition_time,
	};
}

static struct verdict unknown(enum activity_reason reason)
{
	return (struct verdict){.state = ATTRIBUTION_ACTIVITY_UNKNOWN, .reason = reason};
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static bool is_credible(const struct activity_input *input, const struct report_activity *said)
{
	return said->present && said->source != REPORT_ACTIVITY_UNMEASURED &&
	       said->measured_since > 0 && said->measured_since <= input->observed_at &&
	       said->last_busy_at <= input->observed_at &&
	       (said->state != REPORT_ACTIVITY_BUSY || said->last_busy_at > 0);
}

/* No sample is missing between the agent's former instance and this one. */
static bool is_bridged(const struct activity_input *input, const struct report_activity *said)
{
	return input->former_heard_at > 0 &&
	       said->measured_since - input->former_heard_at <= REPORT_ACTIVITY_GAP_MS;
}

/* It is known that samples are missing since what was published, or that the node's clock was set. */
static bool is_known_to_miss(const struct activity_input *input, const struct report_activity *said)
{
	return (input->former_heard_at > 0 && !is_bridged(input, said)) ||
	       (input->published_at > 0 && said->measured_since > input->published_at);
}

/* Since when it is idle: as was published, if no work was seen since, and none is known to be missed. */
static int64_t idle_since(const struct activity_input *input, const struct report_activity *said,
			  struct published before)
{
	const int64_t since = later(said->last_busy_at, said->measured_since);

	if (before.state == ATTRIBUTION_ACTIVITY_IDLE && before.idle_since > 0 &&
	    before.idle_since >= said->last_busy_at && before.idle_since <= since &&
	    input->is_published_in_boot && !is_known_to_miss(input, said))
		return before.idle_since;
	return since;
}

/* The window is not full: what was published stays, if none of its samples is missing. */
static struct verdict judge_measuring(const struct activity_input *input,
				      const struct report_activity *said, struct published before)
{
	const enum activity_reason last = input->published.reason;
	const bool had_state = before.state == ATTRIBUTION_ACTIVITY_ACTIVE ||
			       before.state == ATTRIBUTION_ACTIVITY_IDLE;

	if (had_state && input->is_published_in_boot && is_bridged(input, said))
		return (struct verdict){
			.state = before.state,
			.idle_since = before.state == ATTRIBUTION_ACTIVITY_IDLE
					      ? idle_since(input, said, before)
					      : 0,
			.source = said->source,
		};
	return unknown(had_state || last == ACTIVITY_REASON_SAMPLES_MISSING ||
				       last == ACTIVITY_REASON_NO_AGENT ||
				       last == ACTIVITY_REASON_STALE
			       ? ACTIVITY_REASON_SAMPLES_MISSING
			       : ACTIVITY_REASON_SETTLING);
}

/* For how long what a driver that fails told last still counts, in ms; negative: it does not. */
static int64_t dated_left(const struct activity_input *input)
{
	const int64_t age = input->heard_at - input->sampled_at;

	return input->sampled_at > 0 && age >= 0 ? REPORT_ACTIVITY_GAP_MS - age : -1;
}

/* said: NULL if the report has nothing of it. */
static struct verdict judge_one(const struct activity_input *input,
				const struct report_activity *said, struct published before)
{
	if (input->silence != ACTIVITY_HEARD)
		return unknown(input->silence == ACTIVITY_STALE ? ACTIVITY_REASON_STALE
								: ACTIVITY_REASON_NO_AGENT);
	if (!said || !is_credible(input, said))
		return unknown(input->is_partitioned ? ACTIVITY_REASON_MIG_NOT_MEASURED
						     : ACTIVITY_REASON_NOT_MEASURED);
	if (input->is_dated && dated_left(input) < 0)
		return unknown(ACTIVITY_REASON_SAMPLES_MISSING);
	switch (said->state) {
	case REPORT_ACTIVITY_BUSY:
		return (struct verdict){.state = ATTRIBUTION_ACTIVITY_ACTIVE,
					.source = said->source};
	case REPORT_ACTIVITY_IDLE:
		return (struct verdict){.state = ATTRIBUTION_ACTIVITY_IDLE,
					.idle_since = idle_since(input, said, before),
					.source = said->source};
	case REPORT_ACTIVITY_MEASURING:
		return judge_measuring(input, said, before);
	default: /* a word of a later version */
		return unknown(ACTIVITY_REASON_NOT_MEASURED);
	}
}

/* Partitions */

static const struct report_activity *find_reported(const struct activity_input *input,
						   struct view uuid)
{
	const struct report_device *device = input->reported;

	for (uint32_t i = 0; device && i < device->partitions.count; i++) {
		const struct report_partition *p =
			ARRAY_AT(device->partitions, struct report_partition, i);
		if (view_equal(p->uuid, uuid))
			return &p->activity;
	}
	return NULL;
}

static struct published find_published(const struct activity_input *input, struct view uuid)
{
	for (uint32_t i = 0; i < input->published_partitions.count; i++) {
		const struct attribution_partition *p = ARRAY_AT(
			input->published_partitions, struct attribution_partition, i);
		if (view_equal(p->uuid, uuid))
			return (struct published){p->activity.state, p->activity.idle_since};
	}
	return (struct published){0};
}

/* What two partitions amount to, or what some of them did and one more: it counts `sources` too. */
static struct verdict join_two(struct verdict a, struct verdict b)
{
	if (a.state == ATTRIBUTION_ACTIVITY_ACTIVE || b.state == ATTRIBUTION_ACTIVITY_ACTIVE)
		return (struct verdict){.state = ATTRIBUTION_ACTIVITY_ACTIVE};
	if (a.state == ATTRIBUTION_ACTIVITY_IDLE && b.state == ATTRIBUTION_ACTIVITY_IDLE)
		return (struct verdict){.state = ATTRIBUTION_ACTIVITY_IDLE,
					.idle_since = later(a.idle_since, b.idle_since)};
	if (a.state != ATTRIBUTION_ACTIVITY_UNKNOWN)
		return unknown(b.reason);
	if (b.state != ATTRIBUTION_ACTIVITY_UNKNOWN)
		return unknown(a.reason);
	return unknown(a.reason < b.reason ? a.reason : b.reason);
}

/* Judges each partition. sources: a bit for each that a state rests on, by state. */
static struct verdict judge_partitions(const struct activity_input *input, struct array partitions,
				       unsigned *sources)
{
	struct verdict all = {.state = ATTRIBUTION_ACTIVITY_IDLE};

	for (uint32_t i = 0; i < partitions.count; i++) {
		struct attribution_partition *p =
			ARRAY_AT(partitions, struct attribution_partition, i);
		struct verdict one = judge_one(input, find_reported(input, p->uuid),
					       find_published(input, p->uuid));
		assert(one.state != ATTRIBUTION_ACTIVITY_UNSET);
		p->activity = (struct attribution_partition_activity){one.state, one.idle_since,
								      reason_words[one.reason]};
		sources[one.state] |= 1u << one.source;
		all = join_two(all, one);
	}
	return all;
}

/* The device */

static struct verdict judge_device(const struct activity_input *input, unsigned *sources)
{
	const struct published before = {input->published.state, input->published.idle_since};
	struct verdict verdict;

	verdict = judge_one(input, input->reported ? &input->reported->activity : NULL, before);
	assert((verdict.state == ATTRIBUTION_ACTIVITY_UNKNOWN) == (verdict.source == 0));
	sources[verdict.state] |= 1u << verdict.source;
	return verdict;
}

static int list_evidence(const struct activity_input *input, unsigned sources, struct array *ret,
			 struct error *err)
{
	struct view *words = arena_alloc(input->arena, ARRAY_SIZE(source_words), sizeof(*words));
	uint32_t n = 0;

	if (!words)
		return error_no_memory(err);
	for (size_t i = 1; i < ARRAY_SIZE(source_words); i++) {
		if (sources & (1u << i))
			words[n++] = source_words[i];
	}
	*ret = (struct array){n > 0 ? words : NULL, n, true};
	return 0;
}

static int copy_partitions(const struct activity_input *input, struct array partitions,
			   struct array *ret, struct error *err)
{
	struct attribution_partition *items =
		arena_alloc(input->arena, partitions.count, sizeof(*items));

	if (!items)
		return error_no_memory(err);
	if (partitions.count > 0)
		memcpy(items, partitions.items, partitions.count * sizeof(*items));
	*ret = (struct array){items, partitions.count, partitions.present};
	return 0;
}

int64_t activity_again_in(const struct activity_input *input)
{
	const int64_t left = dated_left(input);

	if (input->silence != ACTIVITY_HEARD || !input->is_dated || left < 0)
		return -1;
	return later(left + 1, LEAST_WAIT_MS);
}

static int64_t transition_time(const struct activity_input *input, int state)
{
	const struct activity_previous *published = &input->published;
	const bool is_same = published->state == state && published->last_transition_time > 0;

	return is_same ? published->last_transition_time : input->now_wall_ms;
}

int activity_judge(const struct activity_input *input, struct array partitions,
		   struct array *ret_partitions, struct attribution_activity_state *ret,
		   struct error *err)
{
	unsigned sources[ATTRIBUTION_ACTIVITY_UNKNOWN + 1] = {0};
	struct verdict verdict;
	struct array copied, evidence;

	if (copy_partitions(input, partitions, &copied, err) < 0)
		return -1;
	verdict = copied.count > 0 ? judge_partitions(input, copied, sources)
				   : judge_device(input, sources);
	assert((verdict.reason != ACTIVITY_REASON_NONE) ==
	       (verdict.state == ATTRIBUTION_ACTIVITY_UNKNOWN));
	if (list_evidence(input, sources[verdict.state], &evidence, err) < 0)
		return -1;
	*ret_partitions = copied;
	*ret = (struct attribution_activity_state){
		.state = verdict.state,
		.reason = reason_words[verdict.reason],
		.last_transition_time = transition_time(input, verdict.state),
		.idle_since = verdict.idle_since,
		.scope = input->is_partitioned ? ATTRIBUTION_SCOPE_PARTITION
					       : ATTRIBUTION_SCOPE_DEVICE,
		.evidence = evidence,
	};
	return 0;
}
