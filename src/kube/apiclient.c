/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A runner drives one reflector: asks what to do next, starts the request, hands on what comes,
 * and sets one timer for the time the reflector named. While an answer is under way that time only
 * moves further away, so the timer is not touched per chunk: when it fires, the reflector is asked
 * again.
 *
 * Each watch is HTTP/1.1 on a connection of its own (three or four in all): nothing multiplexed can
 * stand in the way of a watch, and the end of a connection is the end of one watch. Neither lists
 * nor watches ask for compression: decompressing costs both sides more CPU than the bytes cost a
 * local network, and API servers since 1.37 would compress watches as one gzip member per flush.
 *
 * Files of credentials are looked at right before a request when they are due, so there is no timer
 * for them; they are small and local. A file that cannot be used is reported only at the start:
 * later what was read before stays in force, and the server says when it is no good any more.
 */

#include "kube/apiclient.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "io/fetch.h"
#include "io/file.h"
#include "io/tls.h"
#include "kube/answer.h"
#include "kube/credential.h"

#define DEFAULT_TIMEOUT_MS 10000u
#define CALL_CAP (LIMIT_ANSWER_BYTES + LIMIT_URL)
#define MAX_HEADERS 5

struct runner {
	struct apiclient *client;
	struct runner *next;
	struct reflector *reflector;
	struct loop_timer *timer;
	struct fetch *fetch;
	bool answered;
};

struct apiclient_request {
	struct apiclient *client;
	struct apiclient_request *next;
	struct apiclient_request **link; /* what points to this request */
	struct fetch *fetch;
	struct apiclient_call call; /* path and body lie in texts */
	struct sbuf texts;
	struct sbuf answer_body;
	apiclient_answer_fn answer;
	void *owner;
	bool repeated;
};

struct apiclient {
	struct loop *loop;
	struct kubeconfig config;
	struct credential credential;
	struct fetcher *watches;
	struct fetcher *writes;
	struct sbuf user_agent; /* the header */
	struct sbuf url;
	struct sbuf accept;
	struct sbuf content_type;
	struct runner *runners;
	struct apiclient_request *requests;
	struct apiclient_counters counters;
};

/* Credentials. */

static int read_into(struct view path, struct sbuf *buf, struct error *err)
{
	if (file_read(path.ptr, buf, err) != 0)
		return error_wrap(err, "%s", path.ptr);
	return 0;
}

/* Certificate or key of the client: given as data, or read. */
static int read_client_part(struct view data, struct view path, struct sbuf *buf,
			    struct error *err)
{
	if (data.len == 0)
		return read_into(path, buf, err);
	sbuf_append(buf, data);
	return sbuf_check(buf, "client certificate", err);
}

/* While the two files are being replaced they may not belong together. */
static int check_pair(struct view cert, struct view key, struct error *err)
{
	struct tls_identity *pair = NULL;
	if (tls_identity_new(cert, key, &pair, err) != 0)
		return error_wrap(err, "client certificate and key");
	tls_identity_free(pair);
	return 0;
}

static int read_file(struct apiclient *client, enum credential_file file, struct sbuf *contents,
		     struct sbuf *key, struct error *err)
{
	const struct kubeconfig *config = &client->config;
	switch (file) {
	case CREDENTIAL_TOKEN:
		return read_into(config->token_file, contents, err);
	case CREDENTIAL_CA:
		return read_into(config->ca_file, contents, err);
	case CREDENTIAL_CLIENT:
		if (read_client_part(config->client_cert_pem, config->client_cert_file, contents,
				     err) != 0 ||
		    read_client_part(config->client_key_pem, config->client_key_file, key, err) !=
			    0)
			return -1;
		return check_pair(sbuf_view(contents), sbuf_view(key), err);
	case CREDENTIAL_N_FILES:
		break;
	}
	assert(false && "no such file");
	return -1;
}

static int reload_file(struct apiclient *client, enum credential_file file, struct error *err)
{
	struct sbuf contents, key;
	uint64_t now = loop_now_ms(client->loop);
	sbuf_init(&contents, LIMIT_FILE_BYTES);
	sbuf_init(&key, LIMIT_FILE_BYTES);
	int result = read_file(client, file, &contents, &key, err);
	if (result != 0)
		credential_missed(&client->credential, file, now);
	else
		result = credential_take(&client->credential, file, sbuf_view(&contents),
					 sbuf_view(&key), now, err);
	if (contents.ptr)
		explicit_bzero(contents.ptr, contents.allocated);
	if (key.ptr)
		explicit_bzero(key.ptr, key.allocated);
	sbuf_deinit(&contents);
	sbuf_deinit(&key);
	return result;
}

