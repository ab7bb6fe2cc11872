/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * recall - what the next join of a node must know of the last one. The inventory keeps it.
 *
 * Threads: the loop thread.
 */

#include "base/debounce.h"

/* All borrowed. */
struct recall {
	const struct debounce_seen *debounced; /* what does not count yet */
	size_t n_debounced;
	const struct view *ended; /* UIDs of pods that have ended, as long as reports name them */
	size_t n_ended;
	int64_t settled_restart;  /* the kubelet's restart since which a List was complete; 0: none */
	int64_t offered_since; /* wall clock, ms: slots of the node were counted otherwise before that, */
			       /* or not known; 0: there was no join, or its pods were not current */
	bool is_hearing_awaited;  /* a heartbeat of the node may change the result */
};
