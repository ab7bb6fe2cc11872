/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A status is compared with what the driver told in the reading that its own report is of, and with
 * when the device computed. What nobody looked at nobody can know: an agent that was not there, a
 * driver that did not answer, and a look that failed excuse the work that they hid.
 */

#include "sim/idleness.h"

#include "base/compiler.h"
#include "lib/rewording.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/illness.h"
#include "sim/load.h"
#include "sim/oracle.h"
#include "sim/rest.h"
#include "sim/trouble.h"
#include "sim/world.h"

#define IDLE_MS 60000u       /* the agent's --idle-after */
#define TWO_SAMPLES_MS 30000u
#define SEEN_MS 45000u       /* two samples, and what may be in the way of one */
#define FIRST_MS 1000u       /* the first reading of an agent */
#define ROUNDED_MS 1000u     /* times are published in seconds */
#define DIVIDED_MS 60000u    /* after it the agent has read which MIG devices there are */
#define SAME_FIGURE_MS 1000u /* a reading so soon after another may tell the same figure */
#define TOLD_MS 25000u       /* a sample, a report and a write */

struct judge {
	const struct attribution_status *status;
	const struct attribution_status *before; /* NULL: there was none */
	int gpu, node;
	int partition; /* -1: the device as a whole */
	int state, before_state;
	int64_t idle_since;
	uint64_t at; /* the reading that the status rests on */
	uint64_t agent_since;
	const struct load_reading *reading; /* NULL: not known */
};

static const char *name_of(const struct judge *judge)
{
	const struct world_gpu *gpu = &world.gpus[judge->gpu];

	return judge->partition < 0 ? gpu->uuid : gpu->partitions[judge->partition].uuid;
}

static const char *word_of(int state)
{
	return state == ATTRIBUTION_ACTIVITY_ACTIVE ? "Active"
	       : state == ATTRIBUTION_ACTIVITY_IDLE ? "Idle"
						    : "Unknown";
}

static bool is_disturbed(const struct judge *judge)
{
	/* A figure of a partition is of two samples. */
	uint64_t from = judge->at - IDLE_MS - (judge->partition < 0 ? 0 : LOAD_GPM_SEEN_MS);

	return cause_since(CAUSE_DRIVER_FAILED, judge->node, -1, from) ||
	       cause_since(CAUSE_DRIVER_HANGS, judge->node, -1, from);
}

/* In the time that it takes to be idle: an agent sees nothing before its first reading. */
static uint64_t looked_since(const struct judge *judge)
{
	uint64_t from = judge->at - IDLE_MS, first = judge->agent_since + FIRST_MS;

	return judge->agent_since > 0 && first > from ? first : from;
}

/* Processes */

static bool is_on(const struct world_process *process, int gpu, struct view partition)
{
	const struct world_gpu *g = &world.gpus[gpu];

	return process->gpu == gpu &&
	       (partition.len == 0 ||
		(process->partition >= 0 &&
		 view_equal(view_from(g->partitions[process->partition].uuid), partition)));
}

/* How long there was a process, and it was known to be there, between these moments. */
static bool was_used(const struct world_process *process, uint64_t from, uint64_t to)
{
	uint64_t begin = process->from > from ? process->from : from;
	uint64_t end = process->until < to ? process->until : to;

	return end > begin && end - begin >= SEEN_MS;
}

/* Without utilisation nothing but a device without processes can be Idle. */
static void judge_processes(const struct judge *judge, struct view partition)
{
	/* Samples may be missing for 2 minutes, which here is longer than it takes to be idle. */
	if (is_disturbed(judge))
		return;
	for (int i = 0; i < world.n_processes; i++)
		if (is_on(&world.processes[i], judge->gpu, partition) &&
		    was_used(&world.processes[i], looked_since(judge), judge->at))
			oracle_accuse(ORACLE_FALSE_IDLE, "%s%s%.*s is Idle, and %s[%u] was on it",
				      name_of(judge), partition.len ? " " : "", VIEW_ARG(partition),
				      world.processes[i].command, world.processes[i].pid);
}

