/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * script_server - a server on loopback or a unix socket that answers from a script, on the loop of
 * the test. A request with a route gets that route's answer. Each other request gets the next entry
 * of the script, byte for byte, whatever was asked.
 *
 * Threads: the loop's.
 * Limits:  an answer must fit into a socket's buffer.
 */

#include "base/view.h"
#include "io/loop.h"

struct script_answer {
	struct view bytes;
	bool close;        /* close the connection afterwards */
	bool reset;        /* with an RST instead of a FIN */
	struct view later; /* sent when the loop has turned once more after bytes */
};

/* Whatever begins so ("GET /readyz") is answered so each time; with no bytes, not at all. */
struct script_route {
	const char *begins;
	struct script_answer answer;
};

struct script_server_config {
	const char *unix_path; /* NULL: TCP on 127.0.0.1 */
	bool http2;            /* with prior knowledge: a request ends with END_STREAM */
	const struct script_answer *answers; /* borrowed; when used up, nothing is answered */
	size_t n_answers;
	const struct script_route *routes; /* borrowed; the test may change them */
	size_t n_routes;
};

struct script_server;

/* Never fails: it asserts. */
struct script_server *script_server_new(struct loop *loop,
					const struct script_server_config *config);
/* Accepts NULL. */
void script_server_free(struct script_server *server);
/* Cuts all connections. */
void script_server_hang_up(struct script_server *server);
/* Cuts the connections whose last request began so. */
void script_server_cut(struct script_server *server, const char *begins);
/* Sends more on them. */
void script_server_push(struct script_server *server, const char *begins, struct view bytes);
/* Cuts all connections and refuses new ones, until it is started again. TCP only. */
void script_server_stop(struct script_server *server);
void script_server_start(struct script_server *server);
/* "http://127.0.0.1:1234", borrowed. */
const char *script_server_url(const struct script_server *server);
/* What clients sent, one request after the other, as a C string; borrowed. */
const char *script_server_received(struct script_server *server);
unsigned script_server_requests(const struct script_server *server);
unsigned script_server_connections(const struct script_server *server);
