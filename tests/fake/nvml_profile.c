/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml_profile.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* One slice of the processors with two of the memory. */
enum { WIDE_ONE_SLICE = 0x09 };

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Callers find the profile of an instance by walking the indexes and comparing IDs. The IDs of the
 * common profiles are those that the vendor's tools print; the others only have to differ.
 */
static const struct gpu_row {
	unsigned index;
	unsigned slices;
	const char *attribute;
	unsigned id;
} gpu_rows[] = {
	{0x00, 1, "", 19},	{0x01, 2, "", 14},	{0x02, 3, "", 9},
	{0x03, 4, "", 5},	{0x04, 7, "", 0},	{0x05, 8, "", 64},
	{0x06, 6, "", 65},	{0x07, 1, "+me", 20},	{0x08, 2, "+me", 66},
	{0x09, 1, "", 15},	{0x0A, 1, "+gfx", 67},	{0x0B, 2, "+gfx", 68},
	{0x0C, 4, "+gfx", 69},	{0x0D, 1, "-me", 70},	{0x0E, 2, "-me", 71},
	{0x0F, 1, "+me.all", 72}, {0x10, 2, "+me.all", 73},
};

static const struct compute_row {
	unsigned index;
	unsigned slices;
} compute_rows[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 7}, {5, 8}, {6, 6}};

static const struct gpu_row *gpu_row_at(unsigned index)
{
	for (size_t i = 0; i < N_ROWS(gpu_rows); i++)
		if (gpu_rows[i].index == index)
			return &gpu_rows[i];
	return NULL;
}

static const struct gpu_row *gpu_row_named(unsigned slices, const char *attribute)
{
	for (size_t i = 0; i < N_ROWS(gpu_rows); i++)
		if (gpu_rows[i].slices == slices && strcmp(gpu_rows[i].attribute, attribute) == 0)
			return &gpu_rows[i];
	return NULL;
}

static const struct compute_row *compute_row_with(unsigned slices)
{
	for (size_t i = 0; i < N_ROWS(compute_rows); i++)
		if (compute_rows[i].slices == slices)
			return &compute_rows[i];
	return NULL;
}

bool nvml_profile_parse(const char *name, unsigned share_gib, struct nvml_profile *ret_profile)
{
	unsigned compute;
	unsigned gpu;
	unsigned gib;
	int end = 0;

	if (sscanf(name, "%1uc.%1ug.%4ugb%n", &compute, &gpu, &gib, &end) != 3 || end == 0) {
		end = 0;
		if (sscanf(name, "%1ug.%4ugb%n", &gpu, &gib, &end) != 2 || end == 0)
			return false;
		compute = gpu;
	}
	const struct gpu_row *gpu_row = gpu_row_named(gpu, name + end);
	const struct compute_row *compute_row = compute_row_with(compute);

	if (!gpu_row || !compute_row || compute > gpu)
		return false;
	bool is_wide = gpu_row->index == 0 && gib > share_gib;
	*ret_profile = (struct nvml_profile){
		.gpu_slices = gpu,
		.compute_slices = compute,
		.gpu_index = is_wide ? WIDE_ONE_SLICE : gpu_row->index,
		.compute_index = compute_row->index,
	};
	return true;
}

unsigned nvml_profile_gpu_slices(unsigned gpu_index)
{
	const struct gpu_row *row = gpu_row_at(gpu_index);
	return row ? row->slices : 0;
}

unsigned nvml_profile_memory_slices(unsigned gpu_index, unsigned of)
{
	unsigned slices = nvml_profile_gpu_slices(gpu_index);

	if (gpu_index == WIDE_ONE_SLICE)
		return 2;
	if (of == 8 && slices == 3)
		return 4;
	return of == 8 && slices > 4 ? 8 : slices;
}

unsigned nvml_profile_compute_slices(unsigned compute_index)
{
	for (size_t i = 0; i < N_ROWS(compute_rows); i++)
		if (compute_rows[i].index == compute_index)
			return compute_rows[i].slices;
	return 0;
}

unsigned nvml_profile_gpu_id(unsigned gpu_index)
{
	const struct gpu_row *row = gpu_row_at(gpu_index);
	return row ? row->id : 0;
}
