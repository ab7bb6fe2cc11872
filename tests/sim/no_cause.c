/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/no_cause.h"

#include "join/wording.h"
#include "sim/device_manager.h"
#include "sim/cause.h"
#include "sim/clockwork.h"
#include "sim/oracle.h"
#include "sim/rest.h"
#include "sim/world.h"

#define BIT CAUSE_BIT

enum symptom {
	MODE_UNKNOWN,
	TENANT_UNKNOWN, /* it is Unconfirmed */
	NAME_ONLY,
	DISPUTED,
	STILL_NAME_ONLY, /* it was before: a node that is not heard of confirms nothing */
	COUNT_UNKNOWN,
	NOT_FRESH,
	DUPLICATE,
	STILL_DUPLICATE, /* it was before: nodes that are not heard of take nothing back */
	N_SYMPTOMS,
};

static const struct {
	const char *says;
	unsigned causes;
	unsigned wears_off_ms;
} excuses[N_SYMPTOMS] = {
	[MODE_UNKNOWN] = {"the mode is Unknown",
			  BIT(CAUSE_NEW_DEVICE) | BIT(CAUSE_OFFER_CHANGED) | BIT(CAUSE_FORGED) |
				  BIT(CAUSE_CONTROLLER_NEW) | BIT(CAUSE_REPORTS_MISSING) |
				  BIT(CAUSE_RECORDS_FAILED) | BIT(CAUSE_DRIVER_FAILED) |
				  BIT(CAUSE_DRIVER_HANGS) |
				  BIT(CAUSE_AGENTLESS) | BIT(CAUSE_SLICES) |
				  BIT(CAUSE_CLAIMED) |
				  /* While pods are old it is as it was published. */
				  BIT(CAUSE_API_LATE) | BIT(CAUSE_DENIED),
			  CAUSE_SETTLING_WEARS_OFF_MS},
	[TENANT_UNKNOWN] = {"somebody unknown holds a slot", CAUSES_OF_UNKNOWN, CAUSE_SETTLING_WEARS_OFF_MS},
	[NAME_ONLY] = {"a tenant is NameOnly",
		       BIT(CAUSE_POD_NEW) | BIT(CAUSE_RECORDS_FAILED) | BIT(CAUSE_OFFER_CHANGED) |
			       BIT(CAUSE_CONTROLLER_NEW), /* it may hear of old reports first */
		       CAUSE_SETTLING_WEARS_OFF_MS},
	[STILL_NAME_ONLY] = {"a tenant is still NameOnly",
			     BIT(CAUSE_POD_NEW) | BIT(CAUSE_RECORDS_FAILED) |
				     BIT(CAUSE_OFFER_CHANGED) | BIT(CAUSE_CONTROLLER_NEW) |
				     BIT(CAUSE_REPORTS_MISSING) |
				     /* While pods are old it is as it was published. */
				     BIT(CAUSE_API_LATE) | BIT(CAUSE_DENIED),
			     CAUSE_SETTLING_WEARS_OFF_MS},
	/* Not RECORDS_FAILED: what a record said last does not contradict what came later. */
	[DISPUTED] = {"witnesses contradict each other",
		      BIT(CAUSE_RECORDS_STALE) | BIT(CAUSE_FORGED) | BIT(CAUSE_API_LATE) |
			      BIT(CAUSE_OFFER_CHANGED) | BIT(CAUSE_REPORTS_MISSING) |
			      BIT(CAUSE_CONTROLLER_NEW),
		      CAUSE_SETTLING_WEARS_OFF_MS},
	[COUNT_UNKNOWN] = {"a count is not known",
			   BIT(CAUSE_NEW_DEVICE) | BIT(CAUSE_RECORDS_FAILED) |
				   BIT(CAUSE_OFFER_CHANGED) | BIT(CAUSE_DRIVER_FAILED) |
				  BIT(CAUSE_DRIVER_HANGS) |
				   /* Nobody is known before pods may be read. */
				   BIT(CAUSE_API_LATE) | BIT(CAUSE_DENIED) |
				   BIT(CAUSE_CONTROLLER_NEW), /* it may hear of old reports first */
			   CAUSE_SETTLING_WEARS_OFF_MS},
	[NOT_FRESH] = {"the report is not fresh",
		       BIT(CAUSE_REPORTS_MISSING) | BIT(CAUSE_CONTROLLER_NEW) |
			       BIT(CAUSE_AGENTLESS),
		       CAUSE_STALE_WEARS_OFF_MS},
	[DUPLICATE] = {"the device is claimed twice", BIT(CAUSE_DUPLICATE), CAUSE_STALE_WEARS_OFF_MS},
	[STILL_DUPLICATE] = {"the device is still claimed twice",
			     BIT(CAUSE_DUPLICATE) | BIT(CAUSE_CONTROLLER_NEW) |
				     BIT(CAUSE_REPORTS_MISSING),
			     CAUSE_STALE_WEARS_OFF_MS},
};

struct judge {
	const struct attribution_status *status;
	const struct attribution_status *before; /* NULL: there was none */
	int gpu, node;
};

static bool has_cause(const struct judge *judge, enum symptom symptom)
{
	return cause_any_since(excuses[symptom].causes, judge->node, judge->gpu,
			       clockwork_now() - excuses[symptom].wears_off_ms);
}

