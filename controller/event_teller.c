/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_teller.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "controller/event_idle.h"
#include "controller/event_recovery.h"

#define LOOK_MS 30000u
/* The first look is to come before anything is published that was not. */
#define FIRST_LOOK_MS 1000u
#define UNKNOWN_INSTANCE "gpu-attribution-controller"

struct event_teller {
	struct event_teller_config config;
	char instance[LIMIT_EVENT_WORD + 1];
	struct event_sender *sender;
	struct event_idle idle;
	struct event_recovery recovery;
	struct loop_timer *timer;
};

static void tell_idle(void *owner, struct view node_name, const struct event_change *change)
{
	struct event_teller *teller = owner;

	event_sender_tell(teller->sender, node_name, change, 1);
}

static void look(void *owner)
{
	struct event_teller *teller = owner;

	if (teller->config.is_ready(teller->config.owner))
		event_idle_look(&teller->idle, teller->config.inventory, clock_wall_ms(), tell_idle,
				teller);
	loop_timer_set(teller->timer, teller->idle.has_looked ? LOOK_MS : FIRST_LOOK_MS);
}

static void event_teller_freep(struct event_teller **teller)
{
	event_teller_free(*teller);
}

int event_teller_new(const struct event_teller_config *config, struct event_teller **ret_teller,
		     struct error *err)
{
	CLEANUP(event_teller_freep) struct event_teller *teller = calloc(1, sizeof(*teller));

	if (!teller)
		return error_no_memory(err);
	teller->config = *config;
	event_recovery_init(&teller->recovery);
	/* In a pod it is the pod's name. */
	if (gethostname(teller->instance, sizeof(teller->instance) - 1) != 0 ||
	    !teller->instance[0])
		snprintf(teller->instance, sizeof(teller->instance), "%s", UNKNOWN_INSTANCE);
	const struct event_sender_config sender = {
		.loop = config->loop,
		.client = config->client,
		.instance = teller->instance,
		.limits = config->limits,
		.seed = config->seed,
	};
	if (event_sender_new(&sender, &teller->sender, err) < 0 ||
	    event_idle_init(&teller->idle, config->idle_ms, clock_wall_ms(), err) < 0 ||
	    loop_timer_new(config->loop, look, teller, &teller->timer, err) < 0)
		return -1;
	loop_timer_set(teller->timer, FIRST_LOOK_MS);
	*ret_teller = TAKE(teller);
	return 0;
}

void event_teller_free(struct event_teller *teller)
{
	if (!teller)
		return;
	loop_timer_free(teller->timer);
	event_sender_free(teller->sender);
	event_idle_deinit(&teller->idle);
	event_recovery_deinit(&teller->recovery);
	free(teller);
}

void event_teller_tell(struct event_teller *teller, struct view node_name,
		       const struct event_change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct event_change change = changes[i];

		if (event_recovery_take(&teller->recovery, &change))
			event_sender_tell(teller->sender, node_name, &change, 1);
	}
}

struct event_counters event_teller_counters(const struct event_teller *teller)
{
	struct event_counters counters = event_sender_counters(teller ? teller->sender : NULL);

	if (!teller)
		return counters;
	counters.by_type[EVENT_GPU_IDLE][EVENT_HELD_BACK] += teller->idle.n_left_out;
	counters.by_type[EVENT_GPU_RECOVERED][EVENT_HELD_BACK] += teller->recovery.n_forgotten;
	return counters;
}
