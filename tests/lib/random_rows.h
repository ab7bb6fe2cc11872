/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * random_rows - fills a struct with random values that its jmap rows allow, so that one property
 * test covers every member of a document, also those that are added later.
 *
 * Threads: a test's own.
 */

#include "base/arena.h"
#include "base/prng.h"
#include "wire/jmap.h"

/* Fills the zeroed struct; texts and arrays lie in arena. Ends the test when the arena is full. */
void random_rows_fill(const struct jmap_row *rows, struct prng *prng, struct arena *arena,
		      void *object);
