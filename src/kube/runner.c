/* SPDX-License-Identifier: Apache-2.0 */

/*
 * While an answer is under way the reflector's deadline only moves further away. So the timer is
 * not touched per chunk: when it fires, the reflector is asked again.
 */

#include "kube/runner.h"

#include <assert.h>
#include <stdlib.h>

struct runner {
	struct runner_host host;
	struct reflector *reflector;
	struct loop_timer *timer;
	struct fetch *fetch; /* NULL: none is under way */
	uint64_t started_at; /* ms; of the fetch */
	bool is_watch;       /* it is one, and no list */
	bool answered;       /* its head has come, */
	bool is_well;        /* and is 200 */
	bool has_failed;     /* the last request did, and the server is to blame */
};

static void run(struct runner *runner);

static uint64_t now_of(const struct runner *runner)
{
	return loop_now_ms(runner->host.loop);
}

static void saw_head(void *owner, const struct fetch_result *head)
{
	struct runner *runner = owner;
	bool is_recovery = runner->has_failed && head->status == 200;
	runner->answered = true;
	runner->is_well = head->status == 200;
	runner->has_failed = head->status >= 500;
	reflector_answered(runner->reflector, head->status, head->retry_after_ms,
			   head->content_type, now_of(runner));
	runner->host.answered(runner->host.owner, head->status, is_recovery);
}

static int saw_body(void *owner, struct view bytes, struct error *err)
{
	struct runner *runner = owner;
	int result = reflector_feed(runner->reflector, bytes, now_of(runner), err);
	if (runner->is_well)
		runner->host.heard(runner->host.owner);
	return result;
}

static void fail(struct runner *runner, const struct error *error)
{
	uint64_t waited_ms = runner->answered ? 0 : now_of(runner) - runner->started_at;
	runner->has_failed |= error->kind == ERROR_RETRY;
	reflector_ended(runner->reflector, error, now_of(runner));
	runner->host.failed(runner->host.owner, runner->answered, waited_ms, error);
}

static void tell_time(const struct runner *runner)
{
	if (!runner->is_watch)
		runner->host.list_ended(runner->host.owner, now_of(runner) - runner->started_at);
}

static void saw_end(void *owner, const struct fetch_result *result)
{
	struct runner *runner = owner;
	struct error headless;
	runner->fetch = NULL;
	tell_time(runner);
	if (result->failed) {
		fail(runner, &result->error);
	} else if (!runner->answered) {
		error_set(&headless, ERROR_RETRY, 0, "an answer without a head");
		fail(runner, &headless);
	} else {
		reflector_ended(runner->reflector, NULL, now_of(runner));
	}
	run(runner);
}

static void give_up(struct runner *runner, struct error *ret_error)
{
	assert(runner->fetch);
	fetch_cancel(TAKE(runner->fetch));
	tell_time(runner);
	runner->has_failed = true;
	error_set(ret_error, ERROR_RETRY, 0, "no answer from the server for too long");
	reflector_ended(runner->reflector, ret_error, now_of(runner));
}

static void begin(struct runner *runner, const struct reflector_request *request)
{
	const struct fetch_handler handler = {runner, saw_head, saw_body, saw_end};
	struct error error;
	assert(!runner->fetch);
	runner->answered = false;
	runner->started_at = now_of(runner);
	runner->is_watch = request->is_watch;
	if (runner->host.start(runner->host.owner, request, &handler, &runner->fetch, &error) != 0)
		reflector_ended(runner->reflector, &error, now_of(runner));
}

/* Does one step of what the reflector wants; false: it wants to wait, and the timer is set. */
static bool step(struct runner *runner)
{
	struct reflector_request request;
	struct error error;
	uint64_t silent_ms, now = now_of(runner);
	switch (reflector_next(runner->reflector, now, &request)) {
	case REFLECTOR_REQUEST:
		begin(runner, &request);
		break;
	case REFLECTOR_GIVE_UP:
		silent_ms = now - reflector_heard_at(runner->reflector);
		give_up(runner, &error);
		runner->host.failed(runner->host.owner, runner->answered, silent_ms, &error);
		break;
	case REFLECTOR_WAIT:
	case REFLECTOR_BUSY:
		assert(request.wait_until >= now);
		loop_timer_set(runner->timer, request.wait_until - now);
		return false;
	}
	return true;
}

/* Does what the reflector wants, until it wants to wait, or has to. */
static void run(struct runner *runner)
{
	do {
		if (!runner->fetch && !runner->host.may_begin(runner->host.owner)) {
			loop_timer_clear(runner->timer);
			return;
		}
	} while (step(runner));
	if (!runner->fetch && runner->host.rests)
		runner->host.rests(runner->host.owner);
}

static void on_timer(void *owner)
{
	run(owner);
}

int runner_new(const struct runner_host *host, struct reflector *reflector,
	       struct runner **ret_runner, struct error *err)
{
	assert(host->may_begin && host->start && host->answered && host->heard && host->failed &&
	       host->list_ended);
	struct runner *runner = calloc(1, sizeof(*runner));
	if (!runner)
		return error_no_memory(err);
	runner->host = *host;
	runner->reflector = reflector;
	if (loop_timer_new(host->loop, on_timer, runner, &runner->timer, err) != 0) {
		free(runner);
		return -1;
	}
	loop_timer_set(runner->timer, 0);
	*ret_runner = runner;
	return 0;
}

void runner_free(struct runner *runner)
{
	if (!runner)
		return;
	fetch_cancel(runner->fetch);
	loop_timer_free(runner->timer);
	free(runner);
}

bool runner_is_idle(const struct runner *runner)
{
	return !runner->fetch;
}

void runner_wake(struct runner *runner)
{
	if (!runner->fetch)
		loop_timer_set(runner->timer, 0);
}

/* What was lost in an outage says nothing of the server as it is now: the host is not told. */
bool runner_drop_lost(struct runner *runner, uint64_t silent_since)
{
	bool was_answered = runner->answered;
	struct error error;
	if (!runner->fetch)
		return false;
	bool is_headless = !was_answered && now_of(runner) - runner->started_at >= RUNNER_HEADLESS_MS;
	if (reflector_heard_at(runner->reflector) >= silent_since && !is_headless)
		return false;
	give_up(runner, &error);
	return !was_answered;
}

void runner_go_ahead(struct runner *runner, uint32_t jitter_ms, enum reflector_haste haste)
{
	reflector_hasten(runner->reflector, now_of(runner) + jitter_ms, haste);
	if (!runner->fetch)
		loop_timer_set(runner->timer, jitter_ms);
}

bool runner_try(struct runner *runner)
{
	assert(!runner->fetch);
	reflector_hasten(runner->reflector, now_of(runner), REFLECTOR_BACK);
	if (!step(runner))
		return false;
	run(runner);
	return true;
}
