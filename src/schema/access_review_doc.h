/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * access_review_doc - SubjectAccessReview of authorization.k8s.io/v1: asks the API server whether the
 * user of a token may do something with a path, and reads the answer.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "base/sbuf.h"

struct token_review;

/* What is to be done with a path of ours, which is no resource. */
struct access_review_request {
	struct view path; /* "/metrics" */
	struct view verb; /* "get" */
};

/*
 * Appends the body of a POST. All that the API server said of the user goes back to it as it came:
 * some authorizers look at `extra`. Failure is the buffer's.
 */
void access_review_doc_encode(const struct token_review *user,
			      const struct access_review_request *request, struct sbuf *buf);
/*
 * Decodes the answer: may they? What is both allowed and denied is denied. Fails with ERROR_REJECTED,
 * ERROR_LIMIT or ERROR_NO_MEMORY; *ret_allowed is then false.
 */
MUST_USE int access_review_doc_decode(struct view json, struct arena *arena, bool *ret_allowed,
				      struct error *err);
