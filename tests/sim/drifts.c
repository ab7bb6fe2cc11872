/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Of each difference of each node it is kept when it began and ended. Two things blur it. What happens is
 * known a moment later; and while something is in the way of knowing (sim/cause.h) nothing is asked of
 * the moments at which it was.
 */

#include "sim/drifts.h"

#include <string.h>

#include "agent/hardware.h"
#include "base/compiler.h"
#include "lib/rewording.h"
#include "sim/apiserver.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/differences.h"
#include "sim/oracle.h"
#include "sim/policies.h"
#include "sim/programs.h"
#include "sim/trouble.h"
#include "sim/world.h"

#define MAX_CHANGES 64    /* of a difference, the last ones */
#define LOOK_MS 1000u
#define SOON_MS 3000u     /* a change is told, joined, and written */
#define READ_MS 20000u    /* and before that a sample and a report, if it is the node's */
#define SETTLED_MS 25000u /* what was so long before is known */
#define FORGOTTEN_MS 120000u
#define CALM_MS 100000u   /* what was in the way so lately may still be */

enum { N_REASONS = 11 };

struct change {
	uint64_t at;
	enum difference_state state;
};

struct log {
	struct change changes[MAX_CHANGES];
	unsigned n; /* ever; the first change is the beginning, with DIFFERENCE_NO */
	unsigned n_begun; /* how often it came */
	unsigned mark;    /* of what was intended at the last change */
};

/* What was published of a device, on one node. */
struct tally {
	int node; /* index + 1; 0: nothing yet */
	unsigned n_begun[DIFFERENCE_N]; /* of the difference, before */
	unsigned n_shown[DIFFERENCE_N]; /* how often it came since */
};

static struct log logs[WORLD_MAX_NODES][DIFFERENCE_N];
static struct log device_logs[WORLD_MAX_GPUS][DIFFERENCE_N];
static int looked_in[WORLD_MAX_GPUS]; /* the node that those are of, + 1 */
static uint64_t was_reason_at[WORLD_MAX_NODES][N_REASONS]; /* the last time; 0: never */
static struct tally tallies[WORLD_MAX_GPUS];
static uint64_t disturbed_until;

/* Keeping */

static enum difference_state last_of(const struct log *log)
{
	return log->n > 0 ? log->changes[(log->n - 1) % MAX_CHANGES].state : DIFFERENCE_NO;
}

static struct log *log_of(int gpu, enum difference difference)
{
	return differences_is_of_gpu(difference) ? &device_logs[gpu][difference]
						 : &logs[world.gpus[gpu].node][difference];
}

/* It is not published in that state, and published anew after it. */
static bool is_hidden(enum difference_state state)
{
	return state == DIFFERENCE_NO || state == DIFFERENCE_UNREAD;
}

/* If what is intended is edited its hold-off begins anew: so it comes once more. */
static void note(struct log *log, enum difference_state state, unsigned mark)
{
	const bool is_edited = mark != log->mark;

	if (log->n > 0 && state == last_of(log) && (!is_edited || is_hidden(state)))
		return;
	log->n_begun += (is_edited || is_hidden(last_of(log))) && !is_hidden(state);
	log->mark = mark;
	log->changes[log->n++ % MAX_CHANGES] = (struct change){clockwork_now(), state};
}

static void look_at_gpu(int gpu)
{
	const int node = world.gpus[gpu].node;

	if (looked_in[gpu] != node + 1)
		memset(device_logs[gpu], 0, sizeof(device_logs[gpu]));
	looked_in[gpu] = node + 1;
	for (int i = 0; node >= 0 && i < DIFFERENCE_N; i++)
		if (differences_is_of_gpu((enum difference)i))
			note(&device_logs[gpu][i], differences_state(node, gpu, (enum difference)i),
			     differences_mark(node, (enum difference)i));
}

/* Reasons of the condition InSync */

static bool is_policy_unread(int node)
{
	(void)node;
	return policies_counts() == 0 && policies_of(POLICIES_UNREADABLE);
}

static bool is_managed(int node)
{
	(void)node;
	return policies_counts() >= 0;
}

static bool is_unmanaged(int node)
{
	return !is_managed(node);
}

static bool is_mig(int node)
{
	return differences_work(node) == DIFFERENCE_MIG;
}

