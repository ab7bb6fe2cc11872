/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * rest - what a status must say when nothing is under way any more; see AT_REST and NEEDLESS in
 * sim/oracle.h.
 *
 * Threads: any.
 */

#include <stdbool.h>

#include "model/attribution.h"
#include "sim/world.h"

/* Accuses the status of the device (NULL: there is none) of what is not so. */
void rest_judge(const struct attribution_status *status, int gpu);
/* The same, of what follows from trouble (sim/trouble.h) while it lasts. */
void rest_judge_trouble(const struct attribution_status *status, int gpu);
/* Both texts say the same but for times and the report that they were made from. */
bool rest_is_same_text(struct view a, struct view b);
/* What phase the API server's object bears out (enum attribution_phase). */
int rest_phase(const struct world_pod *pod, int container);
/* The pod is a tenant of all devices that it holds. */
bool rest_is_shown(const struct world_pod *pod);
/* It holds the device, and the API server says nothing else. */
bool rest_is_tenant(const struct world_pod *pod, int container, int gpu);
/* It holds the device, the API server says nothing else, and there is a record that says so. */
bool rest_must_show(const struct world_pod *pod, int container, int gpu);
/* Somebody has the device by a claim that is gone: nothing is left that says so. */
bool rest_is_beyond_claims(int gpu);
/* Somebody holds the device, and no record or claim is left that says so: its mode is as published. */
bool rest_is_beyond_proof(int gpu);
/* Somebody gave a slot of the device back since then. */
bool rest_was_released(int gpu, uint64_t since);
/* The mode that the IDs in use and on offer bear out (enum attribution_mode). */
int rest_mode(int gpu);
