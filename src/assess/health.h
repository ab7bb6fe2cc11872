/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * health - whether one device is well: by its error events, by what NVML says of its condition, and by
 * the device plugin, which offers it or not.
 *
 * Error events stay in the status as history (assess/events.h). A new event speaks against the device
 * until
 * - the node has been booted since and has the card, as boot IDs tell. Of a card that comes from another
 *   node the clock tells it: whoever claims a card that was not moved has not been booted for it;
 * - or the device answers again, after it was missing or lost, if the error asks for a reboot;
 * - or the device was reset since, if the error asks for no more than a reset;
 * - or the driver still asks for nothing quiet_ms later, if the error's number does not say
 *   what to do.
 * A reset: the agent watched it; or the reports tell it by two signs (model/boot_history.h).
 * The last two count only while nothing else is wrong with the device itself. Clocks may be set, so they
 * go by the time since boot where the agent tells it.
 * What NVML told to be wrong stays a reason until it is read to be well, or the node is booted. That it
 * cannot be read tells nothing, and one failed reading of a device is no reset. That rows could not be
 * remapped stays over boots, and in another node.
 *
 * The published reasons tell which events still speak against it. So what was settled stays settled
 * when the controller restarts, and a boot meanwhile is seen.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_HEALTH_EVENTS events; LIMIT_HEALTH_REASONS.
 */

#include "assess/events.h"
#include "base/arena.h"
#include "base/limits.h"
#include "model/attribution.h"
#include "model/report.h"

/* What was published of the device. */
struct health_previous {
	uint64_t found;      /* reasons, as bits of enum health_finding */
	int recovery_action; /* enum attribution_recovery */
	int64_t xids[LIMIT_HEALTH_REASONS]; /* numbers of errors that were reasons */
	uint32_t n_xids;
	int64_t events_since_uptime_ms; /* see attribution_health_state */
};

/* What is known of the device; all is borrowed. */
struct health_input {
	const struct report *report;          /* of the node; NULL: none */
	const struct report_device *reported; /* NULL: the report does not list the device */
	enum report_list list;
	const struct health_previous *published; /* by this node; NULL: nothing */
	const struct health_previous *former; /* by the node that the card was taken from; */
					      /* NULL: from none */
	struct array published_events; /* the device's, by whichever node */
	struct array published_partitions; /* struct attribution_partition, by this node */
	int64_t booted_after; /* by the node's clock: it was booted after that; 0: not known */
	int64_t quiet_ms;     /* if the driver asks for nothing so long after an error, it was nothing */
	int64_t heard_at;     /* by the node's clock: what the report says was so then still */
	int64_t heard_uptime_ms; /* the same, since boot; 0: not told, and clocks must do */
	int64_t reset_uptime_ms; /* it was reset after that, as several reports tell; 0: not seen. */
				 /* What the agent watched is in its report */
	int64_t most_nvlinks; /* that were active in this boot and mode; 0: not known */
	bool is_same_boot;    /* the published status is of the report's boot */
	bool is_other_boot;   /* it is of one before; neither: that is not known */
	bool is_plugin_unhealthy; /* a pod's status says so of the device */
	bool is_off_offer;    /* what is on offer is known, and the device is not */
	bool is_withdrawn;    /* is_off_offer, and it was on offer once, as good sources tell */
	struct events_holders holders;
	struct arena *arena; /* results lie in it */
};

struct health {
	struct attribution_health_state state;
	int status; /* enum condition_status, of the condition Healthy */
	struct view reason;
	struct view message;
	bool is_withdrawn; /* what is worst is that it is on offer no more */
	int64_t again_in_ms; /* time alone may change the verdict then; -1: it does not */
};

/* Reads what is published. Reasons that are none of ours are left out. */
struct health_previous health_read_previous(const struct attribution_health_state *published);
/* Judges the device. The result lies in the arena or is borrowed. Fails with ERROR_NO_MEMORY. */
MUST_USE int health_judge(const struct health_input *input, struct health *ret_health,
			  struct error *err);
/*
 * True when NVML listed the device, as it was published: it says neither that the device is missing,
 * nor that NVML could not be read. While NVML hangs its last list counts.
 */
bool health_was_listed(const struct health_previous *published);
/* True when it was published as missing: also while NVML cannot be read since then. */
bool health_was_missing(const struct health_previous *published);
