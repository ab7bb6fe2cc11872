/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_operand.h"

#include <assert.h>

#include "assess/drift_hash.h"
#include "assess/drift_text.h"

/* By this label all of them are switched off on a node. */
#define ALL_OPERANDS "operands"
#define DEPLOY_LABEL "nvidia.com/gpu.deploy."

static const struct part {
	enum policy_operand operand;
	struct view field; /* of the policy */
	struct view label; /* behind DEPLOY_LABEL */
} parts[] = {
	{POLICY_DRIVER, VIEW_INIT("driver"), VIEW_INIT("driver")},
	{POLICY_DEVICE_PLUGIN, VIEW_INIT("devicePlugin"), VIEW_INIT("device-plugin")},
	{POLICY_GFD, VIEW_INIT("gfd"), VIEW_INIT("gpu-feature-discovery")},
	{POLICY_DCGM_EXPORTER, VIEW_INIT("dcgmExporter"), VIEW_INIT("dcgm-exporter")},
	{POLICY_MIG_MANAGER, VIEW_INIT("migManager"), VIEW_INIT("mig-manager")},
};

static const struct part *part_of(enum policy_operand operand)
{
	const struct part *part = parts;

	while (part->operand != operand) {
		part++;
		assert(part < parts + ARRAY_SIZE(parts));
	}
	return part;
}

bool drift_operand_is_node_known(const struct drift_node *node)
{
	return node->is_pods_current && node->node;
}

/* The label by which it is off on the node; empty: by none. */
static struct view label_off(const struct drift_node *node, const struct part *part)
{
	const struct view all = VIEW(ALL_OPERANDS);
	struct view value;

	if (view_equal(node_deploy_of(node->node, all), VIEW("false")))
		return all;
	value = node_deploy_of(node->node, part->label);
	return value.len == 0 || view_equal(value, VIEW("true")) ||
			       view_starts_with(value, VIEW("paused-"))
		       ? (struct view){0}
		       : part->label;
}

static enum drift_operand_want find_want(const struct drift_node *node, const struct part *part)
{
	if (!policy_is_on(node->intent->policy, part->operand))
		return DRIFT_OPERAND_OFF;
	if (!drift_operand_is_node_known(node))
		return DRIFT_OPERAND_UNKNOWN;
	if (label_off(node, part).len > 0)
		return DRIFT_OPERAND_OFF;
	return node_deploy_of(node->node, part->label).len > 0 ? DRIFT_OPERAND_WANTED
							       : DRIFT_OPERAND_NOT_HERE;
}

const struct drift_operand *drift_operand_pods(const struct drift_node *node,
					       enum pod_operand operand)
{
	assert(node->intent->policy && (unsigned)operand < POD_N_OPERANDS);
	return node->is_pods_current && node->intent->policy->namespace.len > 0
		       ? &node->operands[operand]
		       : NULL;
}

void drift_operand_look(struct drift_node *node)
{
	assert(node->intent->policy);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		node->wants[parts[i].operand] = (uint8_t)find_want(node, &parts[i]);
}

enum drift_operand_want drift_operand_want(const struct drift_node *node,
					   enum policy_operand operand)
{
	assert(node->intent->policy && (unsigned)operand < POLICY_N_OPERANDS);
	return (enum drift_operand_want)node->wants[operand];
}

/* "dcgmExporter is off by ClusterPolicy NAME", or by a label. */
static struct view say_where_off(const struct drift_node *node, const struct part *part,
				 struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;

	if (!policy_is_on(policy, part->operand))
		return drift_text(text, "% is off by ClusterPolicy %", part->field,
				  policy->name);
	return drift_text(text, "% is off by label " DEPLOY_LABEL "%",
			  part->field, label_off(node, part));
}

void drift_operand_say_off(const struct drift_node *node, struct drift_text *text,
			   struct sbuf *message)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (drift_operand_want(node, parts[i].operand) != DRIFT_OPERAND_OFF)
			continue;
		sbuf_append(message, VIEW("; "));
		sbuf_append(message, say_where_off(node, &parts[i], text));
	}
}

/* Where it is written that the part shall be on. */
static struct view say_wanted(const struct drift_node *node, const struct part *part,
			      struct view what, struct drift_text *text)
{
	return drift_text(text, "% (%.enabled of ClusterPolicy %, label " DEPLOY_LABEL "%)",
			  what, part->field, node->intent->policy->name,
			  part->label);
}

/* The policy */

