/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A runner (kube/runner.h) that wants to begin a request first asks for the shared state of the
 * server (kube/reachability.h). While the server is doubted or away the runner stops. It goes on
 * when any request has been answered. The probe uses a connection of its own: a kept one may lead
 * to a server that is gone.
 *
 * Each watch is HTTP/1.1 on a connection of its own (a dozen in all). So no other stream can block a
 * watch, and the end of a connection is the end of one watch. Neither lists nor watches ask for
 * compression. Decompressing would cost both sides more CPU than the bytes cost a local network.
 * API servers since 1.37 would also compress watches as one gzip member per flush.
 *
 * Files of credentials are looked at right before a request when they are due. They are small and
 * local, so there is no timer for them. An unusable file is reported only at the start. Later the
 * former contents stay in force, and the server's answers tell when they no longer work.
 */

#include "kube/apiclient.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "io/fetch.h"
#include "io/file.h"
#include "io/tls.h"
#include "kube/answer.h"
#include "kube/credential.h"
#include "kube/reachability.h"
#include "kube/runner.h"

#define DEFAULT_TIMEOUT_MS 10000u
#define FIRST_PROBE_TIMEOUT_MS 5000u /* later ones have the time that other requests have */
#define CALL_CAP (LIMIT_ANSWER_BYTES + LIMIT_URL)
#define MAX_HEADERS 5
#define MAX_RUNNERS 16u

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
	uint64_t started_at; /* ms */
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
	struct runner *runners[MAX_RUNNERS];
	struct reflector *reflectors[MAX_RUNNERS]; /* of these */
	unsigned n_runners;
	unsigned next_runner; /* whose turn it is to be tried */
	struct apiclient_request *requests;
	struct reachability reachability;
	struct prng prng;
	struct fetch *probe;
	struct loop_timer *probe_timer;
	bool is_away;     /* as was told */
	bool is_doubtful; /* likewise */
	struct error trouble; /* why it is away */
	apiclient_state_fn state_changed; /* may be NULL */
	void *state_owner;
	struct apiclient_counters counters;
};

/* Credentials. */

static int read_into(struct view path, struct sbuf *buf, struct error *err)
{
	assert(path.len > 0); /* a file that is due has a name */
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

static void on_probe_timer(void *owner);

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
	request_counts_init(&client->counters.requests);
	*take_config = (struct kubeconfig){0};
	prng_init(&client->prng, prng_entropy());
	reachability_init(&client->reachability, prng_next(&client->prng));
	if (init_texts(client, user_agent, err) != 0 ||
	    credential_init(&client->credential, &client->config, err) != 0 ||
	    reload_due(client, err) != 0 || fetcher_new(loop, &client->watches, err) != 0 ||
	    fetcher_new(loop, &client->writes, err) != 0 ||
	    loop_timer_new(loop, on_probe_timer, client, &client->probe_timer, err) != 0)
		return -1;
	*ret_client = TAKE(client);
	return 0;
}