static bool is_upgrade(int node)
{
	return differences_work(node) == DIFFERENCE_UPGRADE;
}

static bool is_paused(int node)
{
	return differences_work(node) == DIFFERENCE_PAUSED;
}

/* A kubelet that starts has its pods before that is over; a node's clock tells when it did. */
static bool may_settle(int node)
{
	static const enum cause causes[] = {CAUSE_NEW_DEVICE, CAUSE_OFFER_CHANGED, CAUSE_RECORDS_FAILED,
					    CAUSE_NODE_CLOCK, CAUSE_NODE_OFF, CAUSE_FORGED};
	const uint64_t from = clockwork_now() - 2 * PROGRAMS_SETTLING_MS;

	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		if (cause_since(causes[i], node, -1, from))
			return true;
	return false;
}

static bool may_wait(int node)
{
	(void)node;
	return true; /* what is pending is judged apart: judge_pending() */
}

/* For good; for a while its reports may be missing besides, which is in the way of knowing. */
static bool is_silent(int node)
{
	return trouble_took_agent(node);
}

static bool is_agentless(int node)
{
	return world.nodes[node].agentless;
}

/* Where nothing is intended it is told as well: never, if something waits for it, always. */
enum unmanaged { NEVER, IF_AWAITED, ALWAYS };

/* In the order in which they are told. */
static const struct reason {
	const char *word;
	bool (*is_so)(int node);
	bool ends; /* it is over at rest */
	enum unmanaged unmanaged;
} reasons_of_in_sync[N_REASONS] = {
	{"ReportStale", is_silent, false, ALWAYS},
	{"NoAgent", is_agentless, false, ALWAYS},
	{"PolicyUnreadable", is_policy_unread, false, NEVER},
	{"ConfigUnreadable", differences_is_config_unread, false, NEVER},
	{"MIGReconfiguration", is_mig, false, IF_AWAITED},
	{"DriverUpgrade", is_upgrade, false, IF_AWAITED},
	{"OperandsPaused", is_paused, false, IF_AWAITED},
	{"KubeletSettling", may_settle, true, NEVER},
	{"HoldOff", may_wait, true, NEVER},
	{"InSync", is_managed, false, NEVER},
	{"Unmanaged", is_unmanaged, false, ALWAYS},
};

static void look_at_reasons(void)
{
	for (int node = 0; node < world.n_nodes; node++)
		for (int i = 0; i < N_REASONS; i++)
			if (reasons_of_in_sync[i].is_so(node))
				was_reason_at[node][i] = clockwork_now();
}

void drifts_look(void)
{
	differences_look();
	for (int node = 0; node < world.n_nodes; node++)
		for (int i = 0; i < DIFFERENCE_N; i++)
			if (!differences_is_of_gpu((enum difference)i))
				note(&logs[node][i],
				     differences_state(node, -1, (enum difference)i),
				     differences_mark(node, (enum difference)i));
	for (int gpu = 0; gpu < world.n_gpus; gpu++)
		look_at_gpu(gpu);
	look_at_reasons();
}

void drifts_disturbed(uint64_t until)
{
	if (until > disturbed_until)
		disturbed_until = until;
}

/* Since when it has been in that state; WORLD_NEVER: it is not now. */
static uint64_t since(const struct log *log, enum difference_state state)
{
	return log->n > 0 && last_of(log) == state ? log->changes[(log->n - 1) % MAX_CHANGES].at
						   : WORLD_NEVER;
}

/* For how long it was in that state, at most at a time, between these moments; 0: it never was. */
static uint64_t longest(const struct log *log, enum difference_state state, uint64_t from, uint64_t to)
{
	uint64_t end = to + 1, best = 0;

	for (unsigned i = log->n; i > 0 && log->n - i < MAX_CHANGES && end > from; i--) {
		const struct change *change = &log->changes[(i - 1) % MAX_CHANGES];
		const uint64_t begin = change->at > from ? change->at : from;

		if (change->state == state && end > begin && end - begin > best)
			best = end - begin;
		if (change->at < end)
			end = change->at;
	}
	return best;
}

/* What is in the way */

