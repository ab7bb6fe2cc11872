/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * prompt - the rule LATE of sim/oracle.h: what the controller was told shows in the statuses soon,
 * as long as nothing is wrong that could hold it up.
 *
 * Threads: the program's only one.
 */

#include "sim/world.h"

/* The controller was told of the pod as it is now. */
void prompt_told(const struct world_pod *pod);
/* The controller has accepted a report of the node. */
void prompt_heard(int node);
/* Has it done so, at least `from_ms` and at most `until_ms` ago, since it started? */
bool prompt_has_heard(int node, uint64_t from_ms, uint64_t until_ms);
/* The controller may not read pods until then. */
void prompt_denied(uint64_t until);
/* Watches may be away until then, and for as long as it takes to begin them anew. */
void prompt_disturbed(uint64_t until);
/* Nothing has happened yet; from now on silent nodes, and pods that are denied, are looked for. */
void prompt_reset(void);
/* The kubelet has given the pod its devices. */
void prompt_allocated(const struct world_pod *pod);