/* By what its partitions are. */
static void judge_sum(const struct judge *judge)
{
	const struct array partitions = judge->status->partitions;
	bool is_active = false;

	for (uint32_t i = 0; i < partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(partitions, struct attribution_partition, i);

		is_active |= partition->activity.state == ATTRIBUTION_ACTIVITY_ACTIVE;
		if (judge->status->activity.state == ATTRIBUTION_ACTIVITY_IDLE &&
		    (partition->activity.state != ATTRIBUTION_ACTIVITY_IDLE ||
		     partition->activity.idle_since > judge->status->activity.idle_since))
			oracle_accuse(ORACLE_FALSE_IDLE, "%s is Idle as a whole, and %.*s is not",
				      name_of(judge), VIEW_ARG(partition->uuid));
	}
	if (partitions.count > 0 &&
	    is_active != (judge->status->activity.state == ATTRIBUTION_ACTIVITY_ACTIVE))
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is %s, and %s of its partitions is Active",
			      name_of(judge), word_of(judge->status->activity.state),
			      is_active ? "one" : "none");
}

/* Utilisation */

/* Its driver tells how busy it is, or how busy each of its partitions is. */
static bool is_measured(const struct judge *judge)
{
	return judge->status->partitions.count == 0
		       ? load_is_told(judge->gpu, -1)
		       : load_has_gpm(judge->gpu) && world.gpus[judge->gpu].mig;
}

static bool is_fresh(const struct judge *judge)
{
	const struct condition *fresh =
		attribution_find_condition(judge->status, VIEW("ReportFresh"));

	return fresh && fresh->status == CONDITION_TRUE;
}

static void expect_reason(const struct judge *judge, const char *reason, enum oracle_rule rule)
{
	const struct attribution_activity_state *activity = &judge->status->activity;

	if (activity->state != ATTRIBUTION_ACTIVITY_UNKNOWN ||
	    !rewording_is(activity->reason, view_from(reason)))
		oracle_accuse(rule, "%s is %s for \"%.*s\", not Unknown for %s", name_of(judge),
			      word_of(activity->state), VIEW_ARG(activity->reason), reason);
}

static void expect(const struct judge *judge, int state, const char *why)
{
	if (judge->state != state)
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is %s, not %s: %s", name_of(judge),
			      word_of(judge->state), word_of(state), why);
}

/* What the driver told in that reading and before is the state. */
static void judge_told(const struct judge *judge)
{
	const struct load_reading *told = judge->reading;

	if (!is_fresh(judge) || is_disturbed(judge))
		return;
	if (told->busy_read_at > 0 && judge->at - told->busy_read_at < IDLE_MS)
		expect(judge, ATTRIBUTION_ACTIVITY_ACTIVE, "its driver told of work");
	else if (told->has_figure && judge->at - told->since >= IDLE_MS &&
		 judge->at - told->busy_read_at >= IDLE_MS + SAME_FIGURE_MS)
		expect(judge, ATTRIBUTION_ACTIVITY_IDLE, "its driver told of no work for long");
}

/* What the device did, whatever was told of it. */
static void judge_work(const struct judge *judge)
{
	if (!is_disturbed(judge) && judge->agent_since > 0 &&
	    load_was_seen(judge->gpu, judge->partition, looked_since(judge), judge->at))
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is Idle, and it computed", name_of(judge));
}

static bool was_idle(const struct judge *judge)
{
	return judge->before && judge->before_state == ATTRIBUTION_ACTIVITY_IDLE &&
	       view_equal(judge->before->report.boot_id, judge->status->report.boot_id);
}

static void judge_window(const struct judge *judge)
{
	if (judge->agent_since > 0 && judge->at - judge->agent_since < IDLE_MS && !was_idle(judge))
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is Idle, and its agent has looked for %u ms",
			      name_of(judge), (unsigned)(judge->at - judge->agent_since));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* By the simulation's clock. */
