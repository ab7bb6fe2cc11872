/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * outgoing - the bytes that a connection has to send: the head of an answer, parts that it has in common
 * with other answers, and the rest. Nothing is copied but head and rest.
 *
 * Threads: owner.
 * Limits:  head and rest as given at outgoing_init().
 */

#include "base/sbuf.h"
#include "io/server.h"
#include "wire/httpmsg.h"

struct outgoing {
	struct sbuf own;      /* head and rest */
	struct server_shared shared; /* goes out between the two */
	size_t head;          /* of own, bytes before it */
	size_t part;          /* of it that is being sent, */
	size_t part_sent;     /* and how far */
	size_t sent;          /* of own */
};

/* Nothing is to be sent. Allocates nothing. */
void outgoing_init(struct outgoing *out, size_t cap);
/* Gives up what is left. As after outgoing_init() then. */
void outgoing_deinit(struct outgoing *out);
/* Adds bytes that are no part of an answer. */
void outgoing_add(struct outgoing *out, struct view bytes);
/*
 * Adds an answer; no other is left. Fills in the length in head. with_body false: the body is counted, and
 * left out. Takes answer->shared over.
 */
void outgoing_add_answer(struct outgoing *out, struct httpmsg_answer head,
			 const struct server_answer *answer, bool with_body);
/* False: something found no room, and the answer is not whole. */
bool outgoing_is_whole(const struct outgoing *out);
/* What is to be sent next, borrowed until then; empty: all is. */
struct view outgoing_next(struct outgoing *out);
/* So many bytes of that were sent. */
void outgoing_note(struct outgoing *out, size_t n);
/* All was sent: gives up the shared parts, and keeps the memory. */
void outgoing_end(struct outgoing *out);
