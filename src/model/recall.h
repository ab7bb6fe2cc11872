/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * recall - what the next join of a node must know of the last one. The inventory keeps it.
 *
 * Threads: the loop thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

/* Something that is seen, and does not count until it has been seen for a while (join/debounce.h). */
struct recall_debounced {
	uint64_t key;
	int64_t age_ms; /* since it was first seen, without a break, by the monotonic clock */
};

/* All borrowed. */
struct recall {
	const struct recall_debounced *debounced;
	size_t n_debounced;
	const struct view *ended; /* UIDs of pods that have ended, as long as reports name them */
	size_t n_ended;
	int64_t settled_restart;  /* the kubelet's restart since which a List was complete; 0: none */
	int64_t offered_since; /* wall clock, ms: slots of the node were counted otherwise before that, */
			       /* or not known; 0: there was no join, or its pods were not current */
	bool is_hearing_awaited;  /* a heartbeat of the node may change the result */
};
