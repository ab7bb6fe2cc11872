/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Plugins up to 0.20 withdraw one replica of a device that failed, and others all of them. So that
 * some are missing tells no more than that at least one device is not well.
 */

#include "assess/drift_allocatable.h"

#include <assert.h>

#include "assess/drift_mig.h"
#include "assess/drift_operand.h"
#include "assess/drift_plugin.h"
#include "assess/drift_text.h"

#define OF_GPUS "nvidia.com/gpu"
#define OF_MIG "nvidia.com/mig-"

/* What the plugin shall do on the node. */
struct plan {
	const struct plugin_config *config; /* NULL: not known, or no sharing */
	struct view strategy;
	struct drift_text *text;
	bool is_untold; /* set: NVML does not tell how many units some device makes */
};

static int64_t replicas_of(const struct plan *plan, struct view resource)
{
	return plan->config ? plugin_config_replicas(plan->config, resource) : 1;
}

/* The resource of a MIG device: "mig-1g.10gb.me" for profile "1g.10gb+me". */
static struct view resource_of(const struct plan *plan, struct view profile)
{
	struct view left, right;

	if (view_equal(plan->strategy, VIEW("single")))
		return VIEW(OF_GPUS);
	if (!view_cut(profile, VIEW("+"), &left, &right))
		return drift_text(plan->text, OF_MIG "%", profile);
	return drift_text(plan->text, OF_MIG "%.%", left, right);
}

/* The plugin never offers the display adapter of a DGX Station. */
static bool is_left_out(struct view model)
{
	static const struct view models[] = {VIEW_INIT("NVIDIA DGX Display"),
					     VIEW_INIT("DGX Display")};

	return view_is_among(model, models, ARRAY_SIZE(models));
}

static int64_t units_of_parts(struct plan *plan, struct array parts)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < parts.count; i++) {
		const struct report_partition *part = ARRAY_AT(parts, struct report_partition, i);

		plan->is_untold |= part->profile.len == 0;
		n += replicas_of(plan, resource_of(plan, part->profile));
	}
	return n;
}

/* How many units the device makes. */
static int64_t units_of(struct plan *plan, const struct report_device *reported)
{
	if (is_left_out(reported->model))
		return 0;
	if (view_equal(plan->strategy, VIEW("none")))
		return replicas_of(plan, VIEW(OF_GPUS));
	plan->is_untold |= !reported->partitions.present;
	return reported->mig.current ? units_of_parts(plan, reported->partitions)
				     : replicas_of(plan, VIEW(OF_GPUS));
}

static int64_t sum_up(const struct node *node)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < node->allocatable.count; i++) {
		const struct node_resource *r = ARRAY_AT(node->allocatable, struct node_resource, i);

		if (view_starts_with(r->name, VIEW(OF_GPUS)) ||
		    view_starts_with(r->name, VIEW(OF_MIG)))
			n += r->count;
	}
	return n;
}

struct drift_finding drift_allocatable_short(const struct drift_node *node,
					     const struct drift_device *device,
					     struct drift_text *text)
{
	const enum drift_operand_want want = drift_operand_want(node, POLICY_DEVICE_PLUGIN);
	const struct array devices = node->report->devices;
	bool is_config_unknown, is_strategy_unknown;
	struct plan plan = {drift_plugin_in_force(node, &is_config_unknown),
			    drift_mig_strategy_of(node, &is_strategy_unknown).name, text, false};
	int64_t wanted = 0, there;

	if (want == DRIFT_OPERAND_OFF || want == DRIFT_OPERAND_NOT_HERE)
		return DRIFT_ANSWER(DRIFT_NO);
	if (is_strategy_unknown)
		return drift_plugin_untold(node);
	if (want == DRIFT_OPERAND_UNKNOWN || !device->is_listing_good)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	for (uint32_t i = 0; i < devices.count; i++)
		wanted += units_of(&plan, ARRAY_AT(devices, struct report_device, i));
	if (plan.is_untold)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	assert(node->node); /* else it is not known whether a plugin is wanted */
	there = sum_up(node->node);
	if (there >= wanted)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text,
				       "%, of the % devices of the node (NVML, plugin configuration)",
				       drift_text_number(text, wanted),
				       drift_text_number(text, devices.count)),
		.observed = drift_text(text, "% (status.allocatable of the node)",
				       drift_text_number(text, there)),
		.message = VIEW("Look for a device of the node that is not Healthy, then delete the "
				"device plugin's pod: it withdraws devices for good."),
	};
}
