/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_mig.h"

#include <assert.h>

#include "assess/drift_hash.h"
#include "assess/drift_layout.h"
#include "assess/drift_operand.h"
#include "assess/drift_plugin.h"
#include "assess/drift_text.h"
#include "model/device_id.h"

#define OF_NVIDIA "nvidia.com/"
#define OF_MIG "nvidia.com/mig-"
/* The flag of the plugin, and the variable by which the operator gives it the policy's strategy. */
#define STRATEGY_FLAG "mig-strategy"
#define STRATEGY_VARIABLE "MIG_STRATEGY"

static struct view on_or_off(bool is_on)
{
	return is_on ? VIEW("on") : VIEW("off");
}

/* What is on offer */

/* The kubelet's own word counts first, while it can be heard. */
static struct array find_offers(const struct report *report)
{
	const bool has_registered = report->checkpoint.present &&
				    report->checkpoint.registered.present;

	return report->allocatable.present && (report->sources.pod_resources.state ==
						       REPORT_SOURCE_OK ||
					       !has_registered)
		       ? report->allocatable
		       : report->checkpoint.registered;
}

static bool is_mig_id(struct view id)
{
	const struct device_id parsed = device_id_parse(id);

	return parsed.form == DEVICE_ID_MIG || parsed.gpu_instance >= 0;
}

/* Other plugins, which are there because NVIDIA's is off, have IDs of their own: HAMi's, GKE's. */
static bool is_plugins_id(struct view id)
{
	const struct device_id parsed = device_id_parse(id);

	return !parsed.is_hami && !parsed.is_odd &&
	       (parsed.form == DEVICE_ID_GPU || parsed.form == DEVICE_ID_MIG ||
		parsed.form == DEVICE_ID_MIG_OLD);
}

/* The IDs name one of the devices in MIG mode as a whole. The mode of a lost one is the last that was read. */
static bool has_whole(const struct report *report, struct array ids)
{
	for (uint32_t i = 0; i < report->devices.count; i++) {
		const struct report_device *device = ARRAY_AT(report->devices, struct report_device,
							      i);
		const bool is_in_mig_mode = device->mig.current && !device->condition.lost;

		for (uint32_t k = 0; is_in_mig_mode && k < ids.count; k++)
			if (view_starts_with(*ARRAY_AT(ids, struct view, k), device->uuid))
				return true;
	}
	return false;
}

static unsigned look_at_ids(const struct report *report, struct array ids)
{
	for (uint32_t i = 0; i < ids.count; i++)
		if (is_mig_id(*ARRAY_AT(ids, struct view, i)))
			return DRIFT_OFFERED_SINGLE;
	return has_whole(report, ids) ? DRIFT_OFFERED_NONE : 0;
}

void drift_mig_look(struct drift_node *node)
{
	const struct array offers = find_offers(node->report);

	assert(node->report);
	node->offered = 0;
	node->has_plugins_ids = false;
	for (uint32_t i = 0; i < offers.count; i++) {
		const struct report_resource_devices *offer = ARRAY_AT(
			offers, struct report_resource_devices, i);
		if (offer->device_ids.count == 0 ||
		    !view_starts_with(offer->resource, VIEW(OF_NVIDIA)))
			continue;
		node->has_plugins_ids |= is_plugins_id(*ARRAY_AT(offer->device_ids, struct view, 0));
		node->offered |= view_starts_with(offer->resource, VIEW(OF_MIG))
					 ? DRIFT_OFFERED_MIXED
					 : look_at_ids(node->report, offer->device_ids);
	}
}

/* The strategy */

static bool is_written(const struct policy_variable *variable)
{
	return variable && variable->value.len > 0;
}

struct drift_mig_strategy drift_mig_override(const struct policy *policy)
{
	assert(policy);
	const struct policy_variable *variable = policy_find_variable(policy,
								      VIEW(STRATEGY_VARIABLE));
	struct view flag;

	if (policy_find_flag(policy, VIEW(STRATEGY_FLAG), &flag) && flag.len > 0)
		return (struct drift_mig_strategy){flag, VIEW("devicePlugin.args")};
	if (policy_has_command(policy))
		return (struct drift_mig_strategy){0};
	if (is_written(variable))
		return (struct drift_mig_strategy){variable->value, VIEW("devicePlugin.env")};
	return (struct drift_mig_strategy){policy->mig_strategy, VIEW("mig.strategy")};
}

static struct view strategy_in(const struct plugin_config *config)
{
	return config && config->mig_strategy.len > 0 ? config->mig_strategy : VIEW("none");
}

