/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One lock guards all. It is open only while the thread is in the driver, or sleeps until something
 * changes.
 */

#include "agent/nvml_waiter.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"

struct nvml_waiter {
	struct nvml_waiter_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* something of the following */
	nvml_waiter_wait_fn wait;
	struct nvml_abi_event_set *set; /* NULL: nothing is watched */
	bool is_ending;
	bool is_inside;        /* the driver, and since when (monotonic ms): */
	uint64_t inside_since;
	int failure; /* of the wait, not told yet; or NVML_ABI_SUCCESS */
	struct nvml_abi_event events[LIMIT_NVML_EVENTS]; /* a ring */
	uint32_t first, n_events;
};

/* The thread; all with the lock. */

static void push(struct nvml_waiter *waiter, const struct nvml_abi_event *event)
{
	const uint32_t at = (waiter->first + waiter->n_events) % LIMIT_NVML_EVENTS;
	waiter->events[at] = *event;
	if (waiter->n_events++ == 0)
		waiter->config.told(waiter->config.owner);
}

static void fail(struct nvml_waiter *waiter, int code)
{
	waiter->failure = code;
	waiter->set = NULL;
	waiter->config.told(waiter->config.owner);
}

/* Until something changes, or that time has passed. */
static void pause_for(struct nvml_waiter *waiter, uint32_t ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	(void)pthread_cond_timedwait(&waiter->changed, &waiter->lock, &until);
}

static void wait_once(struct nvml_waiter *waiter)
{
	struct nvml_abi_event event = {.gpu_instance = NVML_ABI_NO_INSTANCE,
				       .compute_instance = NVML_ABI_NO_INSTANCE};
	const nvml_waiter_wait_fn wait = waiter->wait;
	struct nvml_abi_event_set *set = waiter->set;
	const uint32_t wait_ms = waiter->config.wait_ms;
	waiter->is_inside = true;
	waiter->inside_since = clock_monotonic_ms();
	pthread_mutex_unlock(&waiter->lock);
	int code = wait(set, &event, wait_ms);
	pthread_mutex_lock(&waiter->lock);
	waiter->is_inside = false;
	pthread_cond_broadcast(&waiter->changed);
	if (code == NVML_ABI_SUCCESS)
		push(waiter, &event);
	else if (code != NVML_ABI_TIMEOUT)
		fail(waiter, code);
	else if (clock_monotonic_ms() - waiter->inside_since < wait_ms / 4)
		pause_for(waiter, wait_ms / 4);
}

static void *run(void *arg)
{
	struct nvml_waiter *waiter = arg;
	pthread_mutex_lock(&waiter->lock);
	while (!waiter->is_ending) {
		if (waiter->set && waiter->n_events < LIMIT_NVML_EVENTS)
			wait_once(waiter);
		else
			pthread_cond_wait(&waiter->changed, &waiter->lock);
	}
	pthread_mutex_unlock(&waiter->lock);
	return NULL;
}

/* The owner. */

void nvml_waiter_watch(struct nvml_waiter *waiter, nvml_waiter_wait_fn wait,
		       struct nvml_abi_event_set *set)
{
	pthread_mutex_lock(&waiter->lock);
	assert(!waiter->set && set);
	waiter->wait = wait;
	waiter->set = set;
	waiter->failure = NVML_ABI_SUCCESS;
	pthread_cond_broadcast(&waiter->changed);
	pthread_mutex_unlock(&waiter->lock);
}

void nvml_waiter_leave(struct nvml_waiter *waiter)
{
	pthread_mutex_lock(&waiter->lock);
	waiter->set = NULL;
	pthread_cond_broadcast(&waiter->changed);
	while (waiter->is_inside)
		pthread_cond_wait(&waiter->changed, &waiter->lock);
	/* It may have failed meanwhile. */
	waiter->failure = NVML_ABI_SUCCESS;
	pthread_mutex_unlock(&waiter->lock);
}

static bool is_hanging(const struct nvml_waiter *waiter)
{
	return waiter->is_inside &&
	       clock_monotonic_ms() - waiter->inside_since > 2 * waiter->config.wait_ms;
}

static int take(struct nvml_waiter *waiter, struct nvml_abi_event *ret_event)
{
	if (waiter->n_events == 0) {
		int failure = waiter->failure;
		waiter->failure = NVML_ABI_SUCCESS;
		return failure == NVML_ABI_SUCCESS ? (int)NVML_ABI_TIMEOUT : failure;
	}
	*ret_event = waiter->events[waiter->first];
	waiter->first = (waiter->first + 1) % LIMIT_NVML_EVENTS;
	if (waiter->n_events-- == LIMIT_NVML_EVENTS)
		pthread_cond_broadcast(&waiter->changed);
	return NVML_ABI_SUCCESS;
}

int nvml_waiter_next(struct nvml_waiter *waiter, struct nvml_abi_event *ret_event)
{
	pthread_mutex_lock(&waiter->lock);
	while (waiter->n_events == 0 && is_hanging(waiter))
		pthread_cond_wait(&waiter->changed, &waiter->lock);
	int code = take(waiter, ret_event);
	pthread_mutex_unlock(&waiter->lock);
	return code;
}

/* Times of this condition are the monotonic clock's. */
static int open_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int failure = pthread_condattr_init(&attributes);
	if (failure)
		return failure;
	failure = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (!failure)
		failure = pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return failure;
}

/* The program's signals are for its other threads. */
static int start_thread(struct nvml_waiter *waiter)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failure = pthread_create(&waiter->thread, NULL, run, waiter);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failure;
}

int nvml_waiter_new(const struct nvml_waiter_config *config, struct nvml_waiter **ret_waiter,
		    struct error *err)
{
	assert(config->wait_ms > 0);
	struct nvml_waiter *waiter = calloc(1, sizeof(*waiter));
	if (!waiter)
		return error_no_memory(err);
	waiter->config = *config;
	pthread_mutex_init(&waiter->lock, NULL);
	int failure = open_condition(&waiter->changed);
	if (!failure) {
		failure = start_thread(waiter);
		if (!failure) {
			*ret_waiter = waiter;
			return 0;
		}
		pthread_cond_destroy(&waiter->changed);
	}
	pthread_mutex_destroy(&waiter->lock);
	free(waiter);
	return error_set(err, ERROR_RETRY, failure, "start a thread that waits for events");
}

void nvml_waiter_free(struct nvml_waiter *waiter)
{
	if (!waiter)
		return;
	nvml_waiter_leave(waiter);
	pthread_mutex_lock(&waiter->lock);
	waiter->is_ending = true;
	pthread_cond_broadcast(&waiter->changed);
	pthread_mutex_unlock(&waiter->lock);
	pthread_join(waiter->thread, NULL);
	pthread_cond_destroy(&waiter->changed);
	pthread_mutex_destroy(&waiter->lock);
	free(waiter);
}
