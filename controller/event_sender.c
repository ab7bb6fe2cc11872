/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_sender.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"

/*
 * How an answer is taken:
 *
 *	2xx, and 409 to a POST  it is there: names say what happened, so it was sent before
 *	404                     the namespace or the Event is gone: the write is given up
 *	403, namespace ends     as if it was gone; there may be many pods in it, so no back-off
 *	other 4xx but 429       given up; 401 and 403 also lead to a back-off
 *	all else, no answer     tried again after a back-off; event_budget gives up what waits too long
 */

#define TIMEOUT_MS 5000u
#define BACKOFF_MS 1000u
#define BACKOFF_CAP_MS 300000u
#define AWAY_MS 5000u /* how often to look whether the API server answers again */
#define LEAD_MS 1000u /* how often to look whether we may send again */
#define BODY_CAP (64u * LIMIT_KIB)

struct event_sender {
	struct event_sender_config config;
	struct event_budget *budget;
	struct loop_timer *timer;
	struct apiclient_request *request;
	bool is_patch;          /* what is under way is */
	struct backoff backoff;
	struct prng prng;
	uint64_t not_before;    /* ms: the back-off lasts until then */
	bool is_in_trouble;     /* that was said */
};

static uint64_t may_send_until(const struct event_sender *sender)
{
	const struct event_sender_config *config = &sender->config;

	return config->may_send_until ? config->may_send_until(config->owner) : UINT64_MAX;
}

/* For how many ms a request may be under way; 0: it may not be sent. */
static uint32_t find_timeout(uint64_t until)
{
	const uint64_t now = clock_boot_ms();
	const uint64_t left = until > now ? until - now : 0;

	return left < TIMEOUT_MS ? (uint32_t)left : TIMEOUT_MS;
}

/* Says when to look again: never from inside what tells. */
static void schedule(struct event_sender *sender)
{
	const uint64_t now = loop_now_ms(sender->config.loop);
	uint64_t due = event_budget_due_at(sender->budget, now);

	if (sender->request || due == UINT64_MAX) {
		loop_timer_clear(sender->timer);
		return;
	}
	if (due < sender->not_before)
		due = sender->not_before;
	loop_timer_set(sender->timer, due > now ? due - now : 0);
}

static void wait_for(struct event_sender *sender, uint64_t ms)
{
	sender->not_before = loop_now_ms(sender->config.loop) + ms;
}

static struct view advice_about(const struct error *error)
{
	switch (error->kind) {
	case ERROR_DENIED:
		return VIEW("grant create and patch on events of events.k8s.io, or set "
			    "--events=false");
	case ERROR_NOT_FOUND:
	case ERROR_REJECTED:
		return VIEW("this Event is given up, and gpuattribution_events_total counts it");
	default:
		return VIEW("Events wait, and nothing else does");
	}
}

static void say_trouble(struct event_sender *sender, const struct error *error)
{
	if (sender->is_in_trouble)
		return;
	sender->is_in_trouble = true;
	LOG_WARN("Kubernetes Event not written", LOG_ERROR_FIELD(error),
		 LOG_TEXT("advice", advice_about(error)));
}

static void succeed(struct event_sender *sender)
{
	if (sender->is_in_trouble)
		LOG_INFO("Kubernetes Events are written again");
	sender->is_in_trouble = false;
	backoff_reset(&sender->backoff);
	event_budget_sent(sender->budget, loop_now_ms(sender->config.loop));
}

static void back_off(struct event_sender *sender, const struct error *error)
{
	uint32_t wait = backoff_next(&sender->backoff, &sender->prng);

	wait_for(sender, error->retry_after_ms > wait ? error->retry_after_ms : wait);
}

static void fail(struct event_sender *sender, const struct error *error)
{
	say_trouble(sender, error);
	switch (error->kind) {
	case ERROR_DENIED:
		back_off(sender, error);
		event_budget_drop(sender->budget, loop_now_ms(sender->config.loop));
		break;
	case ERROR_NOT_FOUND:
	case ERROR_REJECTED:
		event_budget_drop(sender->budget, loop_now_ms(sender->config.loop));
		break;
	default:
		back_off(sender, error);
		event_budget_put_back(sender->budget);
	}
}

/* The cause in the Status that the API server answers (k8s.io/api/core/v1: NamespaceTerminatingCause). */
static bool is_namespace_ending(int status, struct view body)
{
	const struct view cause = VIEW("NamespaceTerminating");

	return status == 403 && body.len > 0 &&
	       memmem(body.ptr, body.len, cause.ptr, cause.len) != NULL;
}

