/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jwalk - walks the members of one JSON object that is whole in memory, as pbscan walks a protobuf
 * message. It is for the few members that must be known before decoding the rest is worth it.
 *
 * Threads: any; an object belongs to its caller and must not be copied.
 * Limits:  nesting of at most 64.
 */

#include "base/error.h"
#include "base/view.h"
#include "wire/jlex.h"

struct jwalk {
	struct jlex lex;
	struct error err; /* kind ERROR_NONE: nothing is wrong so far */
	bool begun;
	bool ended;
};

/* object: "{...}", with blanks around it. */
void jwalk_init(struct jwalk *walk, struct view object);
/*
 * The next member: *ret_key is what stands between its quotes, escapes and all, *ret_value the
 * bytes of its value. False at the end and on malformed input; jwalk_check() tells the two apart.
 */
bool jwalk_next(struct jwalk *walk, struct view *ret_key, struct view *ret_value);
/* 0, or -1 with ERROR_REJECTED or ERROR_LIMIT and `what` when what was walked is malformed. */
MUST_USE int jwalk_check(const struct jwalk *walk, const char *what, struct error *err);
/*
 * What stands between the quotes of a value that jwalk_next() gave. False when it is no string or
 * has escapes: names, UIDs and versions need none. *ret is then untouched.
 */
bool jwalk_text(struct view value, struct view *ret);
