/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reporter - carries one report at a time to one replica of the controller: TLS, token, HTTP.
 *
 * Token and authorities are read from their files for every report, for both are replaced while
 * the program runs. Redirects are not followed: the token goes to the configured address or
 * nowhere.
 *
 * The connection is watched after a report that was accepted, until the next one. A controller that is
 * killed ends it at once.
 *
 * Threads: the loop's.
 * Limits:  token LIMIT_TOKEN_BYTES, authorities LIMIT_FILE_BYTES, an answer 64 KiB.
 */

#include "agent/delivery.h"
#include "base/view.h"
#include "io/fetch.h"

struct reporter;

/* Texts are borrowed for the reporter's life. */
struct reporter_config {
	const char *controller;  /* https://HOST[:PORT] */
	const char *address;     /* of the replica; NULL: any that the host leads to */
	const char *ca_file;     /* "": the system's authorities */
	const char *server_name; /* name in the controller's certificate; "": that of the URL */
	const char *token_file;
	uint32_t timeout_ms;     /* for one report, from connecting on */
};

struct reporter_answer {
	struct delivery_answer delivery;
	int64_t acknowledged_events; /* of a 200: no event up to it need be sent again; else -1 */
	struct error error;          /* why it was not accepted; kind ERROR_NONE: it was */
};

/* Texts and arguments are borrowed for the call. */
struct reporter_handler {
	void *owner;
	void (*answered)(void *owner, const struct reporter_answer *answer);
	/* The connection by which the last report was accepted has ended. None is under way. */
	void (*disconnected)(void *owner);
};

/* Fails with ERROR_NO_MEMORY. */
MUST_USE int reporter_new(struct fetcher *fetcher, const struct reporter_config *config,
			  const struct reporter_handler *handler, struct reporter **ret_reporter,
			  struct error *err);
/* Ends a post under way without calling back. Accepts NULL. */
void reporter_free(struct reporter *reporter);
/*
 * Sends a report; body is copied. None may be under way. On success `answered` is called later,
 * exactly once; on failure it is not: the token or the authorities could not be read.
 */
MUST_USE int reporter_post(struct reporter *reporter, struct view body, struct error *err);
