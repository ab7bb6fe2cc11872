/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_names - the words that a device file uses for NVML's numbers
 *
 * Threads: any (constant tables).
 */

#include <stdbool.h>
#include <stdint.h>

struct nvml_name {
	const char *word; /* NULL ends a table */
	int64_t number;
};

extern const struct nvml_name nvml_names_compute_mode[];
extern const struct nvml_name nvml_names_brand[];
extern const struct nvml_name nvml_names_architecture[];
extern const struct nvml_name nvml_names_process[];
extern const struct nvml_name nvml_names_fabric[];
extern const struct nvml_name nvml_names_event[];
extern const struct nvml_name nvml_names_hang[];

/* The kinds of processes, one for each of NVML's three lists. */
enum { NVML_NAMES_COMPUTE, NVML_NAMES_GRAPHICS, NVML_NAMES_MPS };

/* For how long a call hangs. */
enum { NVML_NAMES_UNTIL_CHANGED = 1, NVML_NAMES_FOREVER };

/* The number of a word, or absent if the table does not have it (word may be NULL). */
int64_t nvml_names_number(const struct nvml_name *names, const char *word, int64_t absent);

/* Whether the table has the word. */
bool nvml_names_has(const struct nvml_name *names, const char *word);