#define BIT(cause) (1u << (cause))
#define IN_THE_WAY \
	(BIT(CAUSE_API_LATE) | BIT(CAUSE_DENIED) | BIT(CAUSE_CONTROLLER_NEW) | \
	 BIT(CAUSE_NEW_DEVICE) | BIT(CAUSE_DUPLICATE) | BIT(CAUSE_REPORTS_MISSING) | \
	 BIT(CAUSE_AGENTLESS))
/* At the node, by enum difference_source. */
static const unsigned in_the_way_of[] = {
	[DIFFERENCE_BY_API] = 0,
	[DIFFERENCE_BY_NODE] = BIT(CAUSE_RECORDS_FAILED) | BIT(CAUSE_OFFER_CHANGED) |
			       BIT(CAUSE_FORGED) | BIT(CAUSE_DRIVER_FAILED) |
			       BIT(CAUSE_DRIVER_HANGS) | BIT(CAUSE_UNNOTICED) |
			       BIT(CAUSE_RECORDS_STALE) | BIT(CAUSE_NODE_OFF) | BIT(CAUSE_NODE_CLOCK),
	[DIFFERENCE_BY_NVML] = BIT(CAUSE_FORGED) | BIT(CAUSE_NVML_SILENT) | BIT(CAUSE_DRIVER_HANGS) |
			       BIT(CAUSE_UNNOTICED) | BIT(CAUSE_NODE_OFF) | BIT(CAUSE_NODE_CLOCK),
	[DIFFERENCE_BY_FAILURE] = BIT(CAUSE_FORGED) | BIT(CAUSE_DRIVER_HANGS) | BIT(CAUSE_UNNOTICED) |
				  BIT(CAUSE_NODE_OFF) | BIT(CAUSE_NODE_CLOCK),
};

/* Nothing was since then, or shortly before. */
static bool is_calm(int node, enum difference difference, uint64_t from)
{
	const unsigned causes = IN_THE_WAY | in_the_way_of[differences_source(difference)];

	from = from > CALM_MS ? from - CALM_MS : 0;
	if (disturbed_until > from)
		return false;
	for (int cause = 0; cause < CAUSE_N; cause++)
		if (causes & BIT(cause) && cause_since((enum cause)cause, node, -1, from))
			return false;
	return true;
}

static bool was_clock_set(void)
{
	return cause_since(CAUSE_CLOCK_SET, -1, -1, 0);
}

static uint64_t soon_ms(enum difference difference)
{
	static const uint64_t soon[] = {
		[DIFFERENCE_BY_API] = SOON_MS,
		[DIFFERENCE_BY_NODE] = READ_MS,
		[DIFFERENCE_BY_NVML] = READ_MS,
		[DIFFERENCE_BY_FAILURE] = READ_MS + HARDWARE_HOLD_MS,
	};

	return soon[differences_source(difference)];
}

/* Published drifts */

static const struct attribution_drift *find(const struct attribution_status *status,
					    enum difference difference)
{
	for (uint32_t i = 0; status && i < status->intent.drifts.count; i++) {
		const struct attribution_drift *drift =
			ARRAY_AT(status->intent.drifts, struct attribution_drift, i);

		if (differences_of(drift->type) == difference)
			return drift;
	}
	return NULL;
}

static bool is_pending(const struct attribution_status *status, enum difference difference)
{
	for (uint32_t i = 0; i < status->intent.pending.count; i++)
		if (differences_of(ARRAY_AT(status->intent.pending,
					    struct attribution_pending_drift, i)
					   ->type) == difference)
			return true;
	return false;
}

/* Any difference, of any type. The same list says since when labels have told of work. */
static bool has_pending(const struct attribution_status *status)
{
	for (uint32_t i = 0; i < status->intent.pending.count; i++)
		if (!differences_is_work(ARRAY_AT(status->intent.pending,
						  struct attribution_pending_drift, i)
						 ->type))
			return true;
	return false;
}

static void accuse(enum oracle_rule rule, int gpu, enum difference difference, const char *what)
{
	oracle_accuse(rule, "%s on node-%d: %s %s", world.gpus[gpu].uuid,
		      world.gpus[gpu].node + 1, differences_word(difference), what);
}

/* The time that a drift has began at, by the simulation's clock. */
static uint64_t begun_at(const struct attribution_drift *drift)
{
	const int64_t age = clockwork_wall(CLOCKWORK_CONTROLLER) - drift->start_time;

	return clockwork_now() - (uint64_t)(age > 0 ? age : 0);
}

