/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_teller.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "controller/event_idle.h"
#include "controller/event_recovery.h"

#define LOOK_MS (EVENT_TELLER_SHADOW_MS / 2)
/* The first look is to come before anything is published that was not. */
#define FIRST_LOOK_MS 1000u
#define UNKNOWN_INSTANCE "gpu-attribution-controller"
#define ARENA_CAP (64u * LIMIT_KIB)

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

static bool leads(const struct event_teller *teller)
{
	return teller->config.leads(teller->config.owner);
}

/* Who follows looks at what was so a while ago. Who leads by now tells what came since. */
static void look(void *owner)
{
	struct event_teller *teller = owner;
	const bool is_leader = leads(teller);
	const int64_t lag_ms = is_leader ? 0 : EVENT_TELLER_SHADOW_MS;

	if (teller->config.is_ready(teller->config.owner))
		event_idle_look(&teller->idle, teller->config.inventory, clock_wall_ms() - lag_ms,
				is_leader ? tell_idle : NULL, teller);
	loop_timer_set(teller->timer, teller->idle.has_looked ? LOOK_MS : FIRST_LOOK_MS);
}

/* Of what a replica writes itself event_teller_tell() is told. */
static void published(void *owner, const struct attribution *before, const struct attribution *now)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct event_teller *teller = owner;
	struct event_change change;
	struct error error = {0};
	bool is_any = false;

	if (!before || !now || !view_equal(before->uid, now->uid) || leads(teller))
		return;
	arena_init(&arena, ARENA_CAP);
	if (event_changes_of_health(before, now, &arena, &change, &is_any, &error) < 0)
		LOG_WARN("Published health not noted", LOG_TEXT("object", now->name),
			 LOG_ERROR_FIELD(&error));
	else if (is_any)
		(void)event_recovery_take(&teller->recovery, &change);
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
		.may_send_until = config->may_send_until,
		.owner = config->owner,
	};
	if (event_sender_new(&sender, &teller->sender, err) < 0 ||
	    event_idle_init(&teller->idle, config->idle_ms, clock_wall_ms(), err) < 0 ||
	    loop_timer_new(config->loop, look, teller, &teller->timer, err) < 0)
		return -1;
	inventory_on_attribution(config->inventory, published, teller);
	loop_timer_set(teller->timer, FIRST_LOOK_MS);
	*ret_teller = TAKE(teller);
	return 0;
}

void event_teller_free(struct event_teller *teller)
{
	if (!teller)
		return;
	inventory_off_attribution(teller->config.inventory, teller);
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

bool event_teller_is_busy(const struct event_teller *teller)
{
	return teller && event_sender_is_busy(teller->sender);
}

void event_teller_cut(struct event_teller *teller)
{
	if (teller)
		event_sender_cut(teller->sender);
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
