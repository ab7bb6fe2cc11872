/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who is let in, and what becomes of them, stands in connection.c, when they expire in deadlines.c, how
 * they come in listener.c.
 */

#include "io/server.h"

#include <assert.h>
#include <stdlib.h>

#include "base/stopwatch.h"
#include "io/connection.h"
#include "io/listener.h"

struct server {
	struct server_config config;
	struct listener *listener;
	struct connection_set connections;
};

static void on_accept(void *owner, int take_fd, const struct sockaddr_storage *peer)
{
	struct server *server = owner;
	server->connections.counters.accepted++;
	connection_accept(&server->connections, take_fd, peer);
}

static void server_freep(struct server **server)
{
	server_free(*server);
}

int server_new(struct loop *loop, const struct server_config *config,
	       const struct server_handler *handler, struct server **ret_server, struct error *err)
{
	assert(config->max_connections > 0 && config->max_connections_per_address > 0);
	CLEANUP(server_freep) struct server *server = malloc(sizeof(*server));
	if (!server)
		return error_no_memory(err);
	*server = (struct server){.config = *config};
	if (connection_set_init(&server->connections, loop, &server->config, handler, err) != 0 ||
	    listener_new(loop, config->address, on_accept, server, &server->listener, err) != 0)
		return -1;
	*ret_server = TAKE(server);
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	listener_free(server->listener);
	connection_set_deinit(&server->connections);
	free(server);
}

uint16_t server_port(const struct server *server)
{
	return listener_port(server->listener);
}

struct server_counters server_counters(const struct server *server)
{
	struct server_counters counters = server->connections.counters;
	counters.pauses = listener_pauses(server->listener);
	return counters;
}

void server_proceed(struct server_request *request)
{
	connection_proceed(request->connection);
}

void server_answer(struct server_request *request, const struct server_answer *answer)
{
	connection_answer(request->connection, answer);
}

bool server_vouch(struct server_request *request, struct view client)
{
	return connection_vouch(request->connection, client);
}

struct view server_request_peer(const struct server_request *request)
{
	return connection_peer(request->connection);
}

double server_request_seconds(const struct server_request *request)
{
	return stopwatch_seconds(request->began_us);
}

void server_request_set_data(struct server_request *request, void *data)
{
	request->data = data;
}

void *server_request_data(const struct server_request *request)
{
	return request->data;
}

size_t server_request_body_size(const struct server_request *request)
{
	return connection_body_size(request->connection);
}
