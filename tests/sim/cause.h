/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cause - why the code under test may say that it does not know: what was wrong in the world, from
 * when until when, on which node or device. The oracle asks it for each doubtful word in a status.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sim/programs.h"

enum cause {
	CAUSE_NEW_DEVICE,      /* an object was just made, or its device came to this node */
	CAUSE_REPORTS_MISSING, /* the controller cannot have heard of the node */
	CAUSE_API_LATE,        /* the controller cannot have heard of pods */
	CAUSE_DENIED,          /* nor may it read them */
	CAUSE_POD_NEW,         /* a pod's admission and its API object pass each other */
	CAUSE_RECORDS_FAILED,    /* PodResources or the checkpoint could not be read */
	CAUSE_DRIVER_FAILED,
	CAUSE_NVML_SILENT,     /* then no device at all could be read */
	CAUSE_DRIVER_HANGS,    /* or answers late, or its caller is away after that */
	CAUSE_OFFER_CHANGED,   /* the plugin came, went or changed its IDs; the kubelet restarted */
	CAUSE_RECORDS_STALE,     /* the checkpoint names pods that are gone */
	CAUSE_FORGED,          /* a forged report names pods that do not exist */
	CAUSE_DUPLICATE,       /* two nodes claim the device */
	CAUSE_CONTROLLER_NEW,  /* it was restarted */
	CAUSE_AGENTLESS,       /* the node never had an agent */
	CAUSE_UNNOTICED,       /* the agent hears of no changes */
	CAUSE_CLOCK_SET,       /* the controller's wall clock was */
	CAUSE_NODE_CLOCK,      /* the node's was: its kubelet seems to have started later */
	CAUSE_SLICES,          /* the driver's slices are away, incomplete or under way */
	CAUSE_CLAIMED,         /* a claim was allocated, or its use ended */
	CAUSE_DISPLACED,       /* a claim is gone, or gives a device that is */
	CAUSE_STAND_IN,        /* a pod holds a device for others, who need not be there */
	CAUSE_NODE_OFF,        /* neither an agent nor a kubelet tells what ended there */
	CAUSE_N,
};

/*
 * How long a cause may show after its end: the next sample (15 s at most) and its report, which may
 * have to wait for a back-off (30 s). The doubt about freshness begins only when the last report is
 * PROGRAMS_STALE_MS old. Records are doubted until PROGRAMS_SETTLING_MS after the kubelet's start.
 */
#define CAUSE_WEARS_OFF_MS 45000u
#define CAUSE_RELEASE_WEARS_OFF_MS 20000u /* of the records */
#define CAUSE_STALE_WEARS_OFF_MS (PROGRAMS_STALE_MS + 30000u)
#define CAUSE_SETTLING_WEARS_OFF_MS (PROGRAMS_SETTLING_MS + 25000u)

#define CAUSE_BIT(cause) (1u << (cause))
/* Why somebody may hold a slot who is not known. */
#define CAUSES_OF_UNKNOWN                                                                          \
	(CAUSE_BIT(CAUSE_API_LATE) | CAUSE_BIT(CAUSE_POD_NEW) | CAUSE_BIT(CAUSE_RECORDS_FAILED) |    \
	 CAUSE_BIT(CAUSE_OFFER_CHANGED) | CAUSE_BIT(CAUSE_RECORDS_STALE) | CAUSE_BIT(CAUSE_FORGED) | \
	 CAUSE_BIT(CAUSE_CONTROLLER_NEW) | CAUSE_BIT(CAUSE_AGENTLESS) | CAUSE_BIT(CAUSE_SLICES) |  \
	 CAUSE_BIT(CAUSE_DISPLACED) | CAUSE_BIT(CAUSE_STAND_IN))

/* Forgets all causes. */
void cause_reset(void);
/* node or gpu may be -1: all. until WORLD_NEVER: it has not ended; see cause_end(). */
void cause_add(enum cause cause, int node, int gpu, uint64_t from, uint64_t until);
/* What of that kind on that node has not ended ends now. */
void cause_end(enum cause cause, int node, int gpu);
/* Was there such a cause that touches the node and the device between `from` and now? */
bool cause_since(enum cause cause, int node, int gpu, uint64_t from);
/* The same of several, each a bit. */
bool cause_any_since(unsigned causes, int node, int gpu, uint64_t from);
