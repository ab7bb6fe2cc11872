/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * start_gate - lets a few of many through at a time, in the order in which they asked. So thousands
 * of watches that all want to begin at once do not ask the API server all at once.
 *
 * Threads: owner.
 */

#include <stdbool.h>

#include "base/list.h"

struct start_gate {
	unsigned n_free;     /* so many more may pass now */
	struct list waiting; /* struct start_gate_pass */
};

/* Of one who wants to pass. */
struct start_gate_pass {
	struct list link;
	bool is_held; /* it may go on */
};

/* At most n hold a pass at a time. */
void start_gate_init(struct start_gate *gate, unsigned n);
/* A pass that is neither held nor waited for. */
void start_gate_pass_init(struct start_gate_pass *pass);
/* True: the pass is held from now on, or was already. False: it waits, or waited already. */
bool start_gate_ask(struct start_gate *gate, struct start_gate_pass *pass);
/*
 * Gives a pass back, or waits for it no longer. Returns the one that holds it from now on, whose owner
 * must be told; NULL: there is none.
 */
struct start_gate_pass *start_gate_return(struct start_gate *gate, struct start_gate_pass *pass);
