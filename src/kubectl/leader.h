/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * leader - whether a controller writes what is shown. Of several replicas the one writes that holds the
 * Lease. While none does, what is shown is no longer kept up to date.
 *
 * Threads: any.
 */

#include "base/error.h"
#include "base/view.h"

#define LEADER_LEASE "gpu-attribution-controller"

enum leader_state {
	LEADER_UNKNOWN, /* there is no such Lease, or it may not be read */
	LEADER_PRESENT,
	LEADER_NONE,
};

/* All zero: nothing is known. */
struct leader {
	enum leader_state state;
	int64_t ended_at; /* of LEADER_NONE: since when nobody leads, ms since 1970; 0: never did anybody */
};

struct output;

/* What a Lease says. */
struct leader_lease {
	bool is_held;
	int64_t renewed_at; /* ms since 1970, by the clock of its holder; 0: never */
	int64_t lasts_ms;   /* from then on */
};

/* Reads a Lease in JSON. Fails with ERROR_REJECTED, ERROR_LIMIT or ERROR_NO_MEMORY. */
MUST_USE int leader_read(struct view json, struct leader_lease *ret, struct error *err);
/* Who leads at that time, by a Lease: nobody when it was given up or has run out. */
struct leader leader_judge(const struct leader_lease *lease, int64_t now);
/*
 * True when a clock could be wrong: the Lease has run out by it, or was renewed in its future. Then the
 * clock of the API server is to be asked.
 */
bool leader_is_doubtful(const struct leader_lease *lease, int64_t now);
/* True when it is known that nobody leads: then each line that shows a statement of a status is marked. */
bool leader_is_missing(const struct leader *leader);
/* Adds the note that nobody leads; none if somebody does, or if that is not known. */
void leader_note(const struct leader *leader, const char *namespace, struct output *output);
