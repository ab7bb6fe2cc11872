/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * wire - the way of reports from the agents to the controller: what is lost, late, doubled or
 * forged on it.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

enum wire_fault {
	WIRE_REPORTS_LOST, /* the controller gets none */
	WIRE_ANSWERS_LOST, /* it gets them, the agent gets no answer */
	WIRE_SLOW,         /* they take up to 30 s, so that later ones overtake them */
	WIRE_DOUBLED,      /* each comes again some seconds later */
	WIRE_N_FAULTS,
};

enum wire_forgery {
	WIRE_OTHER_NODE,   /* another node's report under the own token */
	WIRE_BAD_TOKEN,    /* a token that the API server does not know */
	WIRE_OTHER_ACCOUNT, /* one of another service account */
	WIRE_REPLAY,       /* an older report of the own */
	WIRE_OTHER_PODS,   /* claims the own devices for pods of other nodes */
	WIRE_NO_PODS,      /* claims them for pods that do not exist */
	WIRE_OTHER_DEVICES, /* claims another node's devices */
	WIRE_GARBAGE,
	WIRE_N_FORGERIES,
};

/* Begins without faults. */
void wire_reset(void);
/* Frees the reports that are kept for a replay. Those under way do not arrive. */
void wire_clear(void);
/* The node's reports suffer that up to then. */
void wire_spoil(int node, enum wire_fault fault, uint64_t until);
/* The node has lost its power: what it has sent does not arrive, nor can it be sent again. */
void wire_lose(int node);
/* Sends a forged report from this node. False: there is nothing yet to forge it of. */
bool wire_forge(int node, enum wire_forgery forgery);
/* The token that the node's agent has; static. */
const char *wire_token(int node);
