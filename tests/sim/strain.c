/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/strain.h"

#include <string.h>

#include "base/compiler.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/diagnosis.h"
#include "sim/illness.h"
#include "sim/load.h"
#include "sim/oracle.h"
#include "sim/plan.h"
#include "sim/world.h"

#define STREAM UINT64_C(0xe7037ed1a0b428db)
#define GENERATION_STREAM UINT64_C(0x8ebc6af09c88c6e3)
#define MAX_RUNS 64
#define GAP_MS 120000u /* between two readings, after which what takes long begins anew */
#define LINKS 12
#define LINKS_DOWN 3
#define LANES 16u
#define NARROW_LANES 8u
#define FAST_GENERATION 4u
#define SLOW_GENERATION 1u
#define IDLE_BIT 0x1u /* of the reasons why clocks are low; it says nothing of health, */
#define CAP_BIT 0x4u  /* nor does the driver's power cap */

enum strain { NVLINKS, FABRIC, PCIE, THERMAL, POWER_BRAKE, HARDWARE, GENERATION, N_STRAINS };

static const struct {
	const char *reason;
	enum strain_part part;    /* without which it is not told */
	uint64_t yes_ms, no_ms;   /* for so long readings must say that it is so, or not */
	bool is_lost_with_device; /* while a device is lost its readings do not tell */
	unsigned bits;            /* of the reasons why clocks are low */
} rows[N_STRAINS] = {
	[NVLINKS] = {"NVLinkDown", STRAIN_PART_NVLINK, 0, 0, false, 0},
	[FABRIC] = {"FabricNotReady", STRAIN_PART_FABRIC, 0, 0, false, 0},
	[PCIE] = {"PCIeLinkDegraded", STRAIN_PART_PCIE, STRAIN_NARROW_MS, 0, true, 0},
	[THERMAL] = {"ThermalSlowdown", STRAIN_PART_CLOCKS, STRAIN_SLOW_MS, STRAIN_FAST_MS, true, 0x20},
	[POWER_BRAKE] = {"PowerBrake", STRAIN_PART_CLOCKS, STRAIN_SLOW_MS, STRAIN_FAST_MS, true, 0x80},
	[HARDWARE] = {"HWSlowdown", STRAIN_PART_CLOCKS, STRAIN_SLOW_MS, STRAIN_FAST_MS, true, 0x8},
	/* With the lanes; counts while the device computes. */
	[GENERATION] = {"PCIeLinkDegraded", STRAIN_PART_PCIE, STRAIN_NARROW_MS, 0, true, 0},
};

/* MISSED: this agent cannot know, and an earlier one of the boot saw more. */
enum told { NOTHING, NO, YES, MISSED };

/* Readings one after another that told one agent the same. */
struct run {
	enum told told;
	unsigned agent;
	int node, boot;
	uint64_t from, last;
};

struct history_of_one {
	struct run runs[MAX_RUNS];
	int n_runs;
};

static struct prng stream;
static bool is_there;
static unsigned parts[WORLD_MAX_NODES]; /* that drivers tell: bits of enum strain_part */
static unsigned agents[WORLD_MAX_NODES];
static struct plan plans[WORLD_MAX_GPUS][N_STRAINS];
static bool is_prone[WORLD_MAX_GPUS][N_STRAINS];
static int n_links[WORLD_MAX_GPUS]; /* that lead somewhere */
static int most_links[WORLD_MAX_GPUS]; /* that this agent saw; 0: none */
static bool is_link_down[WORLD_MAX_GPUS]; /* as this agent saw */
/* The same by whichever agent of that boot. */
static struct {
	int node, boot, most;
} of_boot[WORLD_MAX_GPUS];
static struct history_of_one told[WORLD_MAX_GPUS][N_STRAINS];

static void begin(int gpu, enum strain strain, struct prng *prng)
{
	plan_begin(&plans[gpu][strain], prng_next(prng), 8, 8);
	is_prone[gpu][strain] = prng_between(prng, 0, 2) == 0;
	told[gpu][strain].n_runs = 0;
}

