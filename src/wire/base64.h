/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * base64 - standard alphabet with padding, RFC 4648 section 4; and, to read tokens, the one for URLs
 * without padding, section 5.
 *
 * Threads: any.
 */

#include "base/sbuf.h"

/* Appends the decoded bytes; line ends are skipped. False on other malformed input: *out is as before. */
bool base64_decode(struct view text, struct sbuf *out);
/* The same of the alphabet for URLs, where there is neither padding nor a line end. Bits that the last
 * character has too many must be zero: no two texts have the same bytes. */
bool base64_decode_url(struct view text, struct sbuf *out);
/* Appends the encoded text. Failure is the buffer's. */
void base64_encode(struct view bytes, struct sbuf *out);