static uint64_t idle_at(int64_t idle_since, int node)
{
	int64_t ago = clockwork_wall(node) - idle_since;

	return clockwork_now() - (uint64_t)ago;
}

/* When a process was last on it. */
static uint64_t last_process(const struct judge *judge)
{
	uint64_t last = 0;

	for (int i = 0; i < world.n_processes; i++)
		if (world.processes[i].gpu == judge->gpu && world.processes[i].from < judge->at &&
		    (judge->partition < 0 || world.processes[i].partition == judge->partition))
			last = later(last, world.processes[i].until);
	return last < judge->at ? last : judge->at;
}

/* Two samples, between which others were missed, tell late of work. */
static bool is_of_long_samples(const struct judge *judge, uint64_t from, uint64_t until)
{
	return judge->partition >= 0 &&
	       (load_has_gap(judge->gpu, from, until) ||
		cause_since(CAUSE_DRIVER_FAILED, judge->node, -1, from));
}

/* Not before the last reading that told of work, and not long after the work. */
static void judge_since(const struct judge *judge)
{
	const struct load_reading *told = judge->reading;
	uint64_t since = idle_at(judge->idle_since, judge->node);
	/* Without a figure it counts since when there is no process. */
	uint64_t work = later(load_last(judge->gpu, judge->partition, judge->at),
			      told->has_figure ? 0 : last_process(judge));
	uint64_t begin = later(later(work, told->since),
			       later(judge->agent_since, world.gpus[judge->gpu].changed_at));

	/* A reading that came late counts for when it was asked for. */
	if (since + ROUNDED_MS < told->busy_read_at &&
	    !cause_since(CAUSE_DRIVER_HANGS, judge->node, -1, told->busy_read_at))
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is idle since %u ms too early", name_of(judge),
			      (unsigned)(told->busy_read_at - since));
	/* The same; and that there is no process may take the place of a figure. */
	if (since + ROUNDED_MS < told->missed_until &&
	    !world.nodes[judge->node].sees_processes &&
	    !cause_since(CAUSE_DRIVER_HANGS, judge->node, -1, told->missed_until))
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is idle since before samples were missed",
			      name_of(judge));
	/* What was seen before a hang is told by the first reading after it. */
	if (since > begin + TWO_SAMPLES_MS && !is_of_long_samples(judge, begin, since) &&
	    !cause_since(CAUSE_DRIVER_HANGS, judge->node, -1, begin))
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is idle since %u ms too late", name_of(judge),
			      (unsigned)(since - begin));
}

/* Published by this node. */
static bool was_published(const struct judge *judge)
{
	return judge->before && view_equal(judge->before->node_name, judge->status->node_name);
}

/*
 * Its agent has looked for less than it takes to be idle, and there is nothing to go by from before.
 * Whether it is idle too early judge_since() says.
 */
static void judge_settling(const struct judge *judge)
{
	const struct load_reading *told = judge->reading;
	bool is_young = told->has_figure && judge->at - told->since < IDLE_MS &&
			told->busy_read_at == 0 && !was_published(judge);

	if (!is_fresh(judge) || is_disturbed(judge))
		return;
	if (is_young && judge->status->activity.state == ATTRIBUTION_ACTIVITY_UNKNOWN)
		expect_reason(judge, "Settling", ORACLE_FALSE_IDLE);
	else if (rewording_is(judge->status->activity.reason, VIEW("Settling")) &&
		 was_published(judge) &&
		 judge->before->activity.state != ATTRIBUTION_ACTIVITY_UNKNOWN)
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is Settling, and was %s before", name_of(judge),
			      word_of(judge->before->activity.state));
}

static void judge_measured(const struct judge *judge)
{
	judge_told(judge);
	if (judge->partition < 0)
		judge_settling(judge);
	if (judge->state != ATTRIBUTION_ACTIVITY_IDLE)
		return;
	judge_work(judge);
	judge_window(judge);
	judge_since(judge);
}

