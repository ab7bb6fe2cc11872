/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_text - makes the texts of a finding. Failure is sticky: who calls the rules asks once, at the
 * end.
 *
 * Threads: owner.
 * Limits:  LIMIT_TEXT_SETTING bytes a text; what is longer is cut.
 */

#include "base/arena.h"

struct drift_text {
	struct arena *arena;
	bool has_failed; /* there was no memory for a text */
};

/*
 * A text in the arena: each '%' of the template is one of the values, struct view, in their order. It
 * is empty if there is no memory.
 */
#define drift_text(text, template, ...)                                                      \
	drift_text_fill(text, VIEW(template), (const struct view[]){__VA_ARGS__},            \
			ARRAY_SIZE(((const struct view[]){__VA_ARGS__})))
/* That macro; there is a value for each '%', and no other. */
struct view drift_text_fill(struct drift_text *text, struct view template,
			    const struct view *values, size_t n_values);
/* The number, as a value. */
struct view drift_text_number(struct drift_text *text, int64_t number);
/* The list with one more item behind a comma. */
struct view drift_text_add(struct drift_text *text, struct view list, struct view item);
/* 0, or -1 with ERROR_NO_MEMORY. */
MUST_USE int drift_text_check(const struct drift_text *text, struct error *err);
