/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a reason means is written down here once more, in the order of crds/README.md. Whether one is so
 * is asked of the world. Only where the world cannot tell does the status itself say it: what nobody
 * could read stays as it was published, and an error may be settled or not. sim/diagnosis.c and
 * sim/strain.c judge those.
 */

#include "sim/verdicts.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "lib/rewording.h"
#include "sim/device_manager.h"
#include "sim/claims.h"
#include "sim/diagnosis.h"
#include "sim/illness.h"
#include "sim/oracle.h"
#include "sim/readings.h"
#include "sim/strain.h"
#include "sim/trouble.h"
#include "sim/world.h"

#define REASON_SIZE 32
#define BIT(name) ILLNESS_BIT(ILLNESS_##name)

struct judge {
	const struct attribution_status *status;
	int gpu;
	const struct world_gpu *g;
	const struct world_node *node;
};

enum truth { NO, YES, AS_SAID };

/* Who speaks of the device */

/* The kubelet has written that of what the container has of the device. */
static enum truth is_ill_in(const struct world_container *container, int gpu)
{
	enum truth truth = NO;

	for (int i = 0; container->kind == WORLD_MAIN && i < container->n_slots; i++) {
		const struct world_slot *slot = &container->slots[i];

		if (slot->gpu != gpu)
			continue;
		/* Whose part is gone nobody knows. */
		truth = slot->partition < 0 || world.gpus[gpu].partitions[slot->partition].exists
				? YES
				: AS_SAID;
		if (truth == YES)
			break;
	}
	return truth;
}

static enum truth is_plugin_unhealthy(const struct judge *judge)
{
	enum truth truth = NO;

	if (judge->node->mode == WORLD_HAMI)
		return AS_SAID; /* its IDs tell no device */
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		if (pod->node != judge->g->node || pod->claim >= 0 || !pod->object.exists ||
		    world_is_over(&pod->object) || !pod->object.has_resources ||
		    pod->object.health != WORLD_ILL)
			continue;
		for (int c = 0; c < pod->n_containers; c++) {
			enum truth one = is_ill_in(&pod->containers[c], judge->gpu);

			truth = one == NO ? truth : truth == YES ? YES : one;
		}
	}
	return truth;
}

static bool is_unpartitioned(const struct world_gpu *gpu)
{
	for (int i = 0; i < gpu->n_partitions; i++)
		if (gpu->partitions[i].exists)
			return false;
	return gpu->mig;
}

/* It is not said of what never was on offer; of that only the past can tell. */
static enum truth is_not_advertised(const struct judge *judge)
{
	const char *ids[1];

	if (judge->node->agentless || judge->g->lost || device_manager_offered(judge->gpu, ids, 1) > 0 ||
	    is_unpartitioned(judge->g))
		return NO;
	return trouble_is_unwell(judge->gpu) ? YES : AS_SAID;
}

static enum truth is_missing(const struct judge *judge)
{
	return trouble_took_gpu(judge->gpu) ? YES : NO;
}

static enum truth does_driver_fail(const struct judge *judge)
{
	return !judge->node->agentless && trouble_fails_driver(judge->g->node) ? YES : NO;
}

/* Its driver tells of it what every device has, and nothing of how it is. */
static enum truth is_unread(const struct judge *judge)
{
	if (judge->node->agentless || judge->g->lost || trouble_fails_driver(judge->g->node))
		return NO;
	for (int part = ILLNESS_PART_ECC; part <= ILLNESS_PART_ACTION; part++)
		if (illness_can_read(judge->gpu, (enum illness_part)part))
			return NO;
	return trouble_is_deaf(judge->g->node) && !strain_can_read(judge->gpu) ? YES : NO;
}

static enum truth has_no_agent(const struct judge *judge)
{
	return judge->node->agentless ? YES : NO;
}

static enum truth is_never(const struct judge *judge)
{
	(void)judge;
	return NO;
}

