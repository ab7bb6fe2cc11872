/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reconciler_events - events of agents that were joined, and wait for the writes of their node. Used
 * by reconciler only.
 *
 * Threads: owner.
 * Limits:  one record for each join whose writes are under way; without memory the agent just
 *          reports its events again.
 */

#include "base/list.h"
#include "base/view.h"

/*
 * Events of one agent process up to `sequence` are in published statuses, or of no device that can have
 * one. All borrowed.
 */
struct reconciler_events {
	struct view node_name;
	struct view boot_id;
	int64_t instance;
	int64_t sequence;
};

struct reconciler_events_queue {
	struct list waiting;
};

typedef void (*reconciler_events_fn)(void *owner, const struct reconciler_events *events);

/* Nothing waits. */
void reconciler_events_init(struct reconciler_events_queue *queue);
/* Forgets what waits. */
void reconciler_events_deinit(struct reconciler_events_queue *queue);
/* The node's events wait from now on; they are copied. */
void reconciler_events_add(struct reconciler_events_queue *queue,
			   const struct reconciler_events *events);
/* Nothing of the node waits any more. fn is called for each that did; NULL: for none. */
void reconciler_events_end(struct reconciler_events_queue *queue, struct view node_name,
			   reconciler_events_fn fn, void *owner);
