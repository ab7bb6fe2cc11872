/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * apiclient_shared - the many reflectors of a client whose requests are streams of a few HTTP/2
 * connections. Used by apiclient only, whose header says what callers may rely on.
 *
 * A connection has few streams, for each costs a little whenever something arrives on the connection. With
 * 16, an event of a pod costs half of the CPU that it costs with 100.
 *
 * Few of them begin at a time: a list passes a gate until it has arrived, a watch until its head has.
 *
 * Threads: the loop's.
 * Limits:  APICLIENT_SHARED_MAX reflectors; APICLIENT_SHARED_AT_ONCE that begin at a time.
 */

#include "base/prng.h"
#include "base/table.h"
#include "kube/apiclient_endpoint.h"
#include "kube/runner.h"
#include "kube/start_gate.h"

#define APICLIENT_SHARED_MAX 8192u
#define APICLIENT_SHARED_AT_ONCE 16u
#define APICLIENT_SHARED_STREAMS 16u
/* Where so many connections do not suffice each has more streams. */
#define APICLIENT_SHARED_CONNECTIONS 64u

struct apiclient_shared {
	struct apiclient_endpoint *endpoint;     /* borrowed */
	struct runner_host host;                 /* the client: all but `start` and `rests` */
	void (*refused)(void *owner);            /* is_refused has become true; owner is the host's */
	struct start_gate gate;
	struct table by_reflector;
	uint32_t n_connections; /* if those suffice, with FETCH_STREAMS each */
	bool is_refused;    /* the server has answered by HTTP/1.1: no further request is sent */
	uint64_t n_over;    /* reflectors beyond the limit, that were not run */
	uint64_t told_at;   /* ms; when all were told of a recovery last */
};

/* Runs none. endpoint is borrowed and must outlive it, host is copied. */
void apiclient_shared_init(struct apiclient_shared *shared, struct apiclient_endpoint *endpoint,
			   const struct runner_host *host, void (*refused)(void *owner));
/* Ends all. */
void apiclient_shared_deinit(struct apiclient_shared *shared);
/* As apiclient_run_shared(). */
MUST_USE int apiclient_shared_run(struct apiclient_shared *shared, struct reflector *reflector,
				  struct error *err);
/* As apiclient_stop(). */
void apiclient_shared_stop(struct apiclient_shared *shared, struct reflector *reflector);
/* As apiclient_nudge(). */
void apiclient_shared_nudge(struct apiclient_shared *shared, struct reflector *reflector);
/*
 * All that wait for the server go ahead, within REACHABILITY_JITTER_MS, as far as the gate lets them.
 * Of a recovery (REFLECTOR_RECOVERED) they are told once a second: each of thousands may have one.
 */
void apiclient_shared_hasten(struct apiclient_shared *shared, struct prng *prng,
			     enum reflector_haste haste);
/* runner_drop_lost() for each. Returns for how many it was true. */
unsigned apiclient_shared_drop_lost(struct apiclient_shared *shared, uint64_t silent_since);
