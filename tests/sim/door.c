/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/door.h"

#include <stdlib.h>
#include <string.h>

#include "io/server.h"
#include "sim/check.h"
#include "sim/clockwork.h"

struct server {
	struct server_handler handler;
	struct server_request *requests;
};

struct server_request {
	struct server *server;
	struct server_request *next;
	door_fn answered;
	void *owner;
	char *authorization;
	void *data;
	bool proceeded, is_over;
	size_t len;
	char body[];
};

static struct server *reports; /* NULL: nobody listens */

int server_new(struct loop *loop, const struct server_config *config,
	       const struct server_handler *handler, struct server **ret_server, struct error *err)
{
	struct server *server = calloc(1, sizeof(*server));

	(void)loop;
	if (!server)
		return error_no_memory(err);
	server->handler = *handler;
	if (config->tls)
		reports = server;
	*ret_server = server;
	return 0;
}

static void free_request(struct server_request *request)
{
	struct server_request **link = &request->server->requests;

	while (*link != request)
		link = &(*link)->next;
	*link = request->next;
	free(request->authorization);
	free(request);
}

void server_free(struct server *server)
{
	if (!server)
		return;
	while (server->requests) {
		struct server_request *request = server->requests;

		request->answered(request->owner, 0, 0, (struct view){NULL, 0});
		if (request->proceeded)
			server->handler.done(server->handler.owner, request);
		free_request(request);
	}
	if (reports == server)
		reports = NULL;
	free(server);
}

uint16_t server_port(const struct server *server)
{
	(void)server;
	return 1;
}

struct server_counters server_counters(const struct server *server)
{
	(void)server;
	return (struct server_counters){.open = 0};
}

struct view server_request_peer(const struct server_request *request)
{
	(void)request;
	return VIEW("192.0.2.1");
}

double server_request_seconds(const struct server_request *request)
{
	(void)request;
	return 0;
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
	return request->len;
}

static struct server_head head_of(const struct server_request *request)
{
	return (struct server_head){
		.method = VIEW("POST"),
		.path = VIEW("/v1/report"),
		.authorization = view_from(request->authorization),
		.content_type = VIEW("application/json"),
		.peer = VIEW("192.0.2.1"),
		.content_length = (int64_t)request->len,
	};
}

static void let_in(struct server_request *request)
{
	struct server *server = request->server;
	const struct server_head head = head_of(request);

	server->handler.request(server->handler.owner, request, &head,
				(struct view){request->body, request->len});
	check(request->is_over);
	server->handler.done(server->handler.owner, request);
}

/* The body is here already, so it is let in as soon as the handler of the head has returned. */
void server_proceed(struct server_request *request)
{
	check(!request->proceeded && !request->is_over);
	request->proceeded = true;
	let_in(request);
	free_request(request);
}

bool server_vouch(struct server_request *request, struct view client)
{
	(void)client;
	check(!request->is_over);
	return true;
}

void server_answer(struct server_request *request, const struct server_answer *answer)
{
	check(!request->is_over);
	request->is_over = true;
	request->answered(request->owner, answer->status, answer->retry_after_s * 1000,
			  answer->body);
	if (!request->proceeded)
		free_request(request);
}

static struct server_request *receive(const char *authorization, struct view body,
				      door_fn answered, void *owner)
{
	struct server_request *request = calloc(1, sizeof(*request) + body.len);

	check(request);
	request->server = reports;
	request->next = reports->requests;
	reports->requests = request;
	request->answered = answered;
	request->owner = owner;
	request->authorization = strdup(authorization);
	check(request->authorization);
	request->len = body.len;
	if (body.len > 0)
		memcpy(request->body, body.ptr, body.len);
	return request;
}

void door_knock(const char *authorization, struct view body, door_fn answered, void *owner)
{
	struct server_request *request;

	if (!reports) {
		answered(owner, 0, 0, (struct view){NULL, 0});
		return;
	}
	request = receive(authorization, body, answered, owner);
	clockwork_actor = CLOCKWORK_CONTROLLER;
	const struct server_head head = head_of(request);
	reports->handler.head(reports->handler.owner, request, &head);
}
