/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scenario_intent - the statements of a scenario about what is intended: policies, ConfigMaps and labels.
 *
 * Threads: a test's own.
 */

#include "lib/scenario_line.h"

/* The last one has no word. */
extern const struct scenario_statement scenario_intent[];