/* As old as a condition of the policy says, also if the policy did not count for a while. */
static bool is_dated_by_operator(const struct attribution_drift *drift, enum difference difference)
{
	return difference == DIFFERENCE_POLICY_NOT_READY && drift->start_time != 0 &&
	       drift->start_time == policies_failed_at();
}

/* It is published for the first time, with the time since when it has lasted. */
static void judge_new(const struct attribution_drift *drift, enum difference difference, int gpu)
{
	const int node = world.gpus[gpu].node;
	const struct log *log = log_of(gpu, difference);
	const uint64_t now = clockwork_now(), hold_off = differences_hold_off_ms(difference);
	const uint64_t begun = begun_at(drift), slack = soon_ms(difference);
	const bool is_dated = is_dated_by_operator(drift, difference);
	/* For work whose limit is over: it counts no more, and what was pending has lasted since then. */
	const bool has_waited = (differences_is_remembered(difference) || is_dated) &&
				differences_is_work_old(node);

	if (was_clock_set())
		return;
	if (now - begun + LOOK_MS < hold_off)
		accuse(ORACLE_FALSE_DRIFT, gpu, difference, "is published before its hold-off is over");
	if (!is_calm(node, difference, begun))
		return;
	if (longest(log, DIFFERENCE_YES, begun - slack, begun + SOON_MS) == 0 &&
	    longest(log, DIFFERENCE_UNJUDGED, begun - slack, begun + SOON_MS) == 0 && !has_waited &&
	    !is_dated)
		accuse(ORACLE_FALSE_DRIFT, gpu, difference, "was not so when it is said to have begun");
	if (longest(log, DIFFERENCE_NO, begun + slack, now - slack) > slack && !is_dated)
		accuse(ORACLE_FALSE_DRIFT, gpu, difference, "was over meanwhile");
	if (longest(log, DIFFERENCE_UNREAD, begun, now) == 0 && /* before that it was published */
	    !has_waited && longest(log, DIFFERENCE_WAITS, begun + slack, now - slack) > slack)
		accuse(ORACLE_FALSE_DRIFT, gpu, difference, "waited meanwhile");
}

/* One thing may be known and another one not yet: together they never were so. */
static bool may_be_mixed_up(int node)
{
	const uint64_t from = clockwork_now() - CALM_MS;

	return cause_since(CAUSE_API_LATE, node, -1, from) ||
	       cause_since(CAUSE_CONTROLLER_NEW, node, -1, from) || disturbed_until > from;
}

/* It came so lately on some device of the node that it may not be known yet. */
static bool is_new_on(int node, enum difference difference)
{
	for (int gpu = 0; gpu < world.n_gpus; gpu++) {
		const uint64_t from = world.gpus[gpu].node == node
					      ? since(log_of(gpu, difference), DIFFERENCE_YES)
					      : WORLD_NEVER;

		if (from != WORLD_NEVER && clockwork_now() - from < soon_ms(difference))
			return true;
	}
	return false;
}

/* What hides it is known later than itself. */
static bool may_not_be_hidden_yet(enum difference difference, int gpu)
{
	const int node = world.gpus[gpu].node;
	const unsigned hiders = differences_hiders(node, gpu, difference);

	for (int i = 0; i < DIFFERENCE_N; i++)
		if (hiders & BIT(i) && is_new_on(node, (enum difference)i))
			return true;
	return false;
}

/* However late one thing is known, it must have been so at some time. */
static void judge_ever(enum difference difference, int gpu, bool is_pending)
{
	const int node = world.gpus[gpu].node;
	const struct log *log = log_of(gpu, difference);
	const uint64_t now = clockwork_now();

	if (may_be_mixed_up(node))
		return;
	if (is_pending && longest(log, DIFFERENCE_WAITS, 0, now) > 0 &&
	    differences_is_remembered(difference))
		return;
	if (is_pending && may_not_be_hidden_yet(difference, gpu))
		return;
	/* That it is over may be known later than that nothing explains it any more. */
	if (is_pending && longest(log, DIFFERENCE_WAITS, now - soon_ms(difference), now) > 0)
		return;
	if (longest(log, DIFFERENCE_YES, 0, now) == 0 && longest(log, DIFFERENCE_UNJUDGED, 0, now) == 0)
		accuse(ORACLE_FALSE_DRIFT, gpu, difference, "has never been so");
}

