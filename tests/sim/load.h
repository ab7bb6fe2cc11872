/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * load - when devices compute, and what their driver tells of it. In every second fleet, chosen by its
 * seed, each device computes now and then, for a second or for minutes, and idles between. Most drivers
 * there tell utilisation; some have gaps, in which they answer with an error or with a figure that
 * cannot be. What is chosen comes from a stream of its own.
 *
 * The figure moves with each second, on both sides of the threshold. NVML has none under MIG. Where
 * containers have processes, a device computes only while one is on it.
 *
 * Two of three drivers there have GPU performance monitoring (GPM), as those of Hopper have. Under MIG
 * each GPU instance then computes by a plan of its own. Two samples tell in how much of the time between
 * them it did. Older GPUs have no GPM, so of their MIG devices nobody can tell that they compute.
 *
 * A partition is the number of a MIG device; -1 is the device as a whole.
 *
 * What each reading of a driver told is kept: so a status can be compared with what its own report
 * said.
 *
 * Threads: the program's only one.
 * Limits:  what does not fit does not happen, or is not judged.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sim/world.h"

#define LOAD_THRESHOLD 5u /* percent: the agent's --busy-threshold */
#define LOAD_SEEN_MS 12000u /* two looks at utilisation, and what may be in the way of one */
#define LOAD_GPM_SEEN_MS 35000u /* two samples, and what may be in the way of one */

struct nvml_abi_gpm_sample;

/* What one reading told of a device or a partition, with what its agent had been told before. */
struct load_reading {
	uint64_t at;
	uint64_t since;        /* this agent may have had figures without a gap */
	uint64_t missed_until; /* it surely had none for too long before that; 0: never */
	uint64_t busy_at;      /* it was last told of work; 0: it was not */
	uint64_t busy_read_at; /* by the reading of that moment */
	bool has_figure;
};

/* Whether devices compute in a history of that seed. */
bool load_is_there(uint64_t seed);
/* After the world's. */
void load_reset(uint64_t seed);
/* What the node's driver can tell. */
void load_set_up(int node);
/* From now on each device computes, or does not, and its driver has no gaps. */
void load_freeze(void);
/* The node's agent was started; its driver is read. */
void load_started(int node);
void load_read(int node);
/* The process that was told of looks between readings has ended. */
void load_lost(int node);

/* The node's driver tells utilisation; of the device, as it is now, but for gaps. */
bool load_tells(int node);
bool load_is_told(int gpu, int partition);
/* Whoever asks now is told that the device as a whole computes. */
bool load_is_told_busy(int gpu);
/* Answers how busy the device is: a code of NVML. */
int load_ask(int gpu, unsigned *ret_percent);

/* The driver of the device has GPM. The rest is as NVML has it: each answers a code of NVML. */
bool load_has_gpm(int gpu);
int load_sample_alloc(struct nvml_abi_gpm_sample **ret);
int load_sample_free(struct nvml_abi_gpm_sample *sample);
int load_sample(int gpu, unsigned gpu_instance, struct nvml_abi_gpm_sample *ret);
/* In how much of the time between two samples the GPU instance computed. */
int load_compare(const struct nvml_abi_gpm_sample *first, const struct nvml_abi_gpm_sample *second,
		 double *ret_percent);

/* What the reading of that moment told; NULL: that is not known. */
const struct load_reading *load_find(int gpu, int partition, uint64_t at);
/* When the agent was started that read it; 0: that is not known. */
uint64_t load_agent_since(int node, uint64_t at);
/* It computed in that time, for so long that two looks, or two samples, saw it. */
bool load_was_seen(int gpu, int partition, uint64_t from, uint64_t until);
/* When it computed last before that; 0: never. */
uint64_t load_last(int gpu, int partition, uint64_t before);
/* Its driver had a gap in that time. */
bool load_has_gap(int gpu, uint64_t from, uint64_t until);
