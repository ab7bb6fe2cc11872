/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * again - when something is to be looked at again, in milliseconds from now; -1: time alone does not
 * change it.
 *
 * Threads: any; pure.
 */

#include <stdint.h>

/* The sooner of two; -1 when both are. */
static inline int64_t again_sooner(int64_t a, int64_t b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}
