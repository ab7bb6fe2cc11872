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
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"

#define FULL_MS 100u /* until a full ring is looked at again; its reader cannot say so */

/* A device, as the owner knows it. */
struct name {
	const struct nvml_abi_device *handle; /* NULL: none */
	char uuid[NVML_ABI_UUID_SIZE];
};

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
	bool has_new_state; /* not told yet */
	struct name names[LIMIT_REPORT_DEVICES]; /* by index */
};

/* The thread; all with the lock. */

static const struct name *find_name(const struct nvml_waiter *waiter,
				    const struct nvml_abi_device *handle)
{
	for (size_t i = 0; i < LIMIT_REPORT_DEVICES; i++)
		if (waiter->names[i].handle == handle)
			return &waiter->names[i];
	return NULL;
}

/* The driver tells an event once: it is put at once where a dead process leaves it behind. */
static void take(struct nvml_waiter *waiter, const struct nvml_abi_event *raw)
{
	const struct name *name = raw->device ? find_name(waiter, raw->device) : NULL;
	const bool is_news = (raw->type & NVML_ABI_STATE_EVENTS) != 0 && !waiter->has_new_state;
	const bool is_xid = raw->type == NVML_ABI_EVENT_XID && name;
	waiter->has_new_state |= is_news;
	if (is_xid) {
		const struct nvml_event event = nvml_event_of(raw, name->uuid);
		nvml_ring_put(waiter->config.ring, &event);
	}
	if (is_xid || is_news)
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
		take(waiter, &event);
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
		if (!waiter->set)
			pthread_cond_wait(&waiter->changed, &waiter->lock);
		else if (nvml_ring_has_room(waiter->config.ring))
			wait_once(waiter);
		else
			pause_for(waiter, FULL_MS);
	}
	pthread_mutex_unlock(&waiter->lock);
	return NULL;
}

/* The owner. */

void nvml_waiter_name(struct nvml_waiter *waiter, unsigned index,
		      const struct nvml_abi_device *handle, const char *uuid)
{
	assert(index < LIMIT_REPORT_DEVICES);
	pthread_mutex_lock(&waiter->lock);
	for (size_t i = 0; i < LIMIT_REPORT_DEVICES; i++)
		if (waiter->names[i].handle == handle)
			waiter->names[i].handle = NULL;
	waiter->names[index].handle = handle;
	memcpy(waiter->names[index].uuid, uuid, sizeof(waiter->names[index].uuid));
	pthread_mutex_unlock(&waiter->lock);
}

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
	memset(waiter->names, 0, sizeof(waiter->names));
	pthread_mutex_unlock(&waiter->lock);
}

static bool is_hanging(const struct nvml_waiter *waiter)
{
	return waiter->is_inside &&
	       clock_monotonic_ms() - waiter->inside_since > 2 * waiter->config.wait_ms;
}

int nvml_waiter_ask(struct nvml_waiter *waiter, bool *ret_has_new_state)
{
	pthread_mutex_lock(&waiter->lock);
	while (is_hanging(waiter))
		pthread_cond_wait(&waiter->changed, &waiter->lock);
	const int failure = waiter->failure;
	*ret_has_new_state = waiter->has_new_state;
	waiter->failure = NVML_ABI_SUCCESS;
	waiter->has_new_state = false;
	pthread_mutex_unlock(&waiter->lock);
	return failure == NVML_ABI_SUCCESS ? (int)NVML_ABI_TIMEOUT : failure;
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
	assert(config->wait_ms > 0 && config->ring);
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
