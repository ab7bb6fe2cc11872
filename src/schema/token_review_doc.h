/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * token_review_doc - TokenReview of authentication.k8s.io/v1: asks the API server whose token this
 * is, and reads the answer.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "base/array.h"
#include "base/sbuf.h"

/* What the API server says of a token. Unless authenticated, only error has a meaning. */
struct token_review {
	bool authenticated;
	struct view username;  /* "system:serviceaccount:<namespace>:<name>" */
	struct view node_name; /* of the pod that the token is bound to; empty: not known */
	struct view node_uid;
	struct view pod_name;
	struct view pod_uid;
	struct array audiences; /* struct view; those asked for that the token is meant for */
	struct view uid;        /* of the user */
	struct array groups;    /* struct view */
	struct view extra;      /* what else is known of the user: a JSON object, or empty */
	struct view error;
};

/*
 * Appends the body of a POST for this token and audience. An empty audience is the API server's own.
 * Failure is the buffer's.
 */
void token_review_doc_encode(struct view token, struct view audience, struct sbuf *buf);

/*
 * Decodes the answer; texts lie in arena, `extra` is borrowed from json. Fails with ERROR_REJECTED, ERROR_LIMIT or
 * ERROR_NO_MEMORY; *ret_review is then untouched.
 */
MUST_USE int token_review_doc_decode(struct view json, struct arena *arena,
				     struct token_review *ret_review, struct error *err);
