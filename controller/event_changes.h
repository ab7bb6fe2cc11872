/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_changes - what Kubernetes Events tell: what is new in the status that a plan writes, compared
 * with the status that it replaces. So a restart of the controller, which writes nothing, tells
 * nothing.
 *
 * Several drifts, or several errors, that come with one status are one Event. A drift of the node is
 * told on the Node, once for all of its devices. Whoever held the device at the time of an error is
 * told that it was on it, and never that it caused it.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_EVENT_PODS, LIMIT_EVENT_NOTE.
 */

#include "base/arena.h"
#include "controller/event_change.h"
#include "join/join.h"

/* What changes for the node when all of a plan is written; devices: all that the join gave. */
struct event_change_node event_changes_of_node(const struct join_device *devices, size_t n);
/*
 * What is told when the device's status is written, in *ret_changes; all of it lies in the arena.
 * Nothing for an object that is to be created or deleted. Fails with ERROR_NO_MEMORY, or ERROR_LIMIT
 * when the arena is full.
 */
MUST_USE int event_changes_of_device(const struct join_device *device,
				     const struct event_change_node *node, struct arena *arena,
				     struct event_change **ret_changes, size_t *ret_n,
				     struct error *err);
/*
 * What changes in the health of an object from one published status to the next, in *ret_change: for
 * event_recovery_take(), by a replica that has not written it. False: nothing does. Fails as
 * event_changes_of_device().
 */
MUST_USE int event_changes_of_health(const struct attribution *before,
				     const struct attribution *now, struct arena *arena,
				     struct event_change *ret_change, bool *ret_is_any,
				     struct error *err);
/* What somebody holds. */
struct event_changes_holding {
	const struct attribution_tenant *tenant;
	const struct attribution_partition *partition; /* NULL: the device */
};
/*
 * These holdings of the object have been idle for long. The note lies in the arena, all else is
 * borrowed. Fails as event_changes_of_device().
 */
MUST_USE int event_changes_of_idleness(const struct attribution *object,
				       const struct event_changes_holding *holdings, size_t n,
				       struct arena *arena, struct event_change *ret_change,
				       struct error *err);
/* The number of such a holding by its tenancy, which is the same for as long as it lasts. */
uint64_t event_changes_hash_holding(uint64_t hash, const struct event_changes_holding *holding);
