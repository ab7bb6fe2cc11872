/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/apiclient_requests.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "kube/answer.h"

#define CALL_CAP (LIMIT_ANSWER_BYTES + LIMIT_URL)

struct apiclient_request {
	struct apiclient_requests *set; /* that it is in */
	struct list link;
	struct fetch *fetch;
	struct apiclient_call call; /* path and body lie in texts */
	struct sbuf texts;
	struct sbuf answer_body;
	apiclient_answer_fn answer;
	void *owner;
	uint64_t first_at;   /* ms; when it was sent for the first time */
	uint64_t started_at; /* ms */
	bool repeated;
};

static uint64_t now_of(const struct apiclient_request *request)
{
	return loop_now_ms(request->set->endpoint->loop);
}

/* Of the request's time, which a repetition does not get anew: somebody may lead for no longer. */
static uint32_t left_ms(const struct apiclient_request *request)
{
	uint32_t all = request->call.timeout_ms ? request->call.timeout_ms
						: APICLIENT_REQUESTS_TIMEOUT_MS;
	uint64_t passed = now_of(request) - request->first_at;
	return passed < all ? (uint32_t)(all - passed) : 0;
}

static void free_request(struct apiclient_request *request)
{
	list_remove(&request->link);
	sbuf_deinit(&request->texts);
	sbuf_deinit(&request->answer_body);
	free(request);
}

static void free_requestp(struct apiclient_request **request)
{
	if (*request)
		free_request(*request);
}

static int keep_body(void *owner, struct view bytes, struct error *err)
{
	struct apiclient_request *request = owner;
	sbuf_append(&request->answer_body, bytes);
	return sbuf_check(&request->answer_body, "answer", err);
}

static int start_request(struct apiclient_request *request, struct error *err);

/* After a 401: once more, if there is something newer to show. True when it is under way again. */
static bool repeat(struct apiclient_request *request)
{
	struct error ignored;
	if (request->repeated || !apiclient_endpoint_refused(request->set->endpoint) ||
	    left_ms(request) == 0)
		return false;
	request->repeated = true;
	sbuf_clear(&request->answer_body);
	return start_request(request, &ignored) == 0;
}

static void request_ended(void *owner, const struct fetch_result *result)
{
	struct apiclient_request *request = owner;
	struct error error;
	int status = result->status;
	bool good = !result->failed && status >= 200 && status < 300;
	request->fetch = NULL;
	request->set->ended(request->set->owner, &request->call, result,
			    now_of(request) - request->started_at);
	if (status == 401 && repeat(request))
		return;
	if (result->failed) {
		error = result->error;
		status = 0;
	} else if (!good) {
		const struct answer answer = {status, result->retry_after_ms,
					      sbuf_view(&request->answer_body)};
		answer_judge(&answer, &error);
	}
	if (!good)
		error_wrap(&error, "%s %.*s", request->call.method,
			   (int)strcspn(request->call.path, "?"), request->call.path);
	/* Out of the set first: the callback may end the client's other requests. */
	assert(!list_is_empty(&request->link));
	list_remove(&request->link);
	request->answer(request->owner, status, sbuf_view(&request->answer_body),
			good ? NULL : &error);
	free_request(request);
}

static int start_request(struct apiclient_request *request, struct error *err)
{
	const struct apiclient_call *call = &request->call;
	const struct apiclient_endpoint_request shape = {
		.method = call->method,
		.path = call->path,
		.accept = call->accept ? call->accept : "application/json",
		.content_type = call->content_type,
		.body = call->body,
		.timeout_ms = left_ms(request),
		.send_before = call->send_before,
		.is_apart = call->is_apart,
	};
	const struct fetch_handler handler = {request, NULL, keep_body, request_ended};
	request->started_at = now_of(request);
	return apiclient_endpoint_start(request->set->endpoint, &shape, &handler, &request->fetch,
					err);
}

/* Keeps path and body, for a repetition. */
static int copy_call(struct apiclient_request *request, const struct apiclient_call *call,
		     struct error *err)
{
	size_t path_size = strlen(call->path) + 1;
	request->call = *call;
	if (!sbuf_reserve(&request->texts, path_size + call->body.len))
		return sbuf_check(&request->texts, "request", err);
	sbuf_append(&request->texts, (struct view){call->path, path_size});
	sbuf_append(&request->texts, call->body);
	assert(request->texts.len == path_size + call->body.len);
	request->call.path = request->texts.ptr;
	request->call.body = view_from_offset(sbuf_view(&request->texts), path_size);
	return 0;
}

int apiclient_requests_send(struct apiclient_requests *requests, const struct apiclient_call *call,
			    apiclient_answer_fn answer, void *owner,
			    struct apiclient_request **ret_request, struct error *err)
{
	assert(call->method && call->path && answer);
	CLEANUP(free_requestp) struct apiclient_request *request = calloc(1, sizeof(*request));
	if (!request)
		return error_no_memory(err);
	request->set = requests;
	request->answer = answer;
	request->owner = owner;
	list_init(&request->link);
	request->first_at = now_of(request);
	/* A TokenReview and a Secret have tokens and keys, which the server sends back. */
	sbuf_init_secret(&request->texts, CALL_CAP);
	sbuf_init_secret(&request->answer_body, LIMIT_ANSWER_BYTES);
	if (copy_call(request, call, err) != 0 || start_request(request, err) != 0)
		return -1;
	list_append(&requests->under_way, &request->link);
	*ret_request = TAKE(request);
	return 0;
}

void apiclient_requests_cancel(struct apiclient_request *request)
{
	if (!request)
		return;
	fetch_cancel(request->fetch);
	free_request(request);
}

void apiclient_requests_init(struct apiclient_requests *requests,
			     struct apiclient_endpoint *endpoint, apiclient_requests_ended_fn ended,
			     void *owner)
{
	*requests = (struct apiclient_requests){
		.endpoint = endpoint, .ended = ended, .owner = owner};
	list_init(&requests->under_way);
}

void apiclient_requests_deinit(struct apiclient_requests *requests)
{
	struct list *link;
	while ((link = list_first(&requests->under_way)))
		apiclient_requests_cancel(CONTAINER_OF(link, struct apiclient_request, link));
}
