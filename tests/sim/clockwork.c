/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One heap holds what is due, timers of the code under test and calls of the simulation alike. A
 * descriptor of a handoff is a number that stands for it: when something is pushed, the watch on
 * that number is called a moment later.
 */

#include "sim/clockwork.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/handoff.h"
#include "base/heap.h"
#include "base/prng.h"
#include "base/stopwatch.h"
#include "io/loop.h"
#include "sim/check.h"

#define WALL_START_MS INT64_C(1767225600000) /* the first moment of 2026 */
#define MAX_AT_ONE_MOMENT 20000u
#define FIRST_FD 1000

struct event {
	struct heap_node node;
	void (*fire)(struct event *event);
};

struct call {
	struct event event;
	clockwork_fn fn;
	void *owner;
	uint64_t number;
	int actor;
};

struct loop {
	int actor;
};

struct loop_timer {
	struct event event;
	struct loop *loop;
	loop_timer_fn fire;
	void *owner;
};

struct loop_watch {
	struct event event;
	struct loop_watch *next;
	struct loop *loop;
	loop_watch_fn ready;
	void *owner;
	int fd;
};

struct handoff {
	struct handoff_node *waiting[4096];
	size_t first, count, cap;
	int fd;
};

int clockwork_actor = CLOCKWORK_CONTROLLER;

static struct heap due;
static uint64_t now_ms;
static struct prng entropy, entropy_apart;
static bool is_entropy_apart;
static int64_t wall_offset[CLOCKWORK_MAX_NODES + 1];
static uint64_t booted_at[CLOCKWORK_MAX_NODES + 1];
static struct loop_watch *watches;
static int next_fd;

static struct {
	clockwork_fn fn;
	void (*drop)(void *owner);
} drops[8];
static size_t n_drops;

static void call_fire(struct event *event);

void clockwork_on_drop(clockwork_fn fn, void (*drop)(void *owner))
{
	check(n_drops < ARRAY_SIZE(drops));
	drops[n_drops].fn = fn;
	drops[n_drops++].drop = drop;
}

static void drop_call(struct call *call)
{
	for (size_t i = 0; i < n_drops; i++)
		if (drops[i].fn == call->fn)
			drops[i].drop(call->owner);
	free(call);
}

void clockwork_reset(uint64_t seed)
{
	heap_init(&due);
	now_ms = CLOCKWORK_START_MS;
	prng_init(&entropy, seed);
	prng_init(&entropy_apart, ~seed);
	memset(wall_offset, 0, sizeof(wall_offset));
	memset(booted_at, 0, sizeof(booted_at));
	next_fd = FIRST_FD;
	clockwork_actor = CLOCKWORK_CONTROLLER;
}

void clockwork_clear(void)
{
	struct heap_node *node;

	while ((node = heap_first(&due))) {
		struct event *event = CONTAINER_OF(node, struct event, node);

		heap_remove(&due, node);
		if (event->fire == call_fire)
			drop_call(CONTAINER_OF(event, struct call, event));
	}
	heap_deinit(&due);
	n_drops = 0;
}

uint64_t clockwork_now(void)
{
	return now_ms;
}

static void set(struct event *event, uint64_t at)
{
	struct error err;

	check(heap_set(&due, &event->node, at > now_ms ? at : now_ms, &err) == 0);
}

static void call_fire(struct event *event)
{
	struct call *call = CONTAINER_OF(event, struct call, event);

	clockwork_actor = call->actor;
	call->fn(call->owner, call->number);
	free(call);
}

void clockwork_at(uint64_t at, clockwork_fn fn, void *owner, uint64_t number)
{
	struct call *call = calloc(1, sizeof(*call));

	check(call);
	call->event.fire = call_fire;
	call->fn = fn;
	call->owner = owner;
	call->number = number;
	call->actor = clockwork_actor;
	set(&call->event, at);
}

void clockwork_in(uint64_t ms, clockwork_fn fn, void *owner, uint64_t number)
{
	clockwork_at(now_ms + ms, fn, owner, number);
}

bool clockwork_run(uint64_t end)
{
	unsigned n_now = 0;
	struct heap_node *node;

	while ((node = heap_first(&due)) && node->deadline <= end) {
		struct event *event = CONTAINER_OF(node, struct event, node);

		n_now = node->deadline > now_ms ? 0 : n_now + 1;
		if (n_now > MAX_AT_ONE_MOMENT)
			return false;
		now_ms = node->deadline;
		heap_remove(&due, node);
		event->fire(event);
	}
	now_ms = end;
	return true;
}

/* Clocks */

int64_t clockwork_wall(int actor)
{
	return WALL_START_MS + (int64_t)(now_ms - CLOCKWORK_START_MS) + wall_offset[actor + 1];
}

void clockwork_step_wall(int actor, int64_t ms)
{
	wall_offset[actor + 1] += ms;
}

void clockwork_boot(int actor)
{
	booted_at[actor + 1] = now_ms;
}

uint64_t clock_monotonic_ms(void)
{
	return now_ms;
}

uint64_t clock_boot_ms(void)
{
	return now_ms - booted_at[clockwork_actor + 1];
}

int64_t clock_wall_ms(void)
{
	return clockwork_wall(clockwork_actor);
}

/* Programs take no time, however fast the machine is: so a history is the same everywhere. */
uint64_t stopwatch_us(void)
{
	return now_ms * 1000;
}

