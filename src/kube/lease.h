/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * lease - leader election by a Lease (coordination.k8s.io/v1): of several replicas one leads. A state
 * machine without I/O: it is asked what to request, and is told what came back and the time.
 *
 *	next = lease_next(l, now, wall)     what to do: request, or wait until then
 *	lease_answered(l, body, error...)   how the request ended
 *	lease_observed(l, object...)        what a watch tells; a help, which nothing rests on
 *
 * At no time do two lead, provided that the clock of no machine runs faster or slower than another's by
 * more than the share that renew_deadline is smaller than duration:
 * - A replica leads until renew_deadline after the start of its last good renewal, by its own clock.
 * - Another one takes over only after it has seen no new resourceVersion for duration, by its own clock,
 *   or after the holder has said that it has finished. A Lease without a holder is not such a word.
 * - Each PUT names the resourceVersion that it replaces, so whoever has missed one gets 409.
 * No wall clock counts. An editor who makes the Lease look released ends the lead when the holder's watch
 * tells of it, or its next renewal gets 409. So for some milliseconds two may lead, and without that watch for
 * retry_period. No other edit can do that.
 *
 * The Lease is never created: as long as there is none, nobody leads.
 *
 * Threads: owner.
 * Limits:  an object is at most LEASE_RECORD_BYTES.
 */

#include "base/error.h"
#include "base/view.h"

struct lease;

struct lease_config {
	struct view namespace; /* of the Lease; texts are copied */
	struct view name;
	struct view identity;  /* of this replica in this life; never used before */
	uint32_t duration_ms;       /* how long others wait without a renewal */
	uint32_t renew_deadline_ms; /* how long a renewal lets us lead; less than duration */
	uint32_t retry_ms;          /* from one renewal to the next; less than renew_deadline */
};

/* Of a Lease that names a longer duration than our own, no more counts. */
#define LEASE_MAX_DURATION_MS 60000u

/* Makes a lease that wants to look first. Fails with ERROR_NO_MEMORY or ERROR_LIMIT. */
MUST_USE int lease_new(const struct lease_config *config, struct lease **ret_lease,
		       struct error *err);
/* Accepts NULL. */
void lease_free(struct lease *lease);

enum lease_step {
	LEASE_WAIT,     /* nothing before wait_until, or before one of the calls below */
	LEASE_REQUEST,  /* send the request now; lease_answered() is due */
	LEASE_FINISHED, /* after lease_release(): it is done, or nothing was to be done */
};

struct lease_request {
	const char *method; /* "GET" or "PUT" */
	const char *path;   /* borrowed until the next call, as is the body */
	struct view body;   /* JSON; empty: none */
	uint32_t timeout_ms;
	uint64_t wait_until; /* ms, of LEASE_WAIT; UINT64_MAX: until a call */
};

/*
 * now: monotonic ms, here and below, by a clock that does not stand still while the machine sleeps.
 * now_wall_ms: for what the Lease shows to people.
 */
enum lease_step lease_next(struct lease *lease, uint64_t now, int64_t now_wall_ms,
			   struct lease_request *ret_request);
/* How the request ended: with an object, or with an error (kube/answer.h). */
void lease_answered(struct lease *lease, struct view body, const struct error *error, uint64_t now);
/*
 * A watch tells of the object. What is older than what is known is ignored. Otherwise the server answers,
 * so a pause after a failure ends.
 */
void lease_observed(struct lease *lease, struct view object, uint64_t now);
/* A watch tells that there is no Lease: it is looked for at once. */
void lease_is_gone(struct lease *lease);
/*
 * From now on we do not lead, and give the Lease up if we hold it. Whatever was written under it must
 * have ended before the next lease_next().
 */
void lease_release(struct lease *lease);

/* We lead while now is less than that, which may be past; 0: we do not. */
uint64_t lease_leads_until(const struct lease *lease);
/* Do we lead? */
bool lease_leads(const struct lease *lease, uint64_t now);
/* Who holds it as far as is known; empty: nobody, or that is not known. Borrowed until the next call. */
struct view lease_holder(const struct lease *lease);
/* leaseTransitions, as far as is known: another one whenever another replica has taken it. -1: not known. */
int64_t lease_transitions(const struct lease *lease);
/* Why we could not look or write, of kind ERROR_NONE when all is well. Borrowed until the next call. */
const struct error *lease_failure(const struct lease *lease);
