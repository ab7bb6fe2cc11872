/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * links - the most NVLinks that were active on each device of one node, as its reports of one boot tell,
 * whichever agent made them. An agent that starts knows only what it has seen itself
 * (agent/condition_history.h). Links of another boot must be forgotten.
 *
 * Threads: owner.
 * Limits:  LIMIT_REPORT_DEVICES devices that have links; of those beyond, or without memory, none are known.
 */

#include "model/report.h"

struct links_device;

/* Zeroed: nothing was seen. */
struct links {
	struct links_device *devices;
	uint32_t n_devices;
};

/* Takes what the report tells. In MIG mode links may be off: what was before is forgotten then. */
void links_hear(struct links *links, const struct report *report);
/* The most that were active on the device of that UUID; 0: not known. Accepts NULL. */
int64_t links_find(const struct links *links, struct view uuid);
/* Nothing was seen. Frees all memory. */
void links_forget(struct links *links);