/*
 * What rests on the node's report ceases when that tells of no such devices: of a missing one, by a
 * driver that fails, or because it was forged.
 */
static bool was_untold(enum difference difference, int gpu)
{
	static const enum cause causes[] = {CAUSE_DRIVER_FAILED, CAUSE_DRIVER_HANGS, CAUSE_FORGED,
					    CAUSE_DUPLICATE, CAUSE_OFFER_CHANGED};

	for (size_t i = 0; differences_source(difference) != DIFFERENCE_BY_API && i < ARRAY_SIZE(causes); i++)
		if (cause_since(causes[i], world.gpus[gpu].node, -1,
				clockwork_now() - FORGOTTEN_MS))
			return true;
	return false;
}

/* It comes no more often than the difference does. */
static void count(struct tally *tally, enum difference difference, int gpu)
{
	const struct log *log = log_of(gpu, difference);

	tally->n_shown[difference]++;
	if (tally->n_shown[difference] > log->n_begun - tally->n_begun[difference] &&
	    longest(log, DIFFERENCE_UNJUDGED, 0, clockwork_now()) == 0 && !was_clock_set() &&
	    !was_untold(difference, gpu) && !may_be_mixed_up(world.gpus[gpu].node))
		accuse(ORACLE_FLAPPING, gpu, difference, "is published more often than it was so");
}

/* It is so, or was so lately that it may be published now. */
static bool was_so(const struct log *log)
{
	const uint64_t now = clockwork_now();

	return last_of(log) != DIFFERENCE_NO ||
	       longest(log, DIFFERENCE_YES, now - SOON_MS, now) > 0;
}

/* On another node, or with another object, counting begins anew. */
static struct tally *tally_of(int gpu, bool is_new_object)
{
	struct tally *tally = &tallies[gpu];
	const int node = world.gpus[gpu].node;

	if (tally->node == node + 1 && !is_new_object)
		return tally;
	*tally = (struct tally){.node = node + 1};
	for (int i = 0; i < DIFFERENCE_N; i++)
		tally->n_begun[i] = log_of(gpu, (enum difference)i)->n_begun -
				    was_so(log_of(gpu, (enum difference)i));
	return tally;
}

static bool is_on_its_node(const struct attribution_status *status, int gpu)
{
	const int node = world.gpus[gpu].node;

	return node >= 0 && view_equal(status->node_name, view_from(world.nodes[node].name));
}

/* It was published, and is no more: then somebody can tell that it is over. */
static void judge_lost(const struct attribution_status *status, enum difference difference, int gpu)
{
	const int node = world.gpus[gpu].node;
	const struct log *log = log_of(gpu, difference);
	const uint64_t untold = since(log, DIFFERENCE_UNTOLD);
	const uint64_t unread = since(log, DIFFERENCE_UNREAD);

	if (untold != WORLD_NEVER &&
	    is_calm(node, difference, untold) &&
	    longest(log, DIFFERENCE_NO, untold - SETTLED_MS, untold) == 0)
		accuse(ORACLE_MISSED_DRIFT, gpu, difference, "has gone, and nobody can tell that");
	if (unread != WORLD_NEVER && is_calm(node, difference, unread) &&
	    longest(log, DIFFERENCE_NO, unread - SETTLED_MS, unread) == 0 &&
	    !is_pending(status, difference))
		accuse(ORACLE_MISSED_DRIFT, gpu, difference, "has gone, and may come back");
}

static void judge_type(const struct attribution_status *status,
		       const struct attribution_status *before, enum difference difference, int gpu,
		       struct tally *tally)
{
	const struct attribution_drift *drift = find(status, difference);
	const struct attribution_drift *drift_before = find(before, difference);

	if (!drift) {
		if (drift_before)
			judge_lost(status, difference, gpu);
		return;
	}
	judge_ever(difference, gpu, false);
	if (!drift_before) {
		judge_new(drift, difference, gpu);
		count(tally, difference, gpu);
	} else if (drift->start_time != drift_before->start_time && !was_clock_set()) {
		accuse(ORACLE_FALSE_DRIFT, gpu, difference, "began at another time before");
	}
}

