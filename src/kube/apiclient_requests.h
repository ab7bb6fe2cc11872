/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * apiclient_requests - the single requests of a client that are under way, each from its call to its
 * one answer. After a 401 it is repeated once, if there are fresh credentials. Used by apiclient only,
 * whose header says what callers of a request may rely on.
 *
 * Threads: the loop's.
 * Limits:  an answer is at most LIMIT_ANSWER_BYTES; path and body together LIMIT_URL bytes more.
 */

#include "base/error.h"
#include "base/list.h"
#include "kube/apiclient.h"
#include "kube/apiclient_endpoint.h"

#define APICLIENT_REQUESTS_TIMEOUT_MS 10000u /* of a call that names none */

/*
 * A request has ended, or an attempt that may be repeated; its caller is told afterwards. took_ms: since
 * the attempt began. It must not end the client.
 */
typedef void (*apiclient_requests_ended_fn)(void *owner, const struct apiclient_call *call,
					    const struct fetch_result *result, uint64_t took_ms);

struct apiclient_requests {
	struct apiclient_endpoint *endpoint; /* borrowed */
	apiclient_requests_ended_fn ended;
	void *owner;
	struct list under_way; /* struct apiclient_request */
};

/* None is under way. The endpoint is borrowed and must outlive the requests. */
void apiclient_requests_init(struct apiclient_requests *requests,
			     struct apiclient_endpoint *endpoint, apiclient_requests_ended_fn ended,
			     void *owner);
/* Cancels all that are under way. */
void apiclient_requests_deinit(struct apiclient_requests *requests);

/* As apiclient_send(). Fails with ERROR_NO_MEMORY or ERROR_LIMIT, or as fetch_start() does. */
MUST_USE int apiclient_requests_send(struct apiclient_requests *requests,
				     const struct apiclient_call *call, apiclient_answer_fn answer,
				     void *owner, struct apiclient_request **ret_request,
				     struct error *err);
/* As apiclient_cancel(). */
void apiclient_requests_cancel(struct apiclient_request *request);
