/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_recovery - remembers which devices were ill when that was last known, while their status says
 * Unknown, which tells no more. So a recovery is told then, too. What is remembered is lost when the
 * process ends; the published status has no place for it.
 *
 * Threads: owner.
 * Limits:  LIMIT_EVENT_RECOVERIES devices. Beyond, the oldest is forgotten, and counted.
 */

#include "base/list.h"
#include "base/table.h"
#include "controller/event_changes.h"

struct event_recovery {
	struct table devices;
	struct list by_age;
	struct event_recovery_device *told; /* in the last call; NULL: none was */
	uint64_t n_forgotten; /* also those for which there was no memory; rises only */
};

/* Nothing is known yet. */
void event_recovery_init(struct event_recovery *recovery);
/* Forgets all; for an object that was initialised. */
void event_recovery_deinit(struct event_recovery *recovery);
/*
 * Takes a change of any use. Returns whether it is to be told. Its note is then what was remembered,
 * if it has none; borrowed until the next call.
 */
bool event_recovery_take(struct event_recovery *recovery, struct event_change *change);