/* A validator in the operator's namespace, as far as the controller knows of pod and policy. */
static bool may_be_operators(const struct attribution_user *user)
{
	for (int i = 0; i < world.n_pods; i++)
		if (view_equal(user->pod_uid, view_from(world.pods[i].uid)))
			return world.pods[i].system;
	return false;
}

/* There is a policy, and the pod is a validator, and both are known for long enough. */
static bool is_operators(const struct attribution_user *user, int node)
{
	const struct world_pod *pod = NULL;

	for (int i = 0; i < world.n_pods && !pod; i++)
		if (view_equal(user->pod_uid, view_from(world.pods[i].uid)))
			pod = &world.pods[i];
	return pod && pod->system && !world_is_deleted(pod) && pod->shown_at != WORLD_NEVER &&
	       clockwork_now() - pod->shown_at > CALM_MS && policies_counts() >= 0 &&
	       !may_be_mixed_up(node);
}

static bool is_any_not_operators(struct array users, int node)
{
	for (uint32_t i = 0; i < users.count; i++)
		if (!is_operators(ARRAY_AT(users, struct attribution_user, i), node))
			return true;
	return false;
}

/* Who uses the device without a slot is judged elsewhere (sim/named.h); who is named, is a drift. */
static void judge_users(const struct attribution_status *status, int gpu)
{
	const struct view word = VIEW("UnallocatedUse");
	const struct array users = status->unallocated_users;
	uint32_t n_drifts = 0, n_others = 0;

	for (uint32_t i = 0; i < status->intent.drifts.count; i++)
		n_drifts += rewording_is(
			ARRAY_AT(status->intent.drifts, struct attribution_drift, i)->type, word);
	for (uint32_t i = 0; i < users.count; i++)
		n_others += !may_be_operators(ARRAY_AT(users, struct attribution_user, i));
	if (status->report_state == ATTRIBUTION_REPORT_CURRENT &&
	    (n_drifts ? !is_any_not_operators(users, world.gpus[gpu].node) : n_others > 0))
		oracle_accuse(ORACLE_FALSE_DRIFT, "%s: %u users without a slot, and %u drifts for it",
			      world.gpus[gpu].uuid, n_others, n_drifts);
}

/* What needs no policy has all of its hold-off where there is no operator. */
static bool is_looked_for(enum difference difference)
{
	return policies_are_there(world.seed) || !differences_is_without_policy(difference);
}

static struct view reason_in(const struct attribution_status *status)
{
	const struct condition *condition =
		status ? attribution_find_condition(status, VIEW("InSync")) : NULL;

	return condition ? condition->reason : (struct view){0};
}

static bool is_in_the_way(int node)
{
	const uint64_t from = clockwork_now() - CALM_MS;

	for (int cause = 0; cause < CAUSE_N; cause++)
		if (IN_THE_WAY & BIT(cause) && cause_since((enum cause)cause, node, -1, from))
			return true;
	return disturbed_until > from;
}

/* A reason that is told for the first time was so a moment ago. */
static void judge_reason(const struct attribution_status *status,
			 const struct attribution_status *before, int gpu)
{
	const int node = world.gpus[gpu].node;
	const struct view reason = reason_in(status);

	if (view_equal(reason, reason_in(before)) || is_in_the_way(node) ||
	    differences_is_work_old(node))
		return;
	for (int i = 0; i < N_REASONS; i++)
		if (rewording_is(reason, view_from(reasons_of_in_sync[i].word)) &&
		    was_reason_at[node][i] + SOON_MS < clockwork_now())
			oracle_accuse(ORACLE_FALSE_DRIFT, "%s: InSync says %.*s, which is not so",
				      world.gpus[gpu].uuid, VIEW_ARG(reason));
}

static bool is_reason(const struct attribution_status *status, struct view word)
{
	return rewording_is(reason_in(status), word);
}

/* A kubelet that settles is told of by both conditions, but for what comes before it in InSync. */
static void judge_settling(const struct attribution_status *status, int gpu)
{
	const struct condition *attributed =
		attribution_find_condition(status, VIEW("Attributed"));

	if (attributed && rewording_is(attributed->reason, VIEW("Settling")) &&
	    status->intent.policy.len > 0 &&
	    (is_reason(status, VIEW("InSync")) || is_reason(status, VIEW("HoldOff"))))
		oracle_accuse(ORACLE_MISSED_DRIFT, "%s: its kubelet settles, and InSync says %.*s",
			      world.gpus[gpu].uuid, VIEW_ARG(reason_in(status)));
}

