/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A label that is not there is not stale. NVML may list a device and not its MIG devices: these are not
 * counted as none then.
 *
 * Labels describe one model. Where the node has several, those of one model are left, and which one is
 * not known: nothing is compared then. Nor is it where the labels say that MIG devices do not fit the
 * strategy single.
 */

#include "assess/drift_labels.h"

#include <assert.h>

#include "assess/drift_mig.h"
#include "assess/drift_operand.h"
#include "assess/drift_plugin.h"
#include "assess/drift_text.h"

#define SHARED_SUFFIX "-SHARED"
#define MIG_PART "-MIG-"
#define INVALID_SUFFIX "-MIG-INVALID"

static struct drift_finding answer_for(enum drift_operand_want want)
{
	return DRIFT_ANSWER(want == DRIFT_OPERAND_UNKNOWN ? DRIFT_CANNOT_TELL : DRIFT_NO);
}

struct drift_finding drift_labels_missing(const struct drift_node *node,
					  const struct drift_device *device,
					  struct drift_text *text)
{
	const enum drift_operand_want want = drift_operand_want(node, POLICY_GFD);

	(void)device;
	if (want != DRIFT_OPERAND_WANTED)
		return answer_for(want);
	if (node->node->gpu_count.len > 0 || node->node->gpu_product.len > 0)
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "labels of GPU feature discovery (gfd.enabled of "
					     "ClusterPolicy %)",
				       node->intent->policy->name),
		.observed = VIEW("neither label nvidia.com/gpu.count nor nvidia.com/gpu.product (node)"),
		.message = VIEW("See the node's gpu-feature-discovery pod: pods that select GPUs by "
				"label do not come here."),
	};
}

/* Stale */

/* What is not a letter, a digit, '-', '_' or '.' is not in a label; a blank is a dash. */
static bool is_kept(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

static bool is_model(struct view label, struct view model)
{
	size_t at = 0;

	for (size_t i = 0; i < model.len; i++) {
		const char c = model.ptr[i] == ' ' ? '-' : model.ptr[i];

		if (!is_kept(c))
			continue;
		if (at == label.len || label.ptr[at++] != c)
			return false;
	}
	return at == label.len;
}

/* The model in label gpu.product, without what is added for sharing and for MIG. */
static struct view model_in(struct view product)
{
	struct view model, rest;

	(void)view_cut(product, VIEW(MIG_PART), &model, &rest);
	if (view_ends_with(model, VIEW(SHARED_SUFFIX)))
		model.len -= sizeof(SHARED_SUFFIX) - 1;
	return model;
}

/* The first that is known; empty: none is. */
static struct view find_model(struct array devices)
{
	for (uint32_t i = 0; i < devices.count; i++)
		if (ARRAY_AT(devices, struct report_device, i)->model.len > 0)
			return ARRAY_AT(devices, struct report_device, i)->model;
	return (struct view){0};
}

/* A model that is not known is not another one. */
static bool has_one_model(struct array devices)
{
	const struct view first = find_model(devices);

	for (uint32_t i = 0; i < devices.count; i++) {
		const struct view model = ARRAY_AT(devices, struct report_device, i)->model;

		if (model.len > 0 && !view_equal(model, first))
			return false;
	}
	return true;
}

static bool are_profiles_known(struct array parts)
{
	for (uint32_t i = 0; i < parts.count; i++)
		if (ARRAY_AT(parts, struct report_partition, i)->profile.len == 0)
			return false;
	return true;
}

/* True when NVML tells the MIG devices of each of them. */
static bool are_parts_listed(struct array devices)
{
	for (uint32_t i = 0; i < devices.count; i++) {
		const struct array parts = ARRAY_AT(devices, struct report_device, i)->partitions;

		if (!parts.present || !are_profiles_known(parts))
			return false;
	}
	return true;
}

static bool is_single(const struct node *node)
{
	struct view left, right;

	return view_cut(node->gpu_product, VIEW(MIG_PART), &left, &right);
}

/* What label gpu.count shall be: with strategy single MIG devices are counted. */
static int64_t count_devices(bool is_single, struct array devices)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < devices.count; i++)
		n += is_single ? ARRAY_AT(devices, struct report_device, i)->partitions.count : 1;
	return n;
}

/* It is there, and another number, or none. */
static bool is_other(struct view label, int64_t expected)
{
	int64_t number = -1;

	(void)view_parse_i64(label, &number);
	return label.len > 0 && number != expected;
}

static bool has_mig_mode(struct array devices)
{
	for (uint32_t i = 0; i < devices.count; i++)
		if (ARRAY_AT(devices, struct report_device, i)->mig.present)
			return true;
	return false;
}

/*
 * The replicas that the books have of the device; 0: they do not tell, or the device is one of those
 * for which the label says nothing. One replica may have been withdrawn.
 */
static int64_t count_replicas(const struct drift_device *device)
{
	const struct attribution_sharing *sharing = &device->status->sharing;

	if (device->n_offers == 0 || (device->reported && device->reported->mig.current) ||
	    device->status->health.events.count > 0 ||
	    device->status->health.state != ATTRIBUTION_HEALTH_HEALTHY)
		return 0;
	return sharing->mode == ATTRIBUTION_MODE_EXCLUSIVE ||
			       sharing->mode == ATTRIBUTION_MODE_TIME_SLICED ||
			       sharing->mode == ATTRIBUTION_MODE_MPS
		       ? sharing->replicas
		       : 0;
}

