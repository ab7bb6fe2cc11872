/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_change - one thing that a Kubernetes Event tells. controller/event_changes.h finds them.
 *
 * Threads: any; values.
 */

#include "controller/event_types.def"
#include "schema/kube_event_doc.h"

#define EVENT_NAME(name, ...) EVENT_##name,
enum event_type { EVENT_TABLE(EVENT_NAME) N_EVENT_TYPES };

enum event_use {
	EVENT_TELL,
	/* The device was ill, and whether it is well is not known now. */
	EVENT_AWAIT_RECOVERY,
	/* It is well, and that was not known before: told if it was ill when last known. */
	EVENT_END_RECOVERY,
};

struct event_change {
	enum event_type type;
	enum event_use use;  /* what is no EVENT_TELL is for controller/event_recovery.h */
	bool is_warning;
	int gravity;    /* of two changes of its type the graver one has more */
	struct kube_event_object regarding;
	struct kube_event_object related;
	struct view note;
	uint64_t id;    /* of this very occurrence: the same after a restart, and from any device */
	uint64_t topic; /* repeats have the same */
	uint32_t count; /* of what happened, at least 1 */
};

/* In a plan: the drifts of the node that come with it, and those that go, as bits (DRIFT_BIT). */
struct event_change_node {
	unsigned found;
	unsigned resolved;
	unsigned hidden; /* on each device, by what is of the node: these are not resolved */
};

/* The reason of an Event; static. */
struct view event_change_reason(enum event_type type);
/* The action; static. */
struct view event_change_action(enum event_type type);
