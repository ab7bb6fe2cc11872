/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reviewer - asks the API server whose token this is (TokenReview), for the front, which cannot. Of
 * who wants to read /metrics it also asks whether they may (SubjectAccessReview).
 *
 * Threads: the loop's.
 * Limits:  reviews under way, of agents and of readers each. The front has as many at a time, but gives up
 *          those that take long. Above the limit the oldest one is such, and ends for the next.
 */

#include "base/error.h"
#include "kube/apiclient.h"

struct front;
struct reviewer;

struct reviewer_config {
	struct apiclient *client; /* this and the next are borrowed and must outlive the reviewer */
	struct front *front;
	const char *audience; /* of agents' tokens; borrowed likewise */
	uint32_t max_agents;  /* reviews under way; at least 1, as the next */
	uint32_t max_readers;
};

/* config is copied. Fails with ERROR_NO_MEMORY. */
MUST_USE int reviewer_new(const struct reviewer_config *config, struct reviewer **ret_reviewer,
			  struct error *err);
/* Reviews under way are cancelled; the front is not told. Accepts NULL. */
void reviewer_free(struct reviewer *reviewer);
/*
 * Reviews a token; the verdict, or that there is none, goes to the front under this ticket. It is told
 * that there is none, too, of a review that ends for the next.
 */
void reviewer_review(struct reviewer *reviewer, uint64_t ticket, struct view token);
/*
 * Reviews the token of somebody who wants to read /metrics. The API server must know it, for its own
 * audience, and allow its user the verb get on that path. What comes of it goes to the front under
 * this ticket, by front_answer_reader().
 */
void reviewer_review_reader(struct reviewer *reviewer, uint64_t ticket, struct view token);
