/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/load.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvml_abi.h"
#include "sim/clockwork.h"
#include "sim/illness.h"
#include "sim/plan.h"

#define STREAM UINT64_C(0xa0761d6478bd642f)
#define GPM_STREAM UINT64_C(0x2d358dccaa6c78a5)
#define MAX_READINGS 64 /* of a unit, the last ones */
#define MAX_STARTS 64   /* of a node's agent */
#define BREAK_MS 100000u /* without a figure, after which an agent may begin anew, */
#define MISSED_MS 125000u /* and must */
#define UNITS_OF_GPU (1 + WORLD_MAX_PARTITIONS)
#define N_UNITS (WORLD_MAX_GPUS * UNITS_OF_GPU)
#define STEP_MS 1000u /* in which the driver counts work */
#define IMPOSSIBLE_PERCENT 4000000000u

/* The counters of a GPU instance at one moment. */
struct nvml_abi_gpm_sample {
	uint64_t at; /* 0: nothing was sampled */
	int unit;
};

/* What is known to an agent of a unit: of a device as a whole, or of one of its partitions. */
struct watch {
	uint64_t peak_at;      /* the last look between two readings that saw work; 0: none has */
	uint64_t figure_at;    /* 0: none in this run */
	struct load_reading now;
	unsigned reading;      /* number */
	unsigned look_reading; /* after which there were looks that saw a figure */
	bool has_looked;       /* there were */
	/* What follows stays when an agent starts. */
	unsigned n_readings;
	struct load_reading readings[MAX_READINGS];
};

static struct prng stream, gpm_stream;
static bool is_there;
static bool tells[WORLD_MAX_NODES], has_gaps[WORLD_MAX_NODES], has_gpm[WORLD_MAX_NODES];
static struct plan work[N_UNITS], gaps[WORLD_MAX_GPUS];
static struct watch watches[N_UNITS];
static uint64_t read_at[WORLD_MAX_NODES];
static unsigned n_read[WORLD_MAX_NODES];
static uint64_t starts[WORLD_MAX_NODES][MAX_STARTS];
static unsigned n_starts[WORLD_MAX_NODES];

static int unit_of(int gpu, int partition)
{
	return gpu * UNITS_OF_GPU + 1 + partition;
}

static int gpu_of(int unit)
{
	return unit / UNITS_OF_GPU;
}

/* -1: the device as a whole. */
static int partition_of(int unit)
{
	return unit % UNITS_OF_GPU - 1;
}

bool load_is_there(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM);
	return prng_between(&prng, 0, 1) != 0;
}

void load_reset(uint64_t seed)
{
	prng_init(&stream, seed ^ STREAM);
	is_there = prng_between(&stream, 0, 1) != 0;
	memset(watches, 0, sizeof(watches));
	memset(read_at, 0, sizeof(read_at));
	memset(n_read, 0, sizeof(n_read));
	memset(n_starts, 0, sizeof(n_starts));
	memset(tells, 0, sizeof(tells));
	memset(has_gaps, 0, sizeof(has_gaps));
	memset(has_gpm, 0, sizeof(has_gpm));
	for (int i = 0; i < WORLD_MAX_GPUS; i++) {
		plan_begin(&work[unit_of(i, -1)], prng_next(&stream), 8, 8);
		plan_begin(&gaps[i], prng_next(&stream), 8, 9);
	}
	prng_init(&gpm_stream, seed ^ GPM_STREAM);
	for (int i = 0; i < N_UNITS; i++)
		if (i % UNITS_OF_GPU > 0)
			plan_begin(&work[i], prng_next(&gpm_stream), 8, 8);
}

void load_set_up(int node)
{
	uint64_t dice = prng_between(&stream, 0, 99);

	tells[node] = is_there && dice < 80;
	has_gaps[node] = dice < 30;
	has_gpm[node] = is_there && prng_between(&gpm_stream, 0, 2) > 0;
}

