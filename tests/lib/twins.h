/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * twins - two texts that differ and have one hash, to see whether what is found by a hash is
 * compared as well.
 *
 * Threads: a test's own.
 */

#include "base/view.h"

struct twins {
	struct view one, other;
};

/* The same ones each time that it is called; they live as long as the process. */
struct twins twins_find(void);