/* What is pending is so, or may be; and HoldOff is said of that, and nothing good. */
static void judge_pending(const struct attribution_status *status, int gpu)
{
	const struct array pending = status->intent.pending;

	if (is_reason(status, VIEW("HoldOff")) && !has_pending(status))
		oracle_accuse(ORACLE_FALSE_DRIFT, "%s: InSync says HoldOff, and nothing is pending",
			      world.gpus[gpu].uuid);
	if ((is_reason(status, VIEW("InSync")) || is_reason(status, VIEW("Unmanaged"))) &&
	    (has_pending(status) || status->intent.drifts.count > 0))
		oracle_accuse(ORACLE_FALSE_DRIFT, "%s: InSync is good, and something differs",
			      world.gpus[gpu].uuid);
	for (uint32_t i = 0; i < pending.count; i++) {
		const enum difference difference = differences_of(
			ARRAY_AT(pending, struct attribution_pending_drift, i)->type);

		if (difference < DIFFERENCE_N)
			judge_ever(difference, gpu, true);
	}
}

void drifts_judge(const struct attribution_status *status,
		  const struct attribution_status *before, int gpu)
{
	struct tally *tally;

	if (!is_on_its_node(status, gpu))
		return;
	if (before && !is_on_its_node(before, gpu))
		before = NULL;
	drifts_look();
	judge_users(status, gpu);
	tally = tally_of(gpu, !before);
	for (int i = 0; i < DIFFERENCE_N; i++)
		if (is_looked_for((enum difference)i))
			judge_type(status, before, (enum difference)i, gpu, tally);
	if (policies_are_there(world.seed)) {
		judge_reason(status, before, gpu);
		judge_settling(status, gpu);
		judge_pending(status, gpu);
	}
}

/* In time */

static bool is_judged(const struct attribution_status *status, enum difference difference, int gpu)
{
	return status && is_on_its_node(status, gpu) &&
	       !world.nodes[world.gpus[gpu].node].agentless &&
	       (!world.gpus[gpu].lost || difference == DIFFERENCE_DEVICE_MISSING);
}

static void judge_now(const struct attribution_status *status, enum difference difference, int gpu)
{
	const int node = world.gpus[gpu].node;
	const struct log *log = log_of(gpu, difference);
	const uint64_t now = clockwork_now(), slack = soon_ms(difference);
	const uint64_t hold_off = differences_hold_off_ms(difference);
	const uint64_t yes = since(log, DIFFERENCE_YES), no = since(log, DIFFERENCE_NO);
	const uint64_t unread = since(log, DIFFERENCE_UNREAD);

	if (yes != WORLD_NEVER && now - yes > hold_off + slack + LOOK_MS &&
	    is_calm(node, difference, yes) && !was_clock_set() && !find(status, difference))
		accuse(ORACLE_MISSED_DRIFT, gpu, difference, "is so, and is not published");
	if (yes != WORLD_NEVER && now - yes > slack + LOOK_MS && is_calm(node, difference, yes) &&
	    !was_clock_set() && !find(status, difference) && !is_pending(status, difference))
		accuse(ORACLE_MISSED_DRIFT, gpu, difference, "is so, and is not pending");
	if (no != WORLD_NEVER && now - no > slack && is_calm(node, difference, no) &&
	    find(status, difference))
		accuse(ORACLE_FALSE_DRIFT, gpu, difference, "is over, and still published");
	if (unread != WORLD_NEVER && now - unread > slack && is_calm(node, difference, unread) &&
	    find(status, difference))
		accuse(ORACLE_FALSE_DRIFT, gpu, difference,
		       "is published, and what is intended cannot be read");
}

static void look(void *owner, uint64_t number)
{
	(void)owner, (void)number;
	drifts_look();
	for (int gpu = 0; gpu < world.n_gpus && programs_controller_runs(); gpu++) {
		const struct attribution_status *status = oracle_status(gpu);

		for (int i = 0; i < DIFFERENCE_N; i++)
			if (is_judged(status, (enum difference)i, gpu))
				judge_now(status, (enum difference)i, gpu);
	}
	clockwork_in(LOOK_MS, look, NULL, 0);
}

