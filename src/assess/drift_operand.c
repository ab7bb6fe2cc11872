/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_operand.h"

#include <assert.h>

#include "assess/drift_hash.h"
#include "assess/drift_text.h"

/* By this label all of them are switched off on a node. */
#define ALL_OPERANDS "operands"
#define DEPLOY_LABEL "nvidia.com/gpu.deploy."
/* Or one with a class: pci-0302_10de, pci-0300_10de. */
#define NFD_LABEL "feature.node.kubernetes.io/pci-10de.present"
/* By this label other parts are on a node than those below: for virtual machines. */
#define WORKLOAD_LABEL "nvidia.com/gpu.workload.config"

static const struct part {
	enum policy_operand operand;
	bool is_missed; /* a rule finds that it is missing, where the label wants it */
	struct view field; /* of the policy */
	struct view label; /* behind DEPLOY_LABEL */
} parts[] = {
	{POLICY_DRIVER, false, VIEW_INIT("driver"), VIEW_INIT("driver")},
	{POLICY_TOOLKIT, false, VIEW_INIT("toolkit"), VIEW_INIT("container-toolkit")},
	{POLICY_DEVICE_PLUGIN, true, VIEW_INIT("devicePlugin"), VIEW_INIT("device-plugin")},
	{POLICY_GFD, true, VIEW_INIT("gfd"), VIEW_INIT("gpu-feature-discovery")},
	{POLICY_DCGM, false, VIEW_INIT("dcgm"), VIEW_INIT("dcgm")},
	{POLICY_DCGM_EXPORTER, true, VIEW_INIT("dcgmExporter"), VIEW_INIT("dcgm-exporter")},
	{POLICY_MIG_MANAGER, false, VIEW_INIT("migManager"), VIEW_INIT("mig-manager")},
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

static bool is_for_machines(struct view workload)
{
	return view_equal(workload, VIEW("vm-passthrough")) || view_equal(workload, VIEW("vm-vgpu"));
}

/* What none of them is for, as a label or the policy says; empty: the node is for containers. */
static struct view machines_of(const struct drift_node *node, bool *ret_is_by_label)
{
	const struct policy *policy = node->intent->policy;
	struct view label, workload;

	assert(policy && node->node);
	*ret_is_by_label = false;
	if (!policy_is_on(policy, POLICY_SANDBOX_WORKLOADS))
		return (struct view){0};
	label = node->node->workload_config;
	*ret_is_by_label = is_for_machines(label) || view_equal(label, VIEW("container"));
	workload = *ret_is_by_label ? label : policy->default_workload;
	return is_for_machines(workload) ? workload : (struct view){0};
}

bool drift_operand_is_passed_through(const struct drift_node *node)
{
	const struct policy *policy = node->intent->policy;
	bool is_by_label;

	return policy && policy->unreadable.len == 0 && node->node &&
	       view_equal(machines_of(node, &is_by_label), VIEW("vm-passthrough"));
}

static bool are_all_off_by_label(const struct drift_node *node)
{
	return view_equal(node_deploy_of(node->node, VIEW(ALL_OPERANDS)), VIEW("false"));
}

static bool are_all_off(const struct drift_node *node)
{
	bool is_by_label;

	return are_all_off_by_label(node) || machines_of(node, &is_by_label).len > 0;
}

/* Where that is written. */
static struct view say_where_all_are_off(const struct drift_node *node, struct drift_text *text)
{
	bool is_by_label;
	const struct view workload = machines_of(node, &is_by_label);

	if (are_all_off_by_label(node))
		return VIEW("label " DEPLOY_LABEL ALL_OPERANDS);
	return is_by_label ? drift_text(text, "label " WORKLOAD_LABEL "=%", workload)
			   : drift_text(text, "sandboxWorkloads.defaultWorkload=% of ClusterPolicy %",
					workload, node->intent->policy->name);
}

static bool is_off_by_label(const struct drift_node *node, const struct part *part)
{
	const struct view value = node_deploy_of(node->node, part->label);

	return value.len > 0 && !view_equal(value, VIEW("true")) &&
	       !view_starts_with(value, VIEW("paused-"));
}

static enum drift_operand_want find_want(const struct drift_node *node, const struct part *part)
{
	if (!policy_is_on(node->intent->policy, part->operand))
		return DRIFT_OPERAND_OFF;
	if (!drift_operand_is_node_known(node))
		return DRIFT_OPERAND_UNKNOWN;
	if (are_all_off(node) || is_off_by_label(node, part))
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
	if (are_all_off(node))
		return drift_text(text, "% is off by %", part->field,
				  say_where_all_are_off(node, text));
	return drift_text(text, "% is off by label " DEPLOY_LABEL "%", part->field, part->label);
}

/* Then the operator's parts do not come to the node, and nothing of them is compared. */
static bool is_unlabelled(const struct drift_node *node)
{
	return drift_operand_is_node_known(node) && node->report->devices.count > 0 &&
	       node->node->gpu_present.len == 0 && node->node->deploys.count == 0;
}

/* It is on by the policy, and does not come: the node is the operator's, and lacks one label. */
static bool is_label_gone(const struct drift_node *node, const struct part *part)
{
	return part->is_missed && node->report->devices.count > 0 &&
	       drift_operand_want(node, part->operand) == DRIFT_OPERAND_NOT_HERE &&
	       !is_unlabelled(node);
}

/* The operator waits for node feature discovery (NFD). */
static struct view say_unlabelled(const struct node *node)
{
	return node->is_found_by_nfd
		       ? VIEW("; NFD has found the GPU, and the operator has not labelled the node: it has "
			      "no label nvidia.com/gpu.present, and none " DEPLOY_LABEL "*")
		       : VIEW("; NFD has not found the GPU, so the operator has not labelled the node: it "
			      "has no label " NFD_LABEL "=true");
}

void drift_operand_say_off(const struct drift_node *node, struct drift_text *text,
			   struct sbuf *message)
{
	if (drift_operand_is_node_known(node) && are_all_off(node)) {
		sbuf_append(message, VIEW("; all of the operator's parts are off by "));
		sbuf_append(message, say_where_all_are_off(node, text));
		return;
	}
	if (is_unlabelled(node))
		sbuf_append(message, say_unlabelled(node->node));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (drift_operand_want(node, parts[i].operand) == DRIFT_OPERAND_OFF) {
			sbuf_append(message, VIEW("; "));
			sbuf_append(message, say_where_off(node, &parts[i], text));
		} else if (is_label_gone(node, &parts[i])) {
			sbuf_append(message, drift_text(text, "; % is not on the node, which has no "
						    "label " DEPLOY_LABEL "%", parts[i].field,
						    parts[i].label));
		}
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
	if (intent->are_gpu_clusters_unread)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
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
 * The time that the operator writes is used: it has seen the pods of all nodes, and before a restart of
 * the controller.
 */
struct drift_finding drift_operand_policy_not_ready(const struct drift_node *node,
						    const struct drift_device *device,
						    struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;
	const struct policy_condition *error = find_error(policy);
	const struct view blame = say_blame(error);

	(void)device;
	/* Beside a GPUCluster no policy is ready: that is PolicyConflict. */
	if (!view_equal(policy->state, VIEW("notReady")) || node->intent->n_gpu_clusters > 0)
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
	    (pods && pods->n_ready > 0) || (node->is_offer_known && node->is_any_offered))
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
	    (node->is_offer_known && (!node->is_any_offered || !node->has_plugins_ids)))
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

/* NVIDIADriver objects tell the version, or the node's kernel is a part of it: the field does not tell. */
static bool is_version_elsewhere(const struct policy *policy)
{
	return policy_is_on(policy, POLICY_DRIVER_CRD) || policy_is_on(policy, POLICY_PRECOMPILED);
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
	const bool is_told = !is_version_elsewhere(policy) &&
			     (version.len > 0 || policy->driver_version.len == 0);
	bool waits;

	(void)device;
	if (want == DRIFT_OPERAND_OFF || want == DRIFT_OPERAND_NOT_HERE ||
	    (pods && pods->n_pods == 0) ||
	    (is_told && (version.len == 0 || view_equal(version, loaded))))
		return DRIFT_ANSWER(DRIFT_NO);
	if (want == DRIFT_OPERAND_UNKNOWN || !pods || (is_told && loaded.len == 0))
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (!is_told)
		return DRIFT_ANSWER(DRIFT_NOT_COMPARED);
	waits = view_equal(node->node->driver_upgrade, VIEW("upgrade-required"));
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = drift_hash(0, policy->driver_version),
		.intended = drift_text(text, "% (driver.version of ClusterPolicy %)",
				       policy->driver_version, policy->name),
		.observed = drift_text(text, "% (NVML)", loaded),
		.message = waits ? VIEW("The node waits for its turn to be upgraded (label "
					"nvidia.com/gpu-driver-upgrade-state=upgrade-required).")
				 : VIEW("Let the operator upgrade the node: delete its driver pod, "
					"or see label nvidia.com/gpu-driver-upgrade-state."),
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