/* The strategy of what has that override, and else goes by the node's configuration. */
static struct drift_mig_strategy strategy_under(struct drift_mig_strategy override,
						const struct drift_node *node, bool *ret_is_unknown)
{
	const struct plugin_config *config = drift_plugin_in_force(node, ret_is_unknown);

	if (override.name.len > 0) {
		*ret_is_unknown = false;
		return override;
	}
	return (struct drift_mig_strategy){
		strategy_in(config),
		config && config->mig_strategy.len > 0 ? VIEW("flags.migStrategy")
						       : VIEW("as nothing is written"),
	};
}

struct drift_mig_strategy drift_mig_strategy_of(const struct drift_node *node, bool *ret_is_unknown)
{
	return strategy_under(drift_mig_override(node->intent->policy), node, ret_is_unknown);
}

/*
 * Other than for the plugin, the operator sets mig.strategy after gfd.env, so that it counts first. But GPU
 * feature discovery has a variable of its own, which goes before.
 */
static struct drift_mig_strategy override_of_labels(const struct policy *policy)
{
	const struct policy_variable
		*own = policy_find_gfd_variable(policy, VIEW("GFD_" STRATEGY_VARIABLE)),
		*variable = policy_find_gfd_variable(policy, VIEW(STRATEGY_VARIABLE));
	struct view flag;

	if (policy_find_gfd_flag(policy, VIEW(STRATEGY_FLAG), &flag) && flag.len > 0)
		return (struct drift_mig_strategy){flag, VIEW("gfd.args")};
	if (is_written(own))
		return (struct drift_mig_strategy){own->value, VIEW("gfd.env")};
	if (policy->mig_strategy.len == 0 && is_written(variable))
		return (struct drift_mig_strategy){variable->value, VIEW("gfd.env")};
	return (struct drift_mig_strategy){policy->mig_strategy, VIEW("mig.strategy")};
}

struct drift_mig_strategy drift_mig_strategy_of_labels(const struct drift_node *node,
						       bool *ret_is_unknown)
{
	return strategy_under(override_of_labels(node->intent->policy), node, ret_is_unknown);
}

/* How MIG devices are on offer, if not by that strategy; 0: by none other. */
static unsigned find_others(const struct drift_node *node, struct view strategy)
{
	static const struct {
		struct view strategy;
		unsigned offered; /* bits of enum drift_offered that it may lead to */
	} rows[] = {
		{VIEW_INIT("none"), DRIFT_OFFERED_NONE},
		{VIEW_INIT("single"), DRIFT_OFFERED_SINGLE},
		{VIEW_INIT("mixed"), DRIFT_OFFERED_MIXED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (view_equal(strategy, rows[i].strategy))
			return node->offered & ~rows[i].offered;
	return 0;
}

bool drift_mig_is_offered_by(const struct drift_node *node, const struct plugin_config *config)
{
	const struct drift_mig_strategy override = drift_mig_override(node->intent->policy);

	return override.name.len > 0 || find_others(node, strategy_in(config)) == 0;
}

struct drift_finding drift_mig_strategy_differs(const struct drift_node *node,
						const struct drift_device *device,
						struct drift_text *text)
{
	bool is_unknown;
	const struct drift_mig_strategy strategy = drift_mig_strategy_of(node, &is_unknown);
	const enum drift_operand_want want = drift_operand_want(node, POLICY_DEVICE_PLUGIN);
	const unsigned others = find_others(node, strategy.name);

	(void)device;
	if (want == DRIFT_OPERAND_OFF || want == DRIFT_OPERAND_NOT_HERE)
		return DRIFT_ANSWER(DRIFT_NO);
	if (is_unknown)
		return drift_plugin_untold(node);
	if (want == DRIFT_OPERAND_UNKNOWN || !node->is_offer_known)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (others == 0)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = drift_hash(0, strategy.name),
		.intended = drift_text(text, "MIG strategy % (%, ClusterPolicy %)",
				       strategy.name, strategy.where,
				       node->intent->policy->name),
		.observed = others & DRIFT_OFFERED_MIXED
				    ? VIEW("resources nvidia.com/mig-... are on offer, as with mixed "
					   "(device IDs)")
			    : others & DRIFT_OFFERED_SINGLE
				    ? VIEW("MIG devices are on offer as nvidia.com/gpu, as with single "
					   "(device IDs)")
				    : VIEW("a device in MIG mode is on offer as a whole, as with none "
					   "(device IDs)"),
		.message = VIEW("Delete the device plugin's pod on the node, so that it starts with the "
				"strategy that is written."),
	};
}

/* The mode */

struct drift_finding drift_mig_mode_pending(const struct drift_node *node,
					    const struct drift_device *device,
					    struct drift_text *text)
{
	const struct report_device *reported = device->reported;

	(void)node;
	if (!device->is_listing_good)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (!reported || !reported->mig.present || reported->mig.current == reported->mig.pending)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "MIG mode % (NVML: pending)",
				       on_or_off(reported->mig.pending)),
		.observed = drift_text(text, "MIG mode % (NVML: current)",
				       on_or_off(reported->mig.current)),
		.message = VIEW("Drain the device and reset it, or reboot the node: then the mode takes "
				"effect."),
	};
}

