/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/reconciler.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "controller/gather.h"
#include "controller/join_pause.h"
#include "schema/attribution_doc.h"

/*
 * One key is one node. A node is taken from the queue, joined, and stays taken until its writes are
 * answered. So no two plans of a node are ever under way, and what happens meanwhile leads to one
 * more run afterwards.
 *
 * The queue is worked on from a timer and in turns of a few milliseconds, so that watches and reports
 * are read in between.
 *
 * Whatever wants a node, it comes by add() or settle(), and neither undercuts its pause.
 */

#define REJECTED_RETRY_MS 10000u

struct reconciler {
	struct reconciler_config config;
	struct reconciler_events_queue events;
	struct workqueue *queue;
	struct publisher *publisher;
	struct join_pause pause;
	struct loop_timer *timer;
	struct arena arena;
	uint64_t run_began_us; /* of the run that is going on; 0: none is */
	struct reconciler_counters counters;
};

static uint64_t leads_until(const struct reconciler *reconciler)
{
	const struct reconciler_config *config = &reconciler->config;

	return config->leads_until ? config->leads_until(config->owner) : UINT64_MAX;
}

static void schedule(struct reconciler *reconciler)
{
	uint64_t due = workqueue_next_due(reconciler->queue);
	uint64_t now = loop_now_ms(reconciler->config.loop);

	if (due == UINT64_MAX || !reconciler->config.is_ready(reconciler->config.owner))
		loop_timer_clear(reconciler->timer);
	else
		loop_timer_set(reconciler->timer, due > now ? due - now : 0);
}

static void add(struct reconciler *reconciler, struct view node_name,
		enum workqueue_priority priority, uint64_t at)
{
	uint64_t not_before = join_pause_until(&reconciler->pause, node_name);
	struct error error = {0};

	if (at < not_before)
		at = not_before;
	if (workqueue_add(reconciler->queue, node_name, priority, at, &error) < 0)
		LOG_ERROR("Node could not be queued", LOG_TEXT("node", node_name),
			  LOG_ERROR_FIELD(&error));
}

static void touched(void *owner, struct view node_name, bool initial)
{
	struct reconciler *reconciler = owner;

	add(reconciler, node_name, initial ? WORKQUEUE_LOW : WORKQUEUE_HIGH,
	    loop_now_ms(reconciler->config.loop));
	schedule(reconciler);
}

/* Notes which events this run is about. */
static void await_events(struct reconciler *reconciler, struct view node_name,
			 const struct report *report, int64_t until)
{
	if (!report || until == 0 || !reconciler->config.events_published ||
	    leads_until(reconciler) == 0)
		return;
	reconciler_events_add(&reconciler->events, &(struct reconciler_events){
							   .node_name = node_name,
							   .boot_id = report->boot_id,
							   .instance = report->instance,
							   .sequence = until,
						   });
}

static void end_events(struct reconciler *reconciler, struct view node_name, bool is_published)
{
	reconciler_events_end(&reconciler->events, node_name,
			      is_published ? reconciler->config.events_published : NULL,
			      reconciler->config.owner);
}

/* A run without writes takes less than the loop's clock can tell. */
static void count_end(struct reconciler *reconciler, struct view node_name,
		      const struct error *error)
{
	uint64_t now = loop_now_ms(reconciler->config.loop);
	enum reconciler_result result = !error                          ? RECONCILER_SUCCESS
					: error->kind == ERROR_CONFLICT ? RECONCILER_REQUEUE
									: RECONCILER_ERROR;

	reconciler->counters.results[result]++;
	reconciler->counters.errors += result == RECONCILER_ERROR;
	histogram_observe(&reconciler->counters.durations,
			  reconciler->run_began_us != 0
				  ? stopwatch_seconds(reconciler->run_began_us)
				  : (double)workqueue_worked_ms(reconciler->queue, node_name, now) /
					    1000);
}

/*
 * What was rejected would be refused again if it was tried at once. Not much later either, but the
 * node's other devices wait as long.
 */
static uint32_t find_delay(const struct reconciler *reconciler, struct view node_name,
			   const struct error *error, uint64_t now)
{
	uint64_t not_before = join_pause_until(&reconciler->pause, node_name);
	uint64_t delay = error->kind == ERROR_REJECTED ? REJECTED_RETRY_MS : error->retry_after_ms;

	if (not_before > now + delay)
		delay = not_before - now;
	return delay < UINT32_MAX ? (uint32_t)delay : UINT32_MAX;
}

static void settle(struct reconciler *reconciler, struct view node_name,
		   const struct error *error)
{
	uint64_t now = loop_now_ms(reconciler->config.loop);

	count_end(reconciler, node_name, error);
	end_events(reconciler, node_name, !error);
	if (!error)
		workqueue_done(reconciler->queue, node_name, now);
	else
		workqueue_failed(reconciler->queue, node_name,
				 find_delay(reconciler, node_name, error, now), now);
}

