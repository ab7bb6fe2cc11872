/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * descriptors - how many file descriptors the process may have open, and how many of them the
 * servers may use for connections. The rest are for the program's own use: its connections to the
 * API server, its event loops, certificates that are read again. So no number of clients can stop
 * the program's own requests.
 *
 * Threads: any, before other threads start.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DESCRIPTORS_OWN 64u
/* With fewer left for connections the controller does not start. */
#define DESCRIPTORS_LEAST 16u

/* Most connections of each server at a time; each is at least 2. */
struct descriptors_shares {
	uint32_t reports;
	uint32_t metrics;
	uint32_t probes;
};

/*
 * Raises the soft limit (RLIMIT_NOFILE) to the hard one. Returns the limit that then holds,
 * UINT32_MAX where there is none; without the right to raise it, the present one.
 */
uint32_t descriptors_raise(void);
/*
 * Divides what `limit` leaves: no share is larger than in `wanted`. Where that does not fit, metrics and
 * probes get an eighth each at most. Fails with ERROR_REJECTED.
 */
MUST_USE int descriptors_divide(uint32_t limit, const struct descriptors_shares *wanted,
				struct descriptors_shares *ret_shares, struct error *err);
