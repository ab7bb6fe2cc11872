/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * strain - what comes and goes: NVLinks that are down, a fabric that is not joined, a PCIe link that is
 * narrow or slow, clocks that are kept low.
 *
 * In every second fleet, chosen by its seed, some devices are so now and then, and most drivers tell.
 * What is chosen comes from a stream of its own.
 *
 * Some of it counts only when all readings said so for a time, or said the opposite. What each reading
 * told the agent is kept: so a status can be compared with what its own report's agent had seen.
 *
 * Threads: the program's only one.
 * Limits:  what does not fit is not judged.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/nvml_abi.h"
#include "model/attribution.h"

/* The agent's --slow-after, --slow-clear-after, --narrow-after, here shorter than by default. */
#define STRAIN_SLOW_MS 30000u
#define STRAIN_FAST_MS 60000u
#define STRAIN_NARROW_MS 45000u

/* What drivers tell, or do not, as bits. */
enum strain_part {
	STRAIN_PART_NVLINK = 0x1,
	STRAIN_PART_FABRIC = 0x2,
	STRAIN_PART_PCIE = 0x4,
	STRAIN_PART_CLOCKS = 0x8,
};

/* After the world's. */
void strain_reset(uint64_t seed);
/* What the node's driver can tell. */
void strain_set_up(int node);
/* From now on all is as it is, for good: so, or not so. */
void strain_freeze(void);
/* The node's agent was started; its driver is read. */
void strain_started(int node);
void strain_read(int node);

/* The driver tells any of it; that part of it. */
bool strain_can_read(int gpu);
bool strain_tells(int gpu, enum strain_part part);
/* What the driver answers: codes of NVML. */
int strain_nvlink(int gpu, unsigned link, int *ret_active);
int strain_fabric(int gpu, struct nvml_abi_fabric_info *ret);
int strain_pcie(int gpu, bool max, unsigned *ret_lanes);
int strain_pcie_generation(int gpu, bool max, unsigned *ret);
int strain_clocks(int gpu, unsigned long long *ret_reasons);

/* before: the status that the object had; NULL: none. */
void strain_judge(const struct attribution_status *status, const struct attribution_status *before,
		  int gpu);
/* At rest: of a device in a node with an agent. */
void strain_judge_rest(const struct attribution_status *status, int gpu);
