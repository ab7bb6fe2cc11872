/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * roll - the pods that kubectl gave for names or a selector.
 *
 * Threads: owner.
 * Limits:  ROLL_BYTES of cards: some 200 000 pods.
 */

#include "base/arena.h"
#include "base/limits.h"
#include "kubectl/pod_card.h"

#define ROLL_BYTES (128u * LIMIT_MIB)

struct roll {
	struct arena arena;
	struct roll_entry *oldest;
	struct roll_entry **end;
	size_t n_pods;
};

struct roll_entry {
	struct roll_entry *next;
	struct pod_card card;
};

/* No pods; allocates nothing. It points into itself, so it must not be moved afterwards. */
void roll_init(struct roll *roll);
/* Accepts a zeroed object. For CLEANUP. */
void roll_deinit(struct roll *roll);
/*
 * Takes one pod as JSON, for an intake; context is the roll. Fails with ERROR_REJECTED for what is
 * no pod, with ERROR_LIMIT, or with ERROR_NO_MEMORY.
 */
MUST_USE int roll_take(void *context, struct view json, struct error *err);
/* The first pod of that name, or NULL. */
const struct pod_card *roll_find(const struct roll *roll, struct view name);
