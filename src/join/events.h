/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * events - the XID errors of one device, each with the containers that held the device when it
 * happened
 *
 * What was published stays, and its list of containers never changes. NVML may tell the MIG device
 * that raised an error. Then only those are named who held it, or of whom it is not known.
 *
 * Threads: any.
 * Limits:  LIMIT_HEALTH_EVENTS: the newest, and of what needs to be mended the newest of each number;
 *          LIMIT_EVENT_TENANTS each, the rest of which is counted.
 */

#include "join/slots.h"

struct events {
	const struct subject *subject;
	const struct previous *before; /* this node's published status; NULL: none */
	struct array published;        /* events, also of another node's status */
	struct attribution_health_event *items; /* newest first */
	uint32_t n_items;
};

/*
 * Fills items: those that were published, and the report's new ones. They lie in the subject's arena.
 * Fails with ERROR_NO_MEMORY.
 */
MUST_USE int events_collect(struct events *events, struct error *err);
/* True when that event is among them. */
bool events_have(struct array events, const struct attribution_health_event *wanted);
