/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * replica - one replica of the controller, as the agent sees it: its address, when to post to it, and
 * how. It logs what becomes of its reports.
 *
 * Threads: the loop's.
 */

#include "agent/delivery.h"
#include "agent/reporter.h"
#include "io/resolver.h"

struct replica_answer {
	enum delivery_verdict verdict;
	int64_t acknowledged_events; /* as that of reporter_answer */
	const struct error *error;   /* why it was not accepted; borrowed for the call */
};

typedef void (*replica_fn)(void *owner, const struct replica_answer *answer);

/* What is the same for all replicas; it outlives them. */
struct replica_config {
	struct loop *loop;
	struct fetcher *fetcher;
	struct reporter_config reporter; /* its address is not read */
	struct delivery_pace *pace;
	replica_fn answered;
	void (*disconnected)(void *owner); /* a report is due sooner than it was */
	void *owner;
};

/* Zeroed: none. It must not be moved. */
struct replica {
	const struct replica_config *config; /* borrowed */
	char address[RESOLVER_TEXT];         /* "": whatever the host of the URL leads to */
	struct reporter *reporter;           /* NULL: there is no replica here */
	struct delivery delivery;
	enum delivery_verdict last_verdict;
};

/* address is copied. Fails with ERROR_NO_MEMORY; the replica is then zeroed. */
MUST_USE int replica_init(struct replica *replica, const struct replica_config *config,
			  const char *address, struct error *err);
/* Ends a post without calling back. Accepts a zeroed one, and leaves such a one. */
void replica_deinit(struct replica *replica);
/*
 * Posts the report with which delivery_begin() was called; body is copied. What cannot even be sent
 * counts as an answer that did not come, and is told from inside.
 */
void replica_post(struct replica *replica, struct view body);
/* The report could not be made, because of that: as one that cannot be sent. */
void replica_give_up(struct replica *replica, const struct error *err);
