/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/prompt.h"

#include <string.h>

#include "join/wording.h"
#include "model/attribution.h"
#include "sim/apiserver.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/forms.h"
#include "sim/oracle.h"
#include "sim/overlaps.h"
#include "sim/programs.h"
#include "sim/rest.h"

#define TOLD_MS 3000u       /* a join and a write */
#define ALLOCATED_MS 6000u  /* and before that a sample and a report */
#define SILENCE_LOOK_MS 1000u
#define BACK_MS 8000u       /* a probe, and a list or two */
#define CALM_MS 100000u     /* what was wrong so lately may still be wearing off */

#define SYNCED_MS 60000u    /* a start, with what may be in its way */
#define DENIED_MS 75000u    /* the last back-off before, 10 s, and the last one of these */

static uint64_t heard_at[WORLD_MAX_NODES], first_heard_at[WORLD_MAX_NODES];
static uint64_t denied_at, denied_until;
static uint64_t disturbed_until;
static bool was_away[APISERVER_N_KINDS];
static bool was_node_away[WORLD_MAX_NODES];

static bool is_calm(unsigned causes, int node)
{
	return !cause_any_since(causes, node, -1, clockwork_now() - CALM_MS);
}

#define BIT(cause) (1u << (cause))

static bool is_server_calm(int node)
{
	return is_calm(BIT(CAUSE_API_LATE) | BIT(CAUSE_CONTROLLER_NEW) | BIT(CAUSE_NEW_DEVICE) |
			       BIT(CAUSE_DUPLICATE),
		       node);
}

static bool is_node_calm(int node)
{
	return is_calm(~BIT(CAUSE_POD_NEW) & ~BIT(CAUSE_DRIVER_HANGS) & ~BIT(CAUSE_CLOCK_SET) & ~BIT(CAUSE_NODE_CLOCK) &
				~BIT(CAUSE_CLAIMED) & ~BIT(CAUSE_DISPLACED) &
				~BIT(CAUSE_STAND_IN),
			node);
}

static void judge_shown(const struct world_pod *pod, const struct attribution_tenant *tenant)
{
	const struct world_pod *holder = world_holder(pod);

	if (world_is_over(&pod->object)) {
		oracle_accuse(ORACLE_LATE, "%s (%s) is over, and has been shown for %u ms since",
			      pod->name, pod->uid, TOLD_MS);
		return;
	}
	for (int c = 0; c < holder->n_containers; c++) {
		if (!view_equal(view_from(holder->containers[c].name), tenant->container))
			continue;
		if (tenant->phase != rest_phase(pod, c))
			oracle_accuse(ORACLE_LATE, "%s (%s): its phase of %u ms ago is not shown",
				      pod->name, pod->uid, TOLD_MS);
	}
}

static void judge_told(void *owner, uint64_t told_at)
{
	const struct world_pod *pod = owner;

	if (pod->told_at != told_at || pod->changed_at > told_at || !is_server_calm(pod->node))
		return;
	for (int gpu = 0; gpu < world.n_gpus; gpu++) {
		const struct attribution_status *status = oracle_status(gpu);

		for (uint32_t i = 0; status && i < status->tenants.count; i++) {
			const struct attribution_tenant *tenant =
				ARRAY_AT(status->tenants, struct attribution_tenant, i);

			if (view_equal(tenant->pod_uid, view_from(pod->uid)))
				judge_shown(pod, tenant);
		}
	}
}

void prompt_told(const struct world_pod *pod)
{
	struct world_pod *told = &world.pods[world_index(pod)];

	told->told_at = clockwork_now();
	clockwork_in(TOLD_MS, judge_told, told, told->told_at);
}

static void judge_allocated(void *owner, uint64_t number)
{
	const struct world_pod *pod = owner;

	(void)number;
	if (world_is_active(pod) && pod->object.exists && is_node_calm(pod->node) &&
	    !rest_is_shown(pod))
		oracle_accuse(ORACLE_LATE, "%s (%s) got its devices %u ms ago, and is not shown",
			      pod->name, pod->uid, ALLOCATED_MS);
}

/* Silence */

static void judge_silence(int gpu)
{
	const struct attribution_status *status = oracle_status(gpu);
	const struct condition *fresh =
		status ? attribution_find_condition(status, VIEW("ReportFresh")) : NULL;
	uint64_t since = programs_controller_since();

	for (int node = 0; fresh && node < world.n_nodes; node++) {
		if (!view_equal(status->node_name, view_from(world.nodes[node].name)))
			continue;
		since = heard_at[node] > since ? heard_at[node] : since;
		if (fresh->status == CONDITION_TRUE &&
		    clockwork_now() - since > PROGRAMS_STALE_MS + TOLD_MS)
			oracle_accuse(ORACLE_LATE, "%s: node-%d is silent, and nothing says so",
				      world.gpus[gpu].uuid, node + 1);
	}
}

