/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * differences - in what a node differs from what is intended now, by the world alone.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>

#include "base/view.h"

enum difference {
	DIFFERENCE_POLICY_CONFLICT,
	DIFFERENCE_POLICY_NOT_READY,
	DIFFERENCE_PLUGIN_MISSING,
	DIFFERENCE_CONFIG_MISSING,
	DIFFERENCE_CONFIG_INVALID,
	DIFFERENCE_MIG_CONFIG_FAILED,
	DIFFERENCE_DRIVER_VERSION,
	DIFFERENCE_EXPORTER_MISSING,
	DIFFERENCE_EXPORTER_UNEXPECTED,
	DIFFERENCE_LABELS_MISSING,
	DIFFERENCE_LABELS_STALE,
	DIFFERENCE_CONFIG_DEAD,
	DIFFERENCE_PLUGIN_UNEXPECTED,
	DIFFERENCE_ALLOCATABLE_SHORT,
	DIFFERENCE_DEVICE_MISSING,
	DIFFERENCE_DRIVER_MISMATCH,
	DIFFERENCE_MIG_MODE_PENDING,
	DIFFERENCE_MPS_LEFT_BEHIND,
	DIFFERENCE_CONFIG_NOT_LOADED,
	DIFFERENCE_MPS_NOT_RUNNING,
	DIFFERENCE_SHARING_MODE,
	DIFFERENCE_REPLICA_COUNT,
	DIFFERENCE_RESOURCE_NAME,
	DIFFERENCE_MIG_STRATEGY,
	DIFFERENCE_MIG_LAYOUT,
	DIFFERENCE_SLOTS_LEAKED,
	DIFFERENCE_N,
};

enum difference_state {
	DIFFERENCE_NO,
	DIFFERENCE_YES,
	DIFFERENCE_WAITS,   /* there is one, and work on the node may explain it */
	DIFFERENCE_UNTOLD,  /* nobody can see it: what was published stays */
	DIFFERENCE_UNREAD,  /* what is intended cannot be read: no drift is published */
	DIFFERENCE_UNJUDGED, /* there may be one */
};

/* What work is going on, as the node's labels say. */
enum difference_work {
	DIFFERENCE_NO_WORK,
	DIFFERENCE_MIG,     /* in the order in which they are told */
	DIFFERENCE_UPGRADE,
	DIFFERENCE_PAUSED,
};

/* Who tells of it, but for the API server; what is in the way of each is in sim/drifts.c. */
enum difference_source {
	DIFFERENCE_BY_API,     /* nobody else */
	DIFFERENCE_BY_NODE,    /* the node's agent, of NVML and the kubelet */
	DIFFERENCE_BY_NVML,    /* the same, of NVML alone */
	DIFFERENCE_BY_FAILURE, /* of NVML that does not answer, which is told late */
};

/*
 * What is so now, of the node, or of a device in it: differences_is_of_gpu(). A drift of the type is
 * published as long as it is DIFFERENCE_YES.
 */
enum difference_state differences_state(int node, int gpu, enum difference difference);
/* Of several works, the first of the enum. */
enum difference_work differences_work(int node);
/* Static text: the reason that tells of the work; there is some. */
const char *differences_work_word(enum difference_work work);
/* The word is such a reason. */
bool differences_is_work(struct view word);
/* Since when labels tell of it may have to be looked at: after that long a label counts no more. */
void differences_look(void);
/* After the world. */
void differences_reset(void);
/* A label tells of work for so long that it may count no more, or not for much longer. */
bool differences_is_work_old(int node);
/* On some node such a label may cease to count about now, which is written though nothing happens. */
bool differences_may_expire(void);
/* Static text: the drift's type. */
const char *differences_word(enum difference difference);
/* Which difference the type is; DIFFERENCE_N: one that is not judged. */
enum difference differences_of(struct view word);
/* How long it lasts before it is a drift, ms, as the programs are set. */
unsigned differences_hold_off_ms(enum difference difference);
enum difference_source differences_source(enum difference difference);
/* Devices of one node may differ in it. */
bool differences_is_of_gpu(enum difference difference);
/* It is pending also while it waits. */
bool differences_is_remembered(enum difference difference);
/* It would be so, if none of these hid it: a bit for each difference; 0: it would not, or none may. */
unsigned differences_hiders(int node, int gpu, enum difference difference);
/* Why nobody can tell what the plugin shall do on the node: DIFFERENCE_UNREAD or DIFFERENCE_UNTOLD. */
enum difference_state differences_untold(int node);
/* It is there without any policy, too. */
bool differences_is_without_policy(enum difference difference);
/* The ConfigMap matters on the node, and cannot be read. */
bool differences_is_config_unread(int node);
/* Another number, if what that difference goes by was edited; it may also be of edits that leave it. */
unsigned differences_mark(int node, enum difference difference);
