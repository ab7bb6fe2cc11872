/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * action - what happens in a history, as data: what is done to the world at which moment. An action
 * that makes no sense when its time comes (the pod is not there) does nothing, so any part of a
 * history is a history.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/prng.h"
#include "base/view.h"

#define ACTION_ARGS 4

struct action {
	uint32_t at_ms; /* since the history began */
	unsigned kind;
	int args[ACTION_ARGS];
};

/* One of the kinds that make up the fleet, and one of the others. */
void action_make_node(struct prng *prng, struct action *ret);
void action_make(struct prng *prng, struct action *ret);
/* One that only fleets with processes on their devices have. */
void action_make_use(struct prng *prng, struct action *ret);
/* One of the errors and illnesses of devices, which only fleets have that fall ill. */
void action_make_illness(struct prng *prng, struct action *ret);
/* One of what only fleets have that have an operator: what is intended, and its pods. */
void action_make_intent(struct prng *prng, struct action *ret);
/* The same of one that only those have where there is more (sim/policies.h), or layouts are edited. */
void action_make_more(struct prng *prng, struct action *ret);
void action_make_layout(struct prng *prng, struct action *ret);
/* One of what only fleets have whose drivers hang. */
void action_make_hang(struct prng *prng, struct action *ret);
/* One of what only fleets have whose pods are read by node. */
void action_make_form(struct prng *prng, struct action *ret);
/* One of what only fleets have whose devices are reset, or not, while no agent watches. */
void action_make_unwatched(struct prng *prng, struct action *ret);
/* One of what only fleets have where single calls of drivers fail. */
void action_make_call(struct prng *prng, struct action *ret);
/* One of what seldom comes together by itself: KAI's sharing, a node for it, a device on two nodes. */
void action_make_rare_node(struct prng *prng, struct action *ret);
void action_make_rare(struct prng *prng, struct action *ret);
void action_apply(const struct action *action);
/* One line for people, and one for a file; and back. False: it is no action. */
void action_describe(const struct action *action, char *ret, size_t size);
void action_print(const struct action *action, FILE *file);
bool action_parse(const char *line, struct action *ret);
