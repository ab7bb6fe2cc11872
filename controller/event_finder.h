/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_finder - what the parts of controller/event_changes.h share: the two statuses of a device, and
 * the list of changes that is made of them.
 *
 * Threads: owner.
 */

#include "base/arena.h"
#include "controller/event_change.h"
#include "controller/event_note.h"
#include "join/join.h"

/* Failure is sticky: `err` says it at the end. */
struct event_finder {
	const struct join_device *device;
	const struct event_change_node *node;
	const struct attribution_status *before, *after;
	struct arena *arena;
	struct event_change *changes;
	size_t n;
	struct event_note note; /* of the next change */
	struct error err;
};

/* A GPUAttribution, as an Event regards it; borrows the texts. */
struct kube_event_object event_finder_object_of(struct view name, struct view uid);
/* The object of the device. */
struct kube_event_object event_finder_object(const struct event_finder *finder);
/*
 * A change without a note, that is as serious as its type. topic: the same for repeats; when: makes
 * this occurrence another one than earlier ones of its topic.
 */
struct event_change event_finder_make(enum event_type type,
				      const struct kube_event_object *regarding, uint64_t topic,
				      int64_t when);
/* Adds a copy of the change, with the note as it is by now; the note is empty then. */
void event_finder_add(struct event_finder *finder, struct event_change change);
