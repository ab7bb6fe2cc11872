/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wall_time.h"

#define CLOCK_SET_MS 2000

struct wall_time wall_time_of(int64_t then, int64_t wall_now, uint64_t boot_now)
{
	return (struct wall_time){then, (int64_t)boot_now - (wall_now - then)};
}

void wall_time_follow(struct wall_time *time, int64_t wall_now, uint64_t boot_now)
{
	const int64_t then = wall_now - ((int64_t)boot_now - time->boot_ms);
	const int64_t set_by = then - time->told;
	if (time->told == 0 || (set_by >= -CLOCK_SET_MS && set_by <= CLOCK_SET_MS))
		return;
	/* A clock that was set to 1970 must not make "never" of it. */
	time->told = then > 0 ? then : 1;
}
