/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * apiserver - the API server as the controller sees it: objects with resource versions, lists,
 * watches, writes, reviews of tokens; and what can go wrong with each of them.
 *
 * What is written to GPUAttributions is given to the oracle when it takes effect.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "sim/world.h"

enum apiserver_kind {
	APISERVER_PODS,
	APISERVER_NODES,
	APISERVER_POLICIES,
	APISERVER_ATTRIBUTIONS,
	APISERVER_N_KINDS,
};

enum apiserver_fault {
	APISERVER_REFUSES,   /* no connection */
	APISERVER_BREAKS,    /* 500 */
	APISERVER_THROTTLES, /* 429 with Retry-After */
	APISERVER_HANGS,     /* takes requests, answers none */
	APISERVER_FORGETS,   /* carries out writes, and their answers are lost */
	APISERVER_DOUBLES,   /* sends events twice, and older ones again */
	APISERVER_N_FAULTS,
};

void apiserver_reset(void);
void apiserver_clear(void);
void apiserver_spoil(enum apiserver_fault fault, uint64_t until);
/* False while kubelets cannot reach it either. */
bool apiserver_is_up(void);
/* No event of that kind is sent before. */
void apiserver_hold(enum apiserver_kind kind, uint64_t until);
/* The watch of that kind, or the list that comes next, ends at any byte. */
void apiserver_cut(enum apiserver_kind kind);
/* No watch can begin at a version that is older than now; those there are end with 410. */
void apiserver_expire(bool in_stream);
/* An object may have changed: tells it. A pod or node that does not exist any more is deleted. */
void apiserver_put_pod(struct world_pod *pod);
void apiserver_put_node(struct world_node *node);
void apiserver_put_policy(bool exists);
bool apiserver_has_policy(void);
/* Somebody writes a label into, or deletes, the i-th object there is. False: there is none. */
bool apiserver_edit_attribution(unsigned i);
bool apiserver_delete_attribution(unsigned i);
/* The name of the i-th object there is, or NULL; its status as JSON, borrowed. */
const char *apiserver_attribution(unsigned i, struct view *ret_status);
/* The controller starts anew and has been told nothing. */
void apiserver_forget_told(void);
