/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * replicas - to whom reports go: to each replica of the controller, that is to each address that its
 * host has. A replica that is away backs off by itself and delays nobody else. What an answer says of
 * events and of the heartbeat is the leader's word: other replicas leave it out.
 *
 * The host of the URL is looked up every 30 s, and sooner while a post gets no answer. If that fails,
 * the last addresses stay. Before the first ones are known, and where the host is an address, reports
 * go to the host itself.
 *
 * Threads: the loop's.
 * Limits:  RESOLVER_MAX replicas. Further addresses get no reports; their number is logged.
 */

#include "agent/replica.h"

struct replicas;

struct replicas_answer {
	bool accepted;
	bool others_wait;            /* posts to other replicas are still under way */
	int64_t acknowledged_events; /* as that of reporter_answer */
	const struct error *error;   /* why it was not accepted; borrowed for the call */
};

/* Texts are borrowed for the life of the replicas. */
struct replicas_config {
	struct reporter_config reporter; /* of each; its address is not read */
	struct delivery_config delivery;
	uint64_t seed;                   /* for the jitter */
	bool looks_up;                   /* false: reports go to the host itself */
	/* Encodes the newest state as the report with that number. */
	int (*make)(void *owner, int64_t instance, int64_t sequence, struct sbuf *body,
		    struct error *err);
	/* What became of one post. May be called from inside replicas_post(). */
	void (*answered)(void *owner, const struct replicas_answer *answer);
	/* There are other replicas, or one has closed its connection: replicas_next_at() may be another. */
	void (*changed)(void *owner);
	void *owner;
};

/* Nothing is due until replicas_changed(). Fails with ERROR_NO_MEMORY, or ERROR_REJECTED for a URL
 * without a host. */
MUST_USE int replicas_new(struct loop *loop, struct fetcher *fetcher,
			  const struct replicas_config *config, struct replicas **ret_replicas,
			  struct error *err);
/* Ends all posts without calling back. Accepts NULL. */
void replicas_free(struct replicas *replicas);

/* There is something new to say, to all of them. */
void replicas_changed(struct replicas *replicas);
/* When the next report is to be posted, to some of them. Monotonic ms; DELIVERY_NEVER: none is. */
uint64_t replicas_next_at(const struct replicas *replicas);
/* Makes one report and posts it to all for whom one is due. */
void replicas_post(struct replicas *replicas);

/* Of the next report. */
int64_t replicas_instance(const struct replicas *replicas);
/* As the leader said last. */
uint32_t replicas_heartbeat_ms(const struct replicas *replicas);
/* Addresses that get no reports, for there are more than RESOLVER_MAX. */
unsigned replicas_left_out(const struct replicas *replicas);
