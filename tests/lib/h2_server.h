/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * h2_server - an HTTPS server on loopback that speaks HTTP/2, on the loop of the test. The test
 * answers each request as it likes. Who asks by HTTP/1.1 gets 200 and nothing more.
 *
 * Threads: the loop's. What goes wrong ends the process.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "io/loop.h"

struct h2_server;
struct h2_stream; /* a request; valid until its answer has ended, or gone() was called */

struct h2_server_config {
	uint32_t max_streams; /* of one connection */
	bool is_http1_only;   /* nobody gets HTTP/2 */
	void *owner;
	/* A request has come; path is borrowed for the call. */
	void (*asked)(void *owner, struct h2_stream *stream, const char *path);
	/* The client, or the connection, has ended a request whose answer had not ended. */
	void (*gone)(void *owner, struct h2_stream *stream);
};

/* Listens on a free port of 127.0.0.1; the configuration is copied. */
struct h2_server *h2_server_new(struct loop *loop, const struct h2_server_config *config);
/* Accepts NULL. */
void h2_server_free(struct h2_server *server);
/* "https://127.0.0.1:1234", borrowed. */
const char *h2_server_url(const struct h2_server *server);
/* The authority behind its certificate, in PEM; borrowed. */
struct view h2_server_ca(const struct h2_server *server);
/* How many connections were made; and are open. */
unsigned h2_server_connections(const struct h2_server *server);
unsigned h2_server_open(const struct h2_server *server);
/* The most requests that one connection had under way at a time. */
unsigned h2_server_peak(const struct h2_server *server);
/* Tells each connection that is open to begin no further request (GOAWAY); those under way go on. */
void h2_server_go_away(struct h2_server *server);
/* Cuts all connections. */
void h2_server_cut(struct h2_server *server);

/* The head of the answer. retry_after_s: 0: none. */
void h2_stream_head(struct h2_stream *stream, int status, const char *content_type,
		    unsigned retry_after_s);
/* More of its body. */
void h2_stream_push(struct h2_stream *stream, struct view bytes);
/* The end of the answer. */
void h2_stream_end(struct h2_stream *stream);
