/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/hang.h"

#include <string.h>

#include "base/prng.h"
#include "sim/cause.h"
#include "sim/child.h"
#include "sim/clockwork.h"
#include "sim/diagnosis.h"
#include "sim/driver.h"
#include "sim/load.h"
#include "sim/oracle.h"
#include "sim/rest.h"
#include "sim/world.h"

#define STREAM UINT64_C(0x8ebc6af09c88c6e3)
#define MAX_STALLS 64
#define TIME_OUT_MS 5000u /* of a call: the agent's --nvml-timeout */
#define EARLY_MS 100u
#define TOLD_MS 14000u /* the agent calls every 5 s; then the time-out, and a report */
#define READ_MS 20000u
#define OVER_MS 75000u /* the longest back-off of who calls the driver, and a reading */

struct stall {
	int node;
	uint64_t from, until;
	uint32_t call_ms; /* 0: nothing returns */
	bool is_held;
};

static struct stall stalls[MAX_STALLS];
static int n_stalls;
static int n_crashes[WORLD_MAX_NODES];
static uint64_t crashed_at[WORLD_MAX_NODES]; /* last */

bool hang_is_there(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM);
	return prng_between(&prng, 0, 3) == 0;
}

void hang_reset(void)
{
	n_stalls = 0;
	memset(n_crashes, 0, sizeof(n_crashes));
	memset(crashed_at, 0, sizeof(crashed_at));
}

/* What drivers do */

static void end_hang(void *owner, uint64_t node)
{
	(void)owner;
	if (!hang_is((int)node))
		child_answer((int)node);
}

static void add(const struct stall *stall)
{
	if (n_stalls < MAX_STALLS)
		stalls[n_stalls++] = *stall;
}

void hang_begin(int node, uint64_t until, bool is_held)
{
	n_crashes[node] = 0;
	add(&(struct stall){node, clockwork_now(), until, 0, is_held});
	if (until != WORLD_NEVER)
		clockwork_at(until, end_hang, NULL, (uint64_t)node);
}

void hang_slow(int node, uint32_t call_ms, uint64_t until)
{
	add(&(struct stall){node, clockwork_now(), until, call_ms, false});
}

void hang_crash(int node, int n)
{
	n_crashes[node] = n;
}

static void end_stalls(int node)
{
	for (int i = 0; i < n_stalls; i++)
		if (stalls[i].node == node && stalls[i].until > clockwork_now())
			stalls[i].until = clockwork_now();
	cause_end(CAUSE_DRIVER_HANGS, node, -1);
}

void hang_boot(int node)
{
	end_stalls(node);
	n_crashes[node] = 0;
}

void hang_end(void)
{
	memset(n_crashes, 0, sizeof(n_crashes));
	for (int node = 0; node < world.n_nodes; node++) {
		end_stalls(node);
		child_answer(node);
	}
}

/* That the driver is in now; NULL: it answers at once. */
static const struct stall *find(int node, bool is_slow)
{
	uint64_t now = clockwork_now();

	for (int i = 0; i < n_stalls; i++)
		if (stalls[i].node == node && stalls[i].from <= now && now < stalls[i].until &&
		    (stalls[i].call_ms > 0) == is_slow)
			return &stalls[i];
	return NULL;
}

bool hang_is(int node)
{
	return find(node, false) != NULL;
}

bool hang_holds(int node)
{
	const struct stall *stall = find(node, false);

	return stall && stall->is_held;
}

bool hang_is_for_good(void)
{
	for (int i = 0; i < n_stalls; i++)
		if (stalls[i].until == WORLD_NEVER)
			return true;
	return false;
}

uint32_t hang_call_ms(int node)
{
	const struct stall *stall = find(node, true);

	return stall ? stall->call_ms : 0;
}

bool hang_take_crash(int node)
{
	if (n_crashes[node] == 0)
		return false;
	n_crashes[node]--;
	crashed_at[node] = clockwork_now();
	return true;
}

/* Judging */

/* A call that was slow may hang soon. */
static uint64_t slowest_ms(int node)
{
	uint64_t slowest = EARLY_MS;

	for (int i = 0; i < n_stalls; i++)
		if (stalls[i].node == node && stalls[i].call_ms > slowest)
			slowest = stalls[i].call_ms;
	return slowest;
}

/* Some call was too old when the report was made, or had been lately. */
static bool may_hang(int node, uint64_t at)
{
	uint64_t early = slowest_ms(node);

	for (int i = 0; i < n_stalls; i++) {
		const struct stall *stall = &stalls[i];

		if (stall->node == node && at + early >= stall->from + TIME_OUT_MS &&
		    (stall->until == WORLD_NEVER ||
		     at <= stall->until + 2 * stall->call_ms + OVER_MS) &&
		    (stall->call_ms == 0 || stall->call_ms + EARLY_MS >= TIME_OUT_MS))
			return true;
	}
	return false;
}

