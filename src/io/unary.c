/* SPDX-License-Identifier: Apache-2.0 */

/*
 * At the end the result is judged in this order:
 * 1. Did the transfer fail? Then the reply may be cut.
 * 2. Is the HTTP status good?
 * 3. Is the gRPC status good? A reply before an error status is ignored.
 * 4. Is the message good?
 *
 * libcurl's texts for the two commonest failures contain milliseconds, which differ each time, and
 * a host that does not exist. Our texts are the same each time, so that callers can tell news from
 * repetition.
 */

#include "io/unary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "wire/grpcmsg.h"

struct unary {
	struct fetch *fetch;
	unary_fn done;
	void *owner;
	struct grpcmsg reply;
	uint64_t started_at;
	uint32_t timeout_ms;
};

static void free_call(struct unary *call)
{
	grpcmsg_deinit(&call->reply);
	free(call);
}

static void freep(struct unary **call)
{
	if (*call)
		free_call(*call);
}

static int take_body(void *owner, struct view bytes, struct error *err)
{
	struct unary *call = owner;
	return grpcmsg_feed(&call->reply, bytes, err);
}

static int check_http(const struct fetch_result *result, struct error *err)
{
	if (result->status != 200)
		return error_set(err, ERROR_REJECTED, 0, "HTTP status %d instead of gRPC",
				 result->status);
	if (!view_starts_with(result->content_type, VIEW("application/grpc")))
		return error_set(err, ERROR_REJECTED, 0, "content type '%.*s' instead of gRPC",
				 VIEW_ARG(result->content_type));
	return 0;
}

static int explain_failure(const struct unary *call, const struct error *why, struct error *err)
{
	if (why->kind == ERROR_RETRY && clock_monotonic_ms() - call->started_at >= call->timeout_ms)
		return error_set(err, ERROR_RETRY, 0, "no answer within %u ms",
				 (unsigned)call->timeout_ms);
	if (view_starts_with(view_from(why->text), VIEW("Failed to connect")))
		return error_set(err, ERROR_RETRY, 0, "%s",
				 why->os_errno == EACCES || why->os_errno == EPERM
					 ? "the socket may not be opened"
					 : "no process listens on the socket");
	*err = *why;
	return -1;
}

static int judge(const struct unary *call, const struct fetch_result *result,
		 struct view *ret_reply, struct error *err)
{
	if (result->failed)
		return explain_failure(call, &result->error, err);
	if (check_http(result, err) < 0 ||
	    grpcmsg_check_status(result->grpc_status, result->grpc_message, err) < 0)
		return -1;
	return grpcmsg_end(&call->reply, ret_reply, err);
}

static void finish(void *owner, const struct fetch_result *result)
{
	CLEANUP(freep) struct unary *call = owner;
	struct view reply = {0};
	struct error err = {0};
	int failed = judge(call, result, &reply, &err);
	call->done(call->owner, reply, failed ? &err : NULL);
}

int unary_start(struct fetcher *fetcher, const struct unary_request *request, unary_fn done,
		void *owner, struct unary **ret_call, struct error *err)
{
	CLEANUP(freep) struct unary *call = calloc(1, sizeof(*call));
	if (!call)
		return error_no_memory(err);
	call->done = done;
	call->owner = owner;
	call->started_at = clock_monotonic_ms();
	call->timeout_ms = request->timeout_ms;
	grpcmsg_init(&call->reply, request->max_reply);

	char url[256];
	int len = snprintf(url, sizeof(url), "http://localhost%s", request->method);
	if (len < 0 || (size_t)len >= sizeof(url))
		return error_set(err, ERROR_REJECTED, 0, "gRPC method name is too long");
	/* The server gives up when we do. */
	char timeout[48];
	snprintf(timeout, sizeof(timeout), "grpc-timeout: %um", (unsigned)request->timeout_ms);
	const char *const headers[] = {"content-type: application/grpc", "te: trailers", timeout,
				       NULL};

	CLEANUP(sbuf_deinit) struct sbuf body;
	sbuf_init(&body, request->message.len + GRPCMSG_PREFIX_SIZE);
	grpcmsg_append(&body, request->message);
	if (sbuf_check(&body, "gRPC request", err) < 0)
		return -1;
	const struct fetch_request fetch = {
		.method = "POST",
		.url = url,
		.unix_socket = request->socket,
		.headers = headers,
		.body = sbuf_view(&body),
		.protocol = FETCH_HTTP2_PRIOR_KNOWLEDGE,
		.fresh_connection = true,
		.connect_timeout_ms = request->timeout_ms,
		.total_timeout_ms = request->timeout_ms,
	};
	const struct fetch_handler handler = {.owner = call, .body = take_body, .done = finish};
	if (fetch_start(fetcher, &fetch, &handler, &call->fetch, err) < 0)
		return -1;
	*ret_call = TAKE(call);
	return 0;
}

void unary_cancel(struct unary *call)
{
	if (!call)
		return;
	fetch_cancel(call->fetch);
	free_call(call);
}