void strain_reset(uint64_t seed)
{
	struct prng generations;

	prng_init(&generations, seed ^ GENERATION_STREAM);
	prng_init(&stream, seed ^ STREAM);
	is_there = prng_between(&stream, 0, 1) != 0;
	memset(parts, 0, sizeof(parts));
	memset(agents, 0, sizeof(agents));
	memset(most_links, 0, sizeof(most_links));
	memset(is_link_down, 0, sizeof(is_link_down));
	memset(of_boot, 0, sizeof(of_boot));
	for (int gpu = 0; gpu < WORLD_MAX_GPUS; gpu++) {
		n_links[gpu] = prng_between(&stream, 0, 2) == 0 ? LINKS - 2 : LINKS;
		for (int i = 0; i < GENERATION; i++)
			begin(gpu, (enum strain)i, &stream);
		begin(gpu, GENERATION, &generations);
	}
}

/* Three of four drivers tell everything. */
void strain_set_up(int node)
{
	uint64_t dice = prng_between(&stream, 0, 63);

	parts[node] = !is_there ? 0 : dice < 16 ? (unsigned)dice : 15;
}

void strain_freeze(void)
{
	for (int gpu = 0; gpu < WORLD_MAX_GPUS; gpu++)
		for (int i = 0; i < N_STRAINS; i++)
			plan_freeze(&plans[gpu][i],
				    prng_between(&plans[gpu][i].prng, 0, 1) != 0);
}

/* What the driver tells */

static bool is_so(int gpu, enum strain strain)
{
	return is_prone[gpu][strain] && plan_is_on(&plans[gpu][strain], clockwork_now());
}

bool strain_tells(int gpu, enum strain_part part)
{
	int node = world.gpus[gpu].node;

	return node >= 0 && (parts[node] & part) != 0;
}

static bool is_told(int gpu, enum strain strain)
{
	return strain_tells(gpu, rows[strain].part);
}

bool strain_can_read(int gpu)
{
	for (int i = 0; i < N_STRAINS; i++)
		if (is_told(gpu, (enum strain)i))
			return true;
	return false;
}

/* In MIG mode nothing can use them. */
static int active_links(int gpu)
{
	if (world.gpus[gpu].mig)
		return 0;
	return n_links[gpu] - (is_so(gpu, NVLINKS) ? LINKS_DOWN : 0);
}

int strain_nvlink(int gpu, unsigned link, int *ret_active)
{
	if (!is_told(gpu, NVLINKS))
		return NVML_ABI_NOT_SUPPORTED;
	if (link >= LINKS)
		return NVML_ABI_INVALID_ARGUMENT;
	*ret_active = (int)link < active_links(gpu);
	return NVML_ABI_SUCCESS;
}

int strain_fabric(int gpu, struct nvml_abi_fabric_info *ret)
{
	if (!is_told(gpu, FABRIC))
		return NVML_ABI_NOT_SUPPORTED;
	ret->state = !is_so(gpu, FABRIC)             ? NVML_ABI_FABRIC_COMPLETED
		     : clockwork_now() / 20000 % 2 ? NVML_ABI_FABRIC_IN_PROGRESS
						    : NVML_ABI_FABRIC_NOT_STARTED;
	return NVML_ABI_SUCCESS;
}

int strain_pcie(int gpu, bool max, unsigned *ret_lanes)
{
	if (!is_told(gpu, PCIE))
		return NVML_ABI_NOT_SUPPORTED;
	*ret_lanes = max || !is_so(gpu, PCIE) ? LANES : NARROW_LANES;
	return NVML_ABI_SUCCESS;
}

/* An idle device's link is slow by design. */
int strain_pcie_generation(int gpu, bool max, unsigned *ret)
{
	bool is_slow = is_so(gpu, GENERATION) || !load_is_told_busy(gpu);

	if (!is_told(gpu, GENERATION))
		return NVML_ABI_NOT_SUPPORTED;
	*ret = max || !is_slow ? FAST_GENERATION : SLOW_GENERATION;
	return NVML_ABI_SUCCESS;
}

/* What says nothing of health moves all the time. Two bits mean the temperature. */
int strain_clocks(int gpu, unsigned long long *ret_reasons)
{
	uint64_t second = clockwork_now() / 1000;

	if (!is_told(gpu, THERMAL))
		return NVML_ABI_NOT_SUPPORTED;
	*ret_reasons = (second / 3 % 2 ? IDLE_BIT : 0) | (second / 5 % 2 ? CAP_BIT : 0);
	for (int i = THERMAL; i <= HARDWARE; i++)
		if (is_so(gpu, (enum strain)i))
			*ret_reasons |= i == THERMAL && second / 7 % 2 ? 0x40u : rows[i].bits;
	return NVML_ABI_SUCCESS;
}

/* What an agent saw */

