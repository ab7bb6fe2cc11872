/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * printable - text from a cluster, made safe for a terminal. Nothing in it moves the cursor, changes
 * colours, starts a line or turns the direction of writing.
 *
 * Threads: any.
 */

#include "base/sbuf.h"

/*
 * Appends text; control characters, those that turn the direction of writing, and bytes that are
 * not UTF-8 become escapes such as \n, \x1b and \u202e. Failure is the buffer's.
 */
void printable_append(struct sbuf *buf, struct view text);
/* The number of characters of well-formed text, each taken to be one column wide. */
size_t printable_width(struct view text);
/*
 * Takes one line of at most `room` characters, at least 1, from well-formed text; *text becomes the
 * rest. A line ends between words or behind a comma. A word that is longer than a line ends in several.
 */
struct view printable_take_line(struct view *text, size_t room);
