/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jmap_scalar - reads one value that has no members and no elements: a text, a number, a boolean, a
 * name or a time. Used by jmap_decode only.
 *
 * Threads: owner.
 * Limits:  of the row.
 */

#include "base/view.h"
#include "wire/jmap.h"
#include "wire/jmap_input.h"

/*
 * Each reads the next value of the document. They fail as jmap_decode() does, and *ret is then
 * undefined.
 */

/* A text of at most limit bytes, copied into the arena. */
MUST_USE int jmap_scalar_text(struct jmap_input *in, size_t limit, const struct jmap_path *path,
			      struct view *ret);
/* A whole number, within the row's limit. */
MUST_USE int jmap_scalar_i64(struct jmap_input *in, const struct jmap_row *row,
			     const struct jmap_path *path, int64_t *ret);
/* True or false. */
MUST_USE int jmap_scalar_bool(struct jmap_input *in, const struct jmap_path *path, bool *ret);
/* The same as a JMAP_TOGGLE: 1 or 2. */
MUST_USE int jmap_scalar_toggle(struct jmap_input *in, const struct jmap_path *path, int *ret);
/* One of the row's names, as its index. */
MUST_USE int jmap_scalar_enum(struct jmap_input *in, const struct jmap_row *row,
			      const struct jmap_path *path, int *ret);
/* An RFC 3339 time, in ms since 1970. */
MUST_USE int jmap_scalar_time(struct jmap_input *in, const struct jmap_path *path, int64_t *ret);
