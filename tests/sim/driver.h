/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * driver - agent/nvml_library.h on the world's devices: those in the node that asks.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

struct world_gpu;

/* Begins with drivers that answer. */
void driver_reset(void);
/* The node's driver answers nothing up to then. */
void driver_fail(int node, uint64_t until);
/* The library and the node's kernel module are of different versions up to then. */
void driver_mismatch(int node, uint64_t until);
bool driver_is_mismatched(int node);
/* When somebody last began to watch one of its devices for errors; 0: nobody has. */
uint64_t driver_watched_since(int node);
/* It has errors that it has not told of. */
bool driver_has_errors(int node);
/* The errors that it has not told of yet it never tells. */
void driver_forget_errors(int node);
/* The device, which is in a node, raises an error. While nobody waits for errors there it is missed. */
void driver_raise(struct world_gpu *gpu, int code, int partition);
