/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * events - the XID errors of one device, each with the containers that held the device when it
 * happened
 *
 * What was published stays, and its list of containers never changes. NVML may tell the instances of
 * the MIG device that raised an error. Which device that is, the report tells; if its list of MIG devices
 * is missing or lacks it, what was published.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_HEALTH_EVENTS: the newest, and of what needs to be mended the newest of each number.
 */

#include "base/arena.h"
#include "model/attribution.h"
#include "model/report.h"

/* Where under MIG an error was: what NVML told of it, and the MIG devices that are known. */
struct events_origin {
	int64_t gpu_instance_id;     /* -1: not told */
	int64_t compute_instance_id; /* likewise: any of the GPU instance */
	struct array reported;       /* struct report_partition; of the report */
	struct array published;      /* struct attribution_partition; before it, by this node */
};

/* Who knows the holders of devices. */
struct events_holders {
	const void *owner; /* first argument of both */
	/* True when a device's or MIG device's UUID is that of the device. */
	bool (*is_of)(const void *owner, struct view uuid);
	/*
	 * Sets the event's tenants: who held the device at its time, and may have been where it was
	 * (events_may_be_of). Fails with ERROR_NO_MEMORY.
	 */
	int (*list)(const void *owner, const struct events_origin *origin,
		    struct attribution_health_event *event, struct error *err);
};

struct events {
	const struct report *report;          /* NULL: none */
	const struct report_device *reported; /* NULL: the report does not list the device */
	struct events_holders holders;
	struct array published; /* struct attribution_health_event */
	struct array published_partitions; /* struct attribution_partition, by this node */
	bool is_same_boot;      /* they were published of the report's boot */
	int64_t uptime_ms;      /* of that boot, now; 0: not told */
	struct arena *arena;
	struct attribution_health_event *items; /* newest first */
	uint32_t n_items;
};

/*
 * Fills items: those that were published, and the report's new ones. They lie in the arena. One whose
 * uptime is not known, as it was in another boot or node, gets the present one. Fails with
 * ERROR_NO_MEMORY.
 */
MUST_USE int events_collect(struct events *events, struct error *err);
/*
 * True when the error may be of who holds these MIG devices (struct view). Empty: which ones is not known.
 * If the event names its MIG device, it is of the holders of that one. Else it may be of a MIG device of
 * its instances, and of one whose instances are not known; of any if no instance is told.
 */
bool events_may_be_of(const struct attribution_health_event *event, const struct events_origin *origin,
		      struct array partitions);
/* True when that event is among them. */
bool events_have(struct array events, const struct attribution_health_event *wanted);
