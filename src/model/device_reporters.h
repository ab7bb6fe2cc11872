/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_reporters - which nodes' reports name a device. By it an object finds the nodes that want
 * a join when it changes. And two nodes that report the same device find each other.
 *
 * Threads: the loop thread.
 * Limits:  none of its own: LIMIT_REPORT_DEVICES devices of a report at most.
 */

#include "model/node_state.h"

#define DEVICE_REPORTERS_NAME_SIZE 253u

struct device_reporters {
	struct table by_name; /* by the object's name */
};

/* Of no device yet; allocates nothing. device_reporters_deinit() at the end. */
void device_reporters_init(struct device_reporters *reporters);
/* All must have been dropped. */
void device_reporters_deinit(struct device_reporters *reporters);

/* The object's name of a device: its UUID in lower case, borrowed from buffer. */
struct view device_reporters_object_name(struct view uuid, char buffer[static DEVICE_REPORTERS_NAME_SIZE]);
/* Adds the node to each device that the report names. Fails with ERROR_NO_MEMORY, perhaps half done. */
MUST_USE int device_reporters_add(struct device_reporters *reporters, struct node_state *node_state,
				  const struct report *report, uint64_t now_ms, struct error *err);
/* Drops it from what the report (may be NULL) names and `keep` (may be NULL) does not. */
void device_reporters_drop(struct device_reporters *reporters, const struct node_state *node_state,
			   const struct report *report, const struct report *keep);
/* The i-th node whose report names the device of the object, or NULL. */
struct node_state *device_reporters_node_state(const struct device_reporters *reporters,
					       struct view object_name, unsigned i);
/* What the nodes' reports say of a device; -1: none names it. */
struct device_reporters_ages {
	int64_t youngest_ms; /* age of the youngest that names it */
	int64_t held_ms;     /* for how long one node has named it in each report: the longest */
};
/* Of the nodes other than `except` (may be NULL) whose reports name the device of the object. */
struct device_reporters_ages device_reporters_ages(const struct device_reporters *reporters,
						   struct view object_name,
						   const struct node_state *except, uint64_t now_ms);