static void suspect(const struct judge *judge, enum symptom symptom)
{
	if (!has_cause(judge, symptom))
		oracle_accuse(ORACLE_NO_CAUSE, "%s on node-%d: %s, and nothing explains it",
			      world.gpus[judge->gpu].uuid, judge->node + 1, excuses[symptom].says);
}

/* The records have forgotten the pod: what was published last is what is known. */
static bool is_wiped(struct view uid)
{
	for (int i = 0; i < world.n_pods; i++)
		if (view_equal(view_from(world.pods[i].uid), uid))
			return !device_manager_has(world_holder(&world.pods[i]));
	return false;
}

static bool was_name_only(const struct judge *judge, const struct attribution_tenant *tenant)
{
	const struct attribution_tenant *before =
		judge->before ? attribution_find_tenant(judge->before, tenant->pod_uid,
							tenant->container)
			      : NULL;

	return before && before->confidence == ATTRIBUTION_CONFIDENCE_NAME_ONLY;
}

static void judge_tenants(const struct judge *judge)
{
	const struct array tenants = judge->status->tenants;

	for (uint32_t i = 0; i < tenants.count; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(tenants, struct attribution_tenant, i);

		if (tenant->confidence == ATTRIBUTION_CONFIDENCE_UNCONFIRMED)
			suspect(judge, TENANT_UNKNOWN);
		else if (tenant->confidence == ATTRIBUTION_CONFIDENCE_NAME_ONLY &&
			 !is_wiped(tenant->pod_uid))
			suspect(judge, was_name_only(judge, tenant) ? STILL_NAME_ONLY : NAME_ONLY);
		else if (tenant->confidence == ATTRIBUTION_CONFIDENCE_DISPUTED)
			suspect(judge, DISPUTED);
	}
}

static int status_of(const struct judge *judge, struct view type)
{
	const struct condition *condition = attribution_find_condition(judge->status, type);

	return condition ? condition->status : CONDITION_UNSET;
}

static bool has_reason(const struct judge *judge, const char *type, enum reason reason)
{
	const struct condition *condition =
		attribution_find_condition(judge->status, view_from(type));

	return condition && wording_reason_of(condition->reason) == reason;
}

static bool was_duplicate(const struct judge *judge)
{
	const struct judge before = {.status = judge->before};

	return judge->before && has_reason(&before, "Ready", REASON_DUPLICATE_UUID);
}

/* Whom else they tell of sim/reasons.c judges. */
static void judge_conditions(const struct judge *judge)
{
	if (status_of(judge, VIEW("ReportFresh")) != CONDITION_TRUE)
		suspect(judge, NOT_FRESH);
	if (has_reason(judge, "Ready", REASON_DUPLICATE_UUID))
		suspect(judge, was_duplicate(judge) ? STILL_DUPLICATE : DUPLICATE);
}

/* The API server tells of it what makes the device a shared one; its kubelet has not heard of it. */
static bool is_sharer_to_come(const struct world_pod *pod)
{
	return pod->group >= 0 && !pod->is_reservation && pod->stage == WORLD_NEW &&
	       pod->object.exists && !world_is_over(&pod->object);
}

static bool has_come_or_gone(int node, int gpu)
{
	uint64_t from = clockwork_now() - CAUSE_WEARS_OFF_MS;

	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == node &&
		    (is_sharer_to_come(&world.pods[i]) ||
		     (world.pods[i].over_at != WORLD_NEVER && world.pods[i].over_at >= from)))
			return true;
	return cause_since(CAUSE_POD_NEW, node, gpu, from);
}

/* Of a card that is elsewhere, or that nobody tells of, the node knows no IDs; nor of a lost claim. */
static bool is_mode_plain(int gpu, int node)
{
	/* Without a plugin the only IDs are those that claims give. */
	if (world_is_claims(world.nodes[node < 0 ? 0 : node].mode) &&
	    cause_since(CAUSE_API_LATE, node, gpu, clockwork_now() - CAUSE_WEARS_OFF_MS))
		return false;
	/* Without the compute mode a pod that has the device tells it, and nobody else. */
	if (world.nodes[node < 0 ? 0 : node].hides_compute_mode && has_come_or_gone(node, gpu))
		return false;
	return world.gpus[gpu].node == node && !rest_is_beyond_claims(gpu) &&
	       !rest_was_released(gpu, clockwork_now() - CAUSE_RELEASE_WEARS_OFF_MS) &&
	       rest_mode(gpu) != ATTRIBUTION_MODE_UNKNOWN;
}

/* Nobody has reported of it there yet. Why that is so is asked of NOT_FRESH. */
static bool is_unheard(const struct judge *judge)
{
	const struct judge before = {.status = judge->before};

	return has_reason(judge, "ReportFresh", REASON_NO_AGENT) &&
	       (!judge->before ||
		!view_equal(judge->before->node_name, judge->status->node_name) ||
		has_reason(&before, "ReportFresh", REASON_NO_AGENT));
}

void no_cause_judge(const struct attribution_status *status, const struct attribution_status *before,
		    int gpu, int node)
{
	const struct judge judge = {status, before, gpu, node};

	judge_tenants(&judge);
	judge_conditions(&judge);
	if ((status->tenant_count < 0 || status->slots.allocated < 0) && !is_unheard(&judge))
		suspect(&judge, COUNT_UNKNOWN);
	if (status->sharing.mode == ATTRIBUTION_MODE_UNKNOWN && is_mode_plain(gpu, node))
		suspect(&judge, MODE_UNKNOWN);
}
