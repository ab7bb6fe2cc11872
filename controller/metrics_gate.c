/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whoever was allowed lately (controller/known_readers.h) shares no credit with strangers, and half of
 * the reviews under way are kept for them. So strangers, however many there are, cannot keep out the
 * scraper whose verdict has just ended. One that comes for the first time is a stranger.
 *
 * Each stranger has a credit of reviews. They are told apart by a few bits of a hash of their address,
 * so that what is kept of them is bounded: two that fall together share a credit. The hash has a
 * secret, or one could choose to fall together with another.
 *
 * While requests of one token wait for its review, no further review begins (controller/admission.h).
 */

#include "controller/metrics_gate.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/credit.h"
#include "base/log.h"
#include "controller/known_readers.h"

#define N_CLIENTS 256u
#define RETRY_AFTER_S 5u

static const struct credit_rate all_rate = {METRICS_GATE_REVIEWS_PER_SECOND, 4};
static const struct credit_rate client_rate = {METRICS_GATE_CLIENT_REVIEWS_PER_SECOND, 4};

/* A review under way; what took too long has ended. */
struct review {
	uint64_t ticket; /* 0: none */
	uint64_t deadline_ms;
	bool is_strangers;
	unsigned char digest[TLS_DIGEST_SIZE];
	char peer[64];
};

struct metrics_gate {
	struct loop *loop;
	struct metrics_gate_config config;
	struct admission *admission;
	struct loop_timer *review_timer;
	struct view asking; /* the address of the client whose request is being looked at */
	struct credit all;  /* of strangers */
	struct credit clients[N_CLIENTS];
	struct known_readers known;
	struct review reviews[METRICS_GATE_MAX_REVIEWS];
};

/* How a request is refused. */
struct refusal {
	enum metrics_gate_outcome outcome;
	int status;
	uint32_t retry_after_s;
	const char *allow;
	const char *reason;
};

static void count(const struct metrics_gate *gate, enum metrics_gate_outcome outcome)
{
	if (gate->config.metrics)
		metric_increment(gate->config.metrics, gate->config.metric, outcome);
}

static void refuse(const struct metrics_gate *gate, struct server_request *request,
		   const struct refusal *refusal)
{
	char body[512];
	int len = snprintf(body, sizeof(body), "%s\n", refusal->reason);
	count(gate, refusal->outcome);
	LOG_WARN("Request for metrics refused", LOG_I64("status", refusal->status),
		 LOG_TEXT("reason", view_from(refusal->reason)),
		 LOG_TEXT("peer", server_request_peer(request)));
	server_answer(request, &(struct server_answer){
				       .status = refusal->status,
				       .content_type = "text/plain; charset=utf-8",
				       .body = {body, (size_t)len < sizeof(body) ? (size_t)len
										 : sizeof(body) - 1},
				       .retry_after_s = refusal->retry_after_s,
				       .allow = refusal->allow,
			       });
}

static void refuse_for_now(const struct metrics_gate *gate, struct server_request *request,
			   enum metrics_gate_outcome outcome, const char *reason)
{
	refuse(gate, request, &(struct refusal){outcome, 503, RETRY_AFTER_S, NULL, reason});
}

static void refuse_unauthenticated(const struct metrics_gate *gate,
				   struct server_request *request, const char *reason)
{
	refuse(gate, request,
	       &(struct refusal){METRICS_GATE_UNAUTHENTICATED, 401, 0, NULL, reason});
}

/* False when it was refused. */
static bool check_form(const struct metrics_gate *gate, struct server_request *request,
		       const struct server_head *head)
{
	bool is_read = view_equal(head->method, VIEW("GET")) || view_equal(head->method, VIEW("HEAD"));
	if (!view_equal(head->path, VIEW("/metrics")))
		refuse(gate, request, &(struct refusal){METRICS_GATE_NOT_FOUND, 404, 0, NULL,
							"unknown path: use /metrics"});
	else if (!is_read)
		refuse(gate, request, &(struct refusal){METRICS_GATE_NOT_FOUND, 405, 0, "GET, HEAD",
							"only GET and HEAD are allowed"});
	else
		return true;
	return false;
}

