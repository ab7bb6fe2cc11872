/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * strangers - connections whose client has not shown yet who it is. They have a limit for each
 * network and one for all. Above it the one that came first goes: an honest client shows in
 * milliseconds who it is, one that goes on waiting has nothing to show.
 *
 * Threads: owner.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/table.h"

struct strangers_network;

/* Part of a connection. All zero: it is no stranger. */
struct stranger {
	struct list in_all;
	struct list in_network;
	struct strangers_network *network;
};

struct strangers {
	struct table networks; /* those that have strangers */
	struct list all;       /* who may be sent away, who came first in front */
	uint32_t count;
	uint32_t cap;
	uint32_t cap_of_network;
};

/* There are none; both limits are at least 1, or both 0: nobody is to enter. Allocates nothing. */
void strangers_init(struct strangers *strangers, uint32_t cap, uint32_t cap_of_network);
/* All must have left. */
void strangers_deinit(struct strangers *strangers);

enum strangers_step {
	STRANGERS_ROOM,  /* one more may enter */
	STRANGERS_EVICT, /* after *ret_first has left */
	STRANGERS_FULL,  /* none can be sent away */
};
/* Whether one more of a network may enter, and who must go first. */
enum strangers_step strangers_ask(const struct strangers *strangers, struct view network,
				  struct stranger **ret_first);
/* One more; network is copied, at most 16 bytes. False: no memory. */
bool strangers_enter(struct strangers *strangers, struct stranger *stranger, struct view network);
/* Does nothing for a connection that is no stranger's. */
void strangers_leave(struct strangers *strangers, struct stranger *stranger);
/* It counts, and cannot be sent away, until strangers_release(). The same. */
void strangers_hold(struct stranger *stranger);
/* It can be sent away again, as if it had come just now. The same. */
void strangers_release(struct strangers *strangers, struct stranger *stranger);
/* Who came first of all that can be sent away; NULL: there is none. */
struct stranger *strangers_first(const struct strangers *strangers);