/* Nothing is told of pods that may not be read; a watch that is open goes on. Who had not read them
 * before publishes nothing. */
static bool is_denied_for_long(void)
{
	if (apiserver_is_watched(APISERVER_PODS))
		denied_at = clockwork_now();
	return clockwork_now() < denied_until && clockwork_now() - denied_at > DENIED_MS &&
	       programs_controller_since() + SYNCED_MS < denied_at &&
	       is_calm(BIT(CAUSE_CONTROLLER_NEW) | BIT(CAUSE_NEW_DEVICE) | BIT(CAUSE_DUPLICATE) |
			       BIT(CAUSE_REPORTS_MISSING),
		       -1);
}

static void judge_denied(int gpu)
{
	const struct attribution_status *status = oracle_status(gpu);
	const struct condition *attributed =
		status ? attribution_find_condition(status, VIEW("Attributed")) : NULL;

	if (attributed && wording_reason_of(attributed->reason) != REASON_PODS_UNKNOWN &&
	    wording_reason_of(attributed->reason) != REASON_RESERVED_OTHERWISE &&
	    !overlaps_are_said(status))
		oracle_accuse(ORACLE_LATE, "%s: pods may not be read, and nothing says so",
			      world.gpus[gpu].uuid);
}

/* Who shows no GPU need not be watched. */
static void judge_pods(bool is_calm_now)
{
	for (int node = 0; node < world.n_nodes; node++) {
		bool is_away = forms_shows_gpu(node) && !apiserver_are_pods_watched(node);

		if (is_calm_now && is_away && was_node_away[node])
			oracle_accuse(ORACLE_LATE,
				      "the API server answers, and nobody watches the pods of node-%d",
				      node + 1);
		was_node_away[node] = is_away;
	}
}

/* Routine ends of watches last for milliseconds: who is away twice has been for long. */
static void judge_watches(void)
{
	bool is_calm_now = clockwork_now() > disturbed_until + BACK_MS &&
			   clockwork_now() > programs_controller_since() + SYNCED_MS;

	for (int kind = 0; kind < APISERVER_N_FAULTY; kind++) {
		bool is_away = !apiserver_is_watched((enum apiserver_kind)kind);

		if (kind == APISERVER_PODS && forms_are_there(world.seed)) {
			judge_pods(is_calm_now);
			continue;
		}

		if (is_calm_now && is_away && was_away[kind])
			oracle_accuse(ORACLE_LATE, "the API server answers, and watch %d is away",
				      kind);
		was_away[kind] = is_away;
	}
}

static void look_for_silence(void *owner, uint64_t number)
{
	(void)owner, (void)number;
	if (programs_controller_runs())
		judge_watches();
	for (int gpu = 0; gpu < world.n_gpus && programs_controller_runs(); gpu++) {
		if (is_server_calm(-1))
			judge_silence(gpu);
		if (is_denied_for_long())
			judge_denied(gpu);
	}
	clockwork_in(SILENCE_LOOK_MS, look_for_silence, NULL, 0);
}

void prompt_heard(int node)
{
	if (heard_at[node] < programs_controller_since())
		first_heard_at[node] = clockwork_now();
	heard_at[node] = clockwork_now();
}

bool prompt_has_heard(int node, uint64_t from_ms, uint64_t until_ms)
{
	return heard_at[node] >= programs_controller_since() &&
	       clockwork_now() - first_heard_at[node] >= from_ms &&
	       clockwork_now() - heard_at[node] < until_ms;
}

void prompt_disturbed(uint64_t until)
{
	if (until > disturbed_until)
		disturbed_until = until;
}

void prompt_denied(uint64_t until)
{
	if (clockwork_now() >= denied_until)
		denied_at = clockwork_now();
	denied_until = until;
}

void prompt_reset(void)
{
	denied_until = 0;
	disturbed_until = 0;
	memset(was_away, 0, sizeof(was_away));
	memset(was_node_away, 0, sizeof(was_node_away));
	memset(heard_at, 0, sizeof(heard_at));
	clockwork_in(SILENCE_LOOK_MS, look_for_silence, NULL, 0);
}

void prompt_allocated(const struct world_pod *pod)
{
	clockwork_in(ALLOCATED_MS, judge_allocated, &world.pods[world_index(pod)], 0);
}
