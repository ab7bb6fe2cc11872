/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * apiclient_endpoint - where the requests of a client go, and what goes with each: the address, the
 * headers and the credentials. Used by apiclient and its parts.
 *
 * Reads the files of credentials that are due before each request. A file that cannot be used then
 * changes nothing.
 *
 * Threads: the loop's.
 * Limits:  LIMIT_FILE_BYTES a file; 128 KiB the address of a request.
 */

#include "base/error.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "kube/credential.h"
#include "kube/kubeconfig.h"

struct apiclient_endpoint {
	struct loop *loop; /* borrowed */
	struct kubeconfig config;
	struct credential credential; /* of config */
	struct fetcher *watches;
	struct fetcher *shared; /* of the requests that share connections */
	struct fetcher *others;
	struct fetcher *apart; /* of the requests that are */
	struct sbuf user_agent; /* the header */
	/* Of the request that is being started. */
	struct sbuf url;
	struct sbuf accept;
	struct sbuf content_type;
};

/*
 * Reads all files that config names. config is taken over, also on failure. user_agent is copied. The
 * endpoint must not be moved afterwards. Fails with ERROR_REJECTED or as file_read() does when a file
 * cannot be used, ERROR_LIMIT or ERROR_NO_MEMORY; apiclient_endpoint_deinit() is due also then.
 */
MUST_USE int apiclient_endpoint_init(struct apiclient_endpoint *endpoint, struct loop *loop,
				     struct kubeconfig *take_config, const char *user_agent,
				     struct error *err);
/* Ends all that is under way without calling back; not from a handler. Accepts a zeroed object. */
void apiclient_endpoint_deinit(struct apiclient_endpoint *endpoint);

/* What is asked for; the rest is the same for all requests. */
struct apiclient_endpoint_request {
	const char *method;
	const char *path; /* with the query */
	const char *accept;
	const char *content_type; /* may be NULL */
	struct view body;
	uint32_t timeout_ms;   /* 0: none */
	uint64_t send_before;  /* as in struct apiclient_call */
	bool is_watch;         /* or a list: shares no connection with other requests */
	bool is_shared;        /* the same, but many of these are streams of one HTTP/2 connection */
	bool is_apart;         /* as in struct apiclient_call */
	bool fresh_connection; /* no reuse, neither before nor after */
};

/* Sends a request, of which all is copied. As fetch_start(). */
MUST_USE int apiclient_endpoint_start(struct apiclient_endpoint *endpoint,
				      const struct apiclient_endpoint_request *request,
				      const struct fetch_handler *handler, struct fetch **ret_fetch,
				      struct error *err);
/* The server has answered 401. True when the next request may show something newer. */
bool apiclient_endpoint_refused(struct apiclient_endpoint *endpoint);
/* The server's name or address, with the port if it is told; borrowed from the endpoint. */
struct view apiclient_endpoint_host(const struct apiclient_endpoint *endpoint);