static bool is_at(const struct attribution_status *status, int gpu)
{
	int node = world.gpus[gpu].node;

	return node >= 0 && view_equal(status->node_name, view_from(world.nodes[node].name));
}

/* By the node's clock all is told. It may be set while the node is off, too. */
static bool was_clock_set(int node)
{
	return !world.nodes[node].powered || cause_since(CAUSE_NODE_CLOCK, node, -1, 0);
}

static bool is_divided_lately(int gpu, uint64_t at)
{
	return world.gpus[gpu].changed_at + DIVIDED_MS > at;
}

static int state_before(const struct judge *judge, struct view uuid)
{
	for (uint32_t i = 0; judge->before && i < judge->before->partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(judge->before->partitions, struct attribution_partition, i);

		if (view_equal(partition->uuid, uuid))
			return partition->activity.state;
	}
	return ATTRIBUTION_ACTIVITY_UNSET;
}

/* The number of that MIG device; -1: there is none. */
static int number_of(int gpu, struct view uuid)
{
	for (int i = 0; i < world.gpus[gpu].n_partitions; i++)
		if (view_equal(view_from(world.gpus[gpu].partitions[i].uuid), uuid))
			return i;
	return -1;
}

static void judge_partition(const struct judge *device,
			    const struct attribution_partition *partition)
{
	struct judge judge = *device;

	judge.partition = number_of(judge.gpu, partition->uuid);
	judge.state = partition->activity.state;
	judge.before_state = state_before(&judge, partition->uuid);
	judge.idle_since = partition->activity.idle_since;
	if (judge.partition < 0)
		return;
	if (load_is_told(judge.gpu, judge.partition)) {
		judge.reading = load_find(judge.gpu, judge.partition, judge.at);
		if (judge.reading && !was_clock_set(judge.node) &&
		    !is_divided_lately(judge.gpu, judge.at))
			judge_measured(&judge);
		return;
	}
	/* Of one that is gone its driver told what nobody remembers. */
	if (load_has_gpm(judge.gpu))
		return;
	if (judge.state == ATTRIBUTION_ACTIVITY_IDLE)
		judge_processes(device, partition->uuid);
	if (judge.state == ATTRIBUTION_ACTIVITY_ACTIVE)
		oracle_accuse(ORACLE_FALSE_IDLE,
			      "%s %.*s is Active, and its driver does not tell that of a MIG device",
			      name_of(device), VIEW_ARG(partition->uuid));
}

static void judge_parts(const struct judge *judge)
{
	const struct array partitions = judge->status->partitions;

	judge_sum(judge);
	for (uint32_t i = 0; i < partitions.count; i++)
		judge_partition(judge, ARRAY_AT(partitions, struct attribution_partition, i));
}

static struct judge judge_of_device(const struct attribution_status *status,
				    const struct attribution_status *before, int gpu)
{
	return (struct judge){
		.status = status,
		.before = before,
		.gpu = gpu,
		.node = world.gpus[gpu].node,
		.partition = -1,
		.state = status->activity.state,
		.before_state = before ? before->activity.state : ATTRIBUTION_ACTIVITY_UNSET,
		.idle_since = status->activity.idle_since,
	};
}

void idleness_judge(const struct attribution_status *status,
		    const struct attribution_status *before, int gpu)
{
	struct judge judge = judge_of_device(status, before, gpu);
	bool is_idle = status->activity.state == ATTRIBUTION_ACTIVITY_IDLE;

	if (!is_at(status, gpu))
		return;
	if ((status->activity.state == ATTRIBUTION_ACTIVITY_UNKNOWN) !=
	    (status->activity.reason.len > 0))
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is %s for \"%.*s\"", name_of(&judge),
			      word_of(status->activity.state), VIEW_ARG(status->activity.reason));
	if (is_idle && !is_fresh(&judge))
		oracle_accuse(ORACLE_FALSE_IDLE, "%s is Idle, and its node is not heard of",
			      name_of(&judge));
	judge.at = illness_read_at(judge.node, &status->report);
	if (judge.at < IDLE_MS)
		return;
	judge.agent_since = load_agent_since(judge.node, judge.at);
	judge.reading = load_find(gpu, -1, judge.at);
	judge_parts(&judge);
	/* What the driver told of it as it was before it told of it otherwise. */
	if ((load_tells(judge.node) || load_has_gpm(gpu)) && is_divided_lately(gpu, judge.at))
		return;
	if (is_idle && !load_is_told(gpu, -1) && !is_measured(&judge))
		judge_processes(&judge, VIEW(""));
	if (load_is_told(gpu, -1) && judge.reading && status->partitions.count == 0 &&
	    !was_clock_set(judge.node))
		judge_measured(&judge);
}

