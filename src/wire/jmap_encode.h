/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jmap_encode - writes a struct as a JSON document, by a table of jmap.
 *
 * Threads: any.
 * Limits:  the buffer's.
 */

#include "base/sbuf.h"
#include "wire/jmap.h"

/*
 * Appends the struct as one JSON object, members in the table's order. Optional members with zero
 * values are left out (see JMAP_KEEP_ZERO), an object without a `present` bool if all its members
 * are zero. Failure is the buffer's.
 */
void jmap_encode(const struct jmap_row *rows, const void *object, struct sbuf *buf);
