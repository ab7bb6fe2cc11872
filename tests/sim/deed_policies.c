/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/deed.h"

#include "sim/apiserver.h"
#include "sim/device_manager.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/drifts.h"
#include "sim/driver.h"
#include "sim/policies.h"
#include "sim/world.h"

/* What is denied is asked for again after 30 s, and its watch begins by a list. */
#define DENIED_WEARS_OFF_MS 35000
#define TOLD_MS 5000
#define READ_MS 20000

/* A knob, its value and its node (0: none) in one number. */
static uint64_t pack(int knob, int value, int node)
{
	return (uint64_t)knob | (uint64_t)value << 8 | (uint64_t)(node + 1) << 16;
}

static void turn_back(void *owner, uint64_t number)
{
	const int knob = number & 0xff, value = number >> 8 & 0xff, node = (int)(number >> 16) - 1;

	(void)owner;
	if (node < 0)
		policies_set((enum policies_knob)knob, value);
	else
		policies_set_of_node(node, (enum policies_node_knob)knob, value);
}

/* An odd time means for ever. */
static void turn_back_in(int ms, int knob, int value, int node)
{
	if (ms % 2 == 0)
		clockwork_at(deed_for_ms(ms), turn_back, NULL, pack(knob, value, node));
	deed_for_ms((ms % 2 == 0 ? ms : 0) + TOLD_MS);
}

static int choose(int arg, int most, int now)
{
	const int value = arg % (most + 1);

	return value == now ? (value + 1) % (most + 1) : value;
}

void deed_intend(const int *args)
{
	const enum policies_knob knob = (enum policies_knob)args[0];
	const int now = policies_of(knob);

	policies_set(knob, choose(args[1], policies_most(knob), now));
	turn_back_in(args[2], args[0], now, -1);
}

void deed_operate(const int *args)
{
	const enum policies_node_knob knob = (enum policies_node_knob)args[1];
	const int node = deed_node(args[0]);
	int now;

	if (node < 0)
		return;
	now = policies_of_node(node, knob);
	policies_set_of_node(node, knob, choose(args[2], policies_most_of_node(knob), now));
	turn_back_in(args[3], args[1], now, node);
}

/* Where there is more */

void deed_arrange(const int *args)
{
	const int of_any[] = {POLICIES_MORE_KNOBS + args[0], args[1], args[2]};

	deed_intend(of_any);
}

/* The ConfigMap of mig-parted, and what names it. */
void deed_lay_out(const int *args)
{
	const int of_any[] = {POLICIES_LAYOUT_KNOBS + args[0], args[1], args[2]};

	deed_intend(of_any);
}

void deed_arrange_node(const int *args)
{
	const int of_any[] = {args[0], POLICIES_MORE_NODE_KNOBS + args[1], args[2], args[3]};

	deed_operate(of_any);
}

static void take_back_mode(void *owner, uint64_t number)
{
	(void)number;
	((struct world_gpu *)owner)->mig_asked = false;
	drifts_look();
}

void deed_ask_mode(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);

	if (!gpu || gpu->node < 0 || gpu->lost)
		return;
	gpu->mig_asked = true;
	drifts_look();
	if (args[1] % 2 == 0)
		clockwork_at(deed_for_ms(args[1]), take_back_mode, gpu, 0);
	deed_for_ms((args[1] % 2 == 0 ? args[1] : 0) + READ_MS);
}

static void take_back_exclusive(void *owner, uint64_t number)
{
	(void)number;
	((struct world_gpu *)owner)->left_exclusive = false;
	drifts_look();
}

/* By a daemon of MPS that was killed; where devices are shared, another mode would be told by it. */
void deed_leave_exclusive(const int *args)
{
	struct world_gpu *gpu = deed_gpu(args[0]);

	if (!gpu || gpu->node < 0 || gpu->lost || world.nodes[gpu->node].mode != WORLD_EXCLUSIVE)
		return;
	gpu->left_exclusive = true;
	drifts_look();
	if (args[1] % 2 == 0)
		clockwork_at(deed_for_ms(args[1]), take_back_exclusive, gpu, 0);
	deed_for_ms((args[1] % 2 == 0 ? args[1] : 0) + READ_MS);
}

static void look(void *owner, uint64_t number)
{
	(void)owner, (void)number;
	drifts_look();
}

void deed_deny_config(const int *args)
{
	const uint64_t until = deed_for_ms(args[0]);

	policies_deny(until);
	clockwork_at(until, look, NULL, 0);
	drifts_disturbed(until + DENIED_WEARS_OFF_MS);
	deed_for_ms(args[0] + DENIED_WEARS_OFF_MS);
}

/* Somebody installed another driver, and did not load its module. */
void deed_mismatch(const int *args)
{
	const int node = deed_node(args[0]);

	if (node < 0)
		return;
	driver_mismatch(node, deed_for_ms(args[1]));
	deed_excuse(CAUSE_DRIVER_FAILED, node, args[1]);
	drifts_look();
	clockwork_at(deed_for_ms(args[1]), look, NULL, 0);
}

static void create_pod(void *owner, uint64_t number)
{
	const int args[] = {(int)(number & 0xff), (int)(number >> 8 & 0xff), (int)(number >> 16)};

	(void)owner;
	deed_create_pod(args);
}

/* The kubelet counts what is free as taken; then a pod comes, by which that shows. */
void deed_leak(const int *args)
{
	const int node = deed_node(args[0]);

	if (node < 0 || world_is_claims(world.nodes[node].mode))
		return;
	device_manager_leak(node);
	clockwork_at(deed_for_ms(args[1]), create_pod, NULL,
		     (uint64_t)node | (uint64_t)args[2] << 8 | (uint64_t)args[3] << 16);
	deed_for_ms(args[1] + READ_MS);
}

/* For long. While claims give it, nobody could tell all that time whom. */
void deed_take_out(const int *args)
{
	const struct world_gpu *gpu = deed_gpu(args[0]);

	if (gpu && gpu->node >= 0 && !world_is_claims(world.nodes[gpu->node].mode))
		deed_lose_gpu(args);
}
