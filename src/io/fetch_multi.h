/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fetch_multi - libcurl's multi handle on a loop. libcurl names the sockets that it waits for and
 * one time-out. Both become events of the loop, and each event lets libcurl work. Connections and
 * TLS sessions are shared among the transfers of one handle. Used by fetch only.
 *
 * Threads: the loop's.
 */

#include <curl/curl.h>

#include "base/error.h"
#include "io/loop.h"

struct fetch_multi;

/* The fetcher. */
struct fetch_multi_owner {
	void *owner;
	/* libcurl has returned from its work: transfers may have ended, and may be added and removed. */
	void (*worked)(void *owner);
	/* A transfer uses this socket from now on. Inside libcurl. */
	void (*used)(void *owner, int fd);
	/* There was no memory to watch a socket of this transfer, which would stall. Inside libcurl. */
	void (*starved)(void *owner, CURL *easy);
	/* libcurl has failed, and its handle is of no use. All transfers are to be removed at once: a new
	 * handle replaces it, or its connections are closed when there is memory for one. worked() is
	 * called next. */
	void (*broke)(void *owner);
};

/* loop is borrowed and must outlive it, owner is copied. Fails with ERROR_NO_MEMORY. */
MUST_USE int fetch_multi_new(struct loop *loop, const struct fetch_multi_owner *owner,
			     struct fetch_multi **ret_multi, struct error *err);
/* Closes all connections. All transfers must be removed; not inside libcurl. Accepts NULL. */
void fetch_multi_free(struct fetch_multi *multi);
/* At most so many transfers at a time are streams of one connection. It may be called at any time. */
void fetch_multi_limit_streams(struct fetch_multi *multi, uint32_t n);
/* True inside libcurl's work, in a callback of a transfer: nothing may be added or removed then. */
bool fetch_multi_is_in_curl(const struct fetch_multi *multi);
/* Starts a transfer, which stays the caller's. -1: there is no memory. */
MUST_USE int fetch_multi_add(struct fetch_multi *multi, CURL *easy);
/* Ends a transfer, whether it is done or not. */
void fetch_multi_remove(struct fetch_multi *multi, CURL *easy);
/* The next transfer that is done, and how it ended; NULL: there is none. The caller removes it. */
CURL *fetch_multi_next_done(struct fetch_multi *multi, CURLcode *ret_code);
/* Whether a transfer uses this socket, that is libcurl waits for it. */
bool fetch_multi_uses(const struct fetch_multi *multi, int fd);
/*
 * To be called for each part of a body that libcurl hands on of a stream of HTTP/2. is_full: the part, with
 * the head if that came before it, fills the transfer's buffer. libcurl then works on that connection until
 * nothing more comes of it. Inside libcurl.
 */
void fetch_multi_took(struct fetch_multi *multi, CURL *easy, bool is_full);
/* A stream of HTTP/2 ends before its answer does, and is removed next. libcurl works on its connection soon. */
void fetch_multi_drop_stream(struct fetch_multi *multi, CURL *easy);
/* worked() is called in the loop's next turn. */
void fetch_multi_wake(struct fetch_multi *multi);
