/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * activity - whether one device, and each of its partitions, computes: Active, Idle or Unknown.
 *
 * The node's agent measures, and keeps the window without work that it takes to be idle
 * (model/report.h). Here is judged what that is worth: whether the agent is heard, whether it measures
 * the device at all, and what remains of a window when the agent was restarted.
 *
 * What was published stays across a restart of the agent if the gap between its last report and its
 * first sample is at most REPORT_ACTIVITY_GAP_MS. If the controller was restarted too, the gap is not
 * known: Idle stays only if the agent has measured a whole window since.
 *
 * While the driver fails, what it told last counts for as long as no more samples are missing.
 *
 * Threads: any; pure.
 */

#include "assess/activity.def"
#include "base/arena.h"
#include "model/attribution.h"
#include "model/report.h"

/* Why nothing can be said now, whatever the report says. */
enum activity_silence {
	ACTIVITY_HEARD, /* the report is recent */
	ACTIVITY_STALE,
	ACTIVITY_NO_AGENT,
};

/* Why a state is Unknown, the one that is said of several partitions first. */
#define ACTIVITY_REASON_NAME(name, ...) ACTIVITY_REASON_##name,
enum activity_reason { ACTIVITY_REASON_NONE, ACTIVITY_REASONS(ACTIVITY_REASON_NAME) };

/* What was published of the device; zeros: nothing. */
struct activity_previous {
	int state; /* enum attribution_activity */
	enum activity_reason reason;
	int64_t idle_since;
	int64_t last_transition_time;
};

/* What is known of the device; all is borrowed. */
struct activity_input {
	enum activity_silence silence;
	const struct report_device *reported; /* NULL: the report does not list the device */
	bool is_dated;           /* the driver failed since: the report's devices are those of then */
	int64_t sampled_at;      /* when it answered last, by the node's clock; 0: never */
	int64_t observed_at;     /* the report, by the node's clock */
	int64_t heard_at;        /* when that was so still, as heartbeats say: the same clock */
	int64_t former_heard_at; /* the agent's former instance of the same boot, last, by the node's */
				 /* clock; 0: not known */
	bool is_partitioned;     /* the sharing mode is one of MIG */
	struct activity_previous published; /* by this node */
	struct array published_partitions;  /* struct attribution_partition */
	bool is_published_in_boot; /* from a report of the same boot as this one */
	int64_t published_at;      /* by the node's clock: when that report was made, if by the same */
				   /* instance of the agent as this one; else 0 */
	int64_t now_wall_ms;
	struct arena *arena; /* results lie in it */
};

/* The reason of a word; NONE: there is none, or none of ours. */
enum activity_reason activity_reason_of(struct view word);
/* The word of evidence for enum report_activity_source; static. Empty of UNMEASURED. */
struct view activity_source(int source);
/* Reads what is published. A reason that is none of ours is NONE. */
struct activity_previous activity_read_previous(const struct attribution_activity_state *published);
/*
 * Judges the device. partitions: struct attribution_partition, all but whose activity is known;
 * *ret_partitions is the same with it. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int activity_judge(const struct activity_input *input, struct array partitions,
			    struct array *ret_partitions, struct attribution_activity_state *ret,
			    struct error *err);
/*
 * In how many ms time alone may change the verdict, counted from when this is asked; -1: it does not.
 * That is while the driver fails and what it told last still counts.
 */
int64_t activity_again_in(const struct activity_input *input);
