/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the plugin does is the node's mode. Where who holds a device, or once held it, decides how the
 * mode is read (rest_mode()), it is not judged here.
 */

#include "sim/shares.h"

#include <string.h>

#include "model/attribution.h"
#include "sim/device_manager.h"
#include "sim/illness.h"
#include "sim/intents.h"
#include "sim/programs.h"
#include "sim/rest.h"
#include "sim/usage.h"

#define KNOWN_MS 10000u /* so long a text was there that the controller has read it */
#define SHARED_SUFFIX ".shared"
#define OF_MIG "nvidia.com/mig-"

static enum difference_state say(bool is_so)
{
	return is_so ? DIFFERENCE_YES : DIFFERENCE_NO;
}

static const struct world_node *node_of(int gpu)
{
	return &world.nodes[world.gpus[gpu].node];
}

/* What is on offer */

static int count_offers(int gpu)
{
	const char *ids[16];

	return device_manager_offered(gpu, ids, 16);
}

static bool is_shared_mode(enum world_mode mode)
{
	return mode == WORLD_TIME_SLICED || mode == WORLD_MPS || mode == WORLD_MIG_TIME_SLICED;
}

static bool is_renamed(const char *resource)
{
	const size_t n = strlen(resource), suffix = sizeof(SHARED_SUFFIX) - 1;

	return n > suffix && strcmp(resource + n - suffix, SHARED_SUFFIX) == 0;
}

static bool is_of_mig(int node)
{
	return strncmp(device_manager_resource(node), OF_MIG, sizeof(OF_MIG) - 1) == 0;
}

/* How a device is shared. */
struct share {
	bool is_shared, is_mps, is_renamed;
	int replicas;
};

/* False: it cannot be told by the device's IDs alone. */
static bool look(int gpu, struct share *ret)
{
	const struct world_node *node = node_of(gpu);
	const int mode = is_shared_mode(node->mode) ? rest_mode(gpu) : ATTRIBUTION_MODE_EXCLUSIVE;

	*ret = (struct share){.is_shared = is_shared_mode(node->mode),
			      .is_mps = node->mode == WORLD_MPS,
			      .is_renamed = is_renamed(device_manager_resource(world.gpus[gpu].node)),
			      .replicas = is_shared_mode(node->mode) ? node->replicas : 1};
	return node->mode != WORLD_HAMI && !node->hides_compute_mode &&
	       mode != ATTRIBUTION_MODE_UNKNOWN &&
	       (mode == ATTRIBUTION_MODE_MPS) == ret->is_mps;
}

/* Texts name no MIG devices where MPS is meant. */
static struct share meant(int gpu, struct policies_sharing sharing)
{
	const bool is_shared = sharing.replicas > 1 &&
			       !(sharing.is_mps && is_of_mig(world.gpus[gpu].node));

	return (struct share){.is_shared = is_shared,
			      .is_mps = is_shared && sharing.is_mps,
			      .is_renamed = is_shared && sharing.is_renamed,
			      .replicas = is_shared ? sharing.replicas : 1};
}

/* Comparing */

static enum difference_state in_mode(const struct share *a, const struct share *b)
{
	return say(a->is_shared != b->is_shared || a->is_mps != b->is_mps);
}

/* A plugin may have withdrawn one replica of a device that is ill. */
static enum difference_state in_replicas(const struct share *wanted, const struct share *found)
{
	if (!wanted->is_shared || !found->is_shared)
		return DIFFERENCE_NO;
	return found->replicas == wanted->replicas - 1 ? DIFFERENCE_UNJUDGED
						       : say(found->replicas != wanted->replicas);
}

static enum difference_state in_name(const struct share *wanted, const struct share *found)
{
	return say(wanted->is_shared == found->is_shared && wanted->is_renamed != found->is_renamed);
}

typedef enum difference_state (*compare_fn)(const struct share *wanted, const struct share *found);

static enum difference_state compare(int gpu, compare_fn differs)
{
	struct policies_sharing sharing;
	struct share wanted, found;
	const enum intents_config config = intents_config(world.gpus[gpu].node, &sharing);

	if (config == INTENTS_UNREAD_CONFIG)
		return differences_untold(world.gpus[gpu].node);
	if (config == INTENTS_NO_CONFIG || count_offers(gpu) == 0)
		return DIFFERENCE_NO;
	if (!look(gpu, &found))
		return DIFFERENCE_UNJUDGED;
	wanted = meant(gpu, sharing);
	return differs(&wanted, &found);
}

