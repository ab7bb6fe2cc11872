/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * fetch_options - sets up one of libcurl's transfers as its request asks: address, method, headers,
 * body, TLS, time-outs, and what libcurl must not do. Used by fetch only.
 *
 * Threads: the loop's.
 */

#include <curl/curl.h>

#include "base/error.h"
#include "io/fetch.h"

/* What the options of a transfer refer to: it must outlive the transfer. Zeroed: nothing. */
struct fetch_options {
	struct curl_slist *headers;
	struct curl_slist *connect_to;
};

/*
 * Sets all options of a new transfer but its callbacks. options is zeroed; fetch_options_deinit()
 * after the transfer, also on failure. Fails as fetch_start() does.
 */
MUST_USE int fetch_options_apply(struct fetch_options *options, CURL *easy,
				 const struct fetch_request *request, struct error *err);
/* Frees the lists. Accepts a zeroed object. */
void fetch_options_deinit(struct fetch_options *options);
/*
 * Has a new socket notice within 25 s that its peer is gone without a word. Where that does not
 * apply (unix sockets), it is left out.
 */
void fetch_options_watch_peer(int fd);