struct drift_finding drift_operand_policy_conflict(const struct drift_node *node,
						   const struct drift_device *device,
						   struct drift_text *text)
{
	const struct intent *intent = node->intent;
	struct drift_finding finding = {
		.answer = DRIFT_FOUND,
		.intended = VIEW("one ClusterPolicy, and no GPUCluster beside it"),
	};

	(void)device;
	assert(intent->policy && intent->n_policies > 0);
	if (intent->n_policies > 1) {
		finding.observed = drift_text(
			text, "% ClusterPolicies, of which %, the oldest, counts (API server)",
			drift_text_number(text, intent->n_policies), intent->policy->name);
		finding.message = VIEW("Delete all ClusterPolicies but one: the operator heeds one.");
		return finding;
	}
	if (intent->n_gpu_clusters == 0)
		return DRIFT_ANSWER(DRIFT_NO);
	finding.observed = drift_text(text, "a GPUCluster beside ClusterPolicy % (API server)",
				      intent->policy->name);
	finding.message = VIEW("Delete the GPUCluster or the ClusterPolicy: the operator does "
			       "not work with both.");
	return finding;
}

/* The condition by which the operator says that it failed; NULL: it has none, as older ones. */
static const struct policy_condition *find_error(const struct policy *policy)
{
	for (uint32_t i = 0; i < policy->conditions.count; i++) {
		const struct policy_condition *c = ARRAY_AT(policy->conditions,
							    struct policy_condition, i);
		if (view_equal(c->type, VIEW("Error")) && view_equal(c->status, VIEW("True")))
			return c;
	}
	return NULL;
}

/* What the operator blames; empty: it does not say. */
static struct view say_blame(const struct policy_condition *error)
{
	if (!error)
		return (struct view){0};
	return error->message.len > 0 ? error->message : error->reason;
}

/*
 * It is of the whole cluster, and a pod of the operator that starts anew makes it so for a moment. So
 * the time that the operator writes is used, and nothing is published before it counts.
 */
struct drift_finding drift_operand_policy_not_ready(const struct drift_node *node,
						    const struct drift_device *device,
						    struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;
	const struct policy_condition *error = find_error(policy);
	const struct view blame = say_blame(error);

	(void)device;
	if (!view_equal(policy->state, VIEW("notReady")))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "ready (ClusterPolicy %)", policy->name),
		.observed = drift_text(text, "notReady (status.state)%%",
				       blame.len == 0 ? VIEW("") : VIEW(": "), blame),
		.message = VIEW("See the operator's pods in its namespace: those of the states that "
				"it blames do not become ready."),
		.since = error ? error->last_transition_time : 0,
	};
}

/* The device plugin */

/* Devices on offer, or a Ready pod, are enough. */
struct drift_finding drift_operand_plugin_missing(const struct drift_node *node,
						  const struct drift_device *device,
						  struct drift_text *text)
{
	const struct drift_operand *pods = drift_operand_pods(node, POD_OPERAND_DEVICE_PLUGIN);
	const enum drift_operand_want want = drift_operand_want(node, POLICY_DEVICE_PLUGIN);

	(void)device;
	if (want == DRIFT_OPERAND_OFF || want == DRIFT_OPERAND_NOT_HERE ||
	    (pods && pods->n_ready > 0) || (node->is_offer_known && node->n_offered > 0))
		return DRIFT_ANSWER(DRIFT_NO);
	if (want == DRIFT_OPERAND_UNKNOWN || !pods || !node->is_offer_known)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = say_wanted(node, part_of(POLICY_DEVICE_PLUGIN),
				       VIEW("a device plugin"), text),
		.observed = VIEW("no Ready pod with label app=nvidia-device-plugin-daemonset on the "
				 "node (pods), and no device on offer (kubelet)"),
		.message = VIEW("See why the pod of DaemonSet nvidia-device-plugin-daemonset is not "
				"Ready on this node: no new pod gets a GPU."),
	};
}

struct drift_finding drift_operand_plugin_unexpected(const struct drift_node *node,
						     const struct drift_device *device,
						     struct drift_text *text)
{
	const enum drift_operand_want want = drift_operand_want(node, POLICY_DEVICE_PLUGIN);

	(void)device;
	if (want == DRIFT_OPERAND_WANTED || want == DRIFT_OPERAND_NOT_HERE ||
	    (node->is_offer_known && (node->n_offered == 0 || !node->has_plugins_ids)))
		return DRIFT_ANSWER(DRIFT_NO);
	if (want == DRIFT_OPERAND_UNKNOWN || !node->is_offer_known)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "no device plugin: %",
				       say_where_off(
					       node, part_of(POLICY_DEVICE_PLUGIN), text)),
		.observed = VIEW("devices are on offer (kubelet)"),
		.message = VIEW("Find the device plugin that offers them, and remove it or switch "
				"devicePlugin on."),
	};
}

