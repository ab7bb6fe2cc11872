/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * driver - agent/nvml_library.h on the world's devices: those in the node that asks.
 *
 * Threads: the program's only one.
 */

#include <stdint.h>

void driver_reset(void);
/* The node's driver answers nothing up to then. */
void driver_fail(int node, uint64_t until);
