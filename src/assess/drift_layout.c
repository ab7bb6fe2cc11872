/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_layout.h"

#include <assert.h>

#include "assess/drift_hash.h"
#include "assess/drift_plugin.h"
#include "assess/drift_text.h"

#define NO_DEVICES "MIG mode on, without MIG devices"

/* Every ConfigMap with layouts has it, also those that the MIG manager makes itself. */
static const struct mig_config_part all_disabled_parts[] = {{.is_for_all = true}};
static const struct view all_disabled = VIEW_INIT("all-disabled");

struct drift_layouts drift_layout_find(const struct drift_node *node)
{
	const struct intent *intent = node->intent;

	assert(intent->policy);
	if (node->layouts && policy_may_make_layouts(intent->policy))
		return (struct drift_layouts){
			.state = INTENT_CONFIG_THERE,
			.configs = node->layouts,
			.name = node->layouts->name,
		};
	return (struct drift_layouts){
		.state = intent->mig_configs_state,
		.why = intent->mig_configs_why,
		.configs = intent->mig_configs,
		.name = policy_mig_config(intent->policy),
	};
}

static bool is_told_by_manager(const struct drift_node *node)
{
	return node->layouts && drift_layout_find(node).configs == node->layouts;
}

static int64_t count_profile(const struct report_device *reported, struct view profile)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < reported->partitions.count; i++)
		n += view_equal(ARRAY_AT(reported->partitions, struct report_partition, i)->profile,
				profile);
	return n;
}

static bool has_counts(const struct report_device *reported, struct array counts)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < counts.count; i++) {
		const struct mig_config_count *c = ARRAY_AT(counts, struct mig_config_count, i);

		if (count_profile(reported, c->profile) != c->count)
			return false;
		total += c->count;
	}
	return total == reported->partitions.count;
}

static bool fits(const struct mig_config_part *part, const struct report_device *reported)
{
	if (!part->is_enabled)
		return !reported->mig.current;
	return reported->mig.current && has_counts(reported, part->counts);
}

/* What NVML tells suffices to compare. */
static bool is_told(const struct mig_config_part *part, const struct report_device *reported)
{
	if (!part->is_enabled)
		return true;
	return reported->mig.present && (!reported->mig.current ||
					 (reported->partitions.present &&
					  count_profile(reported, (struct view){0}) == 0));
}

/* Texts */

static struct view say_count(int64_t count, struct view profile, struct drift_text *text)
{
	return drift_text(text, "% of %", drift_text_number(text, count), profile);
}

static struct view say_part(const struct mig_config_part *part, struct drift_text *text)
{
	struct view list = {0};

	if (!part->is_enabled)
		return VIEW("MIG mode off");
	if (part->counts.count == 0)
		return VIEW(NO_DEVICES);
	for (uint32_t i = 0; i < part->counts.count; i++) {
		const struct mig_config_count *c = ARRAY_AT(part->counts, struct mig_config_count, i);

		list = drift_text_add(text, list, say_count(c->count, c->profile, text));
	}
	return list;
}

static struct view say_devices(const struct report_device *reported, struct drift_text *text)
{
	const struct array partitions = reported->partitions;
	struct view list = {0};

	if (!reported->mig.current)
		return VIEW("MIG mode off");
	if (partitions.count == 0)
		return VIEW(NO_DEVICES);
	for (uint32_t i = 0; i < partitions.count; i++) {
		const struct view profile =
			ARRAY_AT(partitions, struct report_partition, i)->profile;
		const struct report_device before = {.partitions = array_of(partitions.items, i)};

		if (count_profile(&before, profile) == 0)
			list = drift_text_add(text, list,
					      say_count(count_profile(reported, profile), profile,
							text));
	}
	return list;
}

static struct view say_layout(const struct drift_node *node, struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;

	if (drift_layout_is_built_in(node))
		return drift_text(text, "layout %, label nvidia.com/mig.config",
				  node->node->mig_config);
	return drift_text(text, "layout % of ConfigMap %/%, label nvidia.com/mig.config",
			  node->node->mig_config, policy->namespace, drift_layout_find(node).name);
}

/* part: NULL, there is none */
static uint32_t hash_layout(const struct drift_node *node, const struct mig_config_part *part)
{
	uint32_t hash = drift_hash(drift_hash(0, drift_layout_find(node).name),
				   node->node->mig_config);

	if (!part)
		return hash;
	hash = drift_hash_number(hash, part->is_enabled);
	for (uint32_t i = 0; i < part->counts.count; i++) {
		const struct mig_config_count *c = ARRAY_AT(part->counts, struct mig_config_count, i);

		hash = drift_hash_number(drift_hash(hash, c->profile), c->count);
	}
	return hash;
}

