/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jindent - lays JSON out for people: a member or element a line, two blanks a level.
 *
 * Threads: any.
 */

#include "base/sbuf.h"

/*
 * Appends json, which is well-formed and without blanks between its tokens as jout and jmap write
 * it, with line ends and blanks, and a final line end. Failure is the buffer's.
 */
void jindent(struct view json, struct sbuf *buf);
