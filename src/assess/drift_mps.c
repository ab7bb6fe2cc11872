/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The daemon of MPS puts the devices of its resource into compute mode ExclusiveProcess, and back when
 * it ends in an orderly way.
 */

#include "assess/drift_mps.h"

#include "assess/drift_operand.h"
#include "assess/drift_plugin.h"
#include "assess/drift_sharing.h"
#include "assess/drift_text.h"

/* Some resource of the device shall be shared by MPS. */
static bool is_intended(const struct drift_device *device, const struct plugin_config *config)
{
	if (!config || config->sharing != PLUGIN_CONFIG_MPS)
		return false;
	for (size_t i = 0; i < device->n_offers; i++)
		if (plugin_config_replicas(config,
					   drift_sharing_base(device->offers[i].resource)) > 1)
			return true;
	return device->n_offers == 0;
}

/* A pod of the daemon's is on the node, of whatever namespace: not all come by the operator. */
static bool has_daemon(const struct drift_node *node)
{
	for (size_t i = 0; i < node->n_pods; i++)
		if (pod_state(node->pods[i])->operand == POD_OPERAND_MPS_DAEMON &&
		    !pod_is_over(node->pods[i]))
			return true;
	return false;
}

static bool has_client(const struct drift_node *node, const struct report_device *reported)
{
	const struct array entries = node->report->checkpoint.entries;

	for (uint32_t i = 0; i < reported->processes.count; i++)
		if (ARRAY_AT(reported->processes, struct report_process, i)->kind ==
		    REPORT_PROCESS_MPS)
			return true;
	for (uint32_t i = 0; i < entries.count; i++)
		if (ARRAY_AT(entries, struct report_checkpoint_entry, i)->mps)
			return true;
	return false;
}

/* Where no configuration is known, replicas of a device in that mode are shares by MPS. */
struct drift_finding drift_mps_left_behind(const struct drift_node *node,
					   const struct drift_device *device,
					   struct drift_text *text)
{
	const struct report_device *reported = device->reported;
	const struct policy *policy = node->intent->policy;
	const struct plugin_config *config = NULL;
	bool is_unknown = !node->intent->known || (policy && policy->unreadable.len > 0);

	if (policy && !is_unknown)
		config = drift_plugin_in_force(node, &is_unknown);
	if (!reported || !device->is_listing_good)
		return DRIFT_ANSWER(device->is_listing_good ? DRIFT_NO : DRIFT_CANNOT_TELL);
	if (device->is_claimed) /* a driver of DRA shares it by MPS with a daemon of its own */
		return DRIFT_ANSWER(DRIFT_NOT_COMPARED);
	if (reported->compute_mode != REPORT_COMPUTE_EXCLUSIVE_PROCESS ||
	    is_intended(device, config) || has_client(node, reported) ||
	    (!config && device->status->sharing.mode == ATTRIBUTION_MODE_MPS))
		return DRIFT_ANSWER(DRIFT_NO);
	if (is_unknown)
		return policy && policy->unreadable.len == 0 ? drift_plugin_untold(node)
							      : DRIFT_ANSWER(DRIFT_UNREADABLE);
	if (!node->is_pods_current)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (has_daemon(node))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = config ? drift_text(text, "no MPS (%)",
						drift_plugin_source(node, text))
				   : VIEW("no MPS (no configuration asks for it)"),
		.observed = VIEW("compute mode ExclusiveProcess (NVML), and no pod with "
				 "label app=nvidia-device-plugin-mps-control-daemon on the node (pods)"),
		.message = VIEW("Run nvidia-smi -c DEFAULT for the device on the node: only one process "
				"at a time can use it."),
	};
}

/* What shows that it does not run; empty: nothing. pods: of its daemon; NULL: not known. */
static struct view find_fault(const struct drift_device *device, const struct drift_operand *pods)
{
	if (device->is_listing_good && device->reported &&
	    device->reported->compute_mode == REPORT_COMPUTE_DEFAULT)
		return VIEW("compute mode Default (NVML)");
	if (pods && pods->n_ready == 0)
		return VIEW("no Ready pod with label app=nvidia-device-plugin-mps-control-daemon on "
			    "the node (pods)");
	return (struct view){0};
}

struct drift_finding drift_mps_not_running(const struct drift_node *node,
					   const struct drift_device *device,
					   struct drift_text *text)
{
	bool is_unknown;
	const struct plugin_config *config = drift_plugin_in_force(node, &is_unknown);
	const struct drift_operand *pods = drift_operand_pods(node, POD_OPERAND_MPS_DAEMON);
	const struct view fault = find_fault(device, pods);

	if (is_unknown)
		return drift_plugin_untold(node);
	if (!is_intended(device, config) || (device->is_listing_good && !device->reported))
		return DRIFT_ANSWER(DRIFT_NO);
	if (fault.len == 0)
		return DRIFT_ANSWER(pods && device->is_listing_good ? DRIFT_NO : DRIFT_CANNOT_TELL);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = drift_plugin_hash(node),
		.intended = drift_text(text, "MPS (%)",
				       drift_plugin_source(node, text)),
		.observed = fault,
		.message = VIEW("See the pod of DaemonSet nvidia-device-plugin-mps-control-daemon, and "
				"label nvidia.com/mps.capable of the node."),
	};
}
