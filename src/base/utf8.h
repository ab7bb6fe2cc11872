/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * utf8 - checks and repairs text from outside. https://www.rfc-editor.org/rfc/rfc3629
 *
 * Threads: any.
 */

#include "base/view.h"

/* True when v is well-formed UTF-8 (no surrogates, no overlong forms). */
bool utf8_valid(struct view v);
/* The longest prefix of at most max bytes that does not cut a character. v is well-formed. */
struct view utf8_truncate(struct view v, size_t max);
/* Length in bytes (1-4) of the character at the front, 0 when malformed or empty. */
size_t utf8_next(struct view v);