/* Reads what is due. -1 when any of it cannot be used: err says the first. */
static int reload_due(struct apiclient *client, struct error *err)
{
	uint64_t now = loop_now_ms(client->loop);
	struct error other;
	int result = 0;
	for (int file = 0; file < CREDENTIAL_N_FILES; file++) {
		if (credential_is_due(&client->credential, (enum credential_file)file, now) &&
		    reload_file(client, (enum credential_file)file, result ? &other : err) != 0)
			result = -1;
	}
	client->counters.credential_reloads = client->credential.reloads;
	return result;
}

/* The client itself. */

static void apiclient_freep(struct apiclient **client)
{
	apiclient_free(*client);
}

static int init_texts(struct apiclient *client, const char *user_agent, struct error *err)
{
	sbuf_init(&client->user_agent, LIMIT_URL);
	sbuf_init(&client->accept, LIMIT_URL);
	sbuf_init(&client->content_type, LIMIT_URL);
	sbuf_init(&client->url, 128u * LIMIT_KIB); /* continue tokens are long */
	sbuf_printf(&client->user_agent, "User-Agent: %s", user_agent);
	return sbuf_check(&client->user_agent, "User-Agent", err);
}

int apiclient_new(struct loop *loop, struct kubeconfig *take_config, const char *user_agent,
		  struct apiclient **ret_client, struct error *err)
{
	CLEANUP(apiclient_freep) struct apiclient *client = calloc(1, sizeof(*client));
	if (!client) {
		kubeconfig_deinit(take_config);
		return error_no_memory(err);
	}
	client->loop = loop;
	client->config = *take_config;
	*take_config = (struct kubeconfig){0};
	if (init_texts(client, user_agent, err) != 0 ||
	    credential_init(&client->credential, &client->config, err) != 0 ||
	    reload_due(client, err) != 0 || fetcher_new(loop, &client->watches, err) != 0 ||
	    fetcher_new(loop, &client->writes, err) != 0)
		return -1;
	*ret_client = TAKE(client);
	return 0;
}

static void free_runner(struct runner *runner)
{
	if (!runner)
		return;
	fetch_cancel(runner->fetch);
	loop_timer_free(runner->timer);
	free(runner);
}

void apiclient_free(struct apiclient *client)
{
	if (!client)
		return;
	while (client->runners) {
		struct runner *runner = client->runners;
		client->runners = runner->next;
		free_runner(runner);
	}
	while (client->requests)
		apiclient_cancel(client->requests);
	fetcher_free(client->watches);
	fetcher_free(client->writes);
	credential_deinit(&client->credential);
	kubeconfig_deinit(&client->config);
	sbuf_deinit(&client->user_agent);
	sbuf_deinit(&client->url);
	sbuf_deinit(&client->accept);
	sbuf_deinit(&client->content_type);
	free(client);
}

/* One header line in a buffer of the client's. */
static const char *header(struct sbuf *buf, const char *name, const char *value)
{
	sbuf_clear(buf);
	sbuf_printf(buf, "%s: %s", name, value);
	return sbuf_text(buf);
}

/* What is asked for; the rest is the same for all requests. */
struct shape {
	const char *method;
	const char *path;
	const char *accept;
	const char *content_type; /* may be NULL */
	struct view body;
	uint32_t timeout_ms; /* 0: none */
};

