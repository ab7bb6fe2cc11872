/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A reset must be seen where all is plain. Two readings or more in a row told of errors, and the next two
 * of none. The driver asked before, and asks for nothing in both. The device was reset in between, and
 * nothing else happened to it, its node or the node's clock. The driver did not hang: what it tells late
 * is no reading. Where a report is not known nothing is demanded.
 */

#include "sim/unwatched.h"

#include <string.h>

#include "base/prng.h"
#include "model/attribution.h"
#include "sim/cause.h"
#include "sim/illness.h"
#include "sim/programs.h"
#include "sim/usage.h"
#include "sim/world.h"

#define STREAM UINT64_C(0xa24baed4963ee407)
#define BIT(name) ILLNESS_BIT(ILLNESS_##name)
#define ASKS (BIT(RESET) | BIT(DRAIN))
#define ACTIONS (ASKS | BIT(IMEX) | BIT(REBOOT) | BIT(DRAIN_P2P) | BIT(OTHER_ACTION))

/* What the present controller was told of a device. */
struct told {
	uint64_t first_high, last_high; /* of readings in a row that told of errors */
	uint64_t low_at;                /* the first one after them that told of none */
	unsigned n_high, n_low;
	bool has_asked;
	uint64_t reset_since; /* 0: of no reset */
};

/* By whom. */
struct teller {
	int boot;
	uint64_t controller; /* the one that was told, by its start */
	uint64_t read_at;
};

static struct prng stream;
static bool is_there;
static bool forgets[WORLD_MAX_NODES];
static struct teller tellers[WORLD_MAX_NODES];
static struct told tolds[WORLD_MAX_GPUS];

bool unwatched_is_there(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM);
	return illness_is_there(seed) && prng_between(&prng, 0, 1) != 0;
}

void unwatched_reset(uint64_t seed)
{
	prng_init(&stream, ~(seed ^ STREAM));
	is_there = unwatched_is_there(seed);
	memset(forgets, 0, sizeof(forgets));
	memset(tellers, 0, sizeof(tellers));
	memset(tolds, 0, sizeof(tolds));
}

/* What drivers do */

void unwatched_set_up(int node)
{
	forgets[node] = is_there && prng_between(&stream, 0, 1) != 0;
}

void unwatched_freeze(void)
{
	memset(forgets, 0, sizeof(forgets));
}

bool unwatched_forgets(int node)
{
	return forgets[node];
}

void unwatched_left(int node)
{
	for (int i = 0; forgets[node] && i < world.n_gpus; i++)
		if (world.gpus[i].node == node && !usage_is_used(i))
			illness_end(i, BIT(ECC));
}

/* What reports tell */

/* Since the first of the readings that count. */
static bool is_plain(int gpu, const struct told *told)
{
	const struct world_gpu *g = &world.gpus[gpu];
	const uint64_t since = told->first_high;

	return g->changed_at < since && g->moved_at < since &&
	       world.nodes[g->node].there_since < since &&
	       !cause_since(CAUSE_DRIVER_HANGS, g->node, -1, since) &&
	       !cause_since(CAUSE_NODE_CLOCK, g->node, -1, 0);
}

static bool was_reset(int gpu, const struct told *told)
{
	return illness_cured_at(gpu) > told->last_high && illness_cured_at(gpu) < told->low_at;
}

static void hear_high(struct told *told, uint64_t at)
{
	if (told->n_high == 0 || told->n_low > 0)
		*told = (struct told){.first_high = at,
				      .has_asked = told->has_asked,
				      .reset_since = told->reset_since};
	told->n_high++;
	told->last_high = at;
}

static void hear_low(int gpu, struct told *told, uint64_t at)
{
	if (++told->n_low == 1)
		told->low_at = at;
	if (told->n_low < 2)
		return;
	if (told->n_high >= 2 && told->has_asked && is_plain(gpu, told) && was_reset(gpu, told))
		told->reset_since = told->last_high;
	*told = (struct told){.reset_since = told->reset_since};
}

/* A device that must be reset answers nothing else. */
static void hear(int gpu, unsigned is, unsigned unread, uint64_t at)
{
	struct told *told = &tolds[gpu];
	const bool asks_nothing = !((is | unread) & ACTIONS);

	if (!(is & ILLNESS_LISTED) || is & (BIT(LOST) | ILLNESS_UNREAD))
		return;
	told->has_asked |= (is & BIT(RESET_REQUIRED)) && told->n_high > 0;
	if (is & BIT(RESET_REQUIRED) || unread & BIT(ECC))
		return;
	if (is & ASKS)
		told->has_asked = true;
	else if (is & BIT(ECC) && asks_nothing)
		told->has_asked = false;
	if (is & BIT(ECC))
		hear_high(told, at);
	else if (asks_nothing)
		hear_low(gpu, told, at);
	else
		*told = (struct told){.reset_since = told->reset_since};
}

static void forget(int node)
{
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node)
			tolds[i] = (struct told){0};
}

/* Another boot begins anew, and another controller was told nothing. */
static bool is_known(int node)
{
	return tellers[node].boot == world.nodes[node].boot &&
	       tellers[node].controller == programs_controller_since();
}

void unwatched_heard(int node, struct view body)
{
	const struct attribution_report report = illness_report_of(node, body);
	const uint64_t at = illness_read_at(node, &report);

	if (!is_known(node)) {
		forget(node);
		tellers[node] = (struct teller){world.nodes[node].boot, programs_controller_since(), 0};
	}
	if (at > 0 && at <= tellers[node].read_at)
		return;
	for (int i = 0; i < world.n_gpus; i++) {
		unsigned is, unread;

		if (world.gpus[i].node != node)
			continue;
		if (at > 0 && illness_reported(node, &report, i, &is, &unread))
			hear(i, is, unread, at);
		else
			tolds[i] = (struct told){.reset_since = tolds[i].reset_since};
	}
	if (at > 0)
		tellers[node].read_at = at;
}

uint64_t unwatched_reset_since(int gpu)
{
	const int node = world.gpus[gpu].node;

	return node >= 0 && is_known(node) ? tolds[gpu].reset_since : 0;
}
