/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * map_entry - one entry of a protobuf map whose keys are texts: labels, annotations, resource
 * lists, environments. On the wire an entry is a message {key = 1, value = 2}; either may be
 * missing when it is empty.
 *
 * Threads: any.
 */

#include "base/error.h"
#include "base/view.h"

struct map_entry {
	struct view key;
	struct view value; /* a text, or a message */
};

/*
 * Takes an entry apart; both views are borrowed from it. Fails with ERROR_REJECTED; *ret_entry is
 * then untouched.
 */
MUST_USE int map_entry_decode(struct view message, struct map_entry *ret_entry, struct error *err);

/* As map_entry_decode() where the value is a message whose field 1 is a text (a Quantity). */
MUST_USE int map_entry_decode_quantity(struct view message, struct map_entry *ret_entry,
				       struct error *err);
