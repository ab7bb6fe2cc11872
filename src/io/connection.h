/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * connection - one client of a server (io/server.h): TLS, its requests one after the other, their
 * answers, and the end. Whom to let in is the server's business, what a request means the handler's.
 *
 * Threads: the loop's.
 * Limits:  as in io/server.h.
 */

#include "base/error.h"
#include "io/callers.h"
#include "io/clients.h"
#include "io/deadlines.h"
#include "io/known_addresses.h"
#include "io/loop.h"
#include "io/server.h"
#include "io/strangers.h"
#include "io/turns.h"

struct connection;

struct server_request {
	struct connection *connection;
	void *data; /* the handler's */
	uint64_t began_us; /* when its head was whole, by base/stopwatch.h */
};

/* The connections of one server, and what they share. */
struct connection_set {
	struct loop *loop;
	const struct server_config *config;
	struct server_handler handler;
	struct server_counters counters;
	struct callers callers;     /* of whom they are, by address */
	struct clients clients;     /* and by the name that the handler gave */
	struct known_addresses known; /* of whom the handler vouched for */
	struct strangers strangers; /* those it has not vouched for, but for */
	struct strangers guests;    /* those of known addresses */
	struct deadlines deadlines; /* of the phase that each is in */
	struct turns turns;         /* of those that have steps to take */
	uint32_t n_delayed;         /* answers, so far; it may overflow */
};

/* config is borrowed for the set's life. Fails with ERROR_NO_MEMORY; connection_set_deinit() is
 * allowed then, too. */
MUST_USE int connection_set_init(struct connection_set *set, struct loop *loop,
				 const struct server_config *config,
				 const struct server_handler *handler, struct error *err);
/* Closes all connections; requests are gone. Not from a handler. */
void connection_set_deinit(struct connection_set *set);
/*
 * Closes one connection: the stranger that came first, else who came first of those that nobody vouched
 * for, else who is idle for longest. False when there is none.
 */
bool connection_set_evict(struct connection_set *set);

/*
 * Serves a socket from now on, and makes room for it as server.h says. Without room, memory or a
 * certificate it is closed at once, and counted. TLS begins with the client's first byte.
 */
void connection_accept(struct connection_set *set, int take_fd,
		       const struct sockaddr_storage *peer);
/* As server_proceed(). */
void connection_proceed(struct connection *connection);
/* As server_answer(). */
void connection_answer(struct connection *connection, const struct server_answer *answer);
/* As server_vouch(). */
bool connection_vouch(struct connection *connection, struct view client);
/* As server_request_peer(). */
struct view connection_peer(const struct connection *connection);
/* As server_request_body_size(). */
size_t connection_body_size(const struct connection *connection);
