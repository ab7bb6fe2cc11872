/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A runner (kube/runner.h) that wants to begin a request first asks for the shared state of the
 * server (kube/reachability.h). While the server is doubted or away the runner stops. It goes on
 * when any request has been answered. The probe uses a connection of its own: a kept one may lead
 * to a server that is gone.
 */

#include "kube/apiclient.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "io/fetch.h"
#include "kube/apiclient_endpoint.h"
#include "kube/apiclient_requests.h"
#include "kube/apiclient_shared.h"
#include "kube/reachability.h"
#include "kube/runner.h"

#define FIRST_PROBE_TIMEOUT_MS 5000u /* later ones have the time that other requests have */

struct apiclient {
	struct loop *loop;
	struct apiclient_endpoint endpoint;
	struct apiclient_requests requests;
	struct runner *runners[APICLIENT_MAX_REFLECTORS];
	struct reflector *reflectors[APICLIENT_MAX_REFLECTORS]; /* of these */
	unsigned n_runners;
	struct apiclient_shared shared;
	unsigned next_runner; /* whose turn it is to be tried */
	struct reachability reachability;
	struct prng prng;
	struct fetch *probe;
	uint64_t probe_started_at; /* ms */
	struct loop_timer *probe_timer;
	bool is_away;     /* as was told */
	bool is_doubtful; /* likewise */
	struct error trouble; /* why it is away */
	apiclient_state_fn state_changed; /* may be NULL */
	void *state_owner;
	struct apiclient_counters counters;
};

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
	apiclient_shared_hasten(&client->shared, &client->prng, haste);
}

/* Ends what the outage may have cut off without a word. */
static void drop_lost(struct apiclient *client, uint64_t silent_since)
{
	for (unsigned i = 0; i < client->n_runners; i++)
		if (runner_drop_lost(client->runners[i], silent_since))
			count(client, "GET", 0);
	for (unsigned n = apiclient_shared_drop_lost(&client->shared, silent_since); n > 0; n--)
		count(client, "GET", 0);
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
	if (was_away || silent_since > 0)
		drop_lost(client, silent_since);
	hasten_all(client, was_away && reachability->was_steady ? REFLECTOR_BACK : REFLECTOR_NO_DOUBT);
	tell_state(client);
}

static void take_answer(struct apiclient *client)
{
	go_all_ahead(client, reachability_answered(&client->reachability, loop_now_ms(client->loop)));
}

static bool is_refusal(int status)
{
	return status == 401 || status == 403;
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
	if (is_failure) {
		reachability_failed(&client->reachability, status == 0 ? waited_ms : 0,
				    loop_now_ms(client->loop));
		schedule_probe(client);
		tell_state(client);
	} else if (status != 0 && status != 429 && !(is_refusal(status) && client->is_away)) {
		take_answer(client);
	}
}