/* Something ran there after that moment. */
static bool was_used_since(int gpu, uint64_t at)
{
	for (int i = 0; i < world.n_processes; i++)
		if (world.processes[i].gpu == gpu && world.processes[i].until > at)
			return true;
	return false;
}

/* Something was done on it, or may have been, since it was said to be idle. */
static bool is_anew(int gpu, int partition, int64_t since, int64_t since_before)
{
	uint64_t at;

	if (since_before == 0 || since == since_before)
		return false;
	at = idle_at(since_before, world.gpus[gpu].node);
	return was_used_since(gpu, at) || load_has_gap(gpu, at, clockwork_now()) ||
	       (load_is_told(gpu, partition) && load_last(gpu, partition, clockwork_now()) > at);
}

bool idleness_is_anew(const struct attribution_status *status,
		      const struct attribution_status *before, int gpu)
{
	if (world.gpus[gpu].node < 0)
		return false;
	for (uint32_t i = 0; i < status->partitions.count && i < before->partitions.count; i++) {
		const struct attribution_partition *now =
			ARRAY_AT(status->partitions, struct attribution_partition, i);
		int partition = number_of(gpu, now->uuid);

		if (partition >= 0 &&
		    is_anew(gpu, partition, now->activity.idle_since,
			    ARRAY_AT(before->partitions, struct attribution_partition, i)
				    ->activity.idle_since))
			return true;
	}
	return is_anew(gpu, -1, status->activity.idle_since, before->activity.idle_since);
}

/* At rest */

enum use { UNUSED, USED, LATELY_OTHERWISE };

/* Whether something has been on it, or nothing, for long enough to be known. */
static enum use use_of(int gpu, struct view partition)
{
	uint64_t now = clockwork_now();
	enum use use = UNUSED;

	for (int i = 0; i < world.n_processes; i++) {
		const struct world_process *process = &world.processes[i];

		if (!is_on(process, gpu, partition) || process->until < now - IDLE_MS - TOLD_MS)
			continue;
		if (process->until > now && process->from + TOLD_MS < now)
			return USED;
		use = LATELY_OTHERWISE;
	}
	return use;
}

static void expect_rest(const struct judge *judge, struct view partition, int state, int expected)
{
	if (state != expected)
		oracle_accuse(ORACLE_AT_REST, "%s%s%.*s is %s, not %s", name_of(judge),
			      partition.len ? " " : "", VIEW_ARG(partition), word_of(state),
			      word_of(expected));
}

static void judge_unmeasured(const struct judge *judge, struct view partition, int state)
{
	enum use use = use_of(judge->gpu, partition);

	if (!world.nodes[judge->node].sees_processes || use == USED)
		expect_rest(judge, partition, state, ATTRIBUTION_ACTIVITY_UNKNOWN);
	else if (use == UNUSED)
		expect_rest(judge, partition, state, ATTRIBUTION_ACTIVITY_IDLE);
}

static void judge_measured_rest(const struct judge *judge, int partition, struct view uuid, int state)
{
	uint64_t now = clockwork_now();

	if (load_was_seen(judge->gpu, partition, now - IDLE_MS, now - TOLD_MS))
		expect_rest(judge, uuid, state, ATTRIBUTION_ACTIVITY_ACTIVE);
	else if (load_last(judge->gpu, partition, now) + IDLE_MS + TOLD_MS < now)
		expect_rest(judge, uuid, state, ATTRIBUTION_ACTIVITY_IDLE);
}

