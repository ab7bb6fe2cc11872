/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * leadership - whether this replica may write. It runs the leader election (kube/lease.h) over the API
 * client, with a watch on the Lease, and tells of each change.
 *
 * Whether it leads is read from the clock each time, right before a write. So a process that was stopped,
 * or a machine that slept, does not lead when it goes on.
 *
 * All that reads accepts NULL, which leads always: --leader-elect=false.
 *
 * Threads: the loop's.
 */

#include "base/error.h"
#include "io/loop.h"
#include "kube/apiclient.h"

struct leadership;

struct leadership_config {
	struct loop *loop;
	struct apiclient *client;
	const char *namespace; /* of the Lease; texts are copied */
	const char *name;
	uint32_t duration_ms; /* as in kube/lease.h */
	uint32_t renew_deadline_ms;
	uint32_t retry_ms;
	uint64_t seed; /* for the identity's last part, and the watch */
	/* leadership_leads() has changed, but for the end that leadership_release() makes. */
	void (*changed)(void *owner);
	/* The Lease was given up, or there was nothing to give up: after leadership_release(). */
	void (*released)(void *owner);
	void *owner; /* of both, which are never called from inside a function of leadership */
};

/*
 * Watches the Lease; see leadership_run(). What the config points to must outlive it, but for the client: that is
 * freed before. Fails with ERROR_NO_MEMORY or ERROR_LIMIT.
 */
MUST_USE int leadership_new(const struct leadership_config *config,
			    struct leadership **ret_leadership, struct error *err);
/*
 * Runs for the lead from now on. Before, the Lease is only watched: a replica that has not read all yet
 * could write nothing, so one that has takes over. Accepts NULL.
 */
void leadership_run(struct leadership *leadership);
/* Accepts NULL. */
void leadership_free(struct leadership *leadership);

/* We may write now. */
bool leadership_leads(const struct leadership *leadership);
/* Until when (clock_boot_ms()); 0: we may not now; UINT64_MAX: for ever. */
uint64_t leadership_leads_until(const struct leadership *leadership);
/* We do not lead any more, and give the Lease up: the next one need not wait. Nothing may be under way. */
void leadership_release(struct leadership *leadership);

/* Who holds the Lease, for people; "": nobody, or that is not known. Borrowed until the next call. */
struct view leadership_holder(const struct leadership *leadership);
/* While we lead: the same number as when we led before if no other replica has led since. Never below 0. */
int64_t leadership_term(const struct leadership *leadership);
/* What keeps this replica from running for the lead, and what to do; "": nothing. Likewise. */
const char *leadership_trouble(const struct leadership *leadership);

/* Rise only. */
struct leadership_counters {
	uint64_t taken; /* times at which we began to lead */
	uint64_t lost;  /* times at which we ceased to, but for leadership_release() */
};
/* The counts since it was made. */
struct leadership_counters leadership_counters(const struct leadership *leadership);