static struct drift_finding differ(struct view label, struct view value, struct view expected,
				   struct view source, struct drift_text *text)
{
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "%=% (%)", label, expected, source),
		.observed = drift_text(text, "%=% (node)", label, value),
		.message = VIEW("Delete the node's gpu-feature-discovery pod, so that it writes the "
				"labels anew."),
	};
}

/* MIG */

/* As a label's key has it: "1g.10gb+me" is "1g.10gb.me". */
static bool is_profile(struct view label, struct view profile)
{
	if (label.len != profile.len)
		return false;
	for (size_t i = 0; i < profile.len; i++)
		if (label.ptr[i] != (profile.ptr[i] == '+' ? '.' : profile.ptr[i]))
			return false;
	return true;
}

static int64_t count_parts(struct array devices, struct view profile)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < devices.count; i++) {
		const struct array parts = ARRAY_AT(devices, struct report_device, i)->partitions;

		for (uint32_t k = 0; k < parts.count; k++)
			n += is_profile(profile,
					ARRAY_AT(parts, struct report_partition, k)->profile);
	}
	return n;
}

static struct drift_finding compare_parts(const struct drift_node *node, struct drift_text *text)
{
	const struct array labels = node->node->mig_counts, devices = node->report->devices;

	if (labels.count > 0 && !are_parts_listed(devices))
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	for (uint32_t i = 0; i < labels.count; i++) {
		const struct node_mig_count *label =
			ARRAY_AT(labels, struct node_mig_count, i);
		const int64_t n = count_parts(devices, label->profile);

		if (is_other(label->value, n))
			return differ(drift_text(text, "nvidia.com/mig-%.count", label->profile),
				      label->value, drift_text_number(text, n), VIEW("NVML"), text);
	}
	return DRIFT_ANSWER(DRIFT_NO);
}

/*
 * GPU feature discovery takes it from where the plugin does, where that has none of its own. While the
 * plugin has another one, too, the operator has not given it to either of them: MIGStrategy says so.
 */
static struct drift_finding compare_strategy(const struct drift_node *node,
					     const struct drift_device *device,
					     struct drift_text *text)
{
	const struct view label = node->node->mig_strategy;
	bool is_unknown;
	const struct drift_mig_strategy strategy = drift_mig_strategy_of_labels(node, &is_unknown);

	if (label.len == 0)
		return DRIFT_ANSWER(DRIFT_NO);
	if (is_unknown)
		return drift_plugin_untold(node);
	if (view_equal(label, strategy.name) ||
	    drift_mig_strategy_differs(node, device, text).answer == DRIFT_FOUND)
		return DRIFT_ANSWER(DRIFT_NO);
	return differ(VIEW("nvidia.com/mig.strategy"), label, strategy.name,
		      drift_text(text, "%, ClusterPolicy %", strategy.where,
				 node->intent->policy->name),
		      text);
}

/* The first that is found; else the first that cannot be compared. */
static struct drift_finding compare_mig(const struct drift_node *node,
					const struct drift_device *device, struct drift_text *text)
{
	const struct drift_finding parts = compare_parts(node, text),
				   strategy = compare_strategy(node, device, text);

	return parts.answer == DRIFT_FOUND || strategy.answer == DRIFT_NO ? parts : strategy;
}

static struct drift_finding compare(const struct drift_node *node,
				    const struct drift_device *device, struct drift_text *text)
{
	const struct node *labels = node->node;
	const struct array devices = node->report->devices;
	const struct view model = find_model(devices);
	const bool counts_parts = is_single(labels);
	const bool is_countable = !counts_parts || are_parts_listed(devices);
	const int64_t n_devices = count_devices(counts_parts, devices);
	const int64_t replicas = count_replicas(device);
	struct drift_finding mig;

	assert(devices.count > 0 && has_one_model(devices));
	if (is_countable && is_other(labels->gpu_count, n_devices))
		return differ(VIEW("nvidia.com/gpu.count"), labels->gpu_count,
			      drift_text_number(text, n_devices), VIEW("NVML"), text);
	if (labels->gpu_product.len > 0 && model.len > 0 &&
	    !is_model(model_in(labels->gpu_product), model))
		return differ(VIEW("nvidia.com/gpu.product"), labels->gpu_product, model,
			      VIEW("NVML"), text);
	if (replicas > 0 && is_other(labels->gpu_replicas, replicas))
		return differ(VIEW("nvidia.com/gpu.replicas"), labels->gpu_replicas,
			      drift_text_number(text, replicas), VIEW("device IDs"), text);
	if (view_equal(labels->mig_capable, VIEW("false")) && has_mig_mode(devices))
		return differ(VIEW("nvidia.com/mig.capable"), labels->mig_capable, VIEW("true"),
			      VIEW("NVML"), text);
	mig = compare_mig(node, device, text);
	return mig.answer == DRIFT_NO && !is_countable && labels->gpu_count.len > 0
		       ? DRIFT_ANSWER(DRIFT_CANNOT_TELL)
		       : mig;
}

struct drift_finding drift_labels_stale(const struct drift_node *node,
					const struct drift_device *device, struct drift_text *text)
{
	const enum drift_operand_want want = drift_operand_want(node, POLICY_GFD);
	const struct array devices = node->report->devices;

	if (want != DRIFT_OPERAND_WANTED)
		return answer_for(want);
	if (!device->is_listing_good)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (devices.count == 0 || !has_one_model(devices) ||
	    view_ends_with(node->node->gpu_product, VIEW(INVALID_SUFFIX)))
		return DRIFT_ANSWER(DRIFT_NO);
	return compare(node, device, text);
}
