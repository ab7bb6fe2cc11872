/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jmap_decode - reads a JSON document into a struct, by a table of jmap.
 *
 * Decoding refuses
 * - what is not JSON (RFC 8259), and nesting that is too deep;
 * - a member given twice, and a missing required member;
 * - a wrong type, and a text or array over its row's limit, as soon as that is seen;
 * - a text with U+0000 or half of a surrogate pair.
 * The error has the path of the member ("devices[3].uuid: not a string"). Unknown members are
 * checked to be JSON and otherwise ignored, whatever they hold. An absent or null optional member
 * leaves the struct's zero.
 *
 * Threads: any.
 * Limits:  depth as given, texts and arrays as their rows say.
 */

#include "base/arena.h"
#include "base/error.h"
#include "base/view.h"
#include "wire/jmap.h"

/*
 * Decodes text into *ret (a zeroed struct that `rows` describes). Texts and arrays lie in arena.
 * Fails with ERROR_REJECTED, ERROR_LIMIT or ERROR_NO_MEMORY; *ret is then zeroed again.
 */
MUST_USE int jmap_decode(struct view text, unsigned max_depth, const struct jmap_row *rows,
			 struct arena *arena, void *ret, size_t ret_size, struct error *err);