/* All calls of the agent have been too old for long. */
static bool must_hang(int node, uint64_t at)
{
	uint64_t since = load_agent_since(node, at);

	for (int i = 0; i < n_stalls; i++) {
		const struct stall *stall = &stalls[i];
		uint64_t from = stall->from > since ? stall->from : since;

		if (stall->node == node && stall->call_ms == 0 && at >= from + TOLD_MS &&
		    at < stall->until && crashed_at[node] + OVER_MS < stall->from)
			return since > 0;
	}
	return false;
}

/* By the simulation's clock. */
static uint64_t made_at(const struct attribution_status *status, int node)
{
	return clockwork_now() -
	       (uint64_t)(clockwork_wall(node) - status->report.observation_time);
}

/* By the simulation's clock: since when no error can have been missed, as the status tells. */
static uint64_t told_since(const struct attribution_status *status, int node)
{
	return clockwork_now() - (uint64_t)(clockwork_wall(node) - status->health.events_since);
}

/* Since when no error can have been missed is told; some have been. */
static void judge_missed(const struct attribution_status *status, int gpu, int node, uint64_t at)
{
	const struct world_gpu *g = &world.gpus[gpu];
	uint64_t since = told_since(status, node);

	for (unsigned i = 0; status->health.events_since > 0 && i < g->n_errors; i++)
		if (g->errors[i].missed_at > 0 && g->errors[i].missed_at < at &&
		    g->errors[i].node == node && since <= g->errors[i].raised_at)
			oracle_accuse(ORACLE_LOST_EVENT,
				      "%s: XID %d was missed, and nothing says that it may have been",
				      g->uuid, g->errors[i].code);
}

void hang_judge(const struct attribution_status *status, int gpu)
{
	int node = world.gpus[gpu].node;
	bool hangs = diagnosis_has_reason(status, "NVMLHangs");
	uint64_t at;

	if (node < 0 || !view_equal(status->node_name, view_from(world.nodes[node].name)) ||
	    !view_equal(status->report.boot_id, view_from(world.nodes[node].boot_id)) ||
	    !world.nodes[node].powered || cause_since(CAUSE_NODE_CLOCK, node, -1, 0))
		return;
	at = made_at(status, node);
	judge_missed(status, gpu, node, at);
	if (hangs && !may_hang(node, at))
		oracle_accuse(ORACLE_FALSE_HEALTH, "%s: NVMLHangs is a reason, and no call hung",
			      world.gpus[gpu].uuid);
	if (!hangs && must_hang(node, at))
		oracle_accuse(ORACLE_FALSE_HEALTH, "%s: a call hangs, and NVMLHangs is no reason",
			      world.gpus[gpu].uuid);
}

void hang_judge_rest(const struct attribution_status *status, int gpu)
{
	int node = world.gpus[gpu].node;

	if (node >= 0 && status->health.events_since > 0 &&
	    !cause_since(CAUSE_NODE_CLOCK, node, -1, 0) &&
	    told_since(status, node) < driver_watched_since(node))
		oracle_accuse(ORACLE_AT_REST, "%s: eventsSince is of before errors were watched",
			      world.gpus[gpu].uuid);
	if (diagnosis_has_reason(status, "NVMLHangs"))
		oracle_accuse(ORACLE_AT_REST, "%s: NVMLHangs is a reason, and no call hangs",
			      world.gpus[gpu].uuid);
}

static void judge_tenants(const struct attribution_status *status, int gpu)
{
	for (int i = 0; i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++)
			if (rest_must_show(&world.pods[i], c, gpu) &&
			    !attribution_find_tenant(status, view_from(world.pods[i].uid),
						     view_from(world.pods[i].containers[c].name)))
				oracle_accuse(ORACLE_AT_REST, "%s: its driver hangs, and %s is missing",
					      world.gpus[gpu].uuid, world.pods[i].name);
}

static void judge_good(int gpu)
{
	const struct world_gpu *g = &world.gpus[gpu];
	const struct attribution_status *status = oracle_status(gpu);
	const struct stall *stall = g->node >= 0 ? find(g->node, false) : NULL;
	const struct condition *fresh;

	if (!stall || g->lost || world.nodes[g->node].agentless || !status ||
	    !view_equal(status->node_name, view_from(world.nodes[g->node].name)))
		return;
	fresh = attribution_find_condition(status, VIEW("ReportFresh"));
	if (!fresh || fresh->status != CONDITION_TRUE)
		oracle_accuse(ORACLE_AT_REST, "%s: its driver hangs, and its node is silent", g->uuid);
	if (!diagnosis_has_reason(status, "NVMLHangs"))
		oracle_accuse(ORACLE_AT_REST, "%s: its driver hangs, and nothing says so", g->uuid);
	/* What it was divided into is known if it was read before. */
	if (g->changed_at + READ_MS < stall->from)
		judge_tenants(status, gpu);
}

void hang_judge_good(void)
{
	for (int gpu = 0; gpu < world.n_gpus; gpu++)
		judge_good(gpu);
}
