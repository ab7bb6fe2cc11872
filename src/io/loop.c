/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libevent without locks. Only loop_stop() may be called from another thread; it only writes to an
 * eventfd which the loop watches.
 *
 * A turn is one pass of event_base_loop(EVLOOP_ONCE). The time is forgotten before it and read by
 * the first callback that asks. So everything in one turn has the same time, and a turn in which
 * nobody asks costs no system call.
 *
 * libevent does not tell when its wait was over. So a turn is timed from its first callback on: each one
 * calls loop_enter().
 *
 * libevent makes room in its heap when a timer is set, which needs memory. It never gives room back. So
 * room for all timers is made when one is made, and setting one cannot fail.
 */

#include "io/loop.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stopwatch.h"

/* As good as for ever, and fits into any time_t with the clock added. */
#define MONTH_MS (30ull * 24 * 3600 * 1000)

struct loop {
	struct event_base *base;
	int stop_fd;
	struct event stop_event;
	bool running;
	bool stopping;
	uint64_t now_ms; /* 0: not read in this turn */
	uint64_t turn_began_us; /* 0: no callback was called in this turn */
	struct histogram turns;
	size_t n_registered;
	size_t n_timers;
	size_t n_reserved; /* so many timers can be set at a time */
};

struct loop_timer {
	struct loop *loop;
	struct event event;
	loop_timer_fn fire;
	void *owner;
};

struct loop_watch {
	struct loop *loop;
	struct event event;
	loop_watch_fn ready;
	void *owner;
};

struct loop_signal {
	struct loop *loop;
	struct event event;
	loop_signal_fn fire;
	void *owner;
};

void loop_enter(struct loop *loop)
{
	if (loop->turn_began_us == 0)
		loop->turn_began_us = stopwatch_us();
}

static void end_turn(struct loop *loop)
{
	if (loop->turn_began_us != 0)
		histogram_observe(&loop->turns, stopwatch_seconds(loop->turn_began_us));
	loop->turn_began_us = 0;
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct loop *loop = arg;
	uint64_t count;
	loop_enter(loop);
	if (read(fd, &count, sizeof(count)) < 0)
		return;
	loop->stopping = true;
	event_base_loopbreak(loop->base);
}

/* libevent would write to stderr what we return as errors. */
static void say_nothing(int severity, const char *text)
{
	(void)severity;
	(void)text;
}

static struct event_base *make_base(void)
{
	struct event_config *config = event_config_new();
	if (!config)
		return NULL;
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	struct event_base *base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static void loop_freep(struct loop **loop)
{
	loop_free(*loop);
}

int loop_new(struct loop **ret_loop, struct error *err)
{
	CLEANUP(loop_freep) struct loop *loop = calloc(1, sizeof(*loop));
	if (!loop)
		return error_no_memory(err);
	event_set_log_callback(say_nothing);
	loop->turns.bounds = histogram_short_seconds;
	loop->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->stop_fd < 0)
		return error_set(err, ERROR_RETRY, errno, "make an eventfd");
	loop->base = make_base();
	if (!loop->base)
		return error_set(err, ERROR_RETRY, errno, "make an event loop");
	if (event_assign(&loop->stop_event, loop->base, loop->stop_fd, EV_READ | EV_PERSIST,
			 on_stop, loop) != 0 ||
	    event_add(&loop->stop_event, NULL) != 0)
		return error_set(err, ERROR_RETRY, errno, "watch an eventfd");
	*ret_loop = TAKE(loop);
	return 0;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	assert(loop->n_registered == 0 && "something is still registered");
	if (event_initialized(&loop->stop_event))
		event_del(&loop->stop_event);
	if (loop->base)
		event_base_free(loop->base);
	if (loop->stop_fd >= 0)
		close(loop->stop_fd);
	free(loop);
}

int loop_run(struct loop *loop, struct error *err)
{
	int result = 0;
	assert(!loop->running);
	loop->running = true;
	while (result == 0 && !loop->stopping) {
		loop->now_ms = 0;
		result = event_base_loop(loop->base, EVLOOP_ONCE);
		end_turn(loop);
	}
	loop->running = false;
	loop->stopping = false;
	if (result < 0)
		return error_set(err, ERROR_RETRY, errno, "wait for events");
	return 0;
}

