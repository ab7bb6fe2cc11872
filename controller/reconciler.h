/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reconciler - turns "something about this node changed" into published statuses: queue, gather,
 * join, publish. Level-triggered: a run looks at all that is known of the node, whatever woke it.
 *
 * Nothing is joined before every source has synced, nor while a watch is waited for (is_ready).
 *
 * A replica that does not lead joins in shadow: what joins remember is kept, so that it can take over at
 * once. Nothing is written then, and no event counts as published.
 *
 * Threads: the loop's.
 * Limits:  a turn on the loop begins no further join after RECONCILER_TURN_US. A node whose join was
 *          expensive waits for the next one as controller/join_pause.h says. Writes that
 *          controller/write_budget.h holds are decided anew when there is room for one.
 */

#include "base/error.h"
#include "model/inventory.h"
#include "io/loop.h"
#include "kube/apiclient.h"
#include "kube/workqueue.h"
#include "controller/publisher.h"
#include "controller/reconciler_events.h"

struct reconciler;

struct reconciler_config {
	struct loop *loop;
	struct apiclient *client;
	struct inventory *inventory;
	struct join_limits limits;
	uint32_t max_requests;       /* writes under way at a time */
	size_t max_join_bytes;       /* memory of one join; 0: RECONCILER_JOIN_BYTES */
	/* Every source has synced and is current. Asked before each join, and before each request. */
	bool (*is_ready)(void *owner);
	/*
	 * What is known of this node is current, too. Asked as is_ready() is. Whoever says no touches the
	 * node when it is (node_state_touch()). NULL: it always is.
	 */
	bool (*may_join)(void *owner, struct view node_name);
	/* Until when this replica leads (clock_boot_ms()); 0: it does not. NULL: it always does. */
	uint64_t (*leads_until)(void *owner);
	/* The node need not report these events again. NULL: nobody cares. */
	void (*events_published)(void *owner, const struct reconciler_events *events);
	/* As the publisher's of that name. NULL: nobody cares. */
	publisher_changed_fn changed;
	/* The node is gone and its report released. NULL: nobody cares. */
	void (*forgotten)(void *owner, struct view node_name);
	void *owner;
	uint64_t seed;
};

#define RECONCILER_TURN_US 2000u
/* The worst joins known needed 36 MiB. Then came a second pass for drifts of the node, and tighter limits. */
#define RECONCILER_JOIN_BYTES ((size_t)64 << 20)

/* Registers for the inventory's touches. What the config points to must outlive the reconciler. */
MUST_USE int reconciler_new(const struct reconciler_config *config,
			    struct reconciler **ret_reconciler, struct error *err);
/* Accepts NULL. */
void reconciler_free(struct reconciler *reconciler);
/* Something changed that is_ready() asks about: look at the queue. */
void reconciler_wake(struct reconciler *reconciler);
/* This replica leads from now on: each node is joined once, and what is not as published is written. */
void reconciler_take_over(struct reconciler *reconciler);

/* How a run ended, as controller-runtime tells it apart; the order of a metric's labels. */
enum reconciler_result {
	RECONCILER_SUCCESS,
	RECONCILER_ERROR,
	RECONCILER_REQUEUE, /* its object was newer at the API server */
	RECONCILER_N_RESULTS,
};

/* Rise only, but for depth and load. */
struct reconciler_counters {
	uint64_t runs, errors, entries_refused, ids_unknown, devices_refused, objects_left_out;
	uint64_t debounced_left_out;
	uint64_t pauses; /* of nodes whose join was expensive */
	uint64_t depth;
	uint64_t results[RECONCILER_N_RESULTS]; /* of runs that have ended */
	struct histogram durations; /* of these, in seconds, until the last write was answered */
	struct workqueue_load load;
	struct workqueue_counters queue;
	struct publisher_counters writes;
};
/* errors: runs that failed, but for ERROR_CONFLICT; depth: workqueue_depth(). */
struct reconciler_counters reconciler_counters(const struct reconciler *reconciler);
/* As publisher_trouble(). */
const char *reconciler_write_trouble(const struct reconciler *reconciler);
/* As publisher_write_budget(). */
const struct write_budget *reconciler_write_budget(const struct reconciler *reconciler);
