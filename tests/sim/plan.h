/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * plan - when something goes on and off, by a stream of its own. What is planned is planned when
 * somebody asks for it: who asks and when changes nothing.
 *
 * Threads: the program's only one.
 * Limits:  PLAN_MAX spans; after them it is off.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

#define PLAN_MAX 96

/* It is on from a moment until another one. */
struct plan_span {
	uint64_t from, until;
};

struct plan {
	struct prng prng;
	struct plan_span spans[PLAN_MAX];
	int n_spans;
	uint64_t planned_until;
	unsigned on_bits, off_bits;
};

/*
 * Begins with the history, off. It is on for up to 2^on_bits seconds, then off for up to 2^off_bits;
 * short times are as frequent as long ones.
 */
void plan_begin(struct plan *plan, uint64_t seed, unsigned on_bits, unsigned off_bits);
/* Plans at least up to that moment. */
void plan_extend(struct plan *plan, uint64_t until);
bool plan_is_on(struct plan *plan, uint64_t at);
/* From now on it is on, or off, for good. */
void plan_freeze(struct plan *plan, bool is_on);
