/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * front_command - what the loop wants changed at the front, with memory of its own: it is made on the
 * loop's thread, and carried out and freed on the front's.
 *
 * Threads: the owner's; one at a time.
 * Limits:  texts of a command as in front_command.c.
 */

#include "base/arena.h"
#include "base/handoff.h"
#include "controller/front.h"
#include "io/tls.h"

enum front_command_kind {
	FRONT_COMMAND_VERDICT,
	FRONT_COMMAND_READER,
	FRONT_COMMAND_CERTIFICATE,
	FRONT_COMMAND_STATE,
	FRONT_COMMAND_FORGET,
	FRONT_COMMAND_ACKNOWLEDGE,
	FRONT_COMMAND_ORDERS,
	FRONT_COMMAND_EXPOSITION,
};

struct front_command {
	struct handoff_node node; /* the queue's */
	enum front_command_kind kind;
	struct arena arena; /* of all texts below */
	uint64_t ticket;
	bool has_verdict;
	struct identity verdict;
	struct tls_identity *certificate; /* TAKE() it, else it is freed with this */
	struct front_state state;
	struct receiver_acknowledgement acknowledgement;
	struct receiver_order *orders;
	size_t n_orders;
	struct exposition_text *text; /* a reference; TAKE() it, else it is given up with this */
	enum error_kind failure; /* why there is none */
	struct view node_name;
};

/* The following copy what they are given. NULL: fails with ERROR_NO_MEMORY or ERROR_LIMIT. */

/* Of a token's review; verdict NULL: nothing could be found out. */
struct front_command *front_command_verdict(enum front_command_kind kind, uint64_t ticket,
					    const struct identity *verdict, struct error *err);
/* Fails also with ERROR_REJECTED: the two do not make a pair. */
struct front_command *front_command_certificate(struct view cert_pem, struct view key_pem,
						struct error *err);
/* See front_publish(). */
struct front_command *front_command_state(const struct front_state *state, struct error *err);
/* See front_forget(). */
struct front_command *front_command_forget(struct view node, struct error *err);
/* See front_acknowledge(); the report has events. */
struct front_command *front_command_acknowledge(const struct report *report, struct error *err);
/* See front_set_orders(). */
struct front_command *front_command_orders(const struct receiver_order *orders, size_t n,
					   struct error *err);
/* See front_expose(): takes the reference over in any case. */
struct front_command *front_command_exposition(struct exposition_text *take_text, enum error_kind failure,
					       struct error *err);
/* Accepts NULL. */
void front_command_free(struct front_command *command);
