/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * publisher - carries out what joins decided: creates objects, writes statuses, deletes objects, a
 * bounded number of requests at a time.
 *
 * Every write of a status names the version it replaces, so that a write by somebody else in
 * between is not lost. After a conflict it reads the object again and reports that the plan must be
 * made anew.
 *
 * Who may write for a while only (leader election) sends no request after it, and has none under way for
 * longer.
 *
 * The server's answers go into the inventory at once. So the next join compares with what was just
 * written, not with what the watch has shown so far.
 * A status that the server has taken as it was sent leads to no further join of its node, whether the
 * answer or the watch tells of it first. A write that has timed out has no such answer.
 *
 * Threads: the loop's.
 * Limits:  writes of an object and of a node as in controller/write_budget.h. What is above is held:
 *          it is not written, and must be decided anew. So is what is left: a plan takes in no further
 *          write after PUBLISHER_TURN_US, for meanwhile the loop does nothing else.
 */

#include "base/error.h"
#include "controller/event_changes.h"
#include "controller/write_budget.h"
#include "join/join.h"
#include "io/loop.h"
#include "kube/apiclient.h"
#include "model/inventory.h"

#define PUBLISHER_TURN_US 2000u

struct publisher;

/*
 * A plan has been carried out; error NULL: all of it. Otherwise its kind says what to do: make a
 * new plan after a back-off, or (REJECTED) leave it. created: an object was made, whose status a
 * new plan must write. Never called from inside publisher_apply().
 */
typedef void (*publisher_done_fn)(void *owner, struct view node_name, bool created,
				  const struct error *error);

/* The server has taken a status, in which that is new (controller/event_changes.h); borrowed. */
typedef void (*publisher_changed_fn)(void *owner, struct view node_name,
				     const struct event_change *changes, size_t n);

struct publisher_config {
	struct loop *loop;
	struct apiclient *client;
	struct inventory *inventory;
	uint32_t max_requests;   /* under way at a time */
	/*
	 * Asked before each request for a node: until when it may be sent and under way (clock_boot_ms()). A time
	 * that is past, as 0 is: it may not be sent. NULL: as any other request.
	 */
	uint64_t (*may_write_until)(void *owner, struct view node_name);
	publisher_done_fn done;
	publisher_changed_fn changed; /* NULL: nobody cares */
	void *owner;
};

/* What the config points to is borrowed and must outlive the publisher. */
MUST_USE int publisher_new(const struct publisher_config *config,
			   struct publisher **ret_publisher, struct error *err);
/* Cancels what is under way, without calling back. Accepts NULL. */
void publisher_free(struct publisher *publisher);

/* What became of the devices' actions. */
struct publisher_applied {
	size_t n_writes; /* that were started */
	size_t n_held;   /* that were not: the node had, or an object had, too many lately */
	size_t n_left;   /* that were not: there was no time; if any, others were started */
	uint64_t due_at; /* n_held or n_left > 0: when one of these may be written (loop_now_ms()) */
};

/*
 * Starts to carry out the devices' actions. With no write started done is not called. All that is
 * needed is copied. Fails with ERROR_NO_MEMORY or ERROR_LIMIT: then nothing is started.
 */
MUST_USE int publisher_apply(struct publisher *publisher, struct view node_name,
			     const struct join_device *devices, size_t n_devices,
			     struct publisher_applied *ret_applied, struct error *err);

/* What the API server did not take of the statuses lately, one line; "" when all was taken. */
const char *publisher_trouble(const struct publisher *publisher);

/* Rise only, but for waiting, under_way and held_now. */
struct publisher_counters {
	uint64_t created, updated, deleted, conflicts, rejected, dropped, failed;
	uint64_t waiting, under_way;
	uint64_t held[WRITE_BUDGET_N_HOLDERS]; /* by object and by node, once for each decision */
	uint64_t budgets_forgotten;
	struct write_budget_held held_now;
};
/*
 * created, updated, deleted: what the server says it did; waiting and under_way: writes; the last
 * three are of controller/write_budget.h.
 */
struct publisher_counters publisher_counters(const struct publisher *publisher);
/* Which says what it holds, and of which nodes; borrowed. */
const struct write_budget *publisher_write_budget(const struct publisher *publisher);
