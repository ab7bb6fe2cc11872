/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reachability - does the API server answer? One opinion for all requests of a client, so that each
 * watch need not find out for itself. A state machine without I/O: it is told how requests end, and
 * says when to probe.
 *
 *	ANSWERS --- a request fails ---> DOUBTED --- the probe fails ---> AWAY
 *	   ^                                |                              |
 *	   +---------- any answer ----------+------------------------------+
 *
 * While the server is not known to answer, watches that want to begin wait. Any answer ends that.
 *
 * Threads: owner.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

/* A watch that waits for the server tries again within so much of its first answer. */
#define REACHABILITY_JITTER_MS 200u
/* A server that answers for less flaps: no back-off is forgotten for it. */
#define REACHABILITY_STEADY_MS 1000u

enum reachability_state {
	REACHABILITY_ANSWERS, /* or nothing is known yet */
	REACHABILITY_DOUBTED, /* a request failed; a probe tells whether it was the server */
	REACHABILITY_AWAY,    /* a probe failed too */
};

enum reachability_step {
	REACHABILITY_NOTHING,
	REACHABILITY_PROBE, /* send the probe now; reachability_probed() tells how it ended */
	/*
	 * Let one request that waits go ahead, if there is any. Something listens, and what the last
	 * probe found need not hold for every request.
	 */
	REACHABILITY_TRY,
	/* The server answers for REACHABILITY_STEADY_MS, and before that it flapped. */
	REACHABILITY_SETTLED,
};

enum reachability_probe {
	REACHABILITY_PROBE_ANSWERED, /* the server works */
	REACHABILITY_PROBE_REFUSED,  /* nothing listens: no server was bothered */
	REACHABILITY_PROBE_UNREADY,  /* an answer: 5xx or 429 */
	REACHABILITY_PROBE_FAILED,   /* no answer in time, or one that was cut */
};

struct reachability {
	struct prng prng;
	enum reachability_state state;
	bool is_probing;
	uint64_t probed_at; /* ms; when the probe was begun */
	bool is_try_next;      /* instead of a probe: something listened when the last one failed */
	uint64_t next_at;      /* ms; of the next probe */
	enum reachability_probe outcome; /* of the last probe that failed */
	unsigned n_changes;    /* of the outcome, in this outage */
	uint64_t same_since;   /* ms; since when probes have failed as the last one did */
	uint64_t answers_since; /* ms; when the state became REACHABILITY_ANSWERS; 0: at first */
	bool is_proven;        /* a request has been answered since */
	uint64_t silent_since; /* ms; what brought nothing since then may be lost; 0: nothing may */
	bool was_steady;       /* it had answered for REACHABILITY_STEADY_MS before the doubt */
	bool is_unsettled;     /* REACHABILITY_SETTLED is still to come */
};

/* The server is taken to answer. seed: for jitter. */
void reachability_init(struct reachability *reachability, uint64_t seed);
/*
 * now: monotonic ms, here and below. A request, not a probe, was answered: the server works. Returns
 * the state before; when that was another one, those that wait may go ahead.
 */
enum reachability_state reachability_answered(struct reachability *reachability, uint64_t now);
/*
 * A connection that was already open brought something, so the server works for its owner. If the
 * server was steady before, that ends doubt and outage as an answer does. Otherwise only an answer
 * counts, because a new connection may lead to another server. Returns the state before, or
 * REACHABILITY_ANSWERS where nothing ends.
 */
enum reachability_state reachability_heard(struct reachability *reachability, uint64_t now);
/*
 * A request, not a probe, got no answer, or one that blames the server (5xx). waited_ms: for how long
 * nothing came; 0 for an answer, and for a connection that was refused or broken off.
 */
void reachability_failed(struct reachability *reachability, uint64_t waited_ms, uint64_t now);
/*
 * A watch was refused (401, 403), which proves nothing. If it was let go ahead (REACHABILITY_TRY), the
 * probe follows at once: a server that refuses may be back.
 */
void reachability_refused(struct reachability *reachability, uint64_t now);
/*
 * The probe has ended. retry_after_ms: what its answer asked for, or 0. Returns the state before, as
 * reachability_answered(). If somebody else was answered meanwhile, that state is
 * REACHABILITY_ANSWERS, and reachability_silent_since() tells of this probe only.
 */
enum reachability_state reachability_probed(struct reachability *reachability,
					    enum reachability_probe outcome,
					    uint32_t retry_after_ms, uint64_t now);
/*
 * Since when something was waited for in vain, in the doubt or the outage that ended last, or by a
 * probe that failed after it; 0: it was not. A connection that brought nothing since then may lag,
 * though the server answers on others.
 */
uint64_t reachability_silent_since(const struct reachability *reachability);
/* When to call reachability_next(); UINT64_MAX: not before one of the above. */
uint64_t reachability_due_at(const struct reachability *reachability);
/* What to do now. */
enum reachability_step reachability_next(struct reachability *reachability, uint64_t now);