/* By the verdict on its token. */
static void admit(const struct metrics_gate *gate, struct server_request *request,
		  const struct identity *identity)
{
	switch (identity->outcome) {
	case IDENTITY_ACCEPTED:
		(void)server_vouch(request, (struct view){0});
		server_proceed(request);
		break;
	case IDENTITY_UNAUTHENTICATED:
		refuse_unauthenticated(gate, request, identity->reason);
		break;
	case IDENTITY_FORBIDDEN:
		refuse(gate, request, &(struct refusal){METRICS_GATE_FORBIDDEN, 403, 0, NULL,
							identity->reason});
		break;
	}
}

/* FNV-1a, from a secret start. */
static struct credit *credit_of(struct metrics_gate *gate, struct view peer)
{
	uint64_t hash = 0xcbf29ce484222325u ^ gate->config.seed;
	for (size_t i = 0; i < peer.len; i++)
		hash = (hash ^ (unsigned char)peer.ptr[i]) * 0x100000001b3u;
	return &gate->clients[(hash ^ (hash >> 32)) % N_CLIENTS];
}

/* Reviews under way */

static bool is_under_way(const struct review *review, uint64_t now_ms)
{
	return review->ticket > 0 && now_ms < review->deadline_ms;
}

/* Room for one more; NULL: there is none. */
static struct review *find_room(struct metrics_gate *gate, uint64_t now_ms)
{
	for (unsigned i = 0; i < gate->config.admission.max_reviews; i++)
		if (!is_under_way(&gate->reviews[i], now_ms))
			return &gate->reviews[i];
	return NULL;
}

static unsigned count_strangers(const struct metrics_gate *gate, uint64_t now_ms)
{
	unsigned n = 0;
	for (unsigned i = 0; i < gate->config.admission.max_reviews; i++)
		n += is_under_way(&gate->reviews[i], now_ms) && gate->reviews[i].is_strangers;
	return n;
}

static bool may_stranger_begin(struct metrics_gate *gate, uint64_t now_ms)
{
	return count_strangers(gate, now_ms) < gate->config.admission.max_reviews / 2 &&
	       credit_draw(credit_of(gate, gate->asking), client_rate, 1, now_ms) &&
	       credit_draw(&gate->all, all_rate, 1, now_ms);
}

/* Called while on_head() asks. */
static bool on_review(void *owner, uint64_t ticket, struct view token)
{
	struct metrics_gate *gate = owner;
	uint64_t now_ms = loop_now_ms(gate->loop);
	struct review *review = find_room(gate, now_ms);
	struct review begun = {.ticket = ticket,
			       .deadline_ms = now_ms + gate->config.admission.timeout_ms};
	bool may_begin = false;
	struct error ignored;
	if (tls_digest(token, begun.digest, &ignored) < 0)
		return false;
	if (gate->asking.len < sizeof(begun.peer))
		view_copy(gate->asking, begun.peer);
	begun.is_strangers =
		!known_readers_draw(&gate->known, begun.digest, gate->asking, now_ms, &may_begin);
	if (!review || !(begun.is_strangers ? may_stranger_begin(gate, now_ms) : may_begin) ||
	    !gate->config.admission.review(gate->config.owner, ticket, token))
		return false;
	*review = begun;
	return true;
}

/* Who was allowed is known from now on, and who no longer is, is not. */
static void end_review(struct metrics_gate *gate, uint64_t ticket, const struct identity *identity)
{
	uint64_t now_ms = loop_now_ms(gate->loop);
	for (unsigned i = 0; i < gate->config.admission.max_reviews; i++) {
		struct review *review = &gate->reviews[i];
		if (review->ticket != ticket)
			continue;
		if (identity && identity->outcome == IDENTITY_ACCEPTED)
			known_readers_add(&gate->known, review->digest, view_from(review->peer),
					  now_ms);
		else if (identity)
			known_readers_remove(&gate->known, review->digest);
		review->ticket = 0;
		return;
	}
}

