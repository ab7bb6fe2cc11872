/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_profile - what a MIG profile's name says, and NVML's numbers for it
 *
 * A name is `[<C>c.]<G>g.<GB>gb[+me|+me.all|+gfx|-me]`: G slices of the GPU, of which a compute
 * instance has C (all of them when the part is missing).
 *
 * Threads: any.
 */

#include <stdbool.h>

/* How many profile indexes a caller may walk through. */
enum { NVML_PROFILE_GPU_COUNT = 0x11, NVML_PROFILE_COMPUTE_COUNT = 8 };

struct nvml_profile {
	unsigned gpu_slices;
	unsigned compute_slices;
	unsigned gpu_index;	/* which of the GPU instance profiles, 0 .. GPU_COUNT - 1 */
	unsigned compute_index; /* which of the compute instance profiles */
};

/*
 * Reads a name. share_gib is the memory of the GPU's smallest slice: a one-slice profile with more
 * than that is one of its own. False, *ret_profile untouched, if NVML has no such profile.
 */
bool nvml_profile_parse(const char *name, unsigned share_gib, struct nvml_profile *ret_profile);

/* Slices of the GPU instance profile with this index; 0 for an index that does not exist. */
unsigned nvml_profile_gpu_slices(unsigned gpu_index);

/* How many of the GPU's 8 (or 4, on small GPUs) memory slices come with a profile. */
unsigned nvml_profile_memory_slices(unsigned gpu_index, unsigned of);

/* Slices of the compute instance profile with this index; 0 for one that does not exist. */
unsigned nvml_profile_compute_slices(unsigned compute_index);

/* The ID that instances of a profile carry; not the index, as in the real library. */
unsigned nvml_profile_gpu_id(unsigned gpu_index);
