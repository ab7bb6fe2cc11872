/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * leaks - whether a kubelet refuses pods though slots of the device are free, by the world alone.
 *
 * Threads: the program's only one.
 */

#include "sim/differences.h"

/* Of a device that is in a node. */
enum difference_state leaks_state(int gpu);
