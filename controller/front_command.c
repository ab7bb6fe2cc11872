/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/front_command.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "controller/exposition_text.h"
#include "model/report.h"

#define TEXTS_CAP (64u * LIMIT_KIB)
#define ORDERS_CAP (64u * LIMIT_MIB) /* of all nodes */

void front_command_free(struct front_command *command)
{
	if (!command)
		return;
	tls_identity_free(command->certificate);
	exposition_text_unref(command->text);
	arena_deinit(&command->arena);
	free(command);
}

static void front_command_freep(struct front_command **command)
{
	front_command_free(*command);
}

static struct front_command *make(enum front_command_kind kind, size_t cap, struct error *err)
{
	struct front_command *command = calloc(1, sizeof(*command));
	if (!command) {
		error_no_memory(err);
		return NULL;
	}
	command->kind = kind;
	arena_init(&command->arena, cap);
	return command;
}

struct front_command *front_command_verdict(enum front_command_kind kind, uint64_t ticket,
					    const struct identity *verdict, struct error *err)
{
	struct front_command *command = make(kind, TEXTS_CAP, err);
	assert(kind == FRONT_COMMAND_VERDICT || kind == FRONT_COMMAND_READER);
	if (!command)
		return NULL;
	command->ticket = ticket;
	command->has_verdict = verdict != NULL;
	if (verdict)
		command->verdict = *verdict;
	return command;
}

struct front_command *front_command_certificate(struct view cert_pem, struct view key_pem,
						struct error *err)
{
	CLEANUP(front_command_freep) struct front_command *command =
		make(FRONT_COMMAND_CERTIFICATE, TEXTS_CAP, err);
	if (!command || tls_identity_new(cert_pem, key_pem, &command->certificate, err) != 0)
		return NULL;
	return TAKE(command);
}

static bool copy_state(struct arena *arena, const struct front_state *state,
		       struct front_state *ret)
{
	struct probes_check *checks = arena_alloc(arena, state->n_checks, sizeof(*checks));
	*ret = *state;
	ret->checks = checks;
	bool done = checks && arena_copy(arena, state->trouble, &ret->trouble);
	for (size_t i = 0; done && i < state->n_checks; i++) {
		checks[i].tolerated = state->checks[i].tolerated;
		done = arena_copy(arena, state->checks[i].name, &checks[i].name) &&
		       arena_copy(arena, state->checks[i].trouble, &checks[i].trouble) &&
		       arena_copy(arena, state->checks[i].note, &checks[i].note);
	}
	return done;
}

/* The command, or NULL where its texts found no memory. */
static struct front_command *finish(struct front_command *take_command, bool is_whole, struct error *err)
{
	if (is_whole)
		return take_command;
	front_command_free(take_command);
	error_no_memory(err);
	return NULL;
}

struct front_command *front_command_state(const struct front_state *state, struct error *err)
{
	struct front_command *command = make(FRONT_COMMAND_STATE, TEXTS_CAP, err);
	return command ? finish(command, copy_state(&command->arena, state, &command->state), err)
		       : NULL;
}

struct front_command *front_command_forget(struct view node, struct error *err)
{
	struct front_command *command = make(FRONT_COMMAND_FORGET, TEXTS_CAP, err);
	return command ? finish(command, arena_copy(&command->arena, node, &command->node_name), err)
		       : NULL;
}

struct front_command *front_command_acknowledge(const struct report *report, struct error *err)
{
	struct front_command *command = make(FRONT_COMMAND_ACKNOWLEDGE, TEXTS_CAP, err);
	assert(report->events.count > 0);
	if (!command)
		return NULL;
	const struct report_event *last =
		ARRAY_AT(report->events, struct report_event, report->events.count - 1);
	struct receiver_acknowledgement *acknowledgement = &command->acknowledgement;
	acknowledgement->instance = report->instance;
	acknowledgement->sequence = last->sequence;
	return finish(command,
		      arena_copy(&command->arena, report->node, &acknowledgement->node) &&
			      arena_copy(&command->arena, report->boot_id, &acknowledgement->boot_id),
		      err);
}

static bool copy_order(struct arena *arena, struct receiver_order *order)
{
	return arena_copy(arena, order->node, &order->node) &&
	       arena_copy(arena, order->named_boot, &order->named_boot) &&
	       arena_copy(arena, order->last.boot_id, &order->last.boot_id);
}

struct front_command *front_command_orders(const struct receiver_order *orders, size_t n,
					   struct error *err)
{
	struct front_command *command = make(FRONT_COMMAND_ORDERS, ORDERS_CAP, err);
	if (!command)
		return NULL;
	command->orders = arena_alloc(&command->arena, n, sizeof(*orders));
	bool done = command->orders;
	for (size_t i = 0; done && i < n; i++) {
		command->orders[i] = orders[i];
		done = copy_order(&command->arena, &command->orders[i]);
	}
	command->n_orders = n;
	return finish(command, done, err);
}

struct front_command *front_command_exposition(struct exposition_text *take_text, enum error_kind failure,
					       struct error *err)
{
	struct front_command *command = make(FRONT_COMMAND_EXPOSITION, TEXTS_CAP, err);
	if (!command) {
		exposition_text_unref(take_text);
		return NULL;
	}
	command->text = take_text;
	command->failure = failure;
	return command;
}
