/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * child - runs a program and reads what it prints while it runs. It has this program's standard
 * input, terminal and environment, so that it can ask for a password.
 *
 * Threads: the main thread.
 */

#include "base/error.h"
#include "base/view.h"

struct kubectl_error;

/* Takes bytes of standard output. A failure ends the child. */
typedef int (*child_take_fn)(void *context, struct view bytes, struct error *err);

/*
 * Runs argv[0], looked for on PATH, to its end. What it says on standard error goes through
 * said. *ret_status is its exit status, or 128 and the number of the signal that ended it.
 * Fails with ERROR_NOT_FOUND when there is no such program, with ERROR_RETRY, or as `take` did.
 */
MUST_USE int child_run(const char *const *argv, child_take_fn take, void *context,
		       struct kubectl_error *said, int *ret_status, struct error *err);