static int start(struct apiclient *client, struct fetcher *fetcher, const struct shape *shape,
		 const struct fetch_handler *handler, struct fetch **ret_fetch, struct error *err)
{
	struct error ignored;
	/* What cannot be read now stays as it was. */
	if (reload_due(client, &ignored) != 0)
		error_clear(&ignored);
	sbuf_clear(&client->url);
	sbuf_append(&client->url, client->config.server);
	sbuf_append(&client->url, view_from(shape->path));
	const char *headers[MAX_HEADERS] = {
		sbuf_text(&client->user_agent),
		header(&client->accept, "Accept", shape->accept),
	};
	size_t n = 2;
	if (shape->content_type)
		headers[n++] = header(&client->content_type, "Content-Type", shape->content_type);
	if (client->credential.authorization.len > 0)
		headers[n++] = credential_authorization(&client->credential);
	const char *url = sbuf_text(&client->url);
	for (size_t i = 0; i < n; i++)
		url = headers[i] ? url : NULL;
	if (!url || client->url.failure != ERROR_NONE)
		return error_no_memory(err);
	const struct fetch_request request = {
		.method = shape->method,
		.url = url,
		.headers = headers,
		.body = shape->body,
		.protocol = FETCH_HTTP1,
		.total_timeout_ms = shape->timeout_ms,
		.ca_pem = credential_ca(&client->credential),
		.server_name = client->config.tls_server_name.len > 0
				       ? client->config.tls_server_name.ptr
				       : NULL,
		.client_cert_pem = credential_client_cert(&client->credential),
		.client_key_pem = credential_client_key(&client->credential),
		.insecure = client->config.insecure,
	};
	return fetch_start(fetcher, &request, handler, ret_fetch, err);
}

static void count(struct apiclient *client, int status)
{
	size_t class = status >= 100 && status < 600 ? (size_t)status / 100 : 0;
	client->counters.by_code[class]++;
	client->counters.conflicts += status == 409;
	client->counters.throttled += status == 429;
}

/* Reflectors. */

static void run(struct runner *runner);

static void saw_head(void *owner, const struct fetch_result *head)
{
	struct runner *runner = owner;
	struct apiclient *client = runner->client;
	runner->answered = true;
	count(client, head->status);
	if (head->status == 401)
		credential_refused(&client->credential, loop_now_ms(client->loop));
	reflector_answered(runner->reflector, head->status, head->retry_after_ms,
			   head->content_type, loop_now_ms(client->loop));
}

static int saw_body(void *owner, struct view bytes, struct error *err)
{
	struct runner *runner = owner;
	return reflector_feed(runner->reflector, bytes, loop_now_ms(runner->client->loop), err);
}

static void saw_end(void *owner, const struct fetch_result *result)
{
	struct runner *runner = owner;
	struct error headless;
	const struct error *error = result->failed ? &result->error : NULL;
	runner->fetch = NULL;
	if (!runner->answered) {
		count(runner->client, 0);
		error_set(&headless, ERROR_RETRY, 0, "an answer without a head");
		error = error ? error : &headless;
	}
	reflector_ended(runner->reflector, error, loop_now_ms(runner->client->loop));
	run(runner);
}

static int start_runner(struct runner *runner, const struct reflector_request *request,
			struct error *err)
{
	const struct shape shape = {
		.method = "GET", .path = request->path, .accept = request->accept};
	const struct fetch_handler handler = {runner, saw_head, saw_body, saw_end};
	runner->answered = false;
	return start(runner->client, runner->client->watches, &shape, &handler, &runner->fetch,
		     err);
}

/* Does what the reflector wants, until it wants to wait. */
static void run(struct runner *runner)
{
	struct error error;
	struct reflector_request request;
	for (;;) {
		uint64_t now = loop_now_ms(runner->client->loop);
		switch (reflector_next(runner->reflector, now, &request)) {
		case REFLECTOR_REQUEST:
			if (start_runner(runner, &request, &error) != 0)
				reflector_ended(runner->reflector, &error, now);
			break;
		case REFLECTOR_GIVE_UP:
			fetch_cancel(TAKE(runner->fetch));
			if (!runner->answered)
				count(runner->client, 0);
			error_set(&error, ERROR_RETRY, 0, "no answer from the server for too long");
			reflector_ended(runner->reflector, &error, now);
			break;
		case REFLECTOR_WAIT:
		case REFLECTOR_BUSY:
			loop_timer_set(runner->timer, request.wait_until - now);
			return;
		}
	}
}

static void on_timer(void *owner)
{
	run(owner);
}

int apiclient_run(struct apiclient *client, struct reflector *reflector, struct error *err)
{
	struct runner *runner = calloc(1, sizeof(*runner));
	if (!runner)
		return error_no_memory(err);
	runner->client = client;
	runner->reflector = reflector;
	if (loop_timer_new(client->loop, on_timer, runner, &runner->timer, err) != 0) {
		free(runner);
		return -1;
	}
	runner->next = client->runners;
	client->runners = runner;
	loop_timer_set(runner->timer, 0);
	return 0;
}

/* Single requests. */

