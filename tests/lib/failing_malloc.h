/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * failing_malloc - lets one chosen allocation of the code under test fail.
 *
 * The linker sends malloc, calloc, realloc, reallocarray, strdup and strndup of our own code here;
 * shared libraries keep theirs. The usual loop, which ends when k is beyond the last allocation:
 *
 *	bool failed = true;
 *	for (unsigned k = 1; failed; k++) {
 *		failing_malloc_at(k);
 *		int result = module_call(...);
 *		failed = failing_malloc_off();
 *		assert_int_equal(result, failed ? -1 : 0);
 *	}
 *
 * Threads: any; each thread has its own setting.
 */

#include <stdbool.h>

/* The k-th allocation of this thread from now on fails, those before and behind it do not. */
void failing_malloc_at(unsigned k);
/* No allocation fails any more. True when one did since failing_malloc_at(). */
bool failing_malloc_off(void);
/* Allocations of this thread since failing_malloc_at(), failed ones included. */
unsigned failing_malloc_count(void);
