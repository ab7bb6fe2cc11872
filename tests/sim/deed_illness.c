/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/deed.h"

#include "base/compiler.h"
#include "sim/clockwork.h"
#include "sim/driver.h"
#include "sim/illness.h"
#include "sim/unwatched.h"
#include "sim/usage.h"

#define FLOOD_MS 1100u /* errors are told apart by their times */
#define FINDS_OUT_MS 20000 /* a sample and a report */

static bool is_powered(const struct world_gpu *gpu)
{
	return gpu->node >= 0 && world.nodes[gpu->node].powered;
}

static struct world_gpu *powered_gpu(int arg)
{
	struct world_gpu *gpu = deed_gpu(arg);

	return gpu && is_powered(gpu) ? gpu : NULL;
}

/* Until there is one: of errors always, and of what asks for it where counts fall without any. */
static bool ends_by_reset(int node, enum illness illness)
{
	return illness == ILLNESS_ECC ||
	       (unwatched_forgets(node) && (illness == ILLNESS_RESET || illness == ILLNESS_DRAIN ||
					    illness == ILLNESS_RESET_REQUIRED));
}

static void cure(void *owner, uint64_t gpu)
{
	(void)owner;
	illness_cure((int)gpu);
}

/* Counters fall by a reset only; and what is lost comes back by itself, or it is a dead device. */
void deed_fall_ill(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);
	int number = gpu ? (int)(gpu - world.gpus) : -1;
	enum illness illness = (enum illness)args[1];
	uint64_t until = deed_for_ms(args[2]);
	bool lasts = illness == ILLNESS_REMAP_FAILED || illness == ILLNESS_ECC || args[3] != 0;

	if (!gpu || gpu->node < 0 || gpu->lost)
		return;
	deed_for_ms(args[2] + FINDS_OUT_MS);
	if (illness == ILLNESS_LOST) {
		usage_clear_gpu(number);
		deed_excuse(CAUSE_DRIVER_FAILED, gpu->node, args[2]);
		lasts = false;
	}
	illness_begin(number, illness, lasts ? WORLD_NEVER : until);
	if (ends_by_reset(gpu->node, illness) && args[3] == 0)
		clockwork_at(until, cure, NULL, (uint64_t)number);
}

void deed_fail_call(const int *args)
{
	const struct world_gpu *gpu = deed_gpu(args[0]);

	if (gpu)
		illness_fail_call((int)(gpu - world.gpus), (enum illness_part)args[1], deed_for_ms(args[2]));
	deed_for_ms(args[2] + FINDS_OUT_MS);
}

void deed_reset_gpu(const int *args)
{
	const struct world_gpu *gpu = deed_gpu(args[0]);
	int number = gpu ? (int)(gpu - world.gpus) : -1;

	if (gpu && gpu->node >= 0 && !gpu->lost && !illness_has(number, ILLNESS_LOST))
		illness_cure(number);
	deed_for_ms(FINDS_OUT_MS);
}

/* The n-th of the MIG devices that there are; -1: there is none. */
static int some_partition(const struct world_gpu *gpu, int n)
{
	int first = gpu->n_partitions > 0 ? n % gpu->n_partitions : 0;

	for (int i = 0; gpu->mig && i < gpu->n_partitions; i++)
		if (gpu->partitions[(first + i) % gpu->n_partitions].exists)
			return (first + i) % gpu->n_partitions;
	return -1;
}

void deed_raise_partial(const int *args)
{
	static const int codes[] = {13, 31, 43, 46, 48, 62, 74, 79, 92, 94, 95, 119, 999};
	struct world_gpu *gpu = powered_gpu(args[0]);

	if (gpu)
		driver_raise(gpu, codes[args[1] % (int)ARRAY_SIZE(codes)],
			     args[3] ? some_partition(gpu, args[2]) : -1);
	deed_for_ms(30000);
}

static void raise_again(void *owner, uint64_t code)
{
	struct world_gpu *gpu = owner;

	if (is_powered(gpu))
		driver_raise(gpu, (int)code, -1);
}

/* An application that fails again and again: two of its processes at once. */
void deed_flood(const int *args)
{
	struct world_gpu *gpu = powered_gpu(args[0]);

	for (int i = 0; gpu && i < args[1]; i++)
		clockwork_in(FLOOD_MS * (uint64_t)(i / 2), raise_again, gpu, args[2] ? 31 : 13);
	deed_for_ms((int)FLOOD_MS * args[1] + FINDS_OUT_MS);
}
