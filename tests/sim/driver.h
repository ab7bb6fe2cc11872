/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * driver - agent/nvml_library.h on the world's devices: those in the node that asks.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

/* Begins with drivers that answer. */
void driver_reset(void);
/* The node's driver answers nothing up to then. */
void driver_fail(int node, uint64_t until);
/* Somebody on the node waits for XID errors. */
bool driver_is_watched(int node);
