/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_list - the pods that kubectl returned for names or a selector.
 *
 * Threads: owner.
 * Limits:  POD_LIST_BYTES of cards: some 200 000 pods.
 */

#include "base/arena.h"
#include "base/limits.h"
#include "kubectl/pod_card.h"

#define POD_LIST_BYTES (128u * LIMIT_MIB)

struct pod_list {
	struct arena arena;
	struct pod_list_entry *oldest;
	struct pod_list_entry **end;
	size_t n_pods;
};

struct pod_list_entry {
	struct pod_list_entry *next;
	struct pod_card card;
};

/* No pods; allocates nothing. It points into itself, so it must not be moved afterwards. */
void pod_list_init(struct pod_list *pods);
/* Accepts a zeroed object. For CLEANUP. */
void pod_list_deinit(struct pod_list *pods);
/*
 * Takes one pod as JSON, for an object_stream; context is the pods. Fails with ERROR_REJECTED for what is
 * no pod, with ERROR_LIMIT, or with ERROR_NO_MEMORY.
 */
MUST_USE int pod_list_take(void *context, struct view json, struct error *err);
/* The first pod of that name, or NULL. */
const struct pod_card *pod_list_find(const struct pod_list *pods, struct view name);