/*
 * An object that was created gets its status, and the events in it, from one more run. Only a
 * success leads to it: what the server refused waits for its back-off.
 */
static void published(void *owner, struct view node_name, bool created, const struct error *error)
{
	struct reconciler *reconciler = owner;

	if (created && !error) {
		end_events(reconciler, node_name, false);
		add(reconciler, node_name, WORKQUEUE_HIGH,
		    loop_now_ms(reconciler->config.loop));
	}
	settle(reconciler, node_name, error);
	schedule(reconciler);
}

/* Gathers and joins; the result lies in the arena. */
static int decide(struct reconciler *reconciler, struct view node_name, struct join_result *ret,
		  struct error *err)
{
	struct inventory *inventory = reconciler->config.inventory;
	uint64_t now = loop_now_ms(reconciler->config.loop);
	const struct inventory_parts parts = inventory_parts(inventory);
	struct join_input input;

	arena_reset(&reconciler->arena);
	if (gather_node(&parts, node_name, now, &reconciler->arena, &input, err) < 0)
		return -1;
	input.limits = &reconciler->config.limits;
	input.now_wall_ms = clock_wall_ms();
	input.is_same = attribution_doc_is_same;
	if (join_node(&input, &reconciler->arena, ret, err) < 0)
		return -1;
	await_events(reconciler, node_name, input.report, ret->events_until);
	return inventory_node_state_keep_recall(inventory, node_name, &ret->recall, now, err);
}

static void look_again(struct reconciler *reconciler, struct view node_name, int64_t in_ms)
{
	if (in_ms >= 0)
		add(reconciler, node_name, WORKQUEUE_LOW,
		    loop_now_ms(reconciler->config.loop) + (uint64_t)in_ms);
}

static void count(struct reconciler *reconciler, struct view node_name,
		  const struct join_result *result)
{
	struct node_state_refusals new = inventory_node_state_note_refusals(
		reconciler->config.inventory, node_name, result->refused);

	reconciler->counters.entries_refused += new.entries;
	reconciler->counters.ids_unknown += new.ids;
	reconciler->counters.devices_refused += new.devices;
	reconciler->counters.objects_left_out += new.objects;
	reconciler->counters.debounced_left_out += new.debounced;
	if (new.devices > 0)
		LOG_WARN("Object limit of a node reached", LOG_TEXT("node", node_name),
			 LOG_I64("refused", result->refused.devices));
}

/* What is planned has been copied: nothing refers to the report any more. */
static void forget(struct reconciler *reconciler, struct view node_name)
{
	inventory_node_state_forget_report(reconciler->config.inventory, node_name);
	if (reconciler->config.forgotten)
		reconciler->config.forgotten(reconciler->config.owner, node_name);
}

/*
 * What is held or left is in no status yet, nor are events in it. A run that wrote nothing else says
 * nothing of the server, so a back-off goes on.
 */
static void hold(struct reconciler *reconciler, struct view node_name,
		 const struct publisher_applied *applied)
{
	end_events(reconciler, node_name, false);
	add(reconciler, node_name, WORKQUEUE_LOW, applied->due_at);
	if (applied->n_writes > 0)
		return;
	count_end(reconciler, node_name, NULL);
	workqueue_put_off(reconciler->queue, node_name, loop_now_ms(reconciler->config.loop));
}

/* Who does not lead finds in its watch what the leader makes of the same. */
static int apply(struct reconciler *reconciler, struct view node_name,
		 const struct join_result *result, struct publisher_applied *ret_applied,
		 struct error *err)
{
	const bool leads = leads_until(reconciler) > 0;

	if (!leads)
		end_events(reconciler, node_name, false); /* the lead may have ended in the join */
	return publisher_apply(reconciler->publisher, node_name, result->devices,
			       leads ? result->n_devices : 0, ret_applied, err);
}

/* Joins, and begins the writes that this leads to. */
static int act(struct reconciler *reconciler, struct view node_name, struct join_result *ret_result,
	       struct publisher_applied *ret_applied, struct error *err)
{
	uint64_t began_us = stopwatch_cpu_us();
	int failed = decide(reconciler, node_name, ret_result, err);

	if (!failed)
		failed = apply(reconciler, node_name, ret_result, ret_applied, err);
	join_pause_note(&reconciler->pause, node_name, stopwatch_cpu_us() - began_us,
			loop_now_ms(reconciler->config.loop));
	return failed;
}

static bool may_join(const struct reconciler *reconciler, struct view node_name)
{
	const struct reconciler_config *config = &reconciler->config;

	return !config->may_join || config->may_join(config->owner, node_name);
}