/* There is no such layout. */
static struct drift_finding find_nothing(const struct drift_node *node, struct drift_text *text)
{
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = hash_layout(node, NULL),
		.intended = say_layout(node, text),
		.observed = drift_layout_find(node).state == INTENT_CONFIG_MISSING
				    ? VIEW("there is no such ConfigMap (API server)")
				    : VIEW("the ConfigMap has no such layout (API server)"),
		.message = is_told_by_manager(node)
				   ? VIEW("Set label nvidia.com/mig.config to a layout that is there, or "
					  "name a ConfigMap that has it in migManager.config.name.")
				   : VIEW("Write the layout, or set label nvidia.com/mig.config to one "
					  "that is there."),
	};
}

/* The layout goes by the indices of devices, and this one's cannot be read. */
static bool lacks_index(const struct mig_config *layout, const struct report_device *reported)
{
	for (uint32_t i = 0; i < layout->parts.count; i++)
		if (reported->index < 0 &&
		    !ARRAY_AT(layout->parts, struct mig_config_part, i)->is_for_all)
			return true;
	return false;
}

bool drift_layout_is_built_in(const struct drift_node *node)
{
	return node->intent->policy->mig_config.len == 0 &&
	       drift_layout_find(node).state != INTENT_CONFIG_THERE &&
	       view_equal(node->node->mig_config, all_disabled);
}

static struct drift_finding compare(const struct drift_node *node,
				    const struct report_device *reported, struct drift_text *text)
{
	const struct drift_layouts layouts = drift_layout_find(node);
	const struct mig_config built_in = {
		.parts = array_of(all_disabled_parts, ARRAY_SIZE(all_disabled_parts))};
	const struct mig_config *layout = NULL;
	const struct mig_config_part *part;
	bool is_uncertain;

	assert(reported && node->node && node->node->mig_config.len > 0);
	if (layouts.state == INTENT_CONFIG_THERE)
		layout = mig_config_find(layouts.configs, node->node->mig_config);
	else if (drift_layout_is_built_in(node))
		layout = &built_in;
	if (!layout)
		return layouts.state == INTENT_CONFIG_NONE
			       ? DRIFT_ANSWER(DRIFT_NOT_COMPARED)
			       : find_nothing(node, text);
	part = mig_config_part_of(layout, reported->index, reported->pci_device_id, &is_uncertain);
	if (part && is_told(part, reported) && fits(part, reported))
		return DRIFT_ANSWER(DRIFT_NO);
	if (lacks_index(layout, reported))
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (is_uncertain)
		return DRIFT_ANSWER(DRIFT_NOT_COMPARED);
	if (!part)
		return DRIFT_ANSWER(DRIFT_NO);
	if (!is_told(part, reported))
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intent_hash = hash_layout(node, part),
		.intended = drift_text(text, "% (%)", say_part(part, text),
				       say_layout(node, text)),
		.observed = drift_text(text, "% (NVML)", say_devices(reported, text)),
		.message = VIEW("See the node's nvidia-mig-manager pod, and label "
				"nvidia.com/mig.config.state of the node."),
	};
}

/*
 * What the layout is does not rest with the MIG manager, or it has told; all-disabled is the same whoever
 * says it.
 */
static bool is_written(const struct drift_node *node)
{
	const struct policy *policy = node->intent->policy;

	return policy->mig_config.len > 0 || policy_goes_by_own_layouts(policy) ||
	       is_told_by_manager(node) ||
	       view_equal(node->node->mig_config, all_disabled);
}

/* The layouts that are made for hardware which the operator knows are those of its ConfigMap. */
struct drift_finding drift_layout_compare(const struct drift_node *node,
					  const struct report_device *reported,
					  struct drift_text *text)
{
	const struct drift_finding finding = compare(node, reported, text);

	return finding.answer == DRIFT_FOUND && !is_written(node) ? DRIFT_ANSWER(DRIFT_UNREADABLE)
								  : finding;
}

/* What keeps the MIG manager's own layouts from being known, and what to do. */
static struct view say_untold(const struct drift_node *node, struct drift_text *text)
{
	const struct intent *intent = node->intent;
	const struct view name = drift_text(text, "%" MIG_CONFIG_SUFFIX, node->node->name);

	if (intent->node_layouts_state == INTENT_CONFIG_UNREADABLE)
		return drift_plugin_say_lost(intent->policy, name, intent->node_layouts_why, text);
	return drift_text(text, "there is no ConfigMap %/%, in which it tells them", intent->policy->namespace,
			  name);
}

struct view drift_layout_say_other(const struct drift_node *node, struct drift_text *text)
{
	const struct policy *policy = node->intent->policy;

	return drift_text(text, "ClusterPolicy % names no ConfigMap of MIG layouts in "
			  "migManager.config.name: the MIG manager may have made layout % itself, and "
			  "not as %/% has it; %",
			  policy->name, node->node->mig_config, policy->namespace,
			  policy_mig_config(policy), say_untold(node, text));
}