enum difference_state shares_mode(int gpu)
{
	return compare(gpu, in_mode);
}

enum difference_state shares_replicas(int gpu)
{
	return compare(gpu, in_replicas);
}

enum difference_state shares_name(int gpu)
{
	return compare(gpu, in_name);
}

/* Texts that are not loaded */

/* MIG devices on offer, as `none` does not offer them; texts say nothing of a strategy. */
static bool has_other_strategy(int gpu)
{
	return !intents_written(POLICIES_STRATEGY) && world_is_mig(node_of(gpu)->mode);
}

static enum difference_state fits(int gpu, struct policies_sharing sharing)
{
	struct share wanted = meant(gpu, sharing), found;
	const bool is_told = look(gpu, &found);
	const enum difference_state replicas = in_replicas(&wanted, &found);

	if (!is_told || replicas == DIFFERENCE_UNJUDGED)
		return DIFFERENCE_UNJUDGED;
	return say(replicas == DIFFERENCE_NO && in_mode(&wanted, &found) == DIFFERENCE_NO &&
		   in_name(&wanted, &found) == DIFFERENCE_NO && !has_other_strategy(gpu));
}

/* The present controller was told of the text, which was there until then, and has not forgotten it. */
static bool is_remembered(uint64_t until)
{
	return until > programs_controller_since() + KNOWN_MS &&
	       until > policies_unnamed_until() + KNOWN_MS && programs_controller_runs();
}

/*
 * A text of before is in effect. What the controller has forgotten it may have published; and what it
 * has published stays until the present text is in effect.
 */
static enum difference_state find_former(int gpu)
{
	const enum policies_key key = intents_key(world.gpus[gpu].node);
	enum difference_state found = DIFFERENCE_NO;
	uint64_t until;

	for (int n = 0; key != POLICIES_NO_KEY; n++) {
		const int value = policies_former((int)key, n, &until);

		if (value == POLICIES_NO_FORMER)
			break;
		if (value < 0 || policies_sharing(value).is_unsupported)
			continue;
		found = DIFFERENCE_UNJUDGED;
		if (n < 3 && is_remembered(until) &&
		    fits(gpu, policies_sharing(value)) == DIFFERENCE_YES)
			return DIFFERENCE_YES;
	}
	return found;
}

enum difference_state shares_not_loaded(int gpu)
{
	struct policies_sharing sharing;
	const enum intents_config config = intents_config(world.gpus[gpu].node, &sharing);
	enum difference_state fit;

	if (config == INTENTS_UNREAD_CONFIG)
		return differences_untold(world.gpus[gpu].node);
	if (config == INTENTS_NO_CONFIG || count_offers(gpu) == 0)
		return DIFFERENCE_NO;
	fit = fits(gpu, sharing);
	return fit == DIFFERENCE_YES	     ? DIFFERENCE_NO
	       : find_former(gpu) == DIFFERENCE_NO ? DIFFERENCE_NO
	       : fit == DIFFERENCE_UNJUDGED  ? DIFFERENCE_UNJUDGED
					     : find_former(gpu);
}

/* MPS */

static bool is_mps_meant(int gpu, enum intents_config config, struct policies_sharing sharing)
{
	return config == INTENTS_CONFIG && sharing.is_mps &&
	       (count_offers(gpu) == 0 || meant(gpu, sharing).is_mps);
}

static bool is_away(int gpu)
{
	return world.gpus[gpu].lost || illness_has(gpu, ILLNESS_LOST);
}

enum difference_state shares_mps_not_running(int gpu)
{
	struct policies_sharing sharing;
	const int node = world.gpus[gpu].node;
	const enum intents_config config = intents_config(node, &sharing);

	if (config == INTENTS_UNREAD_CONFIG)
		return differences_untold(node);
	if (!is_mps_meant(gpu, config, sharing))
		return DIFFERENCE_NO;
	if (is_away(gpu))
		return DIFFERENCE_UNJUDGED;
	return say(intents_pod(node, POLICIES_MPS) != POLICIES_READY ||
		   (!world_is_exclusive_process(&world.gpus[gpu]) && !node_of(gpu)->hides_compute_mode));
}

/* Somebody on the node was given a device by MPS; the kubelet's checkpoint may have it for long. */
static bool was_given_by_mps(int node)
{
	for (int i = 0; i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++)
			if (world.pods[i].node == node && world.pods[i].containers[c].mps)
				return true;
	return false;
}

