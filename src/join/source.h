/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * source - what the silence of each witness is worth.
 *
 * Threads: any; pure.
 */

#include "join/devices.h"
#include "join/node_pods.h"

enum source_state {
	SOURCE_ABSENT,     /* there is none, or nothing was ever read of it */
	SOURCE_UNREADABLE, /* it fails; what it said last is there */
	SOURCE_PARTIAL,    /* it speaks, but may leave holders out */
	SOURCE_COMPLETE,   /* it speaks, and names everybody whom it covers */
};

struct source {
	enum source_state checkpoint;
	enum source_state pod_resources;
	enum source_state pod_status; /* of each container that has a status there */
	enum source_state resource_claim; /* of the node's claims: join/from_resource_claim.h */
	enum source_state hami; /* of each container that has a part of the annotation */
	enum source_state kai;  /* never COMPLETE: it votes no on nobody */
	bool is_settling;        /* the kubelet restarted lately, and no List was complete since */
	bool is_list_complete;   /* a List just read names every active pod that it must name */
	int64_t settled_restart; /* for the next join, see join/join.h */
	int64_t settles_in_ms;   /* -1: is not settling */
};

/* True when the source could be read: PARTIAL or COMPLETE. */
bool source_is_good(enum source_state state);
/* True when the List or the checkpoint could be. */
bool source_is_any_good(const struct source *source);
/*
 * Judges them. The kubelet's are absent without a report. While pods are frozen these are too, and the
 * texts of pods are unreadable.
 */
struct source source_judge(const struct node_pods *node_pods, const struct devices *devices);