/* Reasons, the one first that gives the state, and the recovery action if the driver tells none. */
static const struct row {
	const char *reason; /* "XID": of an error that asks for that recovery */
	unsigned told;      /* of the device by the driver, bits; 0: something else */
	enum truth (*is_so)(const struct judge *judge); /* NULL: as the status says */
	int state, recovery;
} rows[] = {
	{"XID", 0, NULL, ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT},
	{"GPULost", BIT(LOST), NULL, ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_REBOOT},
	{"RowRemapFailed", BIT(REMAP_FAILED), NULL, ATTRIBUTION_HEALTH_UNHEALTHY,
	 ATTRIBUTION_RECOVERY_REPLACE},
	{"RecoverIMEXDomain", BIT(IMEX), NULL, ATTRIBUTION_HEALTH_UNHEALTHY,
	 ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN},
	{"RebootRequired", BIT(REBOOT), NULL, ATTRIBUTION_HEALTH_UNHEALTHY,
	 ATTRIBUTION_RECOVERY_REBOOT},
	{"ResetRequired", BIT(RESET) | BIT(RESET_REQUIRED), NULL, ATTRIBUTION_HEALTH_UNHEALTHY,
	 ATTRIBUTION_RECOVERY_RESET},
	{"XID", 0, NULL, ATTRIBUTION_HEALTH_UNHEALTHY, ATTRIBUTION_RECOVERY_RESET},
	{"DrainRequired", BIT(DRAIN) | BIT(DRAIN_P2P), NULL, ATTRIBUTION_HEALTH_DEGRADED,
	 ATTRIBUTION_RECOVERY_DRAIN_AND_RESET},
	{"RowRemapPending", BIT(REMAP_PENDING), NULL, ATTRIBUTION_HEALTH_DEGRADED,
	 ATTRIBUTION_RECOVERY_RESET},
	{"RetiredPagesPending", BIT(PAGES_PENDING), NULL, ATTRIBUTION_HEALTH_DEGRADED,
	 ATTRIBUTION_RECOVERY_RESET},
	{"UncorrectableECC", BIT(ECC), NULL, ATTRIBUTION_HEALTH_DEGRADED,
	 ATTRIBUTION_RECOVERY_RESET},
	{"RecoveryRequired", BIT(OTHER_ACTION), NULL, ATTRIBUTION_HEALTH_DEGRADED,
	 ATTRIBUTION_RECOVERY_UNKNOWN},
	{"XID", 0, NULL, ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN},
	{"NVLinkDown", 0, NULL, ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN},
	{"FabricNotReady", 0, NULL, ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN},
	{"ThermalSlowdown", 0, NULL, ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_NONE},
	{"PowerBrake", 0, NULL, ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_NONE},
	{"HWSlowdown", 0, NULL, ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_NONE},
	{"PCIeLinkDegraded", 0, NULL, ATTRIBUTION_HEALTH_DEGRADED, ATTRIBUTION_RECOVERY_UNKNOWN},
	{"PluginUnhealthy", 0, is_plugin_unhealthy, ATTRIBUTION_HEALTH_DEGRADED,
	 ATTRIBUTION_RECOVERY_UNSET},
	{"NotAdvertised", 0, is_not_advertised, ATTRIBUTION_HEALTH_DEGRADED,
	 ATTRIBUTION_RECOVERY_UNSET},
	{"DeviceMissing", 0, is_missing, ATTRIBUTION_HEALTH_UNKNOWN, ATTRIBUTION_RECOVERY_UNSET},
	{"NVMLHangs", 0, is_never, ATTRIBUTION_HEALTH_UNKNOWN, ATTRIBUTION_RECOVERY_UNSET},
	{"NVMLUnavailable", 0, does_driver_fail, ATTRIBUTION_HEALTH_UNKNOWN,
	 ATTRIBUTION_RECOVERY_UNSET},
	{"HealthUnread", 0, is_unread, ATTRIBUTION_HEALTH_UNKNOWN, ATTRIBUTION_RECOVERY_UNSET},
	{"NoAgent", 0, has_no_agent, ATTRIBUTION_HEALTH_UNKNOWN, ATTRIBUTION_RECOVERY_UNSET},
};

static enum truth is_told(const struct judge *judge, unsigned told)
{
	if (judge->node->agentless || illness_unread_of(judge->gpu) & told)
		return AS_SAID;
	return illness_told(judge->gpu) & told ? YES : NO;
}

static bool is_xid(const struct row *row)
{
	return strcmp(row->reason, "XID") == 0;
}

/* As it is published: an error by its number. Empty: no such error is a reason. */
static void name_reason(const struct judge *judge, const struct row *row,
			char ret[static REASON_SIZE])
{
	int code = is_xid(row) ? diagnosis_find_xid(judge->status, row->recovery) : 0;

	if (code > 0)
		snprintf(ret, REASON_SIZE, "XID%d", code);
	else
		snprintf(ret, REASON_SIZE, "%s", is_xid(row) ? "" : row->reason);
}

static bool is_said(const struct judge *judge, const struct row *row)
{
	char reason[REASON_SIZE];

	name_reason(judge, row, reason);
	return diagnosis_has_reason(judge->status, reason);
}

static bool is_so(const struct judge *judge, const struct row *row)
{
	enum truth truth = row->told    ? is_told(judge, row->told)
			   : row->is_so ? row->is_so(judge)
					: AS_SAID;

	return truth == AS_SAID ? is_said(judge, row) : truth == YES;
}

/* NULL: nothing speaks against the device. */
static const struct row *find_worst(const struct judge *judge)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (is_so(judge, &rows[i]))
			return &rows[i];
	return NULL;
}

static void judge_reasons(const struct judge *judge)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_so && is_said(judge, &rows[i]) != is_so(judge, &rows[i]))
			oracle_accuse(ORACLE_AT_REST, "%s on %s: %s is %s reason, and that is not so",
				      judge->g->uuid, judge->node->name, rows[i].reason,
				      is_said(judge, &rows[i]) ? "a" : "no");
}

