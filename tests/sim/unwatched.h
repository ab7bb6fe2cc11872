/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * unwatched - devices that are reset, and others that only look so, while no agent watches. It happens in
 * half of the fleets whose devices fall ill, chosen by its seed, from a stream of its own.
 *
 * Half of the nodes there have no persistence mode: their driver counts errors anew once nobody uses the
 * device. That is no reset, and settles nothing. On such nodes a driver that asks for a reset does so until
 * there is one.
 *
 * What reports told the present controller is noted. So it is known which resets it must have seen: the
 * driver asked and asks no more, and a count fell. crds/README.md says so in "Resetting a GPU".
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

/* Whether such things happen in a history of that seed. */
bool unwatched_is_there(uint64_t seed);
/* After the world's. */
void unwatched_reset(uint64_t seed);
/* How the node's driver counts. */
void unwatched_set_up(int node);
/* From now on all drivers count on. */
void unwatched_freeze(void);

/* Its driver counts anew once nobody uses a device. */
bool unwatched_forgets(int node);
/* The node's agent has ended, or is about to start: now nobody but processes uses the devices. */
void unwatched_left(int node);

/* The controller has accepted that report of the node. */
void unwatched_heard(int node, struct view body);
/* It must know that the device was reset after that; 0: it need know of no reset. */
uint64_t unwatched_reset_since(int gpu);
