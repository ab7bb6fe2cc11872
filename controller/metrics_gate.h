/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * metrics_gate - who may read /metrics. It has names of pods, so it is not for everybody. A request
 * needs a bearer token that the API server knows, and the token's user must be allowed to get the
 * nonResourceURL /metrics. (kube-rbac-proxy asks for the same.) 401 without a good token, 403 without
 * the right, 503 while it cannot be found out. Who has the right is vouched for (io/server.h). How a
 * page is written is the answerer's business.
 *
 * Threads: the front's.
 * Limits:  verdicts and requests that wait as configured, reviews under way too, at most
 *          METRICS_GATE_MAX_REVIEWS. Who finds no room gets 503. Strangers, of whom none was allowed in
 *          the last hour, have half of the room. Their reviews that begin:
 *          METRICS_GATE_REVIEWS_PER_SECOND, and of one address METRICS_GATE_CLIENT_REVIEWS_PER_SECOND. So
 *          strangers with bad tokens can neither flood the API server nor keep a reader out who was
 *          allowed before (controller/known_readers.h).
 */

#include "base/metric.h"
#include "controller/admission.h"
#include "io/loop.h"
#include "io/server.h"

#define METRICS_GATE_MAX_REVIEWS 32u
/* Reviews of strangers that may begin in a second; four times as many at once. */
#define METRICS_GATE_REVIEWS_PER_SECOND 20u
#define METRICS_GATE_CLIENT_REVIEWS_PER_SECOND 2u

/* What became of a request; the order of METRICS_GATE_LABELS. */
enum metrics_gate_outcome {
	METRICS_GATE_ACCEPTED,        /* handed to the answerer */
	METRICS_GATE_UNAUTHENTICATED, /* 401 */
	METRICS_GATE_FORBIDDEN,       /* 403 */
	METRICS_GATE_NOT_FOUND,       /* 404, 405 */
	METRICS_GATE_UNAVAILABLE,     /* 503: the API server did not say who it is */
	METRICS_GATE_BUSY,            /* 503: it is not asked, for too many tokens are being reviewed */
};

/* Label sets in that order, for a row of a metrics table. */
#define METRICS_GATE_LABELS                                                                   \
	METRIC_LABELS("outcome=\"accepted\"", "outcome=\"unauthenticated\"",                      \
		      "outcome=\"forbidden\"", "outcome=\"not_found\"",                             \
		      "outcome=\"unavailable\"", "outcome=\"busy\"")

struct metrics_gate_config {
	struct admission_config admission; /* decided and owner are the gate's to set; review is called
					      with the owner below */
	bool insecure;                     /* no token is asked for */
	uint64_t seed;                     /* of what tells clients apart */
	struct metric_registry *metrics;   /* NULL: none */
	size_t metric;                     /* the row of enum metrics_gate_outcome */
	/* Answers a request that may be answered, now or later. */
	void (*answer)(void *owner, struct server_request *request);
	void *owner;
};

struct metrics_gate;

/* loop and what config points to are borrowed for the gate's life. Fails with ERROR_NO_MEMORY. */
MUST_USE int metrics_gate_new(struct loop *loop, const struct metrics_gate_config *config,
			      struct metrics_gate **ret_gate, struct error *err);
/* Its server must be gone. Accepts NULL. */
void metrics_gate_free(struct metrics_gate *gate);
/* For server_new(). */
struct server_handler metrics_gate_handler(struct metrics_gate *gate);
/* As admission_answer(). */
void metrics_gate_answer_review(struct metrics_gate *gate, uint64_t ticket,
				const struct identity *identity);
/* Verdicts on tokens that are remembered. */
size_t metrics_gate_tokens(const struct metrics_gate *gate);