/* The probe has failed though others were answered meanwhile. */
static void resume_lost(struct apiclient *client)
{
	uint64_t silent_since = reachability_silent_since(&client->reachability);
	if (silent_since == 0)
		return;
	drop_lost(client, silent_since);
	hasten_all(client, REFLECTOR_NO_DOUBT);
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
	request_counts_time(&client->counters.requests, "GET", now - client->probe_started_at);
	if (result->status == 401)
		apiclient_endpoint_refused(&client->endpoint);
	enum reachability_probe outcome = judge_probe(result);
	enum reachability_state before = reachability_probed(
		&client->reachability, outcome, result->retry_after_ms, now);
	if (outcome == REACHABILITY_PROBE_ANSWERED) {
		go_all_ahead(client, before);
		return;
	}
	if (before == REACHABILITY_ANSWERS)
		resume_lost(client);
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
	const struct apiclient_endpoint_request request = {
		.method = "GET",
		.path = "/readyz",
		.accept = "text/plain",
		.timeout_ms = client->is_away ? APICLIENT_REQUESTS_TIMEOUT_MS : FIRST_PROBE_TIMEOUT_MS,
		.fresh_connection = true,
	};
	const struct fetch_handler handler = {client, NULL, pass_over_body, probe_ended};
	struct error error;
	assert(!client->probe);
	client->counters.probes++;
	client->probe_started_at = loop_now_ms(client->loop);
	if (apiclient_endpoint_start(&client->endpoint, &request, &handler, &client->probe,
				     &error) == 0)
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

static int start_watch(void *owner, const struct reflector_request *wanted,
		       const struct fetch_handler *handler, struct fetch **ret_fetch,
		       struct error *err)
{
	struct apiclient *client = owner;
	const struct apiclient_endpoint_request request = {
		.method = "GET", .path = wanted->path, .accept = wanted->accept, .is_watch = true};
	return apiclient_endpoint_start(&client->endpoint, &request, handler, ret_fetch, err);
}

static void watch_answered(void *owner, int status, bool is_recovery)
{
	struct apiclient *client = owner;
	count(client, "GET", status);
	if (status == 401)
		apiclient_endpoint_refused(&client->endpoint);
	judge_server(client, status, NULL, 0);
	if (is_refusal(status)) {
		reachability_refused(&client->reachability, loop_now_ms(client->loop));
		schedule_probe(client);
	}
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

static void list_ended(void *owner, uint64_t took_ms)
{
	struct apiclient *client = owner;
	request_counts_time(&client->counters.requests, "GET", took_ms);
}

static struct runner_host host_of(struct apiclient *client)
{
	return (struct runner_host){
		.owner = client,
		.loop = client->loop,
		.may_begin = may_begin,
		.start = start_watch,
		.answered = watch_answered,
		.heard = watch_heard,
		.failed = watch_failed,
		.list_ended = list_ended,
	};
}

int apiclient_run(struct apiclient *client, struct reflector *reflector, struct error *err)
{
	const struct runner_host host = host_of(client);
	assert(client->n_runners <= APICLIENT_MAX_REFLECTORS);
	if (client->n_runners == APICLIENT_MAX_REFLECTORS)
		return error_set(err, ERROR_LIMIT, 0, "more than %u reflectors", APICLIENT_MAX_REFLECTORS);
	if (runner_new(&host, reflector, &client->runners[client->n_runners], err) != 0)
		return -1;
	client->reflectors[client->n_runners++] = reflector;
	return 0;
}

static void sharing_refused(void *owner)
{
	struct apiclient *client = owner;
	if (client->state_changed)
		client->state_changed(client->state_owner);
}

int apiclient_run_shared(struct apiclient *client, struct reflector *reflector, struct error *err)
{
	return apiclient_shared_run(&client->shared, reflector, err);
}

void apiclient_spread(struct apiclient *client, uint32_t n_connections)
{
	assert(n_connections > 0);
	if (n_connections < client->shared.n_connections)
		client->shared.n_connections = n_connections;
}

bool apiclient_may_share(const struct apiclient *client)
{
	return !client->shared.is_refused;
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
	if (i == client->n_runners) {
		apiclient_shared_stop(&client->shared, reflector);
		return;
	}
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
	else
		apiclient_shared_nudge(&client->shared, reflector);
}

/* Single requests. */

static void request_ended(void *owner, const struct apiclient_call *call,
			  const struct fetch_result *result, uint64_t took_ms)
{
	struct apiclient *client = owner;
	count(client, call->method, result->status);
	request_counts_time(&client->counters.requests, call->method, took_ms);
	if (!call->is_aside)
		judge_server(client, result->failed ? 0 : result->status, &result->error, took_ms);
}

int apiclient_send(struct apiclient *client, const struct apiclient_call *call,
		   apiclient_answer_fn answer, void *owner,
		   struct apiclient_request **ret_request, struct error *err)
{
	return apiclient_requests_send(&client->requests, call, answer, owner, ret_request, err);
}

void apiclient_cancel(struct apiclient_request *request)
{
	apiclient_requests_cancel(request);
}

/* The client itself. */

static void apiclient_freep(struct apiclient **client)
{
	apiclient_free(*client);
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
	request_counts_init(&client->counters.requests);
	apiclient_requests_init(&client->requests, &client->endpoint, request_ended, client);
	prng_init(&client->prng, prng_entropy());
	const struct runner_host host = host_of(client);
	apiclient_shared_init(&client->shared, &client->endpoint, &host, sharing_refused);
	reachability_init(&client->reachability, prng_next(&client->prng));
	if (apiclient_endpoint_init(&client->endpoint, loop, take_config, user_agent, err) != 0 ||
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
	apiclient_shared_deinit(&client->shared);
	apiclient_requests_deinit(&client->requests);
	fetch_cancel(client->probe);
	loop_timer_free(client->probe_timer);
	apiclient_endpoint_deinit(&client->endpoint);
	free(client);
}

struct apiclient_counters apiclient_counters(const struct apiclient *client)
{
	struct apiclient_counters counters = client->counters;
	counters.shared_over = client->shared.n_over;
	counters.credential_reloads = client->endpoint.credential.reloads;
	return counters;
}

struct view apiclient_host(const struct apiclient *client)
{
	return apiclient_endpoint_host(&client->endpoint);
}
