/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * token_claims - what a JSON Web Token (RFC 7519) says of itself. Nobody has checked its signature
 * here: a claim may be a reason not to ask whose token it is, and never one to believe it.
 *
 * A service account's token of Kubernetes has the claims of
 * `{"aud":["a"],"exp":2,"iat":1,"sub":"system:serviceaccount:NS:NAME",
 *   "kubernetes.io":{"node":{"name":"n"}}}`.
 *
 * Threads: any. Pure.
 * Limits:  LIMIT_TOKEN_BYTES.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/sbuf.h"
#include "base/view.h"

/* Values as JSON, borrowed from the payload; empty: the token has no such claim. */
struct token_claims {
	struct view audience;  /* aud */
	struct view subject;   /* sub */
	struct view node_name; /* kubernetes.io, node, name */
	int64_t end;           /* exp, seconds since 1970; INT64_MAX: the token does not say */
	int64_t begin;         /* iat, seconds since 1970; INT64_MIN: the token does not say */
};

/*
 * Reads the claims. payload is initialised here and must outlive the claims; sbuf_deinit() at the end,
 * also on failure. False: it is no JSON Web Token, or memory ran out (payload->failure).
 */
bool token_claims_read(struct view token, struct sbuf *payload, struct token_claims *ret_claims);
/*
 * True when a claim is certainly another text than this one, or a list without it. An absent claim is.
 * Of a text that is written with escapes that is not known, and false.
 */
bool token_claims_excludes(struct view claim, struct view text);
