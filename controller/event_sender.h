/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_sender - sends Kubernetes Events, one request at a time, as controller/event_budget.h allows.
 *
 * Nothing else waits for it. While the API server takes no Events it backs off, and says so once;
 * meanwhile Events wait, and are given up in the end. Requests that fail or hang tell nothing of
 * whether the API server answers others. What waits is lost when the process ends.
 *
 * Who may write for a while only (leader election) has no request under way for longer than that, and sends
 * nothing after it. What waits then is kept, for no other replica tells it. It is sent once this one may
 * write again, unless it has waited for too long.
 *
 * Threads: the loop's.
 */

#include "controller/event_budget.h"
#include "io/loop.h"
#include "kube/apiclient.h"

struct event_sender;

struct event_sender_config {
	struct loop *loop;
	struct apiclient *client;
	const char *instance; /* that reports; at most LIMIT_EVENT_WORD bytes count */
	struct event_budget_limits limits;
	uint64_t seed;        /* for jitter */
	/*
	 * Asked before each request: until when it may be sent and under way (clock_boot_ms()). A time that is
	 * past, as 0 is: none may be sent now. NULL: as any.
	 */
	uint64_t (*may_send_until)(void *owner);
	void *owner;          /* of that */
};

/* What the config points to must outlive the sender. Fails with ERROR_NO_MEMORY. */
MUST_USE int event_sender_new(const struct event_sender_config *config,
			      struct event_sender **ret_sender, struct error *err);
/* Cancels what is under way. Accepts NULL. */
void event_sender_free(struct event_sender *sender);
/* Tells of what changed on a node; copied. Sends nothing before it returns. */
void event_sender_tell(struct event_sender *sender, struct view node_name,
		       const struct event_change *changes, size_t n);
/* A request is under way, or one is due now and may be sent. */
bool event_sender_is_busy(const struct event_sender *sender);
/* Ends the request under way. What the server did of it is unknown, so it is one of those that wait. */
void event_sender_cut(struct event_sender *sender);
/* As event_budget_counters(); of nothing for NULL. */
struct event_counters event_sender_counters(const struct event_sender *sender);
