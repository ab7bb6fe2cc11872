/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * command - carries out one invocation: asks, chooses, shows.
 *
 * Threads: the main thread.
 */

#include "kubectl/invocation.h"

struct output;

/* The program's exit status. */
enum command_status {
	COMMAND_FOUND = 0,
	COMMAND_NOT_FOUND = 1,
	COMMAND_FINDING = 1, /* with --check: something was found */
	COMMAND_USAGE = 2,  /* the command line must say more, or other things */
	COMMAND_FAILED = 3, /* it could not be found out */
};

/*
 * Carries it out with `kubectl`, a name or a path, and writes what there is to say to output. The
 * outcome of the invocation is OPTION_RUN.
 */
enum command_status command_run(const struct invocation *invocation, const char *kubectl,
				struct output *output);
