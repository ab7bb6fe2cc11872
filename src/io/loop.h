/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * loop - one thread's event loop: timers, file descriptors, signals. A thin face on libevent, so
 * that the rest of the tree names no library, and time is read in one place.
 *
 * Callbacks run on the thread that runs the loop, never from inside the call that registered them.
 *
 * Threads: owner, but for loop_stop().
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/histogram.h"

struct event_base;
struct loop;

/* Fails with ERROR_NO_MEMORY, or ERROR_RETRY when the kernel refuses. libevent writes no messages
 * in this process from then on. */
MUST_USE int loop_new(struct loop **ret_loop, struct error *err);
/* Everything registered must be gone. Accepts NULL. */
void loop_free(struct loop *loop);
/* Runs callbacks until loop_stop(). Fails with ERROR_RETRY when the kernel refuses. */
MUST_USE int loop_run(struct loop *loop, struct error *err);
/* Makes loop_run() return soon. Any thread. */
void loop_stop(struct loop *loop);
/* Monotonic milliseconds, read once per turn of the loop. */
uint64_t loop_now_ms(struct loop *loop);
/*
 * How long turns took, with histogram_short_seconds: from the first callback of a turn until its last has
 * returned. Whatever else is ready waits for as long. Owned by the loop.
 */
const struct histogram *loop_turns(const struct loop *loop);
/* For the other modules of io/ only. */
struct event_base *loop_event_base(struct loop *loop);
/* What they give to libevent itself calls this first. */
void loop_enter(struct loop *loop);

struct loop_timer;
typedef void (*loop_timer_fn)(void *owner);
/* Makes a timer that is not set. Fails with ERROR_NO_MEMORY. */
MUST_USE int loop_timer_new(struct loop *loop, loop_timer_fn fire, void *owner,
			    struct loop_timer **ret_timer, struct error *err);
/* Accepts NULL. */
void loop_timer_free(struct loop_timer *timer);
/*
 * Fires once, in ms milliseconds; replaces an earlier setting. Cannot fail. It counts from when the loop
 * last woke, by the kernel's coarse clock: it may be early by one step of that, 1 to 10 ms.
 */
void loop_timer_set(struct loop_timer *timer, uint64_t ms);
/* It does not fire, even if its time has come. Nothing to do when it is not set. */
void loop_timer_clear(struct loop_timer *timer);
/* True until it is cleared or fires: inside `fire` it is not set. */
bool loop_timer_is_set(const struct loop_timer *timer);

struct loop_watch;
typedef void (*loop_watch_fn)(void *owner, bool readable, bool writable);
enum loop_interest {
	LOOP_READ = 1u << 0,
	LOOP_WRITE = 1u << 1,
};

/* Calls ready while fd can do what `interest` (of enum loop_interest) asks; fd stays the caller's. */
MUST_USE int loop_watch_new(struct loop *loop, int fd, unsigned interest, loop_watch_fn ready,
			    void *owner, struct loop_watch **ret_watch, struct error *err);
/* Accepts NULL. */
void loop_watch_free(struct loop_watch *watch);

struct loop_signal;
typedef void (*loop_signal_fn)(void *owner, int number);
/* Calls fire when that signal arrives; only one loop of the process may catch signals. Fails with
 * ERROR_NO_MEMORY or ERROR_RETRY. */
MUST_USE int loop_signal_new(struct loop *loop, int number, loop_signal_fn fire, void *owner,
			     struct loop_signal **ret_signal, struct error *err);
/* Accepts NULL. */
void loop_signal_free(struct loop_signal *signal);
