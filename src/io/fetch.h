/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fetch - HTTP requests on a loop, many at a time: libcurl's multi interface. Bodies are handed on
 * as they arrive. Redirects are never followed, nothing is decompressed, proxies from the
 * environment are not used, TLS verification cannot be switched off but by the caller's explicit
 * `insecure`.
 *
 * A peer that is gone without a word is noticed after 25 s (TCP keep-alive and user time-out).
 *
 * Nothing waits for a name server that is silent: not the loop, not the end of a request, not the
 * end of the program.
 *
 * The program must ignore SIGPIPE: TLS on a connection that the peer has closed raises it. Only fetch.c
 * and its parts fetch_multi and fetch_options include libcurl.
 *
 * Threads: the loop's.
 * Limits:  a response head of 64 KiB; 16 threads that look up a name for requests which have ended;
 *          LIMIT_IDLE_CONNECTIONS kept, LIMIT_FETCH_WATCHES of them watched. libcurl closes none
 *          that was idle for less than three hours.
 */

#include "base/error.h"
#include "base/sbuf.h"
#include "base/view.h"
#include "io/loop.h"

#define FETCH_VERSIONS_CAP 1024u
#define FETCH_STREAMS 100u

/*
 * Appends the versions of libcurl and of the libraries below it: "libcurl/7.88.1 OpenSSL/3.0.17
 * nghttp2/1.52.0". A libcurl that is linked statically adds the version of its source package. At
 * most FETCH_VERSIONS_CAP bytes are needed.
 */
void fetch_versions(struct sbuf *buf);
/*
 * From now on libcurl's memory is wiped before it is free again, in all fetchers. To be called by the main
 * thread, before others. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int fetch_wipe(struct error *err);

struct fetcher; /* shares connections and TLS sessions among its fetches */

/* loop is borrowed and must outlive the fetcher. Fails with ERROR_NO_MEMORY. */
MUST_USE int fetcher_new(struct loop *loop, struct fetcher **ret_fetcher, struct error *err);
/*
 * From now on a connection carries at most so many requests at a time (HTTP/2): the next one takes another
 * connection. At first that is FETCH_STREAMS. libcurl works on all requests of a connection whenever
 * something arrives on it, so with many of them each costs more. n: 1 to FETCH_STREAMS.
 */
void fetcher_limit_streams(struct fetcher *fetcher, uint32_t n);
/* Ends all fetches without calling back; not from a handler. All watches must be gone. Accepts NULL. */
void fetcher_free(struct fetcher *fetcher);

enum fetch_protocol {
	FETCH_HTTP1,
	FETCH_HTTP2,                 /* over TLS, by ALPN, many requests on one connection; falls back
					to HTTP/1.1 */
	FETCH_HTTP2_PRIOR_KNOWLEDGE, /* in clear, for gRPC */
};

/* All borrowed until fetch_start() returns; texts end in NUL. */
struct fetch_request {
	const char *method;
	const char *url;
	const char *unix_socket;     /* path, or NULL */
	const char *connect_to;      /* IP address to connect to, at the URL's port, and no name is looked
					up; NULL: the URL's host. "Host:" and TLS keep the URL's host */
	const char *const *headers;  /* "Name: value", NULL-terminated; may be NULL */
	struct view body;            /* copied; without one, POST, PUT and PATCH send an empty body */
	enum fetch_protocol protocol;
	bool fresh_connection;       /* no reuse, neither before nor after */
	uint32_t connect_timeout_ms; /* until TLS stands; 0: 10 s */
	uint32_t total_timeout_ms;   /* nothing is sent after it, by a clock that runs while the process
					stands still; 0: none */
	uint64_t send_before;        /* ms, clock_boot_ms(): from then on the request is not sent, whenever it
					was started; 0: there is no such time */
	uint32_t idle_timeout_ms;    /* no byte for this long: failed; 0: none */
	/* TLS, for https URLs: 1.2 or newer. Connections are shared only where all of this and connect_to
	 * are equal. */
	struct view ca_pem;          /* the only authorities believed; empty: the system's */
	const char *server_name;     /* to verify and for SNI when it is not the URL's host, or NULL */
	struct view client_cert_pem;
	struct view client_key_pem;
	bool insecure;
};

struct fetch; /* one request under way */

struct fetch_result {
	int status;               /* HTTP status; 0 when none came */
	uint32_t retry_after_ms;  /* from Retry-After, 0 if absent */
	int grpc_status;          /* trailer grpc-status; -1 if absent */
	struct view grpc_message; /* raw, borrowed for the call */
	struct view content_type; /* borrowed for the call */
	bool is_new_connection;   /* one was made for this request; of `done` only */
	bool failed;              /* the transfer did not complete: *error says why */
	struct error error;
};

struct fetch_handler {
	void *owner;
	/* The status line and headers are in; may be NULL. */
	void (*head)(void *owner, const struct fetch_result *head);
	/* Bytes of the body, borrowed. -1 ends the fetch, which then fails with *err. */
	int (*body)(void *owner, struct view bytes, struct error *err);
	/* Exactly once, last; not after fetch_cancel(). The fetch is gone when it returns. */
	void (*done)(void *owner, const struct fetch_result *result);
};

/*
 * Starts a request; also from a handler. Fails with ERROR_NO_MEMORY, or ERROR_REJECTED for an
 * unusable URL and for control characters in method or headers.
 *
 * How a transfer fails:
 * - ERROR_REJECTED: the certificate, key or CA given is unusable.
 * - ERROR_DENIED: the server's certificate is not trusted.
 * - ERROR_LIMIT: the head is too large.
 * - ERROR_NO_MEMORY.
 * - ERROR_RETRY: all else (no connection, time-out, answer cut short).
 */
MUST_USE int fetch_start(struct fetcher *fetcher, const struct fetch_request *request,
			 const struct fetch_handler *handler, struct fetch **ret_fetch,
			 struct error *err);
/* True when its answer comes by HTTP/2; from the head of the answer on, and until it is done. */
bool fetch_is_http2(const struct fetch *fetch);
/* Its connection is closed after the answer; from `head` or `body`. */
void fetch_forbid_reuse(struct fetch *fetch);
/* Ends a request without calling back; also from a handler, its own included. Accepts NULL. */
void fetch_cancel(struct fetch *fetch);

struct fetch_watch; /* of a connection that is kept for the next request */
typedef void (*fetch_watch_fn)(void *owner);

/*
 * Inside `done` of that fetch: calls `ended` once when the peer closes the connection by which the
 * answer came, if no request has used it since. A request that does ends the watch silently.
 * fetch_watch_free() in any case. Fails with ERROR_RETRY (the connection is not kept, or another request
 * uses it), ERROR_LIMIT or ERROR_NO_MEMORY.
 */
MUST_USE int fetch_watch_new(const struct fetch *fetch, fetch_watch_fn ended, void *owner,
			     struct fetch_watch **ret_watch, struct error *err);
/* Also inside `ended`. Accepts NULL. */
void fetch_watch_free(struct fetch_watch *watch);
