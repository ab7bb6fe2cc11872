/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A plan is one node's writes (controller/publisher_write.h), each with the questions that come
 * before it. If the answer to one is not as the write needs it, the plan fails with CONFLICT, for
 * what to write must be computed anew. And, after a conflict of a write, another request: GET the
 * object into the inventory; the plan fails with CONFLICT as well.
 */

#include "controller/publisher.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "base/stopwatch.h"
#include "controller/publisher_write.h"
#include "controller/refusals.h"
#include "schema/attribution_doc.h"

#define WRITE_TIMEOUT_MS 10000u
#define TELLING_MS 1000u

struct publisher_plan {
	struct sbuf node_name;
	size_t pending;
	bool created;
	struct error error; /* the worst so far */
	struct loop_timer *finish;
	struct publisher *publisher;
	struct list link;
};

struct publisher {
	struct publisher_config config;
	struct list plans;     /* struct publisher_plan */
	struct list waiting;   /* struct publisher_write */
	struct list under_way; /* struct publisher_write */
	bool pumping;
	struct publisher_counters counters;
	struct refusals refusals;
	struct write_budget budget;
};

static void plan_free(struct publisher_plan *plan)
{
	if (!plan)
		return;
	sbuf_deinit(&plan->node_name);
	loop_timer_free(plan->finish);
	free(plan);
}

static void plan_freep(struct publisher_plan **plan)
{
	plan_free(*plan);
}

static struct publisher_write *first_write(struct list *writes)
{
	struct list *link = list_first(writes);

	return link ? CONTAINER_OF(link, struct publisher_write, link) : NULL;
}

static void free_all(struct list *writes)
{
	struct publisher_write *write;

	while ((write = first_write(writes))) {
		list_remove(&write->link);
		publisher_write_free(write);
	}
}

/*
 * A write of ours that the server has taken, by its answer or, often earlier, by the watch. The join that
 * decided it would find nothing to do.
 */
static bool is_expected(void *owner, struct view node_name, const struct attribution *object)
{
	const struct publisher *publisher = owner;
	const struct attribution *sent;
	struct error error;

	for (struct list *link = publisher->under_way.next; link != &publisher->under_way; link = link->next) {
		struct publisher_write *write = CONTAINER_OF(link, struct publisher_write, link);

		if (write->step == PUBLISHER_WRITE_UPDATE &&
		    view_equal(sbuf_view(&write->name), object->name) &&
		    view_equal(sbuf_view(&write->plan->node_name), node_name))
			return publisher_write_sent(write, &sent, &error) == 0 && !object->deleting &&
			       object->generation == sent->status.observed_generation &&
			       attribution_doc_is_same(&sent->status, &object->status);
	}
	return false;
}

int publisher_new(const struct publisher_config *config, struct publisher **ret_publisher,
		  struct error *err)
{
	struct publisher *publisher = calloc(1, sizeof(*publisher));

	assert(config->max_requests > 0);
	if (!publisher)
		return error_no_memory(err);
	publisher->config = *config;
	list_init(&publisher->plans);
	list_init(&publisher->waiting);
	list_init(&publisher->under_way);
	write_budget_init(&publisher->budget);
	inventory_expect_attributions(config->inventory, is_expected, publisher);
	*ret_publisher = publisher;
	return 0;
}

void publisher_free(struct publisher *publisher)
{
	struct list *link;

	if (!publisher)
		return;
	inventory_expect_attributions(publisher->config.inventory, NULL, NULL);
	free_all(&publisher->waiting);
	free_all(&publisher->under_way);
	while ((link = list_first(&publisher->plans))) {
		list_remove(link);
		plan_free(CONTAINER_OF(link, struct publisher_plan, link));
	}
	write_budget_deinit(&publisher->budget);
	free(publisher);
}

struct publisher_counters publisher_counters(const struct publisher *publisher)
{
	struct publisher_counters counters = publisher->counters;

	counters.dropped = publisher->refusals.n_dropped;
	for (size_t i = 0; i < WRITE_BUDGET_N_HOLDERS; i++)
		counters.held[i] = publisher->budget.held[i];
	counters.budgets_forgotten = write_budget_forgotten(&publisher->budget);
	counters.held_now = write_budget_held(&publisher->budget);
	return counters;
}

const struct write_budget *publisher_write_budget(const struct publisher *publisher)
{
	return &publisher->budget;
}

const char *publisher_trouble(const struct publisher *publisher)
{
	return refusals_trouble(&publisher->refusals, loop_now_ms(publisher->config.loop));
}

/* Carrying out */

static void pump(struct publisher *publisher);