void load_freeze(void)
{
	for (int i = 0; i < N_UNITS; i++)
		plan_freeze(&work[i], prng_between(&work[i].prng, 0, 1) != 0);
	for (int i = 0; i < WORLD_MAX_GPUS; i++)
		plan_freeze(&gaps[i], false);
}

/* Work */

static bool is_on(const struct world_process *process, int unit)
{
	int partition = partition_of(unit);

	return process->gpu == gpu_of(unit) && (partition < 0 || process->partition == partition);
}

static bool has_process(int unit, uint64_t at)
{
	for (int i = 0; i < world.n_processes; i++)
		if (is_on(&world.processes[i], unit) && world.processes[i].from <= at &&
		    at < world.processes[i].until)
			return true;
	return false;
}

static bool is_working(int unit, uint64_t at)
{
	return plan_is_on(&work[unit], at) && (!world.has_processes || has_process(unit, at));
}

static struct plan_span cut(struct plan_span span, uint64_t from, uint64_t until)
{
	return (struct plan_span){span.from > from ? span.from : from,
			     span.until < until ? span.until : until};
}

/* Nobody looks at a partition between two readings. */
static bool is_long(int unit, struct plan_span span)
{
	uint64_t least = partition_of(unit) < 0 ? LOAD_SEEN_MS : LOAD_GPM_SEEN_MS;

	return span.until > span.from && span.until - span.from >= least;
}

/* Long enough between two gaps. */
static bool is_seen(int unit, struct plan_span span)
{
	uint64_t from = span.from;
	int gpu = gpu_of(unit);

	plan_extend(&gaps[gpu], span.until);
	for (int i = 0; has_gaps[world.gpus[gpu].node] && i < gaps[gpu].n_spans; i++) {
		const struct plan_span *gap = &gaps[gpu].spans[i];

		if (gap->until <= from || gap->from >= span.until)
			continue;
		if (is_long(unit, (struct plan_span){from, gap->from}))
			return true;
		from = gap->until;
	}
	return is_long(unit, (struct plan_span){from, span.until});
}

/* The times in which a unit computed, one after another. process: of those of that process. */
static bool next_work(int unit, int *number, int *process, struct plan_span *ret)
{
	while (*number < work[unit].n_spans) {
		*ret = work[unit].spans[*number];
		if (!world.has_processes) {
			++*number;
			return true;
		}
		while (*process < world.n_processes) {
			const struct world_process *p = &world.processes[(*process)++];

			if (!is_on(p, unit))
				continue;
			*ret = cut(work[unit].spans[*number], p->from, p->until);
			return true;
		}
		*process = 0;
		++*number;
	}
	return false;
}

bool load_was_seen(int gpu, int partition, uint64_t from, uint64_t until)
{
	int number = 0, process = 0, unit = unit_of(gpu, partition);
	struct plan_span span;

	plan_extend(&work[unit], until);
	while (next_work(unit, &number, &process, &span))
		if (is_seen(unit, cut(span, from, until)))
			return true;
	return false;
}

uint64_t load_last(int gpu, int partition, uint64_t before)
{
	int number = 0, process = 0, unit = unit_of(gpu, partition);
	uint64_t last = 0;
	struct plan_span span;

	plan_extend(&work[unit], before);
	while (next_work(unit, &number, &process, &span)) {
		span = cut(span, 0, before);
		if (span.until > span.from && span.until > last)
			last = span.until;
	}
	return last;
}

bool load_has_gap(int gpu, uint64_t from, uint64_t until)
{
	plan_extend(&gaps[gpu], until);
	for (int i = 0; has_gaps[world.gpus[gpu].node] && i < gaps[gpu].n_spans; i++)
		if (gaps[gpu].spans[i].until > from && gaps[gpu].spans[i].from < until)
			return true;
	return false;
}

/* What the driver tells */

bool load_tells(int node)
{
	return tells[node];
}

bool load_is_told(int gpu, int partition)
{
	const struct world_gpu *g = &world.gpus[gpu];

	if (g->node < 0)
		return false;
	return partition < 0 ? tells[g->node] && !g->mig
			     : has_gpm[g->node] && g->mig && g->partitions[partition].exists;
}

