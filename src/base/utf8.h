/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * utf8 - finds the characters of text from outside. https://www.rfc-editor.org/rfc/rfc3629
 *
 * Threads: any.
 */

#include "base/view.h"

/* The longest prefix of at most max bytes that does not cut a character. v is well-formed. */
struct view utf8_truncate(struct view v, size_t max);
/*
 * Length in bytes (1-4) of the character at the front; 0 when empty, or malformed, as surrogates
 * and overlong forms are.
 */
size_t utf8_next(struct view v);
