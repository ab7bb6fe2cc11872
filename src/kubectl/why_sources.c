/* SPDX-License-Identifier: Apache-2.0 */
#include "kubectl/why_sources.h"

#include "assess/drift.h"

enum source {
	NVML,
	KUBELET,
	PROCESSES,
	EXPORTER,
	PODS,
	NODE,
	POLICY,
	CONFIG_MAP,
	N_SOURCES,
};

#define BIT(source) (1u << (source))
#define READ_BY_AGENT (BIT(NVML) | BIT(KUBELET) | BIT(PROCESSES) | BIT(EXPORTER))

static const struct {
	struct view name, text;
} sources[N_SOURCES] = {
	[NVML] = {VIEW_INIT("NVML"), VIEW_INIT("what the driver tells of the devices, read by the agent")},
	[KUBELET] = {VIEW_INIT("Kubelet"),
		     VIEW_INIT("its allocation records: which device IDs are on offer and held, read by the agent")},
	[PROCESSES] = {VIEW_INIT("Processes"),
		       VIEW_INIT("NVML's list of processes, and their cgroups, read by the agent")},
	[EXPORTER] = {VIEW_INIT("DCGM"),
		      VIEW_INIT("whether the node's dcgm-exporter answers, asked by the agent")},
	[PODS] = {VIEW_INIT("Pods"), VIEW_INIT("those of the node that the API server has")},
	[NODE] = {VIEW_INIT("Node"), VIEW_INIT("its labels and allocatable, as the API server has them")},
	[POLICY] = {VIEW_INIT("ClusterPolicy"), VIEW_INIT("as the API server has it")},
	[CONFIG_MAP] = {VIEW_INIT("ConfigMap"), VIEW_INIT("as the API server has it")},
};

/* Who says what is there. */
static const unsigned observers[N_DRIFT_TYPES] = {
	[DRIFT_DEVICE_MISSING] = BIT(NVML),
	[DRIFT_DRIVER_MISMATCH] = BIT(NVML),
	[DRIFT_UNALLOCATED_USE] = BIT(PROCESSES) | BIT(KUBELET),
	[DRIFT_SLOTS_LEAKED] = BIT(KUBELET) | BIT(PODS),
	[DRIFT_MIG_MODE_PENDING] = BIT(NVML),
	[DRIFT_MPS_LEFT_BEHIND] = BIT(NVML) | BIT(PODS),
	[DRIFT_POLICY_CONFLICT] = BIT(POLICY),
	[DRIFT_POLICY_NOT_READY] = BIT(POLICY),
	[DRIFT_CONFIG_MISSING] = BIT(CONFIG_MAP),
	[DRIFT_CONFIG_INVALID] = BIT(NVML) | BIT(CONFIG_MAP) | BIT(POLICY),
	[DRIFT_PLUGIN_MISSING] = BIT(KUBELET) | BIT(PODS),
	[DRIFT_PLUGIN_UNEXPECTED] = BIT(KUBELET),
	[DRIFT_CONFIG_NOT_LOADED] = BIT(KUBELET) | BIT(CONFIG_MAP),
	[DRIFT_CONFIG_DEAD] = BIT(CONFIG_MAP) | BIT(POLICY),
	[DRIFT_MPS_NOT_RUNNING] = BIT(NVML) | BIT(PODS),
	[DRIFT_SHARING_MODE] = BIT(NVML) | BIT(KUBELET) | BIT(NODE), /* as sharing.evidence */
	[DRIFT_REPLICA_COUNT] = BIT(KUBELET),
	[DRIFT_RESOURCE_NAME] = BIT(KUBELET),
	[DRIFT_MIG_STRATEGY] = BIT(NVML) | BIT(KUBELET),
	[DRIFT_MIG_CONFIG_FAILED] = BIT(NODE),
	[DRIFT_MIG_LAYOUT] = BIT(NVML),
	[DRIFT_ALLOCATABLE_SHORT] = BIT(NVML) | BIT(NODE),
	[DRIFT_DRIVER_VERSION] = BIT(NVML),
	[DRIFT_EXPORTER_MISSING] = BIT(EXPORTER) | BIT(PODS),
	[DRIFT_EXPORTER_UNEXPECTED] = BIT(PODS),
	[DRIFT_LABELS_MISSING] = BIT(NODE),
	[DRIFT_LABELS_STALE] = BIT(NVML) | BIT(KUBELET) | BIT(NODE),
};

static void add(struct why_list *list, const struct attribution_status *status, enum source source,
		struct view name)
{
	sbuf_append(why_list_text(list), sources[source].text);
	why_list_because(list, WHY_WITNESS, name,
			 BIT(source) & READ_BY_AGENT ? status->report.observation_time : 0);
}

void why_sources_of_type(struct why_list *list, const struct attribution_status *status, struct view type)
{
	const enum drift_type drift = drift_type_of(type);
	const unsigned by = drift == N_DRIFT_TYPES ? 0 : observers[drift];

	for (unsigned i = 0; i < N_SOURCES; i++)
		if (by & BIT(i))
			add(list, status, (enum source)i, sources[i].name);
}

/* That there is no policy the API server says as well. */
void why_sources_of_verdict(struct why_list *list, const struct attribution_status *status)
{
	static const enum source there[] = {NVML, KUBELET, PROCESSES, EXPORTER, PODS, NODE};
	const int state = status->intent.state; /* enum attribution_intent */

	if (state == ATTRIBUTION_INTENT_UNSET || state == ATTRIBUTION_INTENT_UNKNOWN)
		return;
	if (status->intent.policy.len > 0) {
		sbuf_printf(why_list_text(list), "%.*s, with the ConfigMaps that it names, as the API server has "
			    "them", VIEW_ARG(status->intent.policy));
		why_list_because(list, WHY_WITNESS, sources[POLICY].name, 0);
	} else if (state == ATTRIBUTION_INTENT_UNMANAGED) {
		sbuf_append(why_list_text(list), VIEW("the API server has none"));
		why_list_because(list, WHY_WITNESS, sources[POLICY].name, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(there); i++)
		if (status->report.observation_time != 0 || !(BIT(there[i]) & READ_BY_AGENT))
			add(list, status, there[i], sources[there[i]].name);
}