/* The layout */

/* A MIG manager shall make the layout that a label of the node names. */
static enum drift_operand_want wants_layout(const struct drift_node *node)
{
	const enum drift_operand_want want = drift_operand_want(node, POLICY_MIG_MANAGER);

	return want == DRIFT_OPERAND_WANTED && node->node->mig_config.len == 0
		       ? DRIFT_OPERAND_NOT_HERE
		       : want;
}

/* A label names a layout where no MIG manager comes: who makes it, and what it is, nobody tells. */
static bool is_layout_of_nobody(const struct drift_node *node)
{
	return drift_operand_want(node, POLICY_MIG_MANAGER) == DRIFT_OPERAND_NOT_HERE &&
	       node->node->mig_config.len > 0;
}

/* What failed may be the layout before: of a new one the MIG manager tells after a moment. */
struct drift_finding drift_mig_config_failed(const struct drift_node *node,
					     const struct drift_device *device,
					     struct drift_text *text)
{
	const enum drift_operand_want want = wants_layout(node);

	(void)device;
	if (want == DRIFT_OPERAND_UNKNOWN)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (want != DRIFT_OPERAND_WANTED ||
	    !view_equal(node->node->mig_config_state, VIEW("failed")))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = drift_hash(0, node->node->mig_config),
		.intended = drift_text(text, "MIG layout % (label nvidia.com/mig.config)",
				       node->node->mig_config),
		.observed = VIEW("failed (label nvidia.com/mig.config.state)"),
		.message = VIEW("See the log of the node's nvidia-mig-manager pod, then set label "
				"nvidia.com/mig.config to another layout and back."),
	};
}

/* The operator's own ConfigMap is a default that nobody named: if it is missing, nothing was misconfigured. */
static bool is_layout_unreadable(const struct drift_node *node)
{
	const struct drift_layouts layouts = drift_layout_find(node);

	if (drift_layout_is_built_in(node))
		return false;
	return layouts.state == INTENT_CONFIG_UNREADABLE ||
	       (layouts.state == INTENT_CONFIG_MISSING &&
		node->intent->policy->mig_config.len == 0) ||
	       (layouts.state == INTENT_CONFIG_THERE && layouts.configs->error.len > 0);
}

struct view drift_mig_say_unreadable(const struct drift_node *node, struct drift_text *text)
{
	const struct intent *intent = node->intent;

	if (!intent->policy || wants_layout(node) != DRIFT_OPERAND_WANTED ||
	    !is_layout_unreadable(node))
		return (struct view){0};
	const struct drift_layouts layouts = drift_layout_find(node);

	if (layouts.configs)
		return drift_text(text, "ConfigMap %/% cannot be read: %", intent->policy->namespace,
				  layouts.name, layouts.configs->error);
	if (layouts.state == INTENT_CONFIG_MISSING)
		return drift_text(text, "ClusterPolicy % names no ConfigMap of MIG layouts, and %/% does "
				  "not exist",
				  intent->policy->name, intent->policy->namespace, layouts.name);
	return drift_plugin_say_lost(intent->policy, layouts.name, layouts.why, text);
}

struct drift_finding drift_mig_layout(const struct drift_node *node,
				      const struct drift_device *device, struct drift_text *text)
{
	const enum drift_operand_want want = wants_layout(node);

	if (want == DRIFT_OPERAND_WANTED && is_layout_unreadable(node))
		return DRIFT_ANSWER(DRIFT_UNREADABLE);
	if (want == DRIFT_OPERAND_UNKNOWN ||
	    (want == DRIFT_OPERAND_WANTED && !device->is_listing_good))
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (want != DRIFT_OPERAND_WANTED || !device->reported)
		return DRIFT_ANSWER(is_layout_of_nobody(node) ? DRIFT_NOT_COMPARED : DRIFT_NO);
	return drift_layout_compare(node, device->reported, text);
}
