/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * unary - one gRPC call over a unix socket: one message there, one message back.
 *
 * Each call has a connection of its own: the kubelet's socket is replaced whenever the kubelet
 * starts, and libcurl 7.88 fails the second request on a reused prior-knowledge connection.
 *
 * Threads: the loop's.
 * Limits:  the reply's size and the whole call's time as given.
 */

#include "base/error.h"
#include "base/view.h"
#include "io/fetch.h"

struct unary; /* a call under way */

/* All borrowed until unary_start() returns. */
struct unary_request {
	const char *socket;  /* path */
	const char *method;  /* "/package.Service/Method" */
	struct view message; /* may be empty */
	size_t max_reply;    /* bytes of the message; a larger one fails with ERROR_LIMIT */
	uint32_t timeout_ms; /* for everything, from connecting on */
};

/*
 * Called exactly once, not after unary_cancel(). err is NULL on success; reply is then the message,
 * borrowed for the call. The call is gone when it returns.
 *
 * On failure err's kind is as grpcmsg_check_status() says, or one of
 * - ERROR_RETRY: the connection failed, was cut, or took too long.
 * - ERROR_REJECTED: the answer is not gRPC.
 * - ERROR_LIMIT: the answer is too large.
 */
typedef void (*unary_fn)(void *owner, struct view reply, const struct error *err);

/* Starts a call. Fails as fetch_start() does. */
MUST_USE int unary_start(struct fetcher *fetcher, const struct unary_request *request,
			 unary_fn done, void *owner, struct unary **ret_call, struct error *err);
/* Ends a call without calling back. Accepts NULL. */
void unary_cancel(struct unary *call);