/* The caller is told from a timer, so never from inside publisher_apply(). */
static void finish_plan(void *owner)
{
	struct publisher_plan *plan = owner;
	struct publisher *publisher = plan->publisher;
	bool failed = plan->error.kind != ERROR_NONE;

	list_remove(&plan->link);
	publisher->config.done(publisher->config.owner, sbuf_view(&plan->node_name), plan->created,
			       failed ? &plan->error : NULL);
	plan_free(plan);
}

/* An object that the server refuses must not keep the others from being tried again. */
static bool is_worse(const struct error *a, const struct error *b)
{
	return b->kind == ERROR_NONE || (b->kind == ERROR_REJECTED && a->kind != ERROR_REJECTED);
}

/* The longest wait that the server asked for counts, whichever error is the one to tell. */
static void add_error(struct publisher_plan *plan, const struct error *error)
{
	uint32_t retry_after_ms = plan->error.retry_after_ms;

	if (is_worse(error, &plan->error))
		plan->error = *error;
	if (error->retry_after_ms > retry_after_ms)
		retry_after_ms = error->retry_after_ms;
	plan->error.retry_after_ms = retry_after_ms;
}

static void end_write(struct publisher_write *write, const struct error *error)
{
	struct publisher_plan *plan = write->plan;
	struct publisher *publisher = plan->publisher;

	if (error)
		add_error(plan, error);
	list_remove(&write->link);
	publisher->counters.under_way--;
	publisher_write_free(write);
	assert(plan->pending > 0);
	if (--plan->pending == 0)
		loop_timer_set(plan->finish, 0);
	pump(publisher);
}

/*
 * The server's object becomes what the next join compares with. Where the server dropped a field of a
 * status that is what was sent, or the next join would write it again, and each one after it.
 */
static int learn(struct publisher_write *write, struct view body, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct publisher *publisher = write->plan->publisher;
	struct attribution object;
	const struct attribution *sent = NULL;
	uint64_t version = 0;
	bool is_dropped = false;

	arena_init(&arena, 2 * LIMIT_OBJECT_BYTES);
	if (attribution_doc_decode(body, &arena, &object, err) < 0 ||
	    (write->step == PUBLISHER_WRITE_UPDATE && publisher_write_sent(write, &sent, err) < 0))
		return -1;
	if (sent)
		is_dropped = refusals_note_kept(&publisher->refusals, &sent->status, &object.status,
						loop_now_ms(publisher->config.loop));
	if (is_dropped) {
		struct attribution copy;

		if (attribution_doc_decode(sbuf_view(&write->body), &arena, &copy, err) < 0)
			return -1;
		object.status = copy.status;
	}
	(void)view_parse_u64(object.resource_version, &version);
	return inventory_put_attribution(publisher->config.inventory, &object, &arena,
					 is_dropped ? STORE_ANSWER : STORE_UPSERT, version, err);
}

static int send_write(struct publisher_write *write, struct error *err);

static void step_to(struct publisher_write *write, enum publisher_write_step step)
{
	struct error error = {0};

	write->step = step;
	if (send_write(write, &error) < 0)
		end_write(write, &error);
}

static void count_success(struct publisher *publisher, enum publisher_write_step step)
{
	switch (step) {
	case PUBLISHER_WRITE_CREATE:
		publisher->counters.created++;
		break;
	case PUBLISHER_WRITE_UPDATE:
		publisher->counters.updated++;
		break;
	case PUBLISHER_WRITE_DELETE:
		publisher->counters.deleted++;
		break;
	case PUBLISHER_WRITE_ASK:
	case PUBLISHER_WRITE_READ:
		break;
	}
}

static void forget(struct publisher_write *write)
{
	struct publisher *publisher = write->plan->publisher;

	inventory_remove(publisher->config.inventory, INVENTORY_ATTRIBUTIONS,
			 sbuf_view(&write->name), 0, loop_now_ms(publisher->config.loop));
}

/*
 * Only of what the server keeps: what it dropped is written again after a restart, and would be told
 * once more.
 */
static void tell_changes(const struct publisher_write *write, uint64_t n_dropped_before)
{
	const struct publisher *publisher = write->plan->publisher;

	if (write->step == PUBLISHER_WRITE_UPDATE && write->n_changes > 0 &&
	    publisher->refusals.n_dropped == n_dropped_before)
		publisher->config.changed(publisher->config.owner,
					  sbuf_view(&write->plan->node_name), write->changes,
					  write->n_changes);
}

