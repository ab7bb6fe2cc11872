/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * admission - who holds the token of a request? What was judged lately is remembered. What a token
 * says of itself may be enough to refuse it. For the rest a review is asked for, one for each token
 * however many requests come with it, and the requests wait. A verdict is remembered until shortly
 * before the end that its token states.
 *
 * A token that was accepted before is reviewed again whatever others ask for. All others share the
 * reviews under way by controller/review_quota.h.
 *
 * Threads: the front's.
 * Limits:  reviews under way, requests that wait, and the time a review may take, as configured;
 *          what goes beyond is told so at once.
 */

#include "base/metric.h"
#include "controller/identity.h"
#include "controller/review_quota.h"

struct admission;

struct admission_config {
	struct identity_cache_config cache;
	/* NULL: what tokens say of themselves refuses none; borrowed for the admission's life. */
	const struct identity_rules *rules;
	struct review_quota_limits quota;
	uint32_t max_reviews; /* under way at a time */
	uint32_t max_waiting; /* requests that wait for them */
	uint32_t timeout_ms;  /* of a review */
	/* Starts a review, which admission_answer() ends; token is borrowed for the call. False: not
	 * now. */
	bool (*review)(void *owner, uint64_t ticket, struct view token);
	/* A request need wait no longer. identity, borrowed for the call, is NULL when no verdict could
	 * be had. Never called from inside admission_ask(). */
	void (*decided)(void *owner, void *request, const struct identity *identity);
	void *owner;
};

/* Nothing is remembered yet. config is copied, owner borrowed. Fails with ERROR_NO_MEMORY. */
MUST_USE int admission_new(const struct admission_config *config, struct admission **ret_admission,
			   struct error *err);
/* Requests that wait are not told. Accepts NULL. */
void admission_free(struct admission *admission);

enum admission_step {
	ADMISSION_KNOWN, /* *ret_identity is the verdict, borrowed until the next call */
	ADMISSION_WAIT,  /* decided() will be called for the request */
	ADMISSION_BUSY,  /* a limit is reached: try again later */
	ADMISSION_TOO_OFTEN, /* this client's limit is */
	ADMISSION_CROWDED,   /* that of all clients that are not known is */
};

/* What is borrowed is so for the call. */
struct admission_question {
	struct view token;
	struct view network; /* of the client: server_head.network */
	bool is_known;       /* a good token came from there lately */
	void *request;       /* only the pointer is kept */
	uint64_t now_ms;     /* monotonic */
	int64_t now_wall_ms;
};
/*
 * Who holds the token? *ret_identity is set with ADMISSION_KNOWN only. No memory: ADMISSION_BUSY.
 */
enum admission_step admission_ask(struct admission *admission,
				  const struct admission_question *question,
				  const struct identity **ret_identity);
/*
 * The verdict on the review with this ticket; NULL: it failed, which is not remembered. A review
 * that is over already is ignored. now_wall_ms is for the end that tokens state.
 */
void admission_answer(struct admission *admission, uint64_t ticket, const struct identity *identity,
		      uint64_t now_ms, int64_t now_wall_ms);
/* Ends reviews that took too long. Returns when to call next; UINT64_MAX: none is under way. */
uint64_t admission_expire(struct admission *admission, uint64_t now_ms);
/* What became of questions whose verdict was not remembered; each only rises. */
struct admission_counters {
	uint64_t reviewed;  /* reviews that began */
	uint64_t foreseen;  /* tokens refused by what they say of themselves */
	uint64_t too_often;
	uint64_t crowded;
	uint64_t busy;
};
/* Label sets in that order, for a row of a metrics table. */
#define ADMISSION_LABELS                                                                      \
	METRIC_LABELS("outcome=\"reviewed\"", "outcome=\"refused_by_claims\"",                  \
		      "outcome=\"throttled\"", "outcome=\"strangers_throttled\"",               \
		      "outcome=\"busy\"")
/* Since admission_new(). */
struct admission_counters admission_counters(const struct admission *admission);
/* Verdicts remembered. */
size_t admission_count(const struct admission *admission);
