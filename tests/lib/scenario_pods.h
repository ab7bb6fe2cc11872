/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scenario_pods - the statements of a scenario about devices, pods, books and claims.
 *
 * Threads: a test's own.
 */

#include "lib/scenario_line.h"

/* The last one has no word. */
extern const struct scenario_statement scenario_pods[];
