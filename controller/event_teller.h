/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_teller - makes Kubernetes Events of what changes: of statuses that were written
 * (controller/event_changes.h), and of GPUs that stay idle (controller/event_idle.h).
 *
 * Of two replicas the one that leads tells. The other one remembers what is told, by what is published:
 * idle GPUs, and devices that were ill when that was last known. Not so what became idle in the last
 * EVENT_TELLER_SHADOW_MS: the leader may not have told it yet. Of changes in a status only who writes
 * it tells, so these need no memory. What the old leader had not sent yet waits until it leads again
 * (controller/event_sender.h).
 *
 * After a take-over the new leader makes the Events of idle GPUs of the last 60 to 90 s once more. The
 * API server refuses one of the same name. The name is the same if one look finds the same holdings.
 *
 * Threads: the loop's.
 */

#include "controller/event_sender.h"
#include "model/inventory.h"

struct event_teller;

struct event_teller_config {
	struct loop *loop;
	struct apiclient *client;
	struct inventory *inventory;
	struct event_budget_limits limits;
	int64_t idle_ms;               /* how long a GPU is idle and held until that is told */
	bool (*is_ready)(void *owner); /* what the inventory knows is complete and current */
	bool (*leads)(void *owner);
	uint64_t (*may_send_until)(void *owner); /* as in controller/event_sender.h */
	void *owner;
	uint64_t seed;                 /* for jitter */
};

/* In ms: a look each half of it. */
#define EVENT_TELLER_SHADOW_MS 60000u

/*
 * Registers for the inventory's attributions. What the config points to must outlive the teller. Fails
 * with ERROR_NO_MEMORY.
 */
MUST_USE int event_teller_new(const struct event_teller_config *config,
			      struct event_teller **ret_teller, struct error *err);
/* Accepts NULL. */
void event_teller_free(struct event_teller *teller);
/* Tells of what is new in a status that the API server has taken; copied. */
void event_teller_tell(struct event_teller *teller, struct view node_name,
		       const struct event_change *changes, size_t n);
/* As event_sender_is_busy(); NULL is not. */
bool event_teller_is_busy(const struct event_teller *teller);
/* As event_sender_cut(). Accepts NULL. */
void event_teller_cut(struct event_teller *teller);
/* What the sender, event_idle_look() and event_recovery_take() count; of nothing for NULL. */
struct event_counters event_teller_counters(const struct event_teller *teller);