/* In other fleets only what is intended is judged: nothing, or what an empty policy says. */
void drifts_reset(void)
{
	memset(logs, 0, sizeof(logs));
	memset(device_logs, 0, sizeof(device_logs));
	memset(looked_in, 0, sizeof(looked_in));
	memset(was_reason_at, 0, sizeof(was_reason_at));
	memset(tallies, 0, sizeof(tallies));
	disturbed_until = 0;
	differences_reset();
	if (policies_are_there(world.seed))
		clockwork_in(LOOK_MS, look, NULL, 0);
}

/* At rest */

static void judge_rest_type(const struct attribution_status *status, enum difference difference,
			    int gpu)
{
	const struct log *log = log_of(gpu, difference);
	const enum difference_state state = last_of(log);

	if (state == DIFFERENCE_YES && !find(status, difference))
		accuse(ORACLE_AT_REST, gpu, difference, "is so, and is not published");
	if (is_hidden(state) && find(status, difference))
		accuse(ORACLE_AT_REST, gpu, difference, "is published, and is not so");
	if (state == DIFFERENCE_WAITS && differences_is_remembered(difference)) {
		if (!find(status, difference) && !is_pending(status, difference))
			accuse(ORACLE_AT_REST, gpu, difference, "waits, and is not pending");
	} else if (state != DIFFERENCE_UNTOLD && state != DIFFERENCE_UNREAD &&
		   state != DIFFERENCE_UNJUDGED && is_pending(status, difference)) {
		accuse(ORACLE_AT_REST, gpu, difference, "is still pending");
	}
}

static bool is_any(int gpu, enum difference_state state)
{
	for (int i = 0; i < DIFFERENCE_N; i++)
		if (last_of(log_of(gpu, (enum difference)i)) == state)
			return true;
	return false;
}

static const char *reason_of(int gpu)
{
	const int node = world.gpus[gpu].node;
	const bool is_told = is_managed(node);
	const bool is_waited_for = is_any(gpu, DIFFERENCE_WAITS);

	for (int i = 0; i < N_REASONS; i++) {
		const struct reason *reason = &reasons_of_in_sync[i];

		if (!reason->ends && reason->is_so(node) &&
		    (is_told || reason->unmanaged == ALWAYS ||
		     (reason->unmanaged == IF_AWAITED && is_waited_for)))
			return reason->word;
	}
	return "";
}

static void expect_reason(const struct attribution_status *status, int gpu)
{
	const char *expected = reason_of(gpu);

	if (!is_reason(status, view_from(expected)))
		oracle_accuse(ORACLE_AT_REST, "%s: InSync says %.*s, and it is %s",
			      world.gpus[gpu].uuid, VIEW_ARG(reason_in(status)), expected);
}

static void judge_rest_reason(const struct attribution_status *status, int gpu)
{
	const struct view reason = reason_in(status);

	if (reason.len == 0 || status->intent.drifts.count > 0 || has_pending(status) ||
	    differences_is_work_old(world.gpus[gpu].node))
		return;
	if (!is_managed(world.gpus[gpu].node) && is_any(gpu, DIFFERENCE_UNJUDGED))
		return; /* it may wait, and then that is told */
	expect_reason(status, gpu);
}

static void judge_policy(const struct attribution_status *status, int gpu)
{
	const int policy = policies_counts();

	if (!view_equal(status->intent.policy, view_from(policy < 0 ? "" : policies_name(policy))))
		oracle_accuse(ORACLE_AT_REST, "%s: the policy is said to be '%.*s'",
			      world.gpus[gpu].uuid, VIEW_ARG(status->intent.policy));
}

void drifts_judge_rest(const struct attribution_status *status, int gpu)
{
	drifts_look();
	for (int i = 0; i < DIFFERENCE_N; i++)
		if (is_looked_for((enum difference)i))
			judge_rest_type(status, (enum difference)i, gpu);
	judge_policy(status, gpu);
	judge_rest_reason(status, gpu);
}

void drifts_judge_untold(const struct attribution_status *status, int gpu)
{
	const int node = world.gpus[gpu].node;

	if (is_silent(node) || is_agentless(node))
		expect_reason(status, gpu);
}
