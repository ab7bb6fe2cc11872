/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watchdog - ends the program when its loop has been stuck for too long, which then is restarted by
 * whoever runs it. No port, no file, no probe is needed for that.
 *
 * Threads: the loop's. It uses SIGALRM; one a program.
 */

#include "base/error.h"

struct loop;
struct watchdog;

/* Starts watching: the loop must turn at least every ms milliseconds, rounded up to seconds. */
MUST_USE int watchdog_new(struct loop *loop, int64_t ms, struct watchdog **ret_watchdog,
			  struct error *err);
/* Stops watching. Accepts NULL. */
void watchdog_free(struct watchdog *watchdog);
