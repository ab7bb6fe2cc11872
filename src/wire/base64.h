/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * base64 - standard alphabet with padding, RFC 4648 section 4.
 *
 * Threads: any.
 */

#include "base/sbuf.h"

/* Appends the decoded bytes; line ends are skipped. False on other malformed input: *out is as before. */
bool base64_decode(struct view text, struct sbuf *out);
/* Appends the encoded text. Failure is the buffer's. */
void base64_encode(struct view bytes, struct sbuf *out);
