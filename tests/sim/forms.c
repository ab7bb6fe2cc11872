/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/forms.h"

#include <string.h>

#include "controller/pod_selection.h"
#include "model/pod_scope.h"
#include "sim/apiserver.h"
#include "sim/clockwork.h"
#include "sim/history.h"
#include "sim/oracle.h"
#include "sim/policies.h"
#include "sim/prompt.h"
#include "sim/world.h"

#define STREAM UINT64_C(0x2545f4914f6cdd1d)
#define SEEN_MS 6000u /* a look of the controller's, a list */
#define KEPT_MS (POD_SELECTION_KEEP_MS - 5000u)

static bool is_there, has_streams;
static enum pod_selection_form wanted;
static unsigned n_changes;

static struct {
	bool is_unlabelled;
	bool is_told;              /* that it has the label */
	uint64_t told_at, lost_at; /* since when it is, and was no more; NEVER: not */
	bool is_watched;           /* its own watch has begun once */
} nodes[WORLD_MAX_NODES];

bool forms_are_there(uint64_t seed)
{
	return (seed & HISTORY_BY_NODE) != 0;
}

void forms_reset(uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed ^ STREAM);
	is_there = forms_are_there(seed);
	has_streams = true;
	wanted = prng_between(&prng, 0, 1) ? POD_SELECTION_NODE : POD_SELECTION_CLUSTER;
	memset(nodes, 0, sizeof(nodes));
	forms_forget_told();
}

void forms_change(void)
{
	wanted = wanted == POD_SELECTION_NODE ? POD_SELECTION_CLUSTER : POD_SELECTION_NODE;
}

unsigned forms_n_changes(void)
{
	return n_changes;
}

bool forms_have_streams(void)
{
	return has_streams;
}

void forms_lose_streams(void)
{
	has_streams = false;
}

/* Signs of a GPU */

/* An operator that has not labelled the node of an agent is told of as a drift. */
bool forms_is_labelled(int node)
{
	return is_there && !nodes[node].is_unlabelled &&
	       (!policies_are_there(world.seed) || world.nodes[node].agentless);
}

void forms_label(int node, bool is_labelled)
{
	nodes[node].is_unlabelled = !is_labelled;
}

void forms_told_node(int node, bool is_labelled)
{
	if (is_labelled && !nodes[node].is_told)
		nodes[node].told_at = clockwork_now();
	if (!is_labelled && nodes[node].is_told)
		nodes[node].lost_at = clockwork_now();
	nodes[node].is_told = is_labelled;
}

void forms_forget_told(void)
{
	for (int i = 0; i < WORLD_MAX_NODES; i++) {
		nodes[i].is_told = nodes[i].is_watched = false;
		nodes[i].told_at = nodes[i].lost_at = WORLD_NEVER;
	}
}

bool forms_shows_gpu(int node)
{
	const uint64_t now = clockwork_now();

	if (nodes[node].is_told && now - nodes[node].told_at > SEEN_MS)
		return true;
	return (nodes[node].lost_at != WORLD_NEVER && now - nodes[node].lost_at < KEPT_MS &&
		nodes[node].lost_at - nodes[node].told_at > SEEN_MS) ||
	       prompt_has_heard(node, SEEN_MS, KEPT_MS);
}

/* The change-over */

void forms_began_watch(int node)
{
	nodes[node].is_watched = true;
}

/* What was forgotten has to be told again. */
static void forget_pods(int node)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == node)
			world.pods[i].known_at = WORLD_NEVER;
}

void __real_pod_selection_look(struct pod_selection *selection,
			       const struct pod_selection_facts *facts);
void __wrap_pod_selection_look(struct pod_selection *selection,
			       const struct pod_selection_facts *facts);
/* What it knows of the nodes stays; the form is the history's, where it can be. */
void __wrap_pod_selection_look(struct pod_selection *selection,
			       const struct pod_selection_facts *facts)
{
	__real_pod_selection_look(selection, facts);
	selection->form = facts->may_share ? wanted : POD_SELECTION_CLUSTER;
}

void __real_pod_scope_end_whole(struct pod_scope *scope);
void __wrap_pod_scope_end_whole(struct pod_scope *scope);
void __wrap_pod_scope_end_whole(struct pod_scope *scope)
{
	n_changes += scope->is_whole;
	for (int node = 0; scope->is_whole && node < world.n_nodes; node++) {
		if (nodes[node].is_watched)
			continue;
		if (forms_shows_gpu(node))
			oracle_accuse(ORACLE_GAP, "the watch of all pods ends, and node-%d is not watched",
				      node + 1);
		forget_pods(node);
	}
	__real_pod_scope_end_whole(scope);
}

static int node_of(struct view name)
{
	for (int i = 0; i < world.n_nodes; i++)
		if (view_equal(view_from(world.nodes[i].name), name))
			return i;
	return -1;
}

void __real_pod_scope_unfollow(struct pod_scope *scope, struct view node_name);
void __wrap_pod_scope_unfollow(struct pod_scope *scope, struct view node_name);
void __wrap_pod_scope_unfollow(struct pod_scope *scope, struct view node_name)
{
	const int node = node_of(node_name);
	const bool is_whole = scope->is_whole && apiserver_is_cluster_watched();

	if (node >= 0 && !is_whole && forms_shows_gpu(node))
		oracle_accuse(ORACLE_GAP, "the watch of node-%d ends, and no other tells its pods",
			      node + 1);
	if (node >= 0 && !scope->is_whole)
		forget_pods(node);
	if (node >= 0)
		nodes[node].is_watched = false;
	__real_pod_scope_unfollow(scope, node_name);
	n_changes += scope->is_whole && scope->n_followed == 0;
}
