/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_sharing.h"

#include <assert.h>

#include "assess/drift_plugin.h"
#include "assess/drift_hash.h"
#include "assess/drift_text.h"

#define SHARED_SUFFIX ".shared"
#define OF_NVIDIA "nvidia.com/"

/* The more the better are the users of a device kept apart. */
enum kind {
	SLICED,
	BY_MPS,
	NOT_SHARED,
	NOT_KNOWN, /* time-slicing or MPS: the device IDs do not tell */
};

static const struct view kind_names[] = {
	VIEW_INIT("time-slicing"),
	VIEW_INIT("MPS"),
	VIEW_INIT("not shared"),
};

/* One offer, as it is and as it shall be. */
struct comparison {
	const struct drift_offer *offer;
	struct view base;
	enum kind intended, observed;
	int64_t replicas_intended, replicas_observed;
	bool is_renamed_intended, is_renamed_observed;
	bool has_lost_one; /* the plugin may have withdrawn one replica */
};

struct view drift_sharing_base(struct view resource)
{
	if (view_ends_with(resource, VIEW(SHARED_SUFFIX)))
		resource.len -= sizeof(SHARED_SUFFIX) - 1;
	return resource;
}

static enum kind kind_seen(const struct drift_offer *offer, int mode)
{
	if (!offer->is_replica)
		return NOT_SHARED;
	switch (mode) {
	case ATTRIBUTION_MODE_MPS:
		return BY_MPS;
	case ATTRIBUTION_MODE_TIME_SLICED:
	case ATTRIBUTION_MODE_MIG_TIME_SLICED:
		return SLICED;
	default:
		return NOT_KNOWN;
	}
}

/* Plugins up to 0.20 withdraw one of a device's replicas after an error, and never offer it again. */
static bool may_have_lost_one(const struct attribution_status *status)
{
	return status->health.events.count > 0 ||
	       status->health.state == ATTRIBUTION_HEALTH_DEGRADED ||
	       status->health.state == ATTRIBUTION_HEALTH_UNHEALTHY;
}

static struct comparison compare(const struct drift_device *device,
				 const struct drift_offer *offer,
				 const struct plugin_config *config)
{
	const struct view base = drift_sharing_base(offer->resource);
	const int64_t replicas = plugin_config_replicas(config, base);
	const bool is_shared = replicas > 1;

	return (struct comparison){
		.offer = offer,
		.base = base,
		.intended = !is_shared                             ? NOT_SHARED
			    : config->sharing == PLUGIN_CONFIG_MPS ? BY_MPS
								   : SLICED,
		.observed = kind_seen(offer, device->status->sharing.mode),
		.replicas_intended = replicas,
		.replicas_observed = offer->n_replicas,
		.is_renamed_intended = is_shared && config->is_renamed,
		.is_renamed_observed = base.len < offer->resource.len,
		.has_lost_one = may_have_lost_one(device->status),
	};
}

static bool differs_in_mode(struct comparison c)
{
	if (c.observed == NOT_KNOWN)
		return c.intended == NOT_SHARED;
	return c.observed != c.intended;
}

/* Where only one of both is shared, that is a difference of modes. */
static bool differs_in_replicas(struct comparison c)
{
	if (c.replicas_intended == 1 || !c.offer->is_replica)
		return false;
	return c.replicas_observed != c.replicas_intended &&
	       !(c.has_lost_one && c.replicas_observed == c.replicas_intended - 1);
}

static bool differs_in_name(struct comparison c)
{
	return (c.intended == NOT_SHARED) == (c.observed == NOT_SHARED) &&
	       c.is_renamed_intended != c.is_renamed_observed;
}

typedef bool (*differs_fn)(struct comparison c);

/* The first offer of NVIDIA's plugin that differs. False: none does. */
static bool find(const struct drift_device *device, const struct plugin_config *config,
		 differs_fn differs, struct comparison *ret)
{
	for (size_t i = 0; i < device->n_offers; i++) {
		if (!view_starts_with(device->offers[i].resource, VIEW(OF_NVIDIA)))
			continue;
		*ret = compare(device, &device->offers[i], config);
		if (differs(*ret))
			return true;
	}
	return false;
}

bool drift_sharing_fits(const struct drift_device *device, const struct plugin_config *config)
{
	struct comparison c;

	return !find(device, config, differs_in_mode, &c) &&
	       !find(device, config, differs_in_replicas, &c) &&
	       !find(device, config, differs_in_name, &c);
}

static struct view say(enum kind kind, int64_t replicas, struct view resource,
		       struct drift_text *text)
{
	if (kind == NOT_SHARED)
		return drift_text(text, "% not shared", resource);
	if (kind == NOT_KNOWN)
		return drift_text(text, "% replicas of %", drift_text_number(text, replicas), resource);
	assert((size_t)kind < ARRAY_SIZE(kind_names));
	return drift_text(text, "%, % replicas of %", kind_names[kind],
			  drift_text_number(text, replicas), resource);
}

