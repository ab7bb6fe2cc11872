/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * overlaps - what a kubelet without its records gave out twice, by the truth: one device ID in the
 * hands of two pods.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/attribution.h"

/* Two pods have, or had since then, one ID of the device at once. */
bool overlaps_are_there(int gpu, uint64_t since);
/* The status says that there is one. */
bool overlaps_are_said(const struct attribution_status *status);
/* At rest: accuses the status of the device of saying so without need, or of not saying so. */
void overlaps_judge(const struct attribution_status *status, int gpu);
