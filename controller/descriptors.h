/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * descriptors - how many file descriptors the process may have open, and how many of them the
 * servers may use for connections, and for reviews of their tokens. The rest are for the program's own
 * use: its connections to the API server, its event loops, certificates that are read again. So no
 * number of clients can stop the program's own requests.
 *
 * Of its own descriptors 24 are no connections. There is a connection to the API server for each watch,
 * 14 at most but for those of single ConfigMaps, and one for each write that is under way. Below
 * DESCRIPTORS_OWN + DESCRIPTORS_LEAST the program has fewer for itself, and does fewer writes at a time.
 *
 * Threads: any, before other threads start.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DESCRIPTORS_OWN 64u
/* The least that it can work with, when it does DESCRIPTORS_FEW_WRITES at a time. */
#define DESCRIPTORS_OWN_REDUCED 48u
#define DESCRIPTORS_FEW_WRITES 4u
/* With fewer left for clients the controller does not start. */
#define DESCRIPTORS_LEAST 16u

/* Most at a time; each is at least 2. */
struct descriptors_shares {
	uint32_t reports; /* connections of each server */
	uint32_t metrics;
	uint32_t probes;
	uint32_t reviews; /* of agents' tokens, under way */
	uint32_t writes;  /* under way; they are of the program's own use */
};

/*
 * Raises the soft limit (RLIMIT_NOFILE) to the hard one. Returns the limit that then holds,
 * UINT32_MAX where there is none; without the right to raise it, the present one.
 */
uint32_t descriptors_raise(void);
/*
 * Divides what `limit` leaves: no share is larger than in `wanted`. Where that does not fit, metrics,
 * probes and reviews get an eighth each at most. Fails with ERROR_REJECTED below
 * DESCRIPTORS_OWN_REDUCED + DESCRIPTORS_LEAST.
 */
MUST_USE int descriptors_divide(uint32_t limit, const struct descriptors_shares *wanted,
				struct descriptors_shares *ret_shares, struct error *err);
