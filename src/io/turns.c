/* SPDX-License-Identifier: Apache-2.0 */

#include "io/turns.h"

#include <assert.h>

/* Those that wait now; who comes again meanwhile is for the next time. */
static void on_timer(void *owner)
{
	struct turns *turns = owner;
	for (size_t n = turns->n_waiting; n > 0 && turns->n_waiting > 0; n--) {
		struct turn *turn = CONTAINER_OF(turns->waiting.next, struct turn, link);
		turns_leave(turns, turn);
		turns->take(turns->owner, turn);
	}
}

int turns_init(struct turns *turns, struct loop *loop, turns_fn take, void *owner,
	       struct error *err)
{
	*turns = (struct turns){.take = take, .owner = owner};
	list_init(&turns->waiting);
	return loop_timer_new(loop, on_timer, turns, &turns->timer, err);
}

void turns_deinit(struct turns *turns)
{
	assert(turns->n_waiting == 0);
	loop_timer_free(turns->timer);
}

void turns_init_turn(struct turn *turn)
{
	list_init(&turn->link);
}

bool turns_is_waiting(const struct turn *turn)
{
	return !list_is_empty(&turn->link);
}

void turns_wait(struct turns *turns, struct turn *turn)
{
	if (turns_is_waiting(turn))
		return;
	list_append(&turns->waiting, &turn->link);
	turns->n_waiting++;
	loop_timer_set(turns->timer, 0);
}

void turns_leave(struct turns *turns, struct turn *turn)
{
	if (!turns_is_waiting(turn))
		return;
	list_remove(&turn->link);
	turns->n_waiting--;
}
