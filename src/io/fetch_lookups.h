/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fetch_lookups - how many threads may be left behind that look up a name. They are libcurl's, sit
 * in getaddrinfo(), and nobody can stop them: while the name server is silent, such a thread stays
 * for up to a minute. libcurl does not tell how many there are, but we know when each was left.
 *
 * Threads: owner.
 * Limits:  FETCH_LOOKUPS_LEFT in two minutes.
 */

#include <stdint.h>

#include "base/error.h"

#define FETCH_LOOKUPS_LEFT 16u

/* Zeroed: none was left. */
struct fetch_lookups {
	uint64_t left_at[FETCH_LOOKUPS_LEFT]; /* monotonic ms; a ring. 0: never */
	unsigned oldest;
};

/* A transfer has ended while its name was being looked up. now: monotonic ms, here and below. */
void fetch_lookups_leave(struct fetch_lookups *lookups, uint64_t now);
/* 0 when a lookup may begin; else ERROR_RETRY: too many have been left lately. */
MUST_USE int fetch_lookups_check(const struct fetch_lookups *lookups, uint64_t now,
				 struct error *err);