void strain_started(int node)
{
	agents[node]++;
	for (int gpu = 0; gpu < world.n_gpus; gpu++)
		if (world.gpus[gpu].node == node) {
			most_links[gpu] = 0;
			is_link_down[gpu] = false;
		}
}

/* True if there were more in this boot and mode. */
static bool are_links_missed(int gpu, int n)
{
	const int node = world.gpus[gpu].node, boot = world.nodes[node].boot;

	if (of_boot[gpu].node != node || of_boot[gpu].boot != boot || world.gpus[gpu].mig)
		of_boot[gpu].most = 0;
	of_boot[gpu].node = node;
	of_boot[gpu].boot = boot;
	if (n > of_boot[gpu].most)
		of_boot[gpu].most = n;
	return n < of_boot[gpu].most;
}

/* Fewer than before are down. What it saw first may be all that there are, or not. Under MIG none is. */
static enum told look_at_links(int gpu)
{
	int n = active_links(gpu), most = most_links[gpu];
	bool is_down = n < most;
	bool is_missed = are_links_missed(gpu, n);
	bool is_up = n == LINKS || is_link_down[gpu] || (most > 0 && n > most);

	if (world.gpus[gpu].mig) {
		most_links[gpu] = 0;
		is_link_down[gpu] = false;
		return NO;
	}
	if (n > most)
		most_links[gpu] = n;
	if (is_down || is_up)
		is_link_down[gpu] = is_down;
	return is_down ? YES : is_up ? NO : is_missed ? MISSED : NOTHING;
}

static enum told look_at(int gpu, enum strain strain)
{
	bool is_lost = illness_has(gpu, ILLNESS_LOST);

	if (!is_told(gpu, strain) || is_lost || (strain == GENERATION && !load_is_told_busy(gpu)))
		return NOTHING;
	if (strain == NVLINKS)
		return look_at_links(gpu);
	return is_so(gpu, strain) ? YES : NO;
}

static bool goes_on(const struct run *run, const struct run *now)
{
	return run->told == now->told && run->agent == now->agent && run->node == now->node &&
	       run->boot == now->boot && now->from - run->last <= GAP_MS;
}

static void note(int gpu, enum strain strain)
{
	struct history_of_one *history = &told[gpu][strain];
	int node = world.gpus[gpu].node;
	const struct run now = {look_at(gpu, strain), agents[node],    node,
				world.nodes[node].boot, clockwork_now(), clockwork_now()};

	/* Without a figure nothing is counted anew where one reading is enough. */
	if (now.told == NOTHING && !rows[strain].is_lost_with_device)
		return;
	if (history->n_runs > 0 && goes_on(&history->runs[history->n_runs - 1], &now))
		history->runs[history->n_runs - 1].last = now.last;
	else if (history->n_runs < MAX_RUNS)
		history->runs[history->n_runs++] = now;
}

void strain_read(int node)
{
	for (int gpu = 0; gpu < world.n_gpus; gpu++)
		for (int i = 0; i < N_STRAINS; i++)
			if (world.gpus[gpu].node == node && !world.gpus[gpu].lost)
				note(gpu, (enum strain)i);
}

/* Judging */

/* The run's readings up to that moment have decided. */
static bool has_decided(enum strain strain, const struct run *run, uint64_t at)
{
	uint64_t last = run->last < at ? run->last : at;

	return (run->told == NO || run->told == YES) &&
	       last - run->from >= (run->told == YES ? rows[strain].yes_ms : rows[strain].no_ms);
}

/* The run that decided last, in this boot of the node; NULL: none did. */
static const struct run *find_decision(int gpu, enum strain strain, uint64_t at)
{
	const struct history_of_one *history = &told[gpu][strain];
	int node = world.gpus[gpu].node;

	for (int i = history->n_runs - 1; i >= 0; i--) {
		const struct run *run = &history->runs[i];

		if (run->from <= at && run->node == node &&
		    run->boot == world.nodes[node].boot && has_decided(strain, run, at))
			return run;
	}
	return NULL;
}

static bool had_reason(const struct attribution_status *status,
		       const struct attribution_status *before, const char *reason)
{
	return before && diagnosis_has_reason(before, reason) &&
	       view_equal(before->node_name, status->node_name) &&
	       view_equal(before->report.boot_id, status->report.boot_id);
}

/* This agent decided, and told so: the report that the status rests on has the device. */
static bool is_told_of(const struct run *decision, const struct attribution_status *status, int gpu)
{
	int node = world.gpus[gpu].node;
	unsigned listed = 0, unread;

	return decision && decision->agent == agents[node] &&
	       illness_reported(node, &status->report, gpu, &listed, &unread) &&
	       (listed & ILLNESS_LISTED) != 0;
}

