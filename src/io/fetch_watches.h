/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fetch_watches - kept connections that no request uses, watched for their end by the peer. Used by
 * fetch only.
 *
 * Threads: the loop's.
 * Limits:  LIMIT_FETCH_WATCHES at a time.
 */

#include <stddef.h>

#include "base/error.h"
#include "base/list.h"
#include "io/fetch.h"
#include "io/loop.h"

/* Those of one fetcher. It must not be moved. */
struct fetch_watches {
	struct loop *loop;
	struct list all;
	size_t n; /* also those that are over and not yet removed */
};

/* There are none. loop is borrowed and must outlive them. */
void fetch_watches_init(struct fetch_watches *watches, struct loop *loop);
/*
 * Watches this socket of libcurl's, which no request uses: libevent cannot watch one for arrivals and for
 * its state at a time. An earlier watch of it is over. Fails with ERROR_LIMIT or ERROR_NO_MEMORY.
 */
MUST_USE int fetch_watches_add(struct fetch_watches *watches, int fd, fetch_watch_fn ended, void *owner,
			       struct fetch_watch **ret_watch, struct error *err);
/* Ends a watch, whatever has become of it. Accepts NULL. */
void fetch_watches_remove(struct fetch_watch *watch);
/* A request uses the socket from now on: its watch is over, and nobody is told. */
void fetch_watches_used(struct fetch_watches *watches, int fd);
/* libcurl is about to close the socket: its watch is over. Told later, if the peer had closed it first. */
void fetch_watches_closing(struct fetch_watches *watches, int fd);