/* A request need wait no longer for the review of its token. */
static void on_decided(void *owner, void *request, const struct identity *identity)
{
	const struct metrics_gate *gate = owner;
	if (identity)
		admit(gate, request, identity);
	else
		refuse_for_now(gate, request, METRICS_GATE_UNAVAILABLE,
			       "the token could not be reviewed: the API server does not answer, "
			       "or the controller may not ask it");
}

static void on_review_timer(void *owner)
{
	struct metrics_gate *gate = owner;
	uint64_t now_ms = loop_now_ms(gate->loop);
	uint64_t next_ms = admission_expire(gate->admission, now_ms);
	if (next_ms != UINT64_MAX)
		loop_timer_set(gate->review_timer, next_ms > now_ms ? next_ms - now_ms : 0);
}

static void ask(struct metrics_gate *gate, struct server_request *request, struct view token,
		struct view peer)
{
	const struct identity *identity;
	const struct admission_question question = {
		.token = token, .request = request, .now_ms = loop_now_ms(gate->loop)};
	gate->asking = peer;
	switch (admission_ask(gate->admission, &question, &identity)) {
	case ADMISSION_KNOWN:
		admit(gate, request, identity);
		break;
	case ADMISSION_TOO_OFTEN:
	case ADMISSION_CROWDED:
	case ADMISSION_BUSY:
		refuse_for_now(gate, request, METRICS_GATE_BUSY, "too many tokens are being reviewed");
		break;
	case ADMISSION_WAIT:
		if (!loop_timer_is_set(gate->review_timer))
			loop_timer_set(gate->review_timer, gate->config.admission.timeout_ms);
		break;
	}
}

static void on_head(void *owner, struct server_request *request, const struct server_head *head)
{
	struct metrics_gate *gate = owner;
	struct view token;
	if (!check_form(gate, request, head))
		return;
	if (gate->config.insecure)
		server_proceed(request);
	else if (identity_parse_bearer(head->authorization, &token))
		ask(gate, request, token, head->peer);
	else
		refuse_unauthenticated(gate, request, "a bearer token is required");
}

static void on_request(void *owner, struct server_request *request, const struct server_head *head,
		       struct view body)
{
	(void)head, (void)body;
	const struct metrics_gate *gate = owner;
	count(gate, METRICS_GATE_ACCEPTED);
	gate->config.answer(gate->config.owner, request);
}

static void gate_freep(struct metrics_gate **gate)
{
	metrics_gate_free(*gate);
}

int metrics_gate_new(struct loop *loop, const struct metrics_gate_config *config,
		     struct metrics_gate **ret_gate, struct error *err)
{
	assert(config->admission.max_reviews <= METRICS_GATE_MAX_REVIEWS);
	CLEANUP(gate_freep) struct metrics_gate *gate = calloc(1, sizeof(*gate));
	if (!gate)
		return error_no_memory(err);
	uint64_t now_ms = loop_now_ms(loop);
	gate->loop = loop;
	gate->config = *config;
	gate->all = credit_full(all_rate, now_ms);
	for (size_t i = 0; i < N_CLIENTS; i++)
		gate->clients[i] = credit_full(client_rate, now_ms);
	struct admission_config admission = config->admission;
	admission.review = on_review;
	admission.decided = on_decided;
	admission.owner = gate;
	if (admission_new(&admission, &gate->admission, err) != 0 ||
	    loop_timer_new(loop, on_review_timer, gate, &gate->review_timer, err) != 0)
		return -1;
	*ret_gate = TAKE(gate);
	return 0;
}

void metrics_gate_free(struct metrics_gate *gate)
{
	if (!gate)
		return;
	admission_free(gate->admission);
	loop_timer_free(gate->review_timer);
	free(gate);
}

struct server_handler metrics_gate_handler(struct metrics_gate *gate)
{
	return (struct server_handler){gate, on_head, on_request, NULL};
}

void metrics_gate_answer_review(struct metrics_gate *gate, uint64_t ticket,
				const struct identity *identity)
{
	end_review(gate, ticket, identity);
	admission_answer(gate->admission, ticket, identity, loop_now_ms(gate->loop), clock_wall_ms());
}

size_t metrics_gate_tokens(const struct metrics_gate *gate)
{
	return admission_count(gate->admission);
}