double stopwatch_seconds(uint64_t since_us)
{
	return (double)(stopwatch_us() - since_us) / 1e6;
}

uint64_t stopwatch_cpu_us(void)
{
	return 0;
}

void clockwork_set_entropy_apart(bool is_apart)
{
	is_entropy_apart = is_apart;
}

uint64_t __wrap_prng_entropy(void);
uint64_t __wrap_prng_entropy(void)
{
	return prng_next(is_entropy_apart ? &entropy_apart : &entropy);
}

/* Loops */

int loop_new(struct loop **ret_loop, struct error *err)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return error_no_memory(err);
	loop->actor = clockwork_actor;
	*ret_loop = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	free(loop);
}

/* The simulation runs all loops together. */
int loop_run(struct loop *loop, struct error *err)
{
	(void)loop, (void)err;
	return 0;
}

void loop_stop(struct loop *loop)
{
	(void)loop;
}

uint64_t loop_now_ms(struct loop *loop)
{
	(void)loop;
	return now_ms;
}

static void timer_fire(struct event *event)
{
	struct loop_timer *timer = CONTAINER_OF(event, struct loop_timer, event);

	clockwork_actor = timer->loop->actor;
	timer->fire(timer->owner);
}

int loop_timer_new(struct loop *loop, loop_timer_fn fire, void *owner,
		   struct loop_timer **ret_timer, struct error *err)
{
	struct loop_timer *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return error_no_memory(err);
	timer->event.fire = timer_fire;
	timer->loop = loop;
	timer->fire = fire;
	timer->owner = owner;
	*ret_timer = timer;
	return 0;
}

void loop_timer_free(struct loop_timer *timer)
{
	if (!timer)
		return;
	heap_remove(&due, &timer->event.node);
	free(timer);
}

void loop_timer_set(struct loop_timer *timer, uint64_t ms)
{
	set(&timer->event, now_ms + ms);
}

void loop_timer_clear(struct loop_timer *timer)
{
	heap_remove(&due, &timer->event.node);
}

bool loop_timer_is_set(const struct loop_timer *timer)
{
	return heap_contains(&timer->event.node);
}

/* Turns take no time here. */
const struct histogram *loop_turns(const struct loop *loop)
{
	static const struct histogram none = {.bounds = histogram_short_seconds};

	(void)loop;
	return &none;
}

int loop_signal_new(struct loop *loop, int number, loop_signal_fn fire, void *owner,
		    struct loop_signal **ret_signal, struct error *err)
{
	(void)loop, (void)number, (void)fire, (void)owner, (void)err;
	*ret_signal = NULL;
	return 0;
}

void loop_signal_free(struct loop_signal *signal)
{
	(void)signal;
}

static void watch_fire(struct event *event)
{
	struct loop_watch *watch = CONTAINER_OF(event, struct loop_watch, event);

	clockwork_actor = watch->loop->actor;
	watch->ready(watch->owner, true, false);
}

int loop_watch_new(struct loop *loop, int fd, unsigned interest, loop_watch_fn ready, void *owner,
		   struct loop_watch **ret_watch, struct error *err)
{
	struct loop_watch *watch = calloc(1, sizeof(*watch));

	(void)interest;
	if (!watch)
		return error_no_memory(err);
	*watch = (struct loop_watch){.event.fire = watch_fire,
				     .next = watches,
				     .loop = loop,
				     .ready = ready,
				     .owner = owner,
				     .fd = fd};
	watches = watch;
	*ret_watch = watch;
	return 0;
}

void loop_watch_free(struct loop_watch *watch)
{
	struct loop_watch **link = &watches;

	if (!watch)
		return;
	while (*link != watch)
		link = &(*link)->next;
	*link = watch->next;
	heap_remove(&due, &watch->event.node);
	free(watch);
}

void clockwork_wake(int fd)
{
	for (struct loop_watch *watch = watches; watch; watch = watch->next)
		if (watch->fd == fd)
			set(&watch->event, now_ms);
}

/* Handing over */

int handoff_new(size_t cap, struct handoff **ret_handoff, struct error *err)
{
	struct handoff *handoff = calloc(1, sizeof(*handoff));

	if (!handoff)
		return error_no_memory(err);
	handoff->cap = cap < ARRAY_SIZE(handoff->waiting) ? cap : ARRAY_SIZE(handoff->waiting);
	handoff->fd = next_fd++;
	*ret_handoff = handoff;
	return 0;
}

void handoff_free(struct handoff *handoff)
{
	free(handoff);
}

void handoff_freep(struct handoff **handoff)
{
	handoff_free(*handoff);
}

int handoff_push(struct handoff *handoff, struct handoff_node *take_node, struct error *err)
{
	if (handoff->count == handoff->cap)
		return error_set(err, ERROR_LIMIT, 0, "the queue is full");
	handoff->waiting[(handoff->first + handoff->count++) % ARRAY_SIZE(handoff->waiting)] =
		take_node;
	clockwork_wake(handoff->fd);
	return 0;
}

struct handoff_node *handoff_pop(struct handoff *handoff)
{
	struct handoff_node *node;

	if (handoff->count == 0)
		return NULL;
	node = handoff->waiting[handoff->first];
	handoff->first = (handoff->first + 1) % ARRAY_SIZE(handoff->waiting);
	handoff->count--;
	return node;
}

int handoff_fd(const struct handoff *handoff)
{
	return handoff->fd;
}