/* Why it is Unknown */

static bool is_agentless(const struct judge *judge)
{
	return world.nodes[judge->node].agentless;
}

static bool is_silent(const struct judge *judge)
{
	return trouble_took_agent(judge->node);
}

/* How some part of it is used, or all of it if it has none. */
static bool has_part(const struct judge *judge, enum use use)
{
	const struct array partitions = judge->status->partitions;

	for (uint32_t i = 0; i < partitions.count; i++)
		if (use_of(judge->gpu, ARRAY_AT(partitions, struct attribution_partition, i)->uuid) ==
		    use)
			return true;
	return partitions.count == 0 && use_of(judge->gpu, VIEW("")) == use;
}

/* Where no driver tells how busy it is, and processes are on it or not seen. */
static bool is_unmeasured(const struct judge *judge)
{
	return !is_measured(judge) &&
	       (!world.nodes[judge->node].sees_processes || has_part(judge, USED));
}

/* What is given out of it are MIG devices. Where not all IDs are known, the mode is as published. */
static bool is_unmeasured_mig(const struct judge *judge)
{
	int mode = rest_mode(judge->gpu);

	if (mode == ATTRIBUTION_MODE_UNKNOWN || trouble_is_unwell(judge->gpu) ||
	    rest_is_beyond_proof(judge->gpu))
		mode = judge->status->sharing.mode;
	return is_unmeasured(judge) &&
	       (mode == ATTRIBUTION_MODE_MIG || mode == ATTRIBUTION_MODE_MIG_TIME_SLICED);
}

/* It was measured as long as the driver answered. */
static bool has_no_samples(const struct judge *judge)
{
	return trouble_fails_driver(judge->node) &&
	       (is_measured(judge) ||
		(!has_part(judge, USED) && !has_part(judge, LATELY_OTHERWISE)));
}

void idleness_judge_why(const struct attribution_status *status, int gpu)
{
	static const struct {
		bool (*is_so)(const struct judge *judge);
		const char *reason;
	} whys[] = {
		{is_agentless, "NoAgent"},
		{is_silent, "ReportStale"},
		{is_unmeasured_mig, "MIGNotMeasured"},
		{is_unmeasured, "NotMeasured"},
		{has_no_samples, "SamplesMissing"},
	};
	const struct judge judge = judge_of_device(status, NULL, gpu);

	for (size_t i = 0; i < ARRAY_SIZE(whys); i++)
		if (whys[i].is_so(&judge)) {
			expect_reason(&judge, whys[i].reason, ORACLE_AT_REST);
			return;
		}
	if (!has_part(&judge, LATELY_OTHERWISE) &&
	    status->activity.state == ATTRIBUTION_ACTIVITY_UNKNOWN)
		oracle_accuse(ORACLE_AT_REST, "%s is Unknown for %.*s, and that is not so",
			      name_of(&judge), VIEW_ARG(status->activity.reason));
}

void idleness_judge_rest(const struct attribution_status *status, int gpu)
{
	const struct judge judge = judge_of_device(status, NULL, gpu);
	const struct array partitions = status->partitions;

	idleness_judge_why(status, gpu);
	for (uint32_t i = 0; i < partitions.count; i++) {
		const struct attribution_partition *partition =
			ARRAY_AT(partitions, struct attribution_partition, i);

		int number = number_of(gpu, partition->uuid);

		if (number >= 0 && load_is_told(gpu, number))
			judge_measured_rest(&judge, number, partition->uuid,
					    partition->activity.state);
		else
			judge_unmeasured(&judge, partition->uuid, partition->activity.state);
	}
	if (partitions.count > 0)
		return;
	if (load_is_told(gpu, -1))
		judge_measured_rest(&judge, -1, VIEW(""), status->activity.state);
	else
		judge_unmeasured(&judge, VIEW(""), status->activity.state);
}