/* The driver */

/* The version that a tag begins with: "550.90.07-ubuntu22.04"; empty: it begins with none. */
static struct view version_of(struct view tag)
{
	bool has_dot = false;
	size_t len = 0;

	while (len < tag.len && ((tag.ptr[len] >= '0' && tag.ptr[len] <= '9') ||
				 tag.ptr[len] == '.'))
		has_dot |= tag.ptr[len++] == '.';
	if (!has_dot || (len < tag.len && tag.ptr[len] != '-'))
		return (struct view){0};
	return (struct view){tag.ptr, len};
}

/* Where the driver is the host's own, or comes from elsewhere, no version of it is written. */
static bool is_version_written(const struct policy *policy)
{
	return !policy_is_on(policy, POLICY_DRIVER_CRD) &&
	       !policy_is_on(policy, POLICY_PRECOMPILED) &&
	       version_of(policy->driver_version).len > 0;
}

struct drift_finding drift_operand_driver_version(const struct drift_node *node,
						  const struct drift_device *device,
						  struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;
	const struct drift_operand *pods = drift_operand_pods(node, POD_OPERAND_DRIVER);
	const enum drift_operand_want want = drift_operand_want(node, POLICY_DRIVER);
	const struct view version = version_of(policy->driver_version);
	const struct view loaded = node->report->driver_version;

	(void)device;
	if (!is_version_written(policy) || want == DRIFT_OPERAND_OFF ||
	    want == DRIFT_OPERAND_NOT_HERE || (pods && pods->n_pods == 0) ||
	    view_equal(version, loaded))
		return DRIFT_ANSWER(DRIFT_NO);
	if (want == DRIFT_OPERAND_UNKNOWN || !pods || loaded.len == 0)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = drift_hash(0, policy->driver_version),
		.intended = drift_text(text, "% (driver.version of ClusterPolicy %)",
				       policy->driver_version, policy->name),
		.observed = drift_text(text, "% (NVML)", loaded),
		.message = VIEW("Let the operator upgrade the node: delete its driver pod, or see "
				"label nvidia.com/gpu-driver-upgrade-state."),
	};
}

/* dcgm-exporter */

struct drift_finding drift_operand_exporter_missing(const struct drift_node *node,
						    const struct drift_device *device,
						    struct drift_text *text)
{
	const struct drift_operand *pods = drift_operand_pods(node, POD_OPERAND_DCGM_EXPORTER);
	const enum drift_operand_want want = drift_operand_want(node, POLICY_DCGM_EXPORTER);

	(void)device;
	if (want == DRIFT_OPERAND_OFF || want == DRIFT_OPERAND_NOT_HERE ||
	    (pods && pods->n_ready > 0) ||
	    node->report->sources.dcgm.state == REPORT_SOURCE_OK)
		return DRIFT_ANSWER(DRIFT_NO);
	if (want == DRIFT_OPERAND_UNKNOWN || !pods)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = say_wanted(node, part_of(POLICY_DCGM_EXPORTER),
				       VIEW("dcgm-exporter"), text),
		.observed = VIEW("no Ready pod with label app=nvidia-dcgm-exporter on the node (pods)"),
		.message = VIEW("See why the pod of DaemonSet nvidia-dcgm-exporter is not Ready on "
				"this node: its GPUs have no metrics."),
	};
}

struct drift_finding drift_operand_exporter_unexpected(const struct drift_node *node,
						       const struct drift_device *device,
						       struct drift_text *text)
{
	const struct drift_operand *pods = drift_operand_pods(node, POD_OPERAND_DCGM_EXPORTER);
	const enum drift_operand_want want = drift_operand_want(node, POLICY_DCGM_EXPORTER);

	(void)device;
	if (want == DRIFT_OPERAND_WANTED || want == DRIFT_OPERAND_NOT_HERE ||
	    (pods && pods->n_ready == 0))
		return DRIFT_ANSWER(DRIFT_NO);
	if (want == DRIFT_OPERAND_UNKNOWN || !pods)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "no dcgm-exporter: %",
				       say_where_off(
					       node, part_of(POLICY_DCGM_EXPORTER), text)),
		.observed = VIEW("a Ready pod with label app=nvidia-dcgm-exporter on the node (pods)"),
		.message = VIEW("Delete DaemonSet nvidia-dcgm-exporter, or switch dcgmExporter on."),
	};
}