static void run(struct reconciler *reconciler, struct view node_name)
{
	struct join_result result;
	struct publisher_applied applied = {0};
	struct error error = {0};

	if (!may_join(reconciler, node_name)) {
		workqueue_done(reconciler->queue, node_name, loop_now_ms(reconciler->config.loop));
		return;
	}
	reconciler->counters.runs++;
	if (act(reconciler, node_name, &result, &applied, &error) < 0) {
		LOG_ERROR("Node could not be reconciled", LOG_TEXT("node", node_name),
			  LOG_ERROR_FIELD(&error));
		settle(reconciler, node_name, &error);
		return;
	}
	count(reconciler, node_name, &result);
	if (result.is_buried)
		forget(reconciler, node_name);
	look_again(reconciler, node_name, result.again_in_ms);
	if (applied.n_held + applied.n_left > 0)
		hold(reconciler, node_name, &applied);
	else if (applied.n_writes == 0)
		settle(reconciler, node_name, NULL);
}

static void work(void *owner)
{
	struct reconciler *reconciler = owner;
	uint64_t began_us = stopwatch_us();
	struct view node_name;

	while (reconciler->config.is_ready(reconciler->config.owner) &&
	       workqueue_take(reconciler->queue, loop_now_ms(reconciler->config.loop), &node_name)) {
		reconciler->run_began_us = stopwatch_us();
		run(reconciler, node_name);
		reconciler->run_began_us = 0;
		if (stopwatch_us() - began_us >= RECONCILER_TURN_US)
			break;
	}
	schedule(reconciler);
}

void reconciler_wake(struct reconciler *reconciler)
{
	schedule(reconciler);
}

void reconciler_take_over(struct reconciler *reconciler)
{
	node_state_touch_all(inventory_parts(reconciler->config.inventory).node_states, false,
			     true);
}

static void changed(void *owner, struct view node_name, const struct event_change *changes, size_t n)
{
	const struct reconciler *reconciler = owner;

	reconciler->config.changed(reconciler->config.owner, node_name, changes, n);
}

/*
 * What was joined may have to wait for a request to become free. Meanwhile a watch may break off, or the
 * lead be lost.
 */
static uint64_t may_write_until(void *owner, struct view node_name)
{
	const struct reconciler *reconciler = owner;

	return reconciler->config.is_ready(reconciler->config.owner) && may_join(reconciler, node_name)
		       ? leads_until(reconciler)
		       : 0;
}

static void reconciler_freep(struct reconciler **reconciler)
{
	reconciler_free(*reconciler);
}

int reconciler_new(const struct reconciler_config *config, struct reconciler **ret_reconciler,
		   struct error *err)
{
	CLEANUP(reconciler_freep) struct reconciler *reconciler = calloc(1, sizeof(*reconciler));

	if (!reconciler)
		return error_no_memory(err);
	reconciler->config = *config;
	reconciler_events_init(&reconciler->events);
	join_pause_init(&reconciler->pause);
	reconciler->counters.durations.bounds = histogram_seconds;
	arena_init(&reconciler->arena,
		   config->max_join_bytes ? config->max_join_bytes : RECONCILER_JOIN_BYTES);
	const struct publisher_config publisher = {
		.loop = config->loop,
		.client = config->client,
		.inventory = config->inventory,
		.max_requests = config->max_requests,
		.may_write_until = may_write_until,
		.done = published,
		.changed = config->changed ? changed : NULL,
		.owner = reconciler,
	};
	if (workqueue_new(config->seed, &reconciler->queue, err) < 0 ||
	    publisher_new(&publisher, &reconciler->publisher, err) < 0 ||
	    loop_timer_new(config->loop, work, reconciler, &reconciler->timer, err) < 0)
		return -1;
	inventory_on_touch(config->inventory, touched, reconciler);
	*ret_reconciler = TAKE(reconciler);
	return 0;
}

void reconciler_free(struct reconciler *reconciler)
{
	if (!reconciler)
		return;
	reconciler_events_deinit(&reconciler->events);
	inventory_on_touch(reconciler->config.inventory, NULL, NULL);
	publisher_free(reconciler->publisher);
	join_pause_deinit(&reconciler->pause);
	workqueue_free(reconciler->queue);
	loop_timer_free(reconciler->timer);
	arena_deinit(&reconciler->arena);
	free(reconciler);
}

struct reconciler_counters reconciler_counters(const struct reconciler *reconciler)
{
	struct reconciler_counters counters = reconciler->counters;

	counters.depth = workqueue_depth(reconciler->queue);
	counters.load = workqueue_load(reconciler->queue, loop_now_ms(reconciler->config.loop));
	counters.queue = workqueue_counters(reconciler->queue);
	counters.writes = publisher_counters(reconciler->publisher);
	counters.pauses = reconciler->pause.n_pauses;
	return counters;
}

const char *reconciler_write_trouble(const struct reconciler *reconciler)
{
	return publisher_trouble(reconciler->publisher);
}

const struct write_budget *reconciler_write_budget(const struct reconciler *reconciler)
{
	return publisher_write_budget(reconciler->publisher);
}