struct view drift_sharing_say_offer(const struct drift_device *device, struct drift_text *text)
{
	static const struct plugin_config any;
	assert(device->n_offers > 0);
	const struct comparison c = compare(device, &device->offers[0], &any);

	return say(c.observed, c.replicas_observed, c.offer->resource, text);
}

struct view drift_sharing_say(const struct drift_device *device, const struct plugin_config *config,
			      struct drift_text *text)
{
	assert(device->n_offers > 0 && config);
	const struct comparison c = compare(device, &device->offers[0], config);

	return say(c.intended, c.replicas_intended, c.base, text);
}

/*
 * Compares; a finding has what is intended, and nothing else. The configuration and what is on offer
 * are needed.
 */
static struct drift_finding look(const struct drift_node *node, const struct drift_device *device,
				 differs_fn differs, struct comparison *ret,
				 struct drift_text *text)
{
	bool is_unknown;
	const struct plugin_config *config = drift_plugin_in_force(node, &is_unknown);

	if (is_unknown) {
		const struct drift_finding untold = drift_plugin_untold(node);
		assert(untold.answer != DRIFT_FOUND);
		return untold;
	}
	if (config && !node->is_offer_known)
		return DRIFT_ANSWER(DRIFT_CANNOT_TELL);
	if (!config || !find(device, config, differs, ret))
		return DRIFT_ANSWER(DRIFT_NO);
	return (struct drift_finding){
		.answer = DRIFT_FOUND,
		.intended = drift_text(text, "% (%)",
				       say(ret->intended, ret->replicas_intended,
						    ret->base, text),
				       drift_plugin_source(node, text)),
	};
}

/* Where the policy names no ConfigMap, its plugin may be told to share by other means. */
static bool is_shared_by_other_means(const struct drift_node *node,
				     const struct drift_device *device)
{
	static const struct plugin_config defaults;
	struct comparison c;

	return node->intent->plugin_configs_state == INTENT_CONFIG_NONE &&
	       drift_operand_want(node, POLICY_DEVICE_PLUGIN) == DRIFT_OPERAND_WANTED &&
	       find(device, &defaults, differs_in_mode, &c);
}

struct drift_finding drift_sharing_mode(const struct drift_node *node,
					const struct drift_device *device,
					struct drift_text *text)
{
	struct comparison c;
	struct drift_finding finding = look(node, device, differs_in_mode, &c, text);

	if (is_shared_by_other_means(node, device))
		return DRIFT_ANSWER(DRIFT_NOT_COMPARED);
	if (finding.answer != DRIFT_FOUND)
		return finding;
	finding.intent_hash = drift_hash_number(drift_plugin_hash(node), c.intended);
	if (c.observed == NOT_KNOWN || c.observed < c.intended)
		finding.severity = ATTRIBUTION_SEVERITY_CRITICAL;
	finding.observed = drift_text(text, "% (device IDs, sharing.evidence)",
				      say(c.observed, c.replicas_observed,
						   c.offer->resource, text));
	finding.message = VIEW("See the log of the device plugin's pod on the node, and delete the "
			       "pod so that it reads its configuration anew.");
	return finding;
}

struct drift_finding drift_sharing_replica_count(const struct drift_node *node,
						 const struct drift_device *device,
						 struct drift_text *text)
{
	struct comparison c;
	struct drift_finding finding = look(node, device, differs_in_replicas, &c, text);

	if (finding.answer != DRIFT_FOUND)
		return finding;
	finding.intent_hash = drift_hash_number(drift_plugin_hash(node), c.replicas_intended);
	finding.observed = drift_text(text, "% replicas of % (device IDs)",
				      drift_text_number(text, c.replicas_observed), c.offer->resource);
	finding.message = VIEW("Delete the device plugin's pod on the node, so that it reads its "
			       "configuration anew.");
	return finding;
}

struct drift_finding drift_sharing_resource_name(const struct drift_node *node,
						 const struct drift_device *device,
						 struct drift_text *text)
{
	struct comparison c;
	struct drift_finding finding = look(node, device, differs_in_name, &c, text);

	if (finding.answer != DRIFT_FOUND)
		return finding;
	finding.intent_hash = drift_hash_number(drift_plugin_hash(node), c.is_renamed_intended);
	finding.intended = drift_text(text, "resource %% (renameByDefault, %)",
				      c.base, c.is_renamed_intended ? VIEW(SHARED_SUFFIX) : VIEW(""),
				      drift_plugin_source(node, text));
	finding.observed = drift_text(text, "resource % (kubelet)", c.offer->resource);
	finding.message = VIEW("Delete the device plugin's pod on the node, so that it reads its "
			       "configuration anew.");
	return finding;
}