/* Another one in each second, even while nothing else changes. */
static unsigned spread(int gpu)
{
	uint64_t mixed = (clockwork_now() / 1000 + (uint64_t)gpu * 977) *
			 UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned)(mixed >> 40);
}

static unsigned figure(int gpu)
{
	return is_working(unit_of(gpu, -1), clockwork_now())
		       ? LOAD_THRESHOLD + spread(gpu) % (101 - LOAD_THRESHOLD)
		       : spread(gpu) % LOAD_THRESHOLD;
}

static bool is_gap(int gpu)
{
	return has_gaps[world.gpus[gpu].node] && plan_is_on(&gaps[gpu], clockwork_now());
}

bool load_is_told_busy(int gpu)
{
	return load_is_told(gpu, -1) && !is_gap(gpu) && figure(gpu) >= LOAD_THRESHOLD;
}

void load_started(int node)
{
	for (int i = 0; i < world.n_gpus * UNITS_OF_GPU; i++)
		if (world.gpus[gpu_of(i)].node == node)
			memset(&watches[i], 0, offsetof(struct watch, n_readings));
	if (n_starts[node] < MAX_STARTS)
		starts[node][n_starts[node]++] = clockwork_now();
}

void load_read(int node)
{
	read_at[node] = clockwork_now();
	n_read[node]++;
}

void load_lost(int node)
{
	n_read[node]++;
}

/* busy_at: when work was seen, by this reading or by a look before it; 0: none was. */
static void note_figure(struct watch *watch, uint64_t busy_at)
{
	uint64_t now = clockwork_now();

	if (watch->figure_at == 0 || now - watch->figure_at > BREAK_MS)
		watch->now.since = now;
	if (watch->figure_at > 0 && now - watch->figure_at > MISSED_MS)
		watch->now.missed_until = now;
	watch->figure_at = now;
	if (busy_at == 0)
		return;
	watch->now.busy_at = busy_at;
	watch->now.busy_read_at = now;
}

static void note_reading(int node, struct watch *watch, int figure)
{
	uint64_t now = clockwork_now();
	/* A look between two readings is told by the later one, if the device answers both. */
	bool has_looked = watch->has_looked && n_read[node] - watch->look_reading == 1 &&
			  n_read[node] - watch->reading == 1;
	bool has_figure = figure >= 0 || has_looked;

	/* What does not answer a reading may not have been listed in it. */
	if (n_read[node] - watch->reading > 1) {
		watch->now.since = now;
		watch->figure_at = 0;
	}
	if (has_figure)
		note_figure(watch, figure >= (int)LOAD_THRESHOLD ? now
				   : has_looked			 ? watch->peak_at
								 : 0);
	watch->now.at = now;
	watch->now.has_figure = has_figure;
	watch->reading = n_read[node];
	watch->has_looked = false;
	watch->peak_at = 0;
	watch->readings[watch->n_readings++ % MAX_READINGS] = watch->now;
}

/* The highest one is told, if it is not 0. */
static void note_look(int node, struct watch *watch, int figure)
{
	if (figure <= 0)
		return;
	if (watch->look_reading != n_read[node])
		watch->peak_at = 0;
	watch->has_looked = true;
	watch->look_reading = n_read[node];
	if (figure >= (int)LOAD_THRESHOLD)
		watch->peak_at = clockwork_now();
}

/* figure: percent; negative: none. */
static void note(int gpu, int figure)
{
	int node = world.gpus[gpu].node;
	if (read_at[node] == clockwork_now())
		note_reading(node, &watches[unit_of(gpu, -1)], figure);
	else
		note_look(node, &watches[unit_of(gpu, -1)], figure);
}

