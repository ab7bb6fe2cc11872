/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * attribution_set - the GPUAttributions that the API server has; each hangs on the node state that
 * its status names.
 *
 * Threads: the loop thread.
 */

#include "base/arena.h"
#include "model/attribution.h"
#include "model/device_reporters.h"
#include "model/record_set.h"

struct attribution_record {
	struct record base; /* by name; its node state: of status.nodeName, NULL when that is empty */
	struct arena arena;
	struct arena *take; /* what the contents lie in until the record is kept */
	struct attribution attribution;
};

/*
 * Told after a change: the API server has `now` instead of `before`; NULL: nothing. Both are borrowed
 * for the call, which must not change the set.
 */
typedef void (*attribution_set_fn)(void *owner, const struct attribution *before, const struct attribution *now);

#define ATTRIBUTION_SET_LISTENERS 2u

struct attribution_set {
	struct record_set records;
	const struct device_reporters *reporters;
	struct {
		attribution_set_fn changed; /* NULL: nobody is told */
		void *owner;
	} listeners[ATTRIBUTION_SET_LISTENERS];
	/* True when the last join of this node wanted the object as it now is. NULL: it never did. */
	bool (*expected)(void *owner, struct view node_name, const struct attribution *object);
	void *expected_owner;
};

/* node_states and reporters are borrowed and must outlive the set. */
void attribution_set_init(struct attribution_set *set, struct node_state_set *node_states,
			  const struct device_reporters *reporters);
/* changed is told from now on, after those that were there before. There is room for it. */
void attribution_set_listen(struct attribution_set *set, attribution_set_fn changed, void *owner);
/* That owner is told no more; also one that never was. */
void attribution_set_leave(struct attribution_set *set, const void *owner);
/*
 * Adds or changes the object, if it is newer, and takes over the arena's memory then. Touches its node,
 * unless that expects it so, and those that report its device. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int attribution_set_put(struct attribution_set *set, const struct attribution *attribution,
				 struct arena *take_arena, const struct record_event *event, struct error *err);
/* The record with that name, or NULL. */
const struct attribution_record *attribution_set_find(const struct attribution_set *set, struct view name);
/* True when a pod of the node state, or a slice of it, names the device of that UUID. */
bool attribution_set_is_named(const struct node_state *node_state, struct view uuid);
