/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * compiler - the few attributes and expressions that gcc and clang have and C17 has not.
 */

#include <stddef.h>

/* The result says whether the call failed: ignoring it is a compile error with -Werror. */
#define MUST_USE __attribute__((warn_unused_result))

/* Checks a printf-like function: format is argument number f, its values start at a. */
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* Runs fn(&variable) when the variable goes out of scope; fn accepts a pointer to NULL or zero. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Moves a pointer out of a variable, leaving NULL behind: `*ret_x = TAKE(x);`. */
#define TAKE(p)                                \
	__extension__({                        \
		__typeof__(p) taken_ = (p);    \
		(p) = NULL;                    \
		taken_;                        \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The struct whose member is at ptr. */
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))