static void succeed(struct publisher_write *write, struct view body)
{
	struct publisher *publisher = write->plan->publisher;
	const uint64_t n_dropped = publisher->refusals.n_dropped;
	struct error error = {0};

	count_success(publisher, write->step);
	write->plan->created |= write->step == PUBLISHER_WRITE_CREATE;
	/* Of a deletion the watch tells, with the version that the object then has. */
	if (write->step != PUBLISHER_WRITE_DELETE && learn(write, body, &error) == 0 &&
	    write->step == PUBLISHER_WRITE_READ)
		error_set(&error, ERROR_CONFLICT, 0, "object %.*s was changed",
			  VIEW_ARG(sbuf_view(&write->name)));
	tell_changes(write, n_dropped);
	end_write(write, error.kind == ERROR_NONE ? NULL : &error);
}

static void fail(struct publisher_write *write, const struct error *error)
{
	struct publisher *publisher = write->plan->publisher;

	if (error->kind == ERROR_CONFLICT && write->step != PUBLISHER_WRITE_READ) {
		publisher->counters.conflicts++;
		step_to(write, PUBLISHER_WRITE_READ);
		return;
	}
	if (error->kind == ERROR_NOT_FOUND && write->step != PUBLISHER_WRITE_ASK) {
		/* Somebody deleted it: known now, and the next join creates it again. */
		forget(write);
		end_write(write, write->step == PUBLISHER_WRITE_DELETE ? NULL : error);
		return;
	}
	if (error->kind == ERROR_REJECTED)
		publisher->counters.rejected++;
	else
		publisher->counters.failed++;
	if (error->kind == ERROR_REJECTED || error->kind == ERROR_DENIED)
		refusals_note_refused(&publisher->refusals, error,
				      loop_now_ms(publisher->config.loop));
	LOG_WARN("GPUAttribution write failed", LOG_TEXT("object", sbuf_view(&write->name)),
		 LOG_TEXT("node", sbuf_view(&write->plan->node_name)), LOG_ERROR_FIELD(error));
	end_write(write, error);
}

/* It is not as the first question has it. */
static void contradict(struct publisher_write *write)
{
	struct error error = {0};

	error_set(&error, ERROR_CONFLICT, 0, "%s: not what the watches told when it was asked",
		  sbuf_text(&publisher_write_question(write)->path));
	end_write(write, &error);
}

static bool is_overtaken(const struct publisher_write *write)
{
	return publisher_write_is_overtaken(write, write->plan->publisher->config.inventory,
					    sbuf_view(&write->plan->node_name));
}

static void hear(struct publisher_write *write, struct view body)
{
	struct error error = {0};
	bool is_so;

	if (question_hear(publisher_write_question(write), body, &is_so, &error) < 0) {
		fail(write, &error);
		return;
	}
	if (!is_so || is_overtaken(write)) {
		contradict(write);
		return;
	}
	publisher_write_drop_question(write);
	step_to(write, publisher_write_next_step(write));
}

static void answered(void *owner, int status, struct view body, const struct error *error)
{
	struct publisher_write *write = owner;

	(void)status;
	write->request = NULL;
	if (error)
		fail(write, error);
	else if (write->step == PUBLISHER_WRITE_ASK)
		hear(write, body);
	else
		succeed(write, body);
}

static uint32_t find_timeout(uint64_t until)
{
	const uint64_t now = clock_boot_ms();
	const uint64_t left = until > now ? until - now : 0;

	return left < WRITE_TIMEOUT_MS ? (uint32_t)left : WRITE_TIMEOUT_MS;
}

static int send_write(struct publisher_write *write, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf path = {0};
	struct publisher *publisher = write->plan->publisher;
	const struct publisher_config *config = &publisher->config;
	struct apiclient_call call;
	const uint64_t until =
		config->may_write_until
			? config->may_write_until(config->owner, sbuf_view(&write->plan->node_name))
			: UINT64_MAX;
	const uint32_t timeout_ms = find_timeout(until);

	if (timeout_ms == 0)
		return error_set(err, ERROR_CONFLICT, 0,
				 "a watch is away or has not caught up, or the lead was lost: the write may be wrong");
	if (publisher_write_make_call(write, &path, &call, err) < 0)
		return -1;
	call.send_before = until;
	call.timeout_ms = timeout_ms;
	call.is_aside = timeout_ms < TELLING_MS; /* what had no time tells nothing of the server */
	if (write->step == write->wanted)
		write_budget_spend(&publisher->budget, sbuf_view(&write->plan->node_name),
				   sbuf_view(&write->name), loop_now_ms(config->loop));
	return apiclient_send(config->client, &call, answered, write, &write->request, err);
}

/*
 * Sends what waits, as far as requests may be under way. A request that fails at once ends its
 * write, which pumps again: that inner call leaves the work to the outer one.
 */
static void pump(struct publisher *publisher)
{
	struct publisher_write *write;

	if (publisher->pumping)
		return;
	publisher->pumping = true;
	while (publisher->counters.under_way < publisher->config.max_requests &&
	       (write = first_write(&publisher->waiting))) {
		list_remove(&write->link);
		publisher->counters.waiting--;
		list_append(&publisher->under_way, &write->link);
		publisher->counters.under_way++;
		step_to(write, publisher_write_next_step(write));
	}
	publisher->pumping = false;
}

