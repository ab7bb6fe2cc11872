/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trouble.h"

#include <string.h>

#include "base/prng.h"
#include "sim/device_manager.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/driver.h"
#include "sim/illness.h"
#include "sim/kubelet.h"
#include "sim/programs.h"
#include "sim/usage.h"
#include "sim/world.h"

#define STREAM UINT64_C(0xc2b2ae3d27d4eb4f)
#define BUS_STREAM UINT64_C(0x9fb21c651e98df25)

enum kind { NONE, DRIVER, AGENT, PLUGIN, N_KINDS, BUS };

static struct prng stream, bus_stream;
static bool is_there, has_deaf;
static bool is_deaf[WORLD_MAX_NODES];
static enum kind kinds[WORLD_MAX_NODES];
static bool is_unwell[WORLD_MAX_GPUS];
static bool is_missing[WORLD_MAX_GPUS];

void trouble_reset(uint64_t seed)
{
	prng_init(&stream, seed ^ STREAM);
	prng_init(&bus_stream, seed ^ BUS_STREAM);
	is_there = prng_between(&stream, 0, 3) == 0;
	has_deaf = prng_between(&stream, 0, 7) == 0;
	memset(is_deaf, 0, sizeof(is_deaf));
	memset(kinds, 0, sizeof(kinds));
	memset(is_unwell, 0, sizeof(is_unwell));
	memset(is_missing, 0, sizeof(is_missing));
}

void trouble_set_up(int node)
{
	is_deaf[node] = has_deaf && prng_between(&stream, 0, 1) != 0;
}

bool trouble_is_there(void)
{
	return is_there;
}

/* Of a device that is not on offer the plugin says nothing. */
static void call_unwell(int node)
{
	const char *ids[1];

	for (int i = 0; i < world.n_gpus; i++)
		is_unwell[i] |= world.gpus[i].node == node && !world.gpus[i].lost &&
				prng_between(&stream, 0, 1) != 0 && device_manager_offered(i, ids, 1) > 0;
	kubelet_update_plugin(node);
}

/* NVML lists one at least: a list without any is no answer. */
static bool is_listed_beside(int gpu)
{
	for (int i = 0; i < world.n_gpus; i++)
		if (i != gpu && world.gpus[i].node == world.gpus[gpu].node && !world.gpus[i].lost &&
		    !illness_has(i, ILLNESS_LOST))
			return true;
	return false;
}

/* The first that may be. */
static void take_gpu(int node)
{
	int gpu = 0;

	while (gpu < world.n_gpus && (world.gpus[gpu].node != node || world.gpus[gpu].lost ||
				      !is_listed_beside(gpu)))
		gpu++;
	if (gpu == world.n_gpus)
		return;
	is_missing[gpu] = world.gpus[gpu].lost = true;
	world.gpus[gpu].lost_in_boot = world.nodes[node].boot;
	usage_clear_gpu(gpu);
	cause_add(CAUSE_DRIVER_FAILED, node, -1, clockwork_now(), WORLD_NEVER);
	kubelet_update_plugin(node);
}

static void give_gpu_back(int node)
{
	for (int i = 0; i < world.n_gpus; i++) {
		if (world.gpus[i].node == node && is_missing[i])
			is_missing[i] = world.gpus[i].lost = false;
	}
	cause_end(CAUSE_DRIVER_FAILED, node, -1);
	kubelet_update_plugin(node);
}

/* Where there is no other trouble; slices tell later that a device is gone. */
static bool falls_off_the_bus(int node)
{
	return prng_between(&bus_stream, 0, 1) != 0 && !world_is_claims(world.nodes[node].mode);
}

static void begin_on(int node)
{
	kinds[node] = (enum kind)prng_between(&stream, 0, N_KINDS - 1);
	if (kinds[node] == NONE && falls_off_the_bus(node))
		kinds[node] = BUS;
	switch (kinds[node]) {
	case DRIVER:
		cause_add(CAUSE_DRIVER_FAILED, node, -1, clockwork_now(), WORLD_NEVER);
		driver_fail(node, WORLD_NEVER);
		break;
	case AGENT:
		cause_add(CAUSE_REPORTS_MISSING, node, -1, clockwork_now(), WORLD_NEVER);
		programs_stop_agent(node);
		break;
	case PLUGIN:
		call_unwell(node);
		break;
	case BUS:
		take_gpu(node);
		break;
	default:
		break;
	}
}

void trouble_begin(void)
{
	for (int node = 0; node < world.n_nodes; node++)
		if (!world.nodes[node].agentless && world.nodes[node].powered)
			begin_on(node);
}

static void end_on(int node)
{
	switch (kinds[node]) {
	case DRIVER:
		driver_fail(node, 0);
		cause_end(CAUSE_DRIVER_FAILED, node, -1);
		break;
	case AGENT:
		programs_start_agent(node);
		cause_end(CAUSE_REPORTS_MISSING, node, -1);
		break;
	case PLUGIN:
		for (int i = 0; i < world.n_gpus; i++)
			is_unwell[i] &= world.gpus[i].node != node;
		kubelet_update_plugin(node);
		break;
	case BUS:
		give_gpu_back(node);
		break;
	default:
		break;
	}
	kinds[node] = NONE;
}

void trouble_end(void)
{
	for (int node = 0; node < world.n_nodes; node++)
		end_on(node);
}

bool trouble_is_deaf(int node)
{
	return is_deaf[node];
}

bool trouble_fails_driver(int node)
{
	return kinds[node] == DRIVER;
}

bool trouble_took_agent(int node)
{
	return kinds[node] == AGENT;
}

bool trouble_is_unwell(int gpu)
{
	return is_unwell[gpu];
}

bool trouble_took_gpu(int gpu)
{
	return is_missing[gpu];
}
