/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * known_readers - who was allowed to read /metrics in the last hour: by token, and by the address that
 * it came from. A token is replaced now and then, and its reader comes from where it came before.
 *
 * Threads: owner; pure.
 * Limits:  KNOWN_READERS_MAX; whoever was allowed longest ago makes room. An address that does not fit
 *          is not kept.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/credit.h"
#include "base/view.h"
#include "io/tls.h"

#define KNOWN_READERS_MAX 64u
#define KNOWN_READERS_FOR_MS 3600000u
/* Reviews that may begin in a second, of a known token, and of further tokens from a known address. */
#define KNOWN_READERS_REVIEWS_PER_SECOND 2u

struct known_readers_entry {
	uint64_t allowed_at_ms; /* 0: none */
	struct credit token, address;
	unsigned char digest[TLS_DIGEST_SIZE]; /* of the token */
	char peer[48];                         /* empty: not kept */
};

/* All zero: none. */
struct known_readers {
	struct known_readers_entry entries[KNOWN_READERS_MAX];
};

/* The token with this digest was allowed just now. */
void known_readers_add(struct known_readers *readers,
		       const unsigned char digest[static TLS_DIGEST_SIZE],
		       struct view peer, uint64_t now_ms);
/* The token with this digest is no longer allowed. */
void known_readers_remove(struct known_readers *readers,
			  const unsigned char digest[static TLS_DIGEST_SIZE]);
/*
 * True when this is one of them, by token or by address; then *ret_may_begin says whether a review may
 * begin, and it is drawn.
 */
bool known_readers_draw(struct known_readers *readers,
			const unsigned char digest[static TLS_DIGEST_SIZE], struct view peer,
			uint64_t now_ms, bool *ret_may_begin);
