/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * deadlines - when things expire that come in groups, each with one time-out for all that is in it.
 * Who enters a group expires after those that entered it before, so a group is a list, and one
 * timer does for all groups.
 *
 * Threads: the loop's.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "io/loop.h"

#define DEADLINES_MAX_GROUPS 17u
/* The time-out of a group in which nothing expires. */
#define DEADLINES_NEVER UINT32_MAX

/* Part of what may expire. */
struct deadline {
	struct list link; /* empty: in no group */
	uint64_t at_ms;
};

/* An item's time has come: it is to leave its group, or to enter one, before this returns. */
typedef void (*deadlines_fn)(void *owner, struct deadline *item);

struct deadlines {
	struct loop *loop;
	struct loop_timer *timer;
	uint64_t timer_at_ms; /* what it is set for; UINT64_MAX: not set */
	struct list groups[DEADLINES_MAX_GROUPS]; /* who expires first in front */
	uint32_t timeouts_ms[DEADLINES_MAX_GROUPS];
	deadlines_fn expired;
	void *owner;
};

/* All groups are empty; the time-out of each is still to be set. Fails with ERROR_NO_MEMORY;
 * deadlines_deinit() is allowed then, too. */
MUST_USE int deadlines_init(struct deadlines *deadlines, struct loop *loop, deadlines_fn expired,
			    void *owner, struct error *err);
/* All groups must be empty. */
void deadlines_deinit(struct deadlines *deadlines);
/* The time-out of who enters the group from now on; it is empty. */
void deadlines_set_timeout(struct deadlines *deadlines, size_t group, uint32_t ms);
/* Makes an item that is in no group. */
void deadlines_init_item(struct deadline *item);
/* Leaves the group it is in, if any, and enters this one: its time begins now. */
void deadlines_enter(struct deadlines *deadlines, struct deadline *item, size_t group);
/* Leaves the group it is in, if any. */
void deadlines_leave(struct deadline *item);
/* Who entered the group first of those in it; NULL: nobody is. */
struct deadline *deadlines_first(const struct deadlines *deadlines, size_t group);
