/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * touches - which nodes a node_state_set (model/node_state.h) touched since the last look.
 *
 * It is a text of their names in order, each with a blank behind it. "?" marks a touch by an item of a
 * first list.
 *
 *	listen_to_touches(&node_states);
 *	...
 *	assert_touched("gpu-a gpu-b? ");
 *
 * Threads: a test's own.
 */

#include "lib/test_main.h"

#include "model/node_state.h"

static char touched[256];

/* Told of a touch; its owner is the text. */
static inline void on_touch(void *owner, struct view node_name, bool initial)
{
	const size_t len = strlen(touched);

	assert_ptr_equal(owner, touched);
	snprintf(touched + len, sizeof(touched) - len, "%.*s%s ", VIEW_ARG(node_name), initial ? "?" : "");
}

/* What was touched until now is of no interest. */
static inline void forget_touches(void)
{
	touched[0] = '\0';
}

/* The book tells from now on; a set-up calls it. */
static inline void listen_to_touches(struct node_state_set *node_states)
{
	node_states->touch = on_touch;
	node_states->touch_owner = touched;
	forget_touches();
}

/* These were touched since the last look, and no others. */
static inline void assert_touched(const char *nodes)
{
	assert_string_equal(touched, nodes);
	forget_touches();
}
