/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reflector_failure - why a resource is not followed: a line for people, with advice where there is
 * any, and for how long the server has refused it (403). Used by reflector only.
 *
 * Threads: owner.
 */

#include "base/error.h"
#include "kube/resource.h"

/* Others read `trouble`; the rest is this module's. Zeroed: all is well. */
struct reflector_failure {
	struct error trouble; /* kind and text; ERROR_NONE and "": all is well */
	bool is_refused;      /* since refused_at, each time */
	uint64_t refused_at;  /* monotonic ms */
	uint64_t refused_last_at;
};

/* All is well. Whether the server refuses is another question. */
void reflector_failure_clear(struct reflector_failure *failure);
/* A request has failed; status: of its answer, or 0. */
void reflector_failure_set(struct reflector_failure *failure, const struct resource *resource,
			   bool is_watch, int status, const struct error *why);
/* The server does not know the resource, and the owner cannot do without it. */
void reflector_failure_set_absent(struct reflector_failure *failure,
				  const struct resource *resource);
/*
 * A request has failed: because the server refuses what is synced, or for another reason. Returns
 * true when it has refused for REFLECTOR_DENIED_MS, with nothing else in between.
 */
bool reflector_failure_note_refusal(struct reflector_failure *failure, bool is_refusal,
				    uint64_t now);
/* The server refuses no more, or a refusal from now on is another one. */
void reflector_failure_end_refusal(struct reflector_failure *failure);
/* The time between the first refusal and the last, in ms, as reflector_forbidden_ms(). */
uint64_t reflector_failure_refused_ms(const struct reflector_failure *failure);