int load_ask(int gpu, unsigned *ret_percent)
{
	if (!load_is_told(gpu, -1))
		return NVML_ABI_NOT_SUPPORTED;
	if (world.gpus[gpu].lost || illness_has(gpu, ILLNESS_LOST))
		return NVML_ABI_GPU_IS_LOST;
	if (is_gap(gpu)) {
		note(gpu, -1);
		*ret_percent = IMPOSSIBLE_PERCENT;
		return clockwork_now() / 60000 % 2 ? NVML_ABI_UNKNOWN : NVML_ABI_SUCCESS;
	}
	*ret_percent = figure(gpu);
	note(gpu, (int)*ret_percent);
	return NVML_ABI_SUCCESS;
}

/* GPU performance monitoring */

bool load_has_gpm(int gpu)
{
	return world.gpus[gpu].node >= 0 && has_gpm[world.gpus[gpu].node];
}

int load_sample_alloc(struct nvml_abi_gpm_sample **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NVML_ABI_SUCCESS : NVML_ABI_UNKNOWN;
}

int load_sample_free(struct nvml_abi_gpm_sample *sample)
{
	free(sample);
	return NVML_ABI_SUCCESS;
}

/* What a reading told of the unit: first that it is asked, then perhaps a figure. */
static void note_partition(int unit, int figure)
{
	struct watch *watch = &watches[unit];

	if (watch->now.at == clockwork_now() && watch->n_readings > 0)
		watch->n_readings--;
	note_reading(world.gpus[gpu_of(unit)].node, watch, figure);
}

static int unit_of_instance(int gpu, unsigned gpu_instance)
{
	const struct world_gpu *g = &world.gpus[gpu];

	for (int i = 0; i < g->n_partitions; i++)
		if (g->partitions[i].exists && g->partitions[i].gpu_instance == (int)gpu_instance)
			return unit_of(gpu, i);
	return -1;
}

int load_sample(int gpu, unsigned gpu_instance, struct nvml_abi_gpm_sample *ret)
{
	int unit = unit_of_instance(gpu, gpu_instance);

	if (!load_has_gpm(gpu))
		return NVML_ABI_NOT_SUPPORTED;
	if (unit < 0)
		return NVML_ABI_INVALID_ARGUMENT;
	if (world.gpus[gpu].lost || illness_has(gpu, ILLNESS_LOST))
		return NVML_ABI_GPU_IS_LOST;
	note_partition(unit, -1);
	if (is_gap(gpu) && clockwork_now() / 60000 % 2)
		return NVML_ABI_UNKNOWN;
	*ret = (struct nvml_abi_gpm_sample){clockwork_now(), unit};
	return NVML_ABI_SUCCESS;
}

/* Percent of that time in which it computed. */
static unsigned share(int unit, uint64_t from, uint64_t until)
{
	unsigned n = 0, n_busy = 0;

	for (uint64_t at = from; at < until; at += STEP_MS, n++)
		n_busy += is_working(unit, at);
	return n_busy > 0 ? n_busy * 100 / n : spread(gpu_of(unit)) % LOAD_THRESHOLD;
}

int load_compare(const struct nvml_abi_gpm_sample *first, const struct nvml_abi_gpm_sample *second,
		 double *ret_percent)
{
	unsigned percent;

	if (first->at == 0 || first->unit != second->unit || first->at >= second->at)
		return NVML_ABI_INVALID_ARGUMENT;
	if (is_gap(gpu_of(first->unit))) {
		*ret_percent = IMPOSSIBLE_PERCENT;
		return NVML_ABI_SUCCESS;
	}
	percent = share(first->unit, first->at, second->at);
	note_partition(first->unit, (int)percent);
	*ret_percent = percent < 100 ? percent + 0.5 : 100;
	return NVML_ABI_SUCCESS;
}

/* What was told */

const struct load_reading *load_find(int gpu, int partition, uint64_t at)
{
	const struct watch *watch = &watches[unit_of(gpu, partition)];

	for (unsigned i = 0; i < watch->n_readings && i < MAX_READINGS; i++)
		if (watch->readings[i].at == at)
			return &watch->readings[i];
	return NULL;
}

uint64_t load_agent_since(int node, uint64_t at)
{
	for (unsigned i = n_starts[node]; i-- > 0;)
		if (starts[node][i] <= at)
			return starts[node][i];
	return 0;
}
