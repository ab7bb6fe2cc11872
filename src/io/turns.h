/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * turns - who has more to do than it may do at once waits here, behind the others, for the loop's
 * next turn.
 *
 * Threads: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/list.h"
#include "io/loop.h"

/* Part of what waits. */
struct turn {
	struct list link; /* empty: does not wait */
};

/* It is this one's turn: it waits no longer, and may wait again. */
typedef void (*turns_fn)(void *owner, struct turn *turn);

struct turns {
	struct loop_timer *timer;
	struct list waiting;
	size_t n_waiting;
	turns_fn take;
	void *owner;
};

/* Nobody waits. Fails with ERROR_NO_MEMORY; turns_deinit() is allowed then, too. */
MUST_USE int turns_init(struct turns *turns, struct loop *loop, turns_fn take, void *owner,
			struct error *err);
/* Nobody may wait any more. */
void turns_deinit(struct turns *turns);
/* Makes one that does not wait. */
void turns_init_turn(struct turn *turn);
/* True from turns_wait() until it is taken or leaves. */
bool turns_is_waiting(const struct turn *turn);
/* Waits from now on; nothing to do when it waits already. */
void turns_wait(struct turns *turns, struct turn *turn);
/* Waits no longer; nothing to do when it does not wait. */
void turns_leave(struct turns *turns, struct turn *turn);
