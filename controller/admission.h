/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * admission - who holds the token of a request? What was judged lately is remembered; for the rest
 * a review is asked for, one for each token however many requests come with it, and the requests
 * wait. A verdict is remembered until shortly before the end that its token states.
 *
 * Threads: the front's.
 * Limits:  reviews under way, requests that wait, and the time a review may take, as configured;
 *          what goes beyond is told so at once.
 */

#include "controller/identity.h"

struct admission;

struct admission_config {
	struct identity_cache_config cache;
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
};
/*
 * Who holds the token? It is borrowed for the call; of the request only the pointer is kept. now_ms
 * is monotonic. *ret_identity is set with ADMISSION_KNOWN only. No memory: ADMISSION_BUSY.
 */
enum admission_step admission_ask(struct admission *admission, struct view token, void *request,
				  uint64_t now_ms, const struct identity **ret_identity);
/*
 * The verdict on the review with this ticket; NULL: it failed, which is not remembered. A review
 * that is over already is ignored. now_wall_ms is for the end that tokens state.
 */
void admission_answer(struct admission *admission, uint64_t ticket, const struct identity *identity,
		      uint64_t now_ms, int64_t now_wall_ms);
/* Ends reviews that took too long. Returns when to call next; UINT64_MAX: none is under way. */
uint64_t admission_expire(struct admission *admission, uint64_t now_ms);
/* Verdicts remembered. */
size_t admission_count(const struct admission *admission);
