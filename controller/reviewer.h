/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * reviewer - asks the API server whose token this is (TokenReview), for the front, which cannot. Of
 * who wants to read /metrics it also asks whether they may (SubjectAccessReview).
 *
 * Threads: the loop's.
 * Limits:  the front bounds how many reviews are under way.
 */

#include "base/error.h"
#include "kube/apiclient.h"

struct front;
struct reviewer;

/* client and front are borrowed and must outlive the reviewer; audience is borrowed. */
MUST_USE int reviewer_new(struct apiclient *client, struct front *front, const char *audience,
			  struct reviewer **ret_reviewer, struct error *err);
/* Reviews under way are cancelled; the front is not told. Accepts NULL. */
void reviewer_free(struct reviewer *reviewer);
/* Reviews a token; the verdict, or that there is none, goes to the front under this ticket. */
void reviewer_review(struct reviewer *reviewer, uint64_t ticket, struct view token);
/*
 * Reviews the token of somebody who wants to read /metrics. The API server must know it, for its own
 * audience, and allow its user the verb get on that path. What comes of it goes to the front under
 * this ticket, by front_answer_reader().
 */
void reviewer_review_reader(struct reviewer *reviewer, uint64_t ticket, struct view token);
