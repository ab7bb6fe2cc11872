/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * handoff - gives whole objects from any thread to one other thread, which an event loop wakes by
 * a file descriptor. An object belongs to its pusher before handoff_push() and to the consumer
 * after handoff_pop(); nobody touches it in between.
 *
 * Threads: push any, pop the one consumer.
 * Limits:  at most `cap` objects wait; further ones are refused.
 */

#include <urcu/wfcqueue.h>

#include "base/error.h"

/* To be embedded in what is handed over. Needs no initialisation. */
struct handoff_node {
	struct cds_wfcq_node link;
};

struct handoff;

/* On success *ret_handoff belongs to the caller. Fails with ERROR_NO_MEMORY, ERROR_LIMIT (no file
 * descriptor is left). */
MUST_USE int handoff_new(size_t cap, struct handoff **ret_handoff, struct error *err);
/* The queue must be empty and no other thread use it any more. Accepts NULL. */
void handoff_free(struct handoff *handoff);
/* The same for CLEANUP. */
void handoff_freep(struct handoff **handoff);

/* Hands the object of take_node over. Fails with ERROR_LIMIT; the object is then still the
 * caller's. Never waits. */
MUST_USE int handoff_push(struct handoff *handoff, struct handoff_node *take_node,
			  struct error *err);
/*
 * The oldest object, or NULL when none waits. Pop until NULL before waiting for handoff_fd()
 * again: only that makes it unreadable. Never waits.
 */
struct handoff_node *handoff_pop(struct handoff *handoff);
/* Readable when objects may wait. Belongs to the queue. */
int handoff_fd(const struct handoff *handoff);
