/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * error - why a call failed, named by what its caller should do next.
 *
 * A fallible function returns 0 or -1 and takes a `struct error *` last, never NULL. Nothing is
 * allocated while failing. Expected outcomes (not found in a table, nothing to do) are not errors.
 *
 * Threads: any; an object belongs to its caller.
 * Limits:  text is one line of at most 191 bytes, control characters replaced by '?'.
 */

#include <stdint.h>

#include "base/compiler.h"

enum error_kind {
	ERROR_NONE = 0,
	ERROR_RETRY,     /* passing trouble: try again after a back-off */
	ERROR_THROTTLED, /* try again after retry_after_ms */
	ERROR_CONFLICT,  /* somebody else changed it: read again, apply again */
	ERROR_EXPIRED,   /* the position is no longer served: list again */
	ERROR_NOT_FOUND, /* the thing is not there */
	ERROR_DENIED,    /* credentials are missing or do not suffice: an operator must act */
	ERROR_REJECTED,  /* the input is malformed or refused: trying again does not help */
	ERROR_LIMIT,     /* a stated limit was reached */
	ERROR_NO_MEMORY,
	ERROR_STOPPING,  /* the program is ending */
};

struct error {
	enum error_kind kind;
	int os_errno;            /* at the origin, or 0 */
	uint32_t retry_after_ms; /* ERROR_THROTTLED only, else 0 */
	char text[192];
};

/*
 * Fills *err and returns -1, so that an origin is one line:
 *	return error_set(err, ERROR_RETRY, errno, "connect %s", host);
 * With os_errno other than 0 the text ends in its meaning.
 */
PRINTF_LIKE(4, 5) int error_set(struct error *err, enum error_kind kind, int os_errno, const char *format, ...);

/* Puts context before the text ("list pods: connect ..."), keeps the kind, returns -1. */
PRINTF_LIKE(2, 3) int error_wrap(struct error *err, const char *format, ...);

/* error_set() with ERROR_NO_MEMORY and a fixed text. */
int error_no_memory(struct error *err);

/* Makes *err say that nothing failed. */
void error_clear(struct error *err);

/* The kind in lower-case words ("retry", "not found"), static. */
const char *error_kind_name(enum error_kind kind);

/*
 * Every caller sees here that the three functions above return -1. Otherwise a compiler or analyser
 * must assume that a failure may look like success, and that outputs were set.
 */
static inline int error_failed_(void)
{
	return -1;
}
#define error_set(...) (error_set(__VA_ARGS__), error_failed_())
#define error_wrap(...) (error_wrap(__VA_ARGS__), error_failed_())
#define error_no_memory(err) (error_no_memory(err), error_failed_())