/* What follows */

/* By the program's numbers; "none" among them. UNSET: the driver tells no action that is known. */
static int told_recovery(const struct judge *judge)
{
	static const struct {
		enum illness illness;
		int recovery;
	} told[] = {
		{ILLNESS_RESET, ATTRIBUTION_RECOVERY_RESET},
		{ILLNESS_REBOOT, ATTRIBUTION_RECOVERY_REBOOT},
		{ILLNESS_DRAIN_P2P, ATTRIBUTION_RECOVERY_DRAIN_P2P},
		{ILLNESS_DRAIN, ATTRIBUTION_RECOVERY_DRAIN_AND_RESET},
		{ILLNESS_IMEX, ATTRIBUTION_RECOVERY_RECOVER_IMEX_DOMAIN},
		{ILLNESS_OTHER_ACTION, ATTRIBUTION_RECOVERY_UNSET},
	};

	if (judge->node->agentless || judge->g->lost ||
	    illness_has(judge->gpu, ILLNESS_RESET_REQUIRED) ||
	    !illness_can_read(judge->gpu, ILLNESS_PART_ACTION))
		return ATTRIBUTION_RECOVERY_UNSET;
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (illness_has(judge->gpu, told[i].illness))
			return told[i].recovery;
	return ATTRIBUTION_RECOVERY_NONE;
}

/*
 * The driver knows better, but for a card that is to be replaced. That it asks for nothing mends nothing
 * that is unhealthy, and is no answer of a driver that gives none.
 */
static int expected_recovery(const struct judge *judge, const struct row *worst)
{
	int told = told_recovery(judge), said = judge->status->health.recovery_action;

	if (!worst)
		return ATTRIBUTION_RECOVERY_NONE;
	if (judge->g->lost && worst->told & BIT(DRAIN_P2P) && said == ATTRIBUTION_RECOVERY_DRAIN_P2P)
		return said; /* the driver asked for that before */
	if (told == ATTRIBUTION_RECOVERY_UNSET || worst->recovery == ATTRIBUTION_RECOVERY_REPLACE ||
	    (told == ATTRIBUTION_RECOVERY_NONE && worst->state != ATTRIBUTION_HEALTH_DEGRADED))
		return worst->recovery;
	return told;
}

static void judge_state(const struct judge *judge, const struct row *worst)
{
	const struct attribution_health_state *health = &judge->status->health;
	bool is_silent = trouble_took_agent(judge->g->node) && !judge->node->agentless;
	int state = worst ? worst->state : ATTRIBUTION_HEALTH_HEALTHY;
	int recovery = expected_recovery(judge, worst);

	if (is_silent && !worst)
		state = ATTRIBUTION_HEALTH_UNKNOWN;
	if (health->state != state)
		oracle_accuse(ORACLE_AT_REST, "%s on %s: its state is %d, not %d, for %s",
			      judge->g->uuid, judge->node->name, health->state, state,
			      worst ? worst->reason : "nothing");
	if (health->recovery_action != recovery)
		oracle_accuse(ORACLE_AT_REST, "%s on %s: its recovery action is %d, not %d, for %s",
			      judge->g->uuid, judge->node->name, health->recovery_action, recovery,
			      worst ? worst->reason : "nothing");
}

static void expect_condition(const struct judge *judge, int status, const char *reason)
{
	const struct condition *healthy = attribution_find_condition(judge->status, VIEW("Healthy"));

	if (!healthy || healthy->status != status ||
	    !rewording_is(healthy->reason, view_from(reason)))
		oracle_accuse(ORACLE_AT_REST, "%s on %s: Healthy is %d for %.*s, not %d for %s",
			      judge->g->uuid, judge->node->name, healthy ? (int)healthy->status : -1,
			      VIEW_ARG(healthy ? healthy->reason : VIEW("nothing")), status, reason);
}

static void judge_condition(const struct judge *judge, const struct row *worst)
{
	char reason[REASON_SIZE];

	if (trouble_took_agent(judge->g->node)) {
		expect_condition(judge, CONDITION_UNKNOWN, "ReportStale");
	} else if (!worst) {
		expect_condition(judge, CONDITION_TRUE, "NothingFound");
		readings_judge_rest(judge->status, judge->gpu);
	} else {
		name_reason(judge, worst, reason);
		expect_condition(judge,
				 worst->state == ATTRIBUTION_HEALTH_UNKNOWN ? CONDITION_UNKNOWN
									    : CONDITION_FALSE,
				 reason);
	}
}

void verdicts_judge_rest(const struct attribution_status *status, int gpu)
{
	const struct judge judge = {status, gpu, &world.gpus[gpu],
				    &world.nodes[world.gpus[gpu].node]};
	const struct row *worst = find_worst(&judge);

	judge_reasons(&judge);
	judge_state(&judge, worst);
	judge_condition(&judge, worst);
}
