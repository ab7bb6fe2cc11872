/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/start_gate.h"

#include <assert.h>

void start_gate_init(struct start_gate *gate, unsigned n)
{
	assert(n > 0);
	gate->n_free = n;
	list_init(&gate->waiting);
}

void start_gate_pass_init(struct start_gate_pass *pass)
{
	list_init(&pass->link);
	pass->is_held = false;
}

bool start_gate_ask(struct start_gate *gate, struct start_gate_pass *pass)
{
	if (pass->is_held)
		return true;
	if (gate->n_free > 0) {
		assert(list_is_empty(&gate->waiting));
		gate->n_free--;
		pass->is_held = true;
		return true;
	}
	if (list_is_empty(&pass->link))
		list_append(&gate->waiting, &pass->link);
	return false;
}

struct start_gate_pass *start_gate_return(struct start_gate *gate, struct start_gate_pass *pass)
{
	struct list *link;
	struct start_gate_pass *next;

	list_remove(&pass->link);
	if (!pass->is_held)
		return NULL;
	pass->is_held = false;
	link = list_first(&gate->waiting);
	if (!link) {
		gate->n_free++;
		return NULL;
	}
	next = CONTAINER_OF(link, struct start_gate_pass, link);
	list_remove(link);
	next->is_held = true;
	return next;
}
