/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * identity - who holds a token. It has the rules for the API server's review of a token, and keeps
 * a bounded number of verdicts. They are kept by the token's SHA-256, so tokens themselves are not
 * kept.
 *
 * A verdict is believed no longer than the configured time, and an accepting one no longer than the
 * token says it is valid. So a revoked token (its pod or service account was deleted) works until
 * then at most. What a token says of itself can only shorten that time.
 *
 * Threads: owner. Pure but for the digest: time is an argument.
 * Limits:  as configured. Accepting and refusing verdicts are bounded apart, so that a flood of bad
 *          tokens forgets no good one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/view.h"
#include "io/tls.h"

struct token_claims;
struct token_review;

enum identity_outcome {
	IDENTITY_ACCEPTED,
	IDENTITY_UNAUTHENTICATED, /* 401: the API server does not know the token, or not for us */
	IDENTITY_FORBIDDEN,       /* 403: it is known, and not an agent's on a known node */
};

/* Who may report. */
struct identity_rules {
	struct view audience;
	struct view namespace;       /* of the service account */
	struct view service_account;
};

struct identity {
	enum identity_outcome outcome;
	const char *reason; /* static, one line; "" when accepted */
	uint16_t node_len;  /* accepted: the node that the token's pod runs on */
	char node[LIMIT_TEXT_NAME];
};

/* The node of an accepted token, borrowed from identity; empty when it was refused. */
struct view identity_node(const struct identity *identity);
/* Judges a review. */
struct identity identity_judge(const struct identity_rules *rules,
			       const struct token_review *review);
/*
 * The token of an Authorization header's value, borrowed from it. False when that is no bearer
 * token that an API server could have made (RFC 6750, at most LIMIT_TOKEN_BYTES).
 */
bool identity_parse_bearer(struct view authorization, struct view *ret_token);
/*
 * What a token says of itself; NULL: it is no JSON Web Token. True when a review can only refuse it;
 * then *ret_identity says why. past is a time that is surely over, in seconds since 1970.
 *
 * The issuer is not compared. Only the API server knows which ones it accepts: several while it changes
 * from one to the next (--service-account-issuer). If that of accepted tokens counted, agents would be
 * refused from the change on until the controller restarts.
 */
bool identity_foresee(const struct identity_rules *rules, const struct token_claims *claims,
		      int64_t past, struct identity *ret_identity);

struct identity_cache;

#define IDENTITY_KNOWN_MS 3600000u

struct identity_cache_config {
	size_t max_accepted;
	size_t max_refused;
	uint32_t accepted_ms; /* how long a verdict is believed; up to a tenth less, so that tokens */
	uint32_t refused_ms;  /* that were reviewed together are not reviewed together again */
};

/* Empty at first; either maximum is at least 1. Fails with ERROR_NO_MEMORY. */
MUST_USE int identity_cache_new(const struct identity_cache_config *config,
				struct identity_cache **ret_cache, struct error *err);
/* Accepts NULL. */
void identity_cache_free(struct identity_cache *cache);
/*
 * What is believed of a token, borrowed until the next call; NULL: it must be reviewed. An accepting
 * verdict that is believed no longer is kept for IDENTITY_KNOWN_MS, for identity_cache_knows().
 */
const struct identity *identity_cache_find(struct identity_cache *cache,
					   const unsigned char digest[static TLS_DIGEST_SIZE],
					   uint64_t now_ms);
/* Whether the last verdict on the token was accepting, though it may not be believed any longer. */
bool identity_cache_knows(const struct identity_cache *cache,
			  const unsigned char digest[static TLS_DIGEST_SIZE]);
/*
 * Remembers a verdict; the one that was asked for longest ago makes room. valid_ms is how long the
 * token says that it is still valid, UINT64_MAX when it does not say. Without memory it is not
 * remembered, and the token will be reviewed again.
 */
void identity_cache_put(struct identity_cache *cache,
			const unsigned char digest[static TLS_DIGEST_SIZE],
			const struct identity *identity, uint64_t valid_ms, uint64_t now_ms);
/* Forgets everything. */
void identity_cache_clear(struct identity_cache *cache);
/* Number of verdicts remembered, also of those that are believed no longer. */
size_t identity_cache_count(const struct identity_cache *cache);