/*
 * Of a PCIe link: a slow one is degraded, and of a wide one the generation alone decides. Both count as
 * the present agent has seen them.
 */
static const struct run *find_verdict(int gpu, enum strain strain, uint64_t at)
{
	const struct run *decision = find_decision(gpu, strain, at);
	const struct run *generation = find_decision(gpu, GENERATION, at);
	unsigned agent = agents[world.gpus[gpu].node];
	bool is_by_generation =
		strain == PCIE &&
		((generation && generation->told == YES && generation->agent == agent) ||
		 (decision && decision->told == NO && decision->agent == agent));

	return is_by_generation ? generation : decision;
}

/* Then the controller says that it is so, unless it has started since. */
static bool is_missed(int gpu, enum strain strain, uint64_t at)
{
	const struct history_of_one *history = &told[gpu][strain];
	int node = world.gpus[gpu].node, i = history->n_runs - 1;

	while (i >= 0 && history->runs[i].from > at)
		i--;
	return i >= 0 && history->runs[i].told == MISSED && history->runs[i].node == node &&
	       history->runs[i].boot == world.nodes[node].boot;
}

/* What this agent has decided is so. What none has, or a former one, is as it was published. */
static void judge_one(const struct attribution_status *status,
		      const struct attribution_status *before, int gpu, enum strain strain,
		      uint64_t at)
{
	const char *reason = rows[strain].reason;
	const struct run *decision = find_verdict(gpu, strain, at);
	bool is_shown = diagnosis_has_reason(status, reason), had = had_reason(status, before, reason);
	bool is_decided = is_told_of(decision, status, gpu);

	if (is_decided && is_shown != (decision->told == YES))
		oracle_accuse(ORACLE_FALSE_HEALTH, "%s: %s is %s reason, and readings told otherwise",
			      world.gpus[gpu].uuid, reason, is_shown ? "a" : "no");
	/* A former decision may not have been published yet. */
	if (!is_decided && is_shown != had && !(is_shown && is_missed(gpu, strain, at)) &&
	    (!decision || is_shown != (decision->told == YES)))
		oracle_accuse(ORACLE_FALSE_HEALTH, "%s: %s is %s reason, and nobody has decided that",
			      world.gpus[gpu].uuid, reason, is_shown ? "a" : "no");
}

static bool is_at(const struct attribution_status *status, int gpu)
{
	int node = world.gpus[gpu].node;

	return node >= 0 && view_equal(status->node_name, view_from(world.nodes[node].name));
}

void strain_judge(const struct attribution_status *status, const struct attribution_status *before,
		  int gpu)
{
	int node = world.gpus[gpu].node;
	uint64_t at = is_at(status, gpu) ? illness_read_at(node, &status->report) : 0;

	/* Of what came late it counts when it was asked for. */
	if (at == 0 || cause_since(CAUSE_DRIVER_HANGS, node, -1, at - GAP_MS))
		return;
	for (int i = 0; i < GENERATION; i++)
		if (told[gpu][i].n_runs < MAX_RUNS &&
		    (i != PCIE || told[gpu][GENERATION].n_runs < MAX_RUNS))
			judge_one(status, before, gpu, (enum strain)i, at);
}

/*
 * Of links it is known how many there were only by who saw more of them. What a link's generation was
 * when the device computed last stays, also while it does not.
 */
static bool is_unknown(int gpu, enum strain strain)
{
	return (strain == NVLINKS && !is_link_down[gpu]) ||
	       (strain == PCIE && !is_so(gpu, PCIE) && !load_is_told_busy(gpu));
}

static bool is_strained(int gpu, enum strain strain)
{
	return is_so(gpu, strain) || (strain == PCIE && is_so(gpu, GENERATION));
}

void strain_judge_rest(const struct attribution_status *status, int gpu)
{
	for (int i = 0; i < GENERATION; i++) {
		bool is_shown = diagnosis_has_reason(status, rows[i].reason);

		if (is_told(gpu, (enum strain)i) && is_shown != is_strained(gpu, (enum strain)i) &&
		    !is_unknown(gpu, (enum strain)i))
			oracle_accuse(ORACLE_AT_REST, "%s: %s is %s reason, and it is otherwise",
				      world.gpus[gpu].uuid, rows[i].reason, is_shown ? "a" : "no");
	}
}
