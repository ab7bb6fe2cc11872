/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trouble.h"

#include <string.h>

#include "base/prng.h"
#include "sim/books.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/driver.h"
#include "sim/kubelet.h"
#include "sim/programs.h"
#include "sim/world.h"

#define STREAM UINT64_C(0xc2b2ae3d27d4eb4f)

enum kind { NONE, DRIVER, AGENT, PLUGIN, N_KINDS };

static struct prng stream;
static bool is_there, has_deaf;
static bool is_deaf[WORLD_MAX_NODES];
static enum kind kinds[WORLD_MAX_NODES];
static bool is_unwell[WORLD_MAX_GPUS];

void trouble_reset(uint64_t seed)
{
	prng_init(&stream, seed ^ STREAM);
	is_there = prng_between(&stream, 0, 3) == 0;
	has_deaf = prng_between(&stream, 0, 7) == 0;
	memset(is_deaf, 0, sizeof(is_deaf));
	memset(kinds, 0, sizeof(kinds));
	memset(is_unwell, 0, sizeof(is_unwell));
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
				prng_between(&stream, 0, 1) != 0 && books_offered(i, ids, 1) > 0;
	kubelet_update_plugin(node);
}

static void begin_on(int node)
{
	kinds[node] = (enum kind)prng_between(&stream, 0, N_KINDS - 1);
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
