/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * last_writes - the end of a leader on a signal. No new status is written, and what is under way has a
 * moment to be answered. Kubernetes Events of it have a shorter one: they shall not delay the others. Then
 * the Lease is given up, so that another replica goes on at once.
 *
 * Threads: the loop's. Pure: time is an argument.
 * Limits:  LAST_WRITES_MS in all, of which Events have LAST_WRITES_EVENTS_MS.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAST_WRITES_MS 2000u
#define LAST_WRITES_EVENTS_MS 200u

/* All zero: no signal has come. */
struct last_writes {
	bool has_begun; /* nothing new is to be written */
	bool is_releasing;
	uint64_t since_ms;
};

/* A signal came. False: it is the second one, and the program is to end at once. */
bool last_writes_begin(struct last_writes *last, uint64_t now_ms);

/* For how many ms Events may be under way from now on; UINT32_MAX before a signal. */
uint32_t last_writes_events_ms(const struct last_writes *last, uint64_t now_ms);

enum last_writes_step {
	LAST_WRITES_WAIT,    /* ask again soon */
	LAST_WRITES_RELEASE, /* give the Lease up; said once */
	LAST_WRITES_END,     /* the time is over: end the program */
};
/*
 * What to do next, while so many writes wait for their answers. A Lease under which something is still
 * written is not given up: it runs out.
 */
enum last_writes_step last_writes_next(struct last_writes *last, size_t n_under_way,
				       uint64_t now_ms);
