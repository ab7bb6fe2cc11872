/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/deed.h"

#include "base/compiler.h"
#include "sim/clockwork.h"
#include "sim/driver.h"
#include "sim/illness.h"
#include "sim/programs.h"

#define FINDS_OUT_MS 20000 /* a sample and a report */
#define XID_MEMORY 95      /* it needs a reset */

static bool is_well(const struct world_gpu *gpu)
{
	return gpu->node >= 0 && world.nodes[gpu->node].powered && !gpu->lost &&
	       !illness_has((int)(gpu - world.gpus), ILLNESS_LOST);
}

static void reset(int gpu)
{
	illness_cure(gpu);
}

static void err(int gpu)
{
	illness_err_once(gpu);
}

static void leave_alone(int gpu)
{
	(void)gpu;
}

/* The agent's process for NVML; another one begins. */
static void crash(int gpu)
{
	deed_crash((int[]){world.gpus[gpu].node, 1, 0, 0});
}

/*
 * In the other MIG mode the driver counts other errors, and asks for nothing. It was not reset: in the mode
 * of before it tells what it told then.
 */
static void change_mode(int gpu)
{
	const struct world_gpu *g = &world.gpus[gpu];
	const bool was_mig = g->mig;

	deed_configure_plugin((int[]){g->node, was_mig ? WORLD_EXCLUSIVE : WORLD_MIG, 2, 0});
	if (g->mig != was_mig)
		illness_keep_to_mode(gpu, ILLNESS_BIT(ILLNESS_ECC) | ILLNESS_BIT(ILLNESS_RESET), was_mig);
}

/* In the order of their words in sim/action.c. */
static const struct {
	enum illness asks; /* what the driver asks for; ILLNESS_N: nothing */
	bool is_watched;   /* the agent does not go */
	void (*apply)(int gpu);
} cases[] = {
	{ILLNESS_RESET, false, reset},
	{ILLNESS_DRAIN, false, reset},
	{ILLNESS_RESET_REQUIRED, false, reset},
	{ILLNESS_N, false, leave_alone},
	{ILLNESS_RESET, false, leave_alone},
	{ILLNESS_RESET, false, err},
	{ILLNESS_RESET, true, err},
	{ILLNESS_RESET, true, change_mode},
	{ILLNESS_RESET, false, change_mode},
	{ILLNESS_N, true, crash},
};

_Static_assert(ARRAY_SIZE(cases) == DEED_N_UNWATCHED, "a word each");

/* What is still to come of it is told by one number. */
struct to_come {
	int gpu, number, down_ms;
};

static uint64_t pack(struct to_come t)
{
	return (uint64_t)t.gpu | (uint64_t)t.number << 8 | (uint64_t)t.down_ms << 16;
}

static struct to_come unpack(uint64_t packed)
{
	return (struct to_come){(int)(packed & 0xff), (int)(packed >> 8 & 0xff), (int)(packed >> 16)};
}

static void ask(void *owner, uint64_t packed)
{
	const struct to_come t = unpack(packed);

	(void)owner;
	if (is_well(&world.gpus[t.gpu]) && cases[t.number].asks != ILLNESS_N)
		illness_begin(t.gpu, cases[t.number].asks, WORLD_NEVER);
}

static void happen(void *owner, uint64_t packed)
{
	const struct to_come t = unpack(packed);

	(void)owner;
	if (is_well(&world.gpus[t.gpu]))
		cases[t.number].apply(t.gpu);
}

static void leave(void *owner, uint64_t packed)
{
	const struct to_come t = unpack(packed);
	const int node = world.gpus[t.gpu].node;
	const bool is_watched = cases[t.number].is_watched;

	(void)owner;
	if (node >= 0 && !is_watched)
		deed_restart_agent((int[]){node, t.down_ms, 0, 0});
	clockwork_in(is_watched ? 0 : (uint64_t)t.down_ms / 2, happen, NULL, packed);
}

/* What two of them change in turn looks as if nothing had changed. */
static bool is_any_ill(int node)
{
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node && illness_has(i, ILLNESS_ECC))
			return true;
	return false;
}

/* It has errors, and soon its driver asks for a reset. Then its agent goes. One at a time of a node. */
void deed_fail_unwatched(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);
	uint64_t packed;

	if (!gpu || !is_well(gpu) || world.nodes[gpu->node].agentless || is_any_ill(gpu->node))
		return;
	packed = pack((struct to_come){(int)(gpu - world.gpus), args[1], args[3]});
	illness_begin((int)(gpu - world.gpus), ILLNESS_ECC, WORLD_NEVER);
	driver_raise(gpu, XID_MEMORY, -1);
	clockwork_in((uint64_t)args[2] / 2, ask, NULL, packed);
	clockwork_in((uint64_t)args[2], leave, NULL, packed);
	deed_for_ms(args[2] + args[3] + FINDS_OUT_MS);
}