/* Plans */

static int plan_new(struct publisher *publisher, struct view node_name,
		    struct publisher_plan **ret_plan, struct error *err)
{
	CLEANUP(plan_freep) struct publisher_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return error_no_memory(err);
	plan->publisher = publisher;
	sbuf_init(&plan->node_name, LIMIT_URL);
	sbuf_append(&plan->node_name, node_name);
	if (sbuf_check(&plan->node_name, "node name", err) < 0 ||
	    loop_timer_new(publisher->config.loop, finish_plan, plan, &plan->finish, err) < 0)
		return -1;
	*ret_plan = TAKE(plan);
	return 0;
}

static bool has_actions(const struct join_device *devices, size_t n_devices)
{
	for (size_t i = 0; i < n_devices; i++)
		if (devices[i].action != JOIN_KEEP)
			return true;
	return false;
}

/* At least one write is taken in, however expensive it was. */
static bool is_late(const struct publisher_plan *plan, uint64_t began_us)
{
	return plan->pending > 0 && stopwatch_us() - began_us >= PUBLISHER_TURN_US;
}

/* Collects the writes of those actions that the budget has room for, as far as there is time. */
static int collect(struct publisher_plan *plan, const struct join_device *devices, size_t n_devices,
		   struct write_budget_round *round, struct list *writes, size_t *ret_n_left,
		   struct error *err)
{
	const uint64_t began_us = stopwatch_us();
	size_t n_left = 0;
	const struct publisher_config *config = &plan->publisher->config;
	const struct event_change_node changes = event_changes_of_node(devices, n_devices);
	const struct publisher_write_node node = {
		.name = sbuf_view(&plan->node_name),
		.inventory = config->inventory,
		.changes = config->changed ? &changes : NULL,
	};

	for (size_t i = 0; i < n_devices; i++) {
		const size_t index = (round->first + i) % n_devices;
		const struct join_device *device = &devices[index];
		struct publisher_write *write = NULL;

		if (device->action == JOIN_KEEP)
			continue;
		if (n_left > 0 || is_late(plan, began_us)) {
			write_budget_leave(round, index);
			n_left++;
			continue;
		}
		if (!write_budget_grant(round, index, device->name))
			continue;
		if (publisher_write_new(&node, device, &write, err) < 0)
			return -1;
		write->plan = plan;
		list_append(writes, &write->link);
		plan->pending++;
	}
	*ret_n_left = n_left;
	return 0;
}

static void tell_held(struct write_budget_round *round, struct view node_name)
{
	static const char *const limits[] = {
		[WRITE_BUDGET_OBJECT] = "object",
		[WRITE_BUDGET_NODE] = "node",
	};

	if (write_budget_may_tell(round))
		LOG_WARN("Statuses of a node change too often, writes are held back",
			 LOG_TEXT("node", node_name), LOG_TEXT("limit", view_from(limits[round->holder])),
			 LOG_U64("held", round->n_held));
}

static void start(struct publisher *publisher, struct publisher_plan *take_plan,
		  struct list *writes)
{
	publisher->counters.waiting += take_plan->pending;
	list_append(&publisher->plans, &take_plan->link);
	list_append_all(&publisher->waiting, writes);
	pump(publisher);
}

int publisher_apply(struct publisher *publisher, struct view node_name,
		    const struct join_device *devices, size_t n_devices,
		    struct publisher_applied *ret_applied, struct error *err)
{
	CLEANUP(plan_freep) struct publisher_plan *plan = NULL;
	struct write_budget_round round;
	struct list writes;
	size_t n_left;

	if (!has_actions(devices, n_devices)) {
		write_budget_settle(&publisher->budget, node_name);
		*ret_applied = (struct publisher_applied){0};
		return 0;
	}
	list_init(&writes);
	if (plan_new(publisher, node_name, &plan, err) < 0)
		return -1;
	round = write_budget_begin(&publisher->budget, node_name, n_devices,
				   loop_now_ms(publisher->config.loop));
	if (collect(plan, devices, n_devices, &round, &writes, &n_left, err) < 0) {
		free_all(&writes);
		return -1;
	}
	tell_held(&round, node_name);
	*ret_applied = (struct publisher_applied){
		.n_writes = plan->pending,
		.n_held = round.n_held,
		.n_left = n_left,
		.due_at = n_left > 0 ? round.now_ms : round.due_at,
	};
	if (plan->pending > 0)
		start(publisher, TAKE(plan), &writes);
	return 0;
}