void loop_stop(struct loop *loop)
{
	uint64_t one = 1;
	/* Else it can only fail when the counter is at its end: then the loop is about to stop anyway. */
	while (write(loop->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
}

uint64_t loop_now_ms(struct loop *loop)
{
	if (!loop->running)
		return clock_monotonic_ms();
	if (loop->now_ms == 0)
		loop->now_ms = clock_monotonic_ms();
	return loop->now_ms;
}

const struct histogram *loop_turns(const struct loop *loop)
{
	return &loop->turns;
}

struct event_base *loop_event_base(struct loop *loop)
{
	return loop->base;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct loop_timer *timer = arg;
	loop_enter(timer->loop);
	timer->fire(timer->owner);
}

static void do_nothing(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
}

/* Sets so many timers at once, for a moment. */
static int make_room(struct loop *loop, size_t n)
{
	const struct timeval wait = {.tv_sec = MONTH_MS / 1000};
	struct event *events = calloc(n, sizeof(*events));
	size_t n_set = 0;
	if (!events)
		return -1;
	for (bool done = true; done && n_set < n; n_set += done) {
		evtimer_assign(&events[n_set], loop->base, do_nothing, NULL);
		done = event_add(&events[n_set], &wait) == 0;
	}
	for (size_t i = 0; i < n_set; i++)
		event_del(&events[i]);
	free(events);
	return n_set == n ? 0 : -1;
}

static int reserve_timer(struct loop *loop)
{
	const size_t n = loop->n_reserved > 0 ? 2 * loop->n_reserved : 16;
	if (loop->n_timers < loop->n_reserved)
		return 0;
	if (make_room(loop, n) < 0)
		return -1;
	loop->n_reserved = n;
	return 0;
}

int loop_timer_new(struct loop *loop, loop_timer_fn fire, void *owner,
		   struct loop_timer **ret_timer, struct error *err)
{
	if (reserve_timer(loop) < 0)
		return error_no_memory(err);
	struct loop_timer *timer = malloc(sizeof(*timer));
	if (!timer)
		return error_no_memory(err);
	*timer = (struct loop_timer){.loop = loop, .fire = fire, .owner = owner};
	evtimer_assign(&timer->event, loop->base, on_timer, timer);
	loop->n_registered++;
	loop->n_timers++;
	*ret_timer = timer;
	return 0;
}

void loop_timer_free(struct loop_timer *timer)
{
	if (!timer)
		return;
	event_del(&timer->event);
	timer->loop->n_registered--;
	timer->loop->n_timers--;
	free(timer);
}

void loop_timer_set(struct loop_timer *timer, uint64_t ms)
{
	if (ms > MONTH_MS)
		ms = MONTH_MS;
	struct timeval wait = {.tv_sec = (time_t)(ms / 1000),
			       .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
	/* There is room. A lost timer would be a silent stall. */
	if (event_add(&timer->event, &wait) != 0)
		abort();
}

void loop_timer_clear(struct loop_timer *timer)
{
	event_del(&timer->event);
}

bool loop_timer_is_set(const struct loop_timer *timer)
{
	return evtimer_pending(&timer->event, NULL) != 0;
}

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	struct loop_watch *watch = arg;
	loop_enter(watch->loop);
	watch->ready(watch->owner, (what & EV_READ) != 0, (what & EV_WRITE) != 0);
}

int loop_watch_new(struct loop *loop, int fd, unsigned interest, loop_watch_fn ready, void *owner,
		   struct loop_watch **ret_watch, struct error *err)
{
	struct loop_watch *watch = malloc(sizeof(*watch));
	if (!watch)
		return error_no_memory(err);
	*watch = (struct loop_watch){.loop = loop, .ready = ready, .owner = owner};
	short what = (short)(EV_PERSIST | ((interest & LOOP_READ) ? EV_READ : 0) |
			     ((interest & LOOP_WRITE) ? EV_WRITE : 0));
	if (event_assign(&watch->event, loop->base, fd, what, on_ready, watch) != 0 ||
	    event_add(&watch->event, NULL) != 0) {
		free(watch);
		return error_set(err, ERROR_RETRY, errno, "watch a file descriptor");
	}
	loop->n_registered++;
	*ret_watch = watch;
	return 0;
}

void loop_watch_free(struct loop_watch *watch)
{
	if (!watch)
		return;
	event_del(&watch->event);
	watch->loop->n_registered--;
	free(watch);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	struct loop_signal *signal = arg;
	loop_enter(signal->loop);
	signal->fire(signal->owner, (int)number);
}

int loop_signal_new(struct loop *loop, int number, loop_signal_fn fire, void *owner,
		    struct loop_signal **ret_signal, struct error *err)
{
	struct loop_signal *signal = malloc(sizeof(*signal));
	if (!signal)
		return error_no_memory(err);
	*signal = (struct loop_signal){.loop = loop, .fire = fire, .owner = owner};
	if (evsignal_assign(&signal->event, loop->base, number, on_signal, signal) != 0 ||
	    event_add(&signal->event, NULL) != 0) {
		free(signal);
		return error_set(err, ERROR_RETRY, errno, "catch signal %d", number);
	}
	loop->n_registered++;
	*ret_signal = signal;
	return 0;
}

void loop_signal_free(struct loop_signal *signal)
{
	if (!signal)
		return;
	event_del(&signal->event);
	signal->loop->n_registered--;
	free(signal);
}
