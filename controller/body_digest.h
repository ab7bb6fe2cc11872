/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * body_digest - tells, without decoding it, that the body of a report is the one accepted before but
 * for its sequence number.
 *
 * It rests on three things. (1) The body before was accepted by report_doc_decode(). (2) All bytes
 * outside the digits of the top-level member "sequence" are the same, which SHA-256 says. (3) Any
 * decimal integer from 0 to 10^18 - 1 is accepted in that place, and nothing else in a report is
 * checked against it. So a body that matches would be accepted too, and decode to the same report
 * with another sequence number. What does not match is decoded, and may still say the same.
 *
 * Threads: any; a value.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "io/tls.h"

/* All zero: nothing was learned, nothing matches. */
struct body_digest {
	uint32_t at;   /* where the digits begin; 0: nothing learned */
	uint32_t tail; /* bytes behind the digits */
	unsigned char digest[TLS_DIGEST_SIZE]; /* of all but the digits */
};

/*
 * Remembers a body that was accepted with this sequence number; forgets it instead when its number
 * is written in a way that cannot be recognised again, and without memory.
 */
void body_digest_learn(struct body_digest *known, struct view body, int64_t sequence);
/* True when body is the one learned but for its number, which is then *ret_sequence. False without
 * memory. */
bool body_digest_match(const struct body_digest *known, struct view body, int64_t *ret_sequence);