enum difference_state shares_mps_left_behind(int gpu)
{
	struct policies_sharing sharing;
	const int node = world.gpus[gpu].node;
	const enum intents_config config = intents_config(node, &sharing);
	const bool is_unknown = config == INTENTS_UNREAD_CONFIG ||
				(policies_counts() >= 0 && intents_written(POLICIES_UNREADABLE));

	if (!world_is_exclusive_process(&world.gpus[gpu]) || node_of(gpu)->hides_compute_mode ||
	    is_mps_meant(gpu, config, sharing))
		return DIFFERENCE_NO;
	if (is_away(gpu) || was_given_by_mps(node) || usage_has_client(gpu) ||
	    (config != INTENTS_CONFIG &&
	     (node_of(gpu)->mode == WORLD_MPS || rest_mode(gpu) == ATTRIBUTION_MODE_MPS)))
		return DIFFERENCE_UNJUDGED;
	if (is_unknown)
		return differences_untold(node);
	return say(intents_pod(node, POLICIES_MPS) == POLICIES_NO_POD);
}

/* MIG */

/* The device is divided, and what the plugin last told of it is the whole: it has not told again since. */
static bool is_offered_whole(int gpu)
{
	const char *id;

	return world.gpus[gpu].mig && device_manager_offered(gpu, &id, 1) > 0 &&
	       strncmp(id, world.gpus[gpu].uuid, strlen(world.gpus[gpu].uuid)) == 0;
}

/* The strategy by which the plugin has MIG devices on offer; POLICIES_NO_STRATEGY: it has none. */
static enum policies_strategy strategy_seen(int node)
{
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node && world_is_mig(world.nodes[node].mode) &&
		    count_offers(i) > 0)
			return is_offered_whole(i) ? POLICIES_NONE
			       : is_of_mig(node)   ? POLICIES_MIXED
						   : POLICIES_SINGLE;
	return POLICIES_NO_STRATEGY;
}

/* Where none is written it is `none`. */
static enum policies_strategy strategy_meant(void)
{
	const int written = intents_written(POLICIES_STRATEGY);

	return written ? (enum policies_strategy)written : POLICIES_NONE;
}

enum difference_state shares_strategy(int gpu)
{
	struct policies_sharing sharing;
	const int node = world.gpus[gpu].node;
	const enum intents_want want = intents_want(node, POLICIES_PLUGIN);
	const enum policies_strategy seen = strategy_seen(node);

	if (want == INTENTS_OFF || want == INTENTS_NOT_HERE)
		return DIFFERENCE_NO;
	if (want == INTENTS_UNKNOWN ||
	    (!intents_written(POLICIES_STRATEGY) &&
	     intents_config(node, &sharing) == INTENTS_UNREAD_CONFIG))
		return differences_untold(node);
	return say(seen != POLICIES_NO_STRATEGY && seen != strategy_meant());
}

bool shares_is_refused(int node)
{
	struct policies_sharing sharing;

	return intents_written(POLICIES_STRATEGY) == POLICIES_MIXED &&
	       intents_config(node, &sharing) == INTENTS_CONFIG && sharing.is_mps;
}

bool shares_is_refused_for_mig(int node)
{
	struct policies_sharing sharing;

	return strategy_meant() == POLICIES_SINGLE && world_is_mig(world.nodes[node].mode) &&
	       intents_config(node, &sharing) == INTENTS_CONFIG && sharing.is_mps;
}

static bool has_layout(int gpu, int n)
{
	const struct world_gpu *g = &world.gpus[gpu];
	int n_there = 0;

	for (int i = 0; i < g->n_partitions; i++)
		n_there += g->partitions[i].exists;
	return g->mig ? n_there == n : n < 0;
}

enum difference_state shares_layout(int gpu)
{
	const int node = world.gpus[gpu].node;
	enum intents_want want = intents_want(node, POLICIES_MIG_MANAGER);
	enum intents_layout layout;
	int n;

	if (want == INTENTS_UNKNOWN)
		return DIFFERENCE_UNTOLD;
	if (want != INTENTS_WANTED || !policies_of_node(node, POLICIES_LABEL_LAYOUT))
		return DIFFERENCE_NO;
	layout = intents_layout(node, &n);
	if (layout == INTENTS_UNREAD_LAYOUT)
		return DIFFERENCE_UNREAD;
	if (layout == INTENTS_NO_LAYOUT)
		return DIFFERENCE_NO;
	if (is_away(gpu))
		return DIFFERENCE_UNJUDGED;
	return say(layout == INTENTS_MISSING_LAYOUT || !has_layout(gpu, n));
}
