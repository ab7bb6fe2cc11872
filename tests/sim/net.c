/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sim/apiserver.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/forms.h"
#include "sim/memory.h"

#define API_SERVER "https://apiserver.sim/"
#define EVENTS "/apis/events.k8s.io/" /* a request of which that fails tells nothing of the server */

struct fetcher {
	struct loop *loop;
};

/* An answer on its way. */
struct reply {
	struct fetch *fetch;
	int status; /* 0: the transfer fails */
	const char *content_type;
	uint32_t retry_after_ms;
	size_t len;
	char body[];
};

static struct fetch *fetches;

int fetcher_new(struct loop *loop, struct fetcher **ret_fetcher, struct error *err)
{
	struct fetcher *fetcher = calloc(1, sizeof(*fetcher));

	if (!fetcher)
		return error_no_memory(err);
	fetcher->loop = loop;
	*ret_fetcher = fetcher;
	return 0;
}

/* Each actor has no other fetchers that outlive this one. */
void fetcher_free(struct fetcher *fetcher)
{
	if (fetcher)
		net_kill(clockwork_actor);
	free(fetcher);
}

void fetcher_limit_streams(struct fetcher *fetcher, uint32_t n)
{
	(void)fetcher, (void)n;
}

void fetch_versions(struct sbuf *buf)
{
	sbuf_append(buf, VIEW("simulated"));
}

static void deliver(void *owner, uint64_t number);

void net_reset(void)
{
	clockwork_on_drop(deliver, free);
}

static void release(struct fetch *fetch)
{
	free(fetch->url);
	free(fetch->authorization);
	free(fetch->body);
	fetch->url = NULL;
	fetch->authorization = NULL;
	fetch->body = NULL;
}

static void close_fetch(struct fetch *fetch)
{
	if (!fetch->open)
		return;
	fetch->open = false;
	if (fetch->closed)
		fetch->closed(fetch);
	release(fetch);
}

void net_clear(void)
{
	while (fetches) {
		struct fetch *fetch = fetches;

		fetches = fetch->next;
		release(fetch);
		free(fetch);
	}
}

void net_kill(int actor)
{
	for (struct fetch *fetch = fetches; fetch; fetch = fetch->next)
		if (fetch->actor == actor)
			close_fetch(fetch);
}

/* As the API server does. */
bool fetch_is_http2(const struct fetch *fetch)
{
	(void)fetch;
	return forms_have_streams();
}

void fetch_cancel(struct fetch *fetch)
{
	if (fetch)
		close_fetch(fetch);
}

/* There are no connections here, so none is closed or watched: agents report with their heartbeats. */
void fetch_forbid_reuse(struct fetch *fetch)
{
	(void)fetch;
}

int fetch_watch_new(const struct fetch *fetch, fetch_watch_fn ended, void *owner,
		    struct fetch_watch **ret_watch, struct error *err)
{
	(void)fetch, (void)ended, (void)owner, (void)ret_watch;
	return error_set(err, ERROR_RETRY, 0, "the connection is not kept");
}

void fetch_watch_free(struct fetch_watch *watch)
{
	(void)watch;
}

static char *copy(const char *bytes, size_t len)
{
	char *text = malloc(len + 1);

	check(text);
	if (len > 0)
		memcpy(text, bytes, len);
	text[len] = '\0';
	return text;
}

static void keep_headers(struct fetch *fetch, const char *const *headers)
{
	static const char name[] = "Authorization: ";

	for (; headers && *headers; headers++)
		if (strncmp(*headers, name, sizeof(name) - 1) == 0)
			fetch->authorization = copy(*headers + sizeof(name) - 1,
						    strlen(*headers) - sizeof(name) + 1);
}

static void route(void *owner, uint64_t number)
{
	struct fetch *fetch = owner;

	(void)number;
	if (!fetch->open)
		return;
	if (fetch->send_before != 0 && clock_boot_ms() >= fetch->send_before)
		net_fail(fetch, "the time for the request was over before it was sent");
	else if (fetch->is_local)
		kubelet_serve(fetch);
	else if (strncmp(fetch->url, API_SERVER, sizeof(API_SERVER) - 1) == 0)
		apiserver_serve(fetch);
	else
		wire_carry(fetch);
}

static bool is_of_api(const struct fetch *fetch);

static void time_out(void *owner, uint64_t number)
{
	struct fetch *fetch = owner;

	(void)number;
	if (fetch->open && is_of_api(fetch) && !strstr(fetch->url, EVENTS))
		apiserver_failed(fetch->sent_at);
	net_fail(fetch, "Timeout was reached");
}

int fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
		const struct fetch_handler *handler, struct fetch **ret_fetch, struct error *err)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	(void)fetcher;
	if (!fetch)
		return error_no_memory(err);
	memory_keep(fetch);
	fetch->next = fetches;
	fetches = fetch;
	fetch->actor = clockwork_actor;
	fetch->open = true;
	fetch->sent_at = clockwork_now();
	fetch->send_before = request->send_before;
	fetch->handler = *handler;
	strncpy(fetch->method, request->method, sizeof(fetch->method) - 1);
	fetch->url = copy(request->url, strlen(request->url));
	fetch->body = copy(request->body.ptr, request->body.len);
	fetch->body_len = request->body.len;
	fetch->is_local = request->unix_socket != NULL;
	fetch->grpc_status = -1;
	keep_headers(fetch, request->headers);
	clockwork_in(0, route, fetch, 0);
	if (request->total_timeout_ms > 0)
		clockwork_in(request->total_timeout_ms, time_out, fetch, 0);
	*ret_fetch = fetch;
	return 0;
}

/* Answers */

static struct fetch_result result_of(const struct fetch *fetch)
{
	return (struct fetch_result){
		.status = fetch->status,
		.retry_after_ms = fetch->retry_after_ms,
		.grpc_status = fetch->grpc_status,
		.content_type = view_from(fetch->content_type),
	};
}

void net_head(struct fetch *fetch, int status, const char *content_type, uint32_t retry_after_ms)
{
	if (!fetch->open)
		return;
	fetch->status = status;
	fetch->content_type = content_type;
	fetch->retry_after_ms = retry_after_ms;
	fetch->headed = true;
	clockwork_actor = fetch->actor;
	if (fetch->handler.head) {
		const struct fetch_result result = result_of(fetch);

		fetch->handler.head(fetch->handler.owner, &result);
	}
}

static void finish(struct fetch *fetch, const struct error *error)
{
	struct fetch_result result = result_of(fetch);

	close_fetch(fetch);
	if (error) {
		result.failed = true;
		result.error = *error;
	}
	clockwork_actor = fetch->actor;
	fetch->handler.done(fetch->handler.owner, &result);
}

bool net_feed(struct fetch *fetch, struct view bytes)
{
	struct error error;

	if (!fetch->open)
		return false;
	clockwork_actor = fetch->actor;
	if (fetch->handler.body(fetch->handler.owner, bytes, &error) < 0) {
		if (fetch->open)
			finish(fetch, &error);
		return false;
	}
	return fetch->open;
}

void net_end(struct fetch *fetch)
{
	if (fetch->open)
		finish(fetch, NULL);
}

static void fail(struct fetch *fetch, int os_errno, const char *why)
{
	struct error error;

	if (!fetch->open)
		return;
	error_set(&error, ERROR_RETRY, os_errno, "%s", why);
	finish(fetch, &error);
}

void net_fail(struct fetch *fetch, const char *why)
{
	fail(fetch, 0, why);
}

static bool is_of_api(const struct fetch *fetch)
{
	return fetch->open && !fetch->is_local &&
	       strncmp(fetch->url, API_SERVER, sizeof(API_SERVER) - 1) == 0;
}

void net_cut_api(void)
{
	struct fetch *last = fetches; /* what is begun meanwhile stands before it */

	for (struct fetch *fetch = last; fetch; fetch = fetch->next)
		if (is_of_api(fetch))
			net_fail(fetch, "connection reset");
}

static void deliver(void *owner, uint64_t number)
{
	struct reply *reply = owner;
	struct fetch *fetch = reply->fetch;

	(void)number;
	if (reply->status == 0) {
		net_fail(fetch, "Failed to connect");
	} else {
		net_head(fetch, reply->status, reply->content_type, reply->retry_after_ms);
		if (reply->len == 0 || net_feed(fetch, (struct view){reply->body, reply->len}))
			net_end(fetch);
	}
	free(reply);
}

void net_answer_in(struct fetch *fetch, uint64_t ms, int status, const char *content_type,
		   uint32_t retry_after_ms, struct view body)
{
	struct reply *reply = malloc(sizeof(*reply) + body.len);

	check(reply);
	*reply = (struct reply){.fetch = fetch,
				.status = status,
				.content_type = content_type,
				.retry_after_ms = retry_after_ms,
				.len = body.len};
	if (body.len > 0)
		memcpy(reply->body, body.ptr, body.len);
	clockwork_in(ms, deliver, reply, 0);
}

static void refuse(void *owner, uint64_t number)
{
	(void)number;
	fail(owner, ECONNREFUSED, "Connection refused");
}

void net_refuse_in(struct fetch *fetch, uint64_t ms)
{
	clockwork_in(ms, refuse, fetch, 0);
}

void net_fail_in(struct fetch *fetch, uint64_t ms)
{
	net_answer_in(fetch, ms, 0, NULL, 0, (struct view){NULL, 0});
}
