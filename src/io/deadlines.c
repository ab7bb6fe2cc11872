/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The timer is moved only when an earlier deadline comes up than it is set for. On a busy server
 * that is a few times a minute, instead of several times a request; it fires in vain now and then.
 */

#include "io/deadlines.h"

#include <assert.h>

static void set_timer(struct deadlines *deadlines, uint64_t at_ms)
{
	uint64_t now = loop_now_ms(deadlines->loop);
	deadlines->timer_at_ms = at_ms;
	loop_timer_set(deadlines->timer, at_ms > now ? at_ms - now : 0);
}

static void expire_group(struct deadlines *deadlines, size_t group, uint64_t now_ms)
{
	struct deadline *item = deadlines_first(deadlines, group);
	for (; item && item->at_ms <= now_ms; item = deadlines_first(deadlines, group))
		deadlines->expired(deadlines->owner, item);
}

static void on_timer(void *owner)
{
	struct deadlines *deadlines = owner;
	uint64_t now = loop_now_ms(deadlines->loop), next = UINT64_MAX;
	deadlines->timer_at_ms = UINT64_MAX;
	for (size_t group = 0; group < DEADLINES_MAX_GROUPS; group++)
		expire_group(deadlines, group, now);
	for (size_t group = 0; group < DEADLINES_MAX_GROUPS; group++) {
		const struct deadline *item = deadlines_first(deadlines, group);
		if (item && item->at_ms < next)
			next = item->at_ms;
	}
	if (next != UINT64_MAX)
		set_timer(deadlines, next);
}

int deadlines_init(struct deadlines *deadlines, struct loop *loop, deadlines_fn expired,
		   void *owner, struct error *err)
{
	*deadlines = (struct deadlines){
		.loop = loop, .timer_at_ms = UINT64_MAX, .expired = expired, .owner = owner};
	for (size_t group = 0; group < DEADLINES_MAX_GROUPS; group++) {
		list_init(&deadlines->groups[group]);
		deadlines->timeouts_ms[group] = DEADLINES_NEVER;
	}
	return loop_timer_new(loop, on_timer, deadlines, &deadlines->timer, err);
}

void deadlines_deinit(struct deadlines *deadlines)
{
	for (size_t group = 0; group < DEADLINES_MAX_GROUPS; group++)
		assert(list_is_empty(&deadlines->groups[group]));
	loop_timer_free(deadlines->timer);
}

void deadlines_set_timeout(struct deadlines *deadlines, size_t group, uint32_t ms)
{
	assert(group < DEADLINES_MAX_GROUPS && list_is_empty(&deadlines->groups[group]));
	deadlines->timeouts_ms[group] = ms;
}

void deadlines_init_item(struct deadline *item)
{
	list_init(&item->link);
	item->at_ms = UINT64_MAX;
}

void deadlines_enter(struct deadlines *deadlines, struct deadline *item, size_t group)
{
	assert(group < DEADLINES_MAX_GROUPS);
	list_remove(&item->link);
	list_append(&deadlines->groups[group], &item->link);
	item->at_ms = UINT64_MAX;
	if (deadlines->timeouts_ms[group] == DEADLINES_NEVER)
		return;
	item->at_ms = loop_now_ms(deadlines->loop) + deadlines->timeouts_ms[group];
	if (item->at_ms < deadlines->timer_at_ms)
		set_timer(deadlines, item->at_ms);
}

void deadlines_leave(struct deadline *item)
{
	list_remove(&item->link);
	item->at_ms = UINT64_MAX;
}

struct deadline *deadlines_first(const struct deadlines *deadlines, size_t group)
{
	struct list *link = list_first(&deadlines->groups[group]);
	return link ? CONTAINER_OF(link, struct deadline, link) : NULL;
}
