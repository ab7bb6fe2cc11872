/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * usage - what --help prints.
 *
 * Threads: any.
 */

#include "kubectl/invocation.h"

/* The help of a command. Static. */
const char *usage_of(enum invocation_verb verb);
