/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * request_counts - requests to the API server by method and status, and how long they took, with
 * the meaning that client-go's metrics give them. What there can be is a fixed table.
 *
 * Threads: owner.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"

#define REQUEST_COUNTS_METHODS 5u
#define REQUEST_COUNTS_CODES 18u

/* GET first; what is none of them counts as that. */
extern const char *const request_counts_methods[REQUEST_COUNTS_METHODS];
/* As a label shows them: "<error>" is no answer, and "<other>" an answer with another status. */
extern const char *const request_counts_codes[REQUEST_COUNTS_CODES];

struct request_counts {
	uint64_t counts[REQUEST_COUNTS_METHODS][REQUEST_COUNTS_CODES];
	struct histogram durations[REQUEST_COUNTS_METHODS]; /* seconds; without watches */
};

/* Nothing is counted yet. */
void request_counts_init(struct request_counts *counts);
/* An attempt has got that HTTP status; 0: no answer. */
void request_counts_add(struct request_counts *counts, const char *method, int status);
/*
 * An attempt with that method took so long until its answer was whole, or failed. As in client-go, a
 * list is timed to its last byte, and a watch is not timed.
 */
void request_counts_time(struct request_counts *counts, const char *method, uint64_t ms);