void apiclient_free(struct apiclient *client)
{
	if (!client)
		return;
	for (unsigned i = 0; i < client->n_runners; i++)
		runner_free(client->runners[i]);
	while (client->requests)
		apiclient_cancel(client->requests);
	fetch_cancel(client->probe);
	loop_timer_free(client->probe_timer);
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
	bool fresh_connection;
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
	assert(n <= MAX_HEADERS);
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
		.fresh_connection = shape->fresh_connection,
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

static void count(struct apiclient *client, const char *method, int status)
{
	request_counts_add(&client->counters.requests, method, status);
	size_t class = status >= 100 && status < 600 ? (size_t)status / 100 : 0;
	client->counters.by_code[class]++;
	client->counters.conflicts += status == 409;
	client->counters.throttled += status == 429;
}

/* The one opinion of the server. */

/* A step that is due is taken from the timer: never from inside a callback of a transfer. */
static void schedule_probe(struct apiclient *client)
{
	uint64_t due_at = reachability_due_at(&client->reachability);
	uint64_t now = loop_now_ms(client->loop);
	if (due_at == UINT64_MAX)
		loop_timer_clear(client->probe_timer);
	else
		loop_timer_set(client->probe_timer, due_at > now ? due_at - now : 0);
}

static void tell_state(struct apiclient *client)
{
	const struct reachability *reachability = &client->reachability;
	bool is_away = reachability->state == REACHABILITY_AWAY;
	bool is_doubtful = is_away || (reachability->state == REACHABILITY_DOUBTED &&
				       reachability_silent_since(reachability) > 0);
	if (is_away == client->is_away && is_doubtful == client->is_doubtful)
		return;
	client->counters.outages += is_away && !client->is_away;
	client->is_away = is_away;
	client->is_doubtful = is_doubtful;
	if (client->state_changed)
		client->state_changed(client->state_owner);
}

/* Lets all watches that wait go ahead. */
static void hasten_all(struct apiclient *client, enum reflector_haste haste)
{
	for (unsigned i = 0; i < client->n_runners; i++) {
		uint64_t jitter = prng_between(&client->prng, 0, REACHABILITY_JITTER_MS);
		runner_go_ahead(client->runners[i], haste == REFLECTOR_BACK ? (uint32_t)jitter : 0,
				haste);
	}
}

/* The server was in that state before, and has just answered. */
static void go_all_ahead(struct apiclient *client, enum reachability_state before)
{
	const struct reachability *reachability = &client->reachability;
	bool was_away = before == REACHABILITY_AWAY;
	uint64_t silent_since = reachability_silent_since(reachability);
	schedule_probe(client);
	if (before == REACHABILITY_ANSWERS)
		return;
	for (unsigned i = 0; (was_away || silent_since > 0) && i < client->n_runners; i++)
		if (runner_drop_lost(client->runners[i], silent_since))
			count(client, "GET", 0);
	hasten_all(client, was_away && reachability->was_steady ? REFLECTOR_BACK : REFLECTOR_NO_DOUBT);
	tell_state(client);
}

static void take_answer(struct apiclient *client)
{
	go_all_ahead(client, reachability_answered(&client->reachability, loop_now_ms(client->loop)));
}

/*
 * How a request ended, as far as it tells of the server. failure may be NULL. waited_ms tells how
 * long nothing had come when it failed. A server that refuses because of its load (429) is up, but
 * not everybody may ask it again at once. A server that was away and now refuses (401, 403) may not
 * have read its rules yet.
 */
static void judge_server(struct apiclient *client, int status, const struct error *failure,
			 uint64_t waited_ms)
{
	bool is_failure = status == 0 ? failure && failure->kind == ERROR_RETRY : status >= 500;
	bool is_refusal = status == 401 || status == 403;
	if (is_failure) {
		reachability_failed(&client->reachability, status == 0 ? waited_ms : 0,
				    loop_now_ms(client->loop));
		schedule_probe(client);
		tell_state(client);
	} else if (status != 0 && status != 429 && !(is_refusal && client->is_away)) {
		take_answer(client);
	}
}

static enum reachability_probe judge_probe(const struct fetch_result *result)
{
	if (result->status == 0)
		return result->error.os_errno == ECONNREFUSED ? REACHABILITY_PROBE_REFUSED
							      : REACHABILITY_PROBE_FAILED;
	/* Who may not ask for /readyz (401, 403, 404) has an answer all the same. */
	return result->status >= 500 || result->status == 429 ? REACHABILITY_PROBE_UNREADY
							      : REACHABILITY_PROBE_ANSWERED;
}

static int pass_over_body(void *owner, struct view bytes, struct error *err)
{
	(void)owner, (void)bytes, (void)err;
	return 0;
}

static void probe_ended(void *owner, const struct fetch_result *result)
{
	struct apiclient *client = owner;
	uint64_t now = loop_now_ms(client->loop);
	client->probe = NULL;
	count(client, "GET", result->status);
	if (result->status == 401)
		credential_refused(&client->credential, now);
	enum reachability_probe outcome = judge_probe(result);
	enum reachability_state before = reachability_probed(
		&client->reachability, outcome, result->retry_after_ms, now);
	if (outcome == REACHABILITY_PROBE_ANSWERED) {
		go_all_ahead(client, before);
		return;
	}
	if (result->failed)
		error_set(&client->trouble, ERROR_RETRY, 0, "GET /readyz: %s", result->error.text);
	else
		error_set(&client->trouble, ERROR_RETRY, 0, "GET /readyz: HTTP status %d",
			  result->status);
	schedule_probe(client);
	tell_state(client);
}

static void send_probe(struct apiclient *client)
{
	const struct shape shape = {
		.method = "GET",
		.path = "/readyz",
		.accept = "text/plain",
		.timeout_ms = client->is_away ? DEFAULT_TIMEOUT_MS : FIRST_PROBE_TIMEOUT_MS,
		.fresh_connection = true,
	};
	const struct fetch_handler handler = {client, NULL, pass_over_body, probe_ended};
	struct error error;
	assert(!client->probe);
	client->counters.probes++;
	if (start(client, client->writes, &shape, &handler, &client->probe, &error) == 0)
		return;
	client->probe = NULL; /* no memory: as if it had failed */
	error_set(&client->trouble, ERROR_RETRY, 0, "GET /readyz: %s", error.text);
	reachability_probed(&client->reachability, REACHABILITY_PROBE_FAILED, 0,
			    loop_now_ms(client->loop));
	schedule_probe(client);
	tell_state(client);
}

static void try_one(struct apiclient *client)
{
	for (unsigned i = 0; i < client->n_runners; i++) {
		struct runner *runner = client->runners[client->next_runner++ % client->n_runners];
		if (runner_is_idle(runner) && runner_try(runner))
			return;
	}
}

static void on_probe_timer(void *owner)
{
	struct apiclient *client = owner;
	switch (reachability_next(&client->reachability, loop_now_ms(client->loop))) {
	case REACHABILITY_NOTHING:
		break;
	case REACHABILITY_TRY:
		try_one(client);
		break;
	case REACHABILITY_SETTLED:
		hasten_all(client, REFLECTOR_BACK);
		break;
	case REACHABILITY_PROBE:
		send_probe(client);
		return;
	}
	schedule_probe(client);
}

bool apiclient_is_away(const struct apiclient *client)
{
	return client->is_away;
}

const char *apiclient_trouble(const struct apiclient *client)
{
	return client->is_away ? client->trouble.text : "";
}

bool apiclient_is_doubtful(const struct apiclient *client)
{
	return client->is_doubtful;
}

void apiclient_on_state(struct apiclient *client, apiclient_state_fn changed, void *owner)
{
	client->state_changed = changed;
	client->state_owner = owner;
}

/* Reflectors. */

static bool may_begin(void *owner)
{
	return ((struct apiclient *)owner)->reachability.state == REACHABILITY_ANSWERS;
}

static int start_watch(void *owner, const struct reflector_request *request,
		       const struct fetch_handler *handler, struct fetch **ret_fetch,
		       struct error *err)
{
	struct apiclient *client = owner;
	const struct shape shape = {
		.method = "GET", .path = request->path, .accept = request->accept};
	return start(client, client->watches, &shape, handler, ret_fetch, err);
}

static void watch_answered(void *owner, int status, bool is_recovery)
{
	struct apiclient *client = owner;
	count(client, "GET", status);
	if (status == 401)
		credential_refused(&client->credential, loop_now_ms(client->loop));
	judge_server(client, status, NULL, 0);
	if (is_recovery) /* what it failed for may be what others still wait for */
		hasten_all(client, REFLECTOR_RECOVERED);
}

/* The server sends: it is not away. Called for each part of a body, most often while all is well. */
static void watch_heard(void *owner)
{
	struct apiclient *client = owner;
	uint64_t now = loop_now_ms(client->loop);
	enum reachability_state before = reachability_heard(&client->reachability, now);
	if (before != REACHABILITY_ANSWERS)
		go_all_ahead(client, before);
}

static void watch_failed(void *owner, bool was_answered, uint64_t waited_ms,
			 const struct error *error)
{
	struct apiclient *client = owner;
	if (!was_answered)
		count(client, "GET", 0);
	judge_server(client, 0, error, waited_ms);
}

int apiclient_run(struct apiclient *client, struct reflector *reflector, struct error *err)
{
	const struct runner_host host = {
		.owner = client,
		.loop = client->loop,
		.may_begin = may_begin,
		.start = start_watch,
		.answered = watch_answered,
		.heard = watch_heard,
		.failed = watch_failed,
	};
	assert(client->n_runners <= MAX_RUNNERS);
	if (client->n_runners == MAX_RUNNERS)
		return error_set(err, ERROR_LIMIT, 0, "more than %u reflectors", MAX_RUNNERS);
	if (runner_new(&host, reflector, &client->runners[client->n_runners], err) != 0)
		return -1;
	client->reflectors[client->n_runners++] = reflector;
	return 0;
}

/* Where the reflector is among those that are run; n_runners: nowhere. */
static unsigned find_runner(const struct apiclient *client, const struct reflector *reflector)
{
	unsigned i = 0;
	while (i < client->n_runners && client->reflectors[i] != reflector)
		i++;
	return i;
}

void apiclient_stop(struct apiclient *client, struct reflector *reflector)
{
	unsigned i = find_runner(client, reflector);
	if (i == client->n_runners)
		return;
	runner_free(client->runners[i]);
	client->n_runners--;
	client->runners[i] = client->runners[client->n_runners];
	client->reflectors[i] = client->reflectors[client->n_runners];
}

void apiclient_nudge(struct apiclient *client, struct reflector *reflector)
{
	unsigned i = find_runner(client, reflector);
	if (i < client->n_runners)
		runner_wake(client->runners[i]);
}

/* Single requests. */

static void free_request(struct apiclient_request *request)
{
	assert(!request->link || *request->link == request);
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
	uint64_t took_ms = loop_now_ms(request->client->loop) - request->started_at;
	count(request->client, request->call.method, status);
	request_counts_time(&request->client->counters.requests, request->call.method, took_ms);
	if (!request->call.is_aside)
		judge_server(request->client, result->failed ? 0 : status, &result->error, took_ms);
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
	assert(ended->link && *ended->link == ended);
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
	request->started_at = loop_now_ms(request->client->loop);
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
	assert(request->texts.len == path_size + call->body.len);
	request->call.path = request->texts.ptr;
	request->call.body = view_from_offset(sbuf_view(&request->texts), path_size);
	return 0;
}

int apiclient_send(struct apiclient *client, const struct apiclient_call *call,
		   apiclient_answer_fn answer, void *owner,
		   struct apiclient_request **ret_request, struct error *err)
{
	assert(call->method && call->path && answer);
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

struct view apiclient_host(const struct apiclient *client)
{
	struct view scheme, rest, host, path;
	if (!view_cut(client->config.server, VIEW("://"), &scheme, &rest))
		rest = client->config.server;
	view_cut(rest, VIEW("/"), &host, &path);
	return host;
}