static void free_request(struct apiclient_request *request)
{
	if (request->link)
		*request->link = request->next;
	if (request->next)
		request->next->link = request->link;
	sbuf_deinit(&request->texts);
	sbuf_deinit(&request->answer_body);
	free(request);
}

static void free_requestp(struct apiclient_request **request)
{
	if (*request)
		free_request(*request);
}

static int keep_body(void *owner, struct view bytes, struct error *err)
{
	struct apiclient_request *request = owner;
	sbuf_append(&request->answer_body, bytes);
	return sbuf_check(&request->answer_body, "answer", err);
}

static int start_request(struct apiclient_request *request, struct error *err);

/* After a 401: once more, if there is something newer to show. True when it is under way again. */
static bool repeat(struct apiclient_request *request)
{
	struct apiclient *client = request->client;
	struct error ignored;
	if (request->repeated ||
	    !credential_refused(&client->credential, loop_now_ms(client->loop)))
		return false;
	request->repeated = true;
	sbuf_clear(&request->answer_body);
	return start_request(request, &ignored) == 0;
}

static void request_ended(void *owner, const struct fetch_result *result)
{
	struct apiclient_request *request = owner;
	struct error error;
	int status = result->status;
	bool good = !result->failed && status >= 200 && status < 300;
	request->fetch = NULL;
	count(request->client, status);
	if (status == 401 && repeat(request))
		return;
	if (result->failed) {
		error = result->error;
		status = 0;
	} else if (!good) {
		const struct answer answer = {status, result->retry_after_ms,
					      sbuf_view(&request->answer_body)};
		answer_judge(&answer, &error);
	}
	if (!good)
		error_wrap(&error, "%s %.*s", request->call.method,
			   (int)strcspn(request->call.path, "?"), request->call.path);
	/* Out of the list first: the callback may free the client's other requests. */
	struct apiclient_request *ended = request;
	*ended->link = ended->next;
	if (ended->next)
		ended->next->link = ended->link;
	ended->link = NULL;
	ended->next = NULL;
	ended->answer(ended->owner, status, sbuf_view(&ended->answer_body), good ? NULL : &error);
	free_request(ended);
}

static int start_request(struct apiclient_request *request, struct error *err)
{
	const struct apiclient_call *call = &request->call;
	const struct shape shape = {
		.method = call->method,
		.path = call->path,
		.accept = call->accept ? call->accept : "application/json",
		.content_type = call->content_type,
		.body = call->body,
		.timeout_ms = call->timeout_ms ? call->timeout_ms : DEFAULT_TIMEOUT_MS,
	};
	const struct fetch_handler handler = {request, NULL, keep_body, request_ended};
	return start(request->client, request->client->writes, &shape, &handler, &request->fetch,
		     err);
}

/* Keeps path and body, for a repetition. */
static int copy_call(struct apiclient_request *request, const struct apiclient_call *call,
		     struct error *err)
{
	size_t path_size = strlen(call->path) + 1;
	request->call = *call;
	if (!sbuf_reserve(&request->texts, path_size + call->body.len))
		return sbuf_check(&request->texts, "request", err);
	sbuf_append(&request->texts, (struct view){call->path, path_size});
	sbuf_append(&request->texts, call->body);
	request->call.path = request->texts.ptr;
	request->call.body = view_from_offset(sbuf_view(&request->texts), path_size);
	return 0;
}

int apiclient_send(struct apiclient *client, const struct apiclient_call *call,
		   apiclient_answer_fn answer, void *owner,
		   struct apiclient_request **ret_request, struct error *err)
{
	CLEANUP(free_requestp) struct apiclient_request *request = calloc(1, sizeof(*request));
	if (!request)
		return error_no_memory(err);
	request->client = client;
	request->answer = answer;
	request->owner = owner;
	sbuf_init(&request->texts, CALL_CAP);
	sbuf_init(&request->answer_body, LIMIT_ANSWER_BYTES);
	if (copy_call(request, call, err) != 0 || start_request(request, err) != 0)
		return -1;
	request->next = client->requests;
	request->link = &client->requests;
	if (request->next)
		request->next->link = &request->next;
	client->requests = request;
	*ret_request = TAKE(request);
	return 0;
}

void apiclient_cancel(struct apiclient_request *request)
{
	if (!request)
		return;
	fetch_cancel(request->fetch);
	free_request(request);
}

struct apiclient_counters apiclient_counters(const struct apiclient *client)
{
	return client->counters;
}
