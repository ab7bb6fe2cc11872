/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_settling - what goes on at a node that may explain a difference: drift.def has the kinds.
 *
 * Labels do not say since when. So work of which a label tells is published among what is pending, with
 * the time at which it was first seen. When it is older than the limit of its kind, the label was left
 * behind, and it explains nothing any more.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"
#include "base/sbuf.h"

struct drift_settling_state {
	unsigned now;     /* DRIFT_SETTLING_BIT(): what goes on */
	unsigned over;    /* what was published, and has ended */
	unsigned expired; /* of which a label tells for longer than its limit */
	int64_t since[N_DRIFT_SETTLING]; /* of what a label tells: ms since 1970; else 0 */
	uint32_t steps[N_DRIFT_SETTLING]; /* of the step that a label tells (assess/drift_hash.h); else 0 */
	int64_t again_in_ms; /* the first limit is reached then; -1: there is none */
};

/* What goes on at the node, as what was published of the device tells how long. */
struct drift_settling_state drift_settling_look(const struct drift_node *node,
						const struct drift_device *device);
/* The word of a kind, which is a reason of InSync; static. */
struct view drift_settling_word(enum drift_settling kind);
/* The kind of a word; N_DRIFT_SETTLING: it is none of ours. */
enum drift_settling drift_settling_of(struct view word);
/* The sentence for it; static. */
struct view drift_settling_text(enum drift_settling kind);
/*
 * Lists for publishing since when labels have told of work; returns how many there are. Where nothing waits
 * for the work, only what was published stays, until its label has gone.
 */
uint32_t drift_settling_list(const struct drift_settling_state *state,
			     const struct drift_device *device, bool is_waited_for,
			     struct attribution_pending_drift *list);
/* Adds to the message which labels were left behind, if any: " (label ... )". */
void drift_settling_say_expired(const struct drift_settling_state *state, struct sbuf *message);