static void answered(void *owner, int status, struct view body, const struct error *error)
{
	struct event_sender *sender = owner;
	struct error gone;

	if (error && is_namespace_ending(status, body)) {
		gone = *error;
		gone.kind = ERROR_NOT_FOUND;
		error = &gone;
	}
	sender->request = NULL;
	if (!error || (error->kind == ERROR_CONFLICT && !sender->is_patch))
		succeed(sender);
	else
		fail(sender, error);
	schedule(sender);
}

static void make_path(const struct event_budget_write *write, struct sbuf *path)
{
	sbuf_init(path, LIMIT_URL);
	sbuf_printf(path, "/apis/events.k8s.io/v1/namespaces/%.*s/events",
		    VIEW_ARG(write->event.namespace));
	if (write->is_patch)
		sbuf_printf(path, "/%.*s", VIEW_ARG(write->event.name));
}

static int send_write(struct event_sender *sender, const struct event_budget_write *write,
		      uint64_t until, uint32_t timeout_ms, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf path = {0}, body = {0};
	struct apiclient_call call = {
		.method = write->is_patch ? "PATCH" : "POST",
		.content_type = write->is_patch ? "application/merge-patch+json"
						: "application/json",
		.timeout_ms = timeout_ms,
		.is_aside = true,
		.send_before = until,
	};

	make_path(write, &path);
	sbuf_init(&body, BODY_CAP);
	if (write->is_patch)
		kube_event_doc_encode_series(&write->event, &body);
	else
		kube_event_doc_encode(&write->event, &body);
	call.path = sbuf_text(&path);
	call.body = sbuf_view(&body);
	if (sbuf_check(&path, "path", err) < 0 || sbuf_check(&body, "Event", err) < 0)
		return -1;
	sender->is_patch = write->is_patch;
	return apiclient_send(sender->config.client, &call, answered, sender, &sender->request, err);
}

static void look(void *owner)
{
	struct event_sender *sender = owner;
	const uint64_t until = may_send_until(sender);
	const uint32_t timeout_ms = find_timeout(until);
	struct event_budget_write write;
	struct error error = {0};

	if (timeout_ms == 0) {
		wait_for(sender, LEAD_MS);
	} else if (apiclient_is_away(sender->config.client)) {
		wait_for(sender, AWAY_MS);
	} else if (event_budget_next(sender->budget, loop_now_ms(sender->config.loop), &write)) {
		write.event.reporting_instance = utf8_truncate(view_from(sender->config.instance),
							       LIMIT_EVENT_WORD);
		if (send_write(sender, &write, until, timeout_ms, &error) < 0)
			fail(sender, &error);
	}
	schedule(sender);
}

void event_sender_tell(struct event_sender *sender, struct view node_name,
		       const struct event_change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		event_budget_take(sender->budget, node_name, &changes[i],
				  loop_now_ms(sender->config.loop), clock_wall_ms());
	schedule(sender);
}

bool event_sender_is_busy(const struct event_sender *sender)
{
	const uint64_t now = loop_now_ms(sender->config.loop);

	return sender->request ||
	       (sender->not_before <= now && event_budget_due_at(sender->budget, now) <= now &&
		find_timeout(may_send_until(sender)) > 0);
}

void event_sender_cut(struct event_sender *sender)
{
	if (!sender->request)
		return;
	apiclient_cancel(TAKE(sender->request));
	event_budget_put_back(sender->budget);
	schedule(sender);
}

struct event_counters event_sender_counters(const struct event_sender *sender)
{
	return sender ? event_budget_counters(sender->budget) : (struct event_counters){0};
}

static void event_sender_freep(struct event_sender **sender)
{
	event_sender_free(*sender);
}

int event_sender_new(const struct event_sender_config *config, struct event_sender **ret_sender,
		     struct error *err)
{
	CLEANUP(event_sender_freep) struct event_sender *sender = calloc(1, sizeof(*sender));

	if (!sender)
		return error_no_memory(err);
	sender->config = *config;
	backoff_init(&sender->backoff, BACKOFF_MS, BACKOFF_CAP_MS);
	prng_init(&sender->prng, config->seed);
	if (event_budget_new(&config->limits, &sender->budget, err) < 0 ||
	    loop_timer_new(config->loop, look, sender, &sender->timer, err) < 0)
		return -1;
	*ret_sender = TAKE(sender);
	return 0;
}

void event_sender_free(struct event_sender *sender)
{
	if (!sender)
		return;
	apiclient_cancel(sender->request);
	loop_timer_free(sender->timer);
	event_budget_free(sender->budget);
	free(sender);
}
