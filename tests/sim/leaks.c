/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A pod that was refused is not sent again, so what it shows may be over. Where the kubelet leaks, it is
 * judged if the pod came long after anything else happened to the device. Where it does not leak, a
 * refusal shows nothing.
 */

#include "sim/leaks.h"

#include "sim/device_manager.h"
#include "sim/clockwork.h"
#include "sim/programs.h"
#include "sim/world.h"

#define LONG_MS 40000u /* so long ago is told, and long enough before the pod */
#define UNSEEN_MS 15000u
#define FRESH_MS (600000u * PROGRAMS_HOLD_OFF_PERCENT / 100) /* later it is no news */
#define MAX_IDS 24

static bool is_one_asking(const struct world_pod *pod)
{
	int n = 0;

	for (int i = 0; i < pod->n_containers; i++)
		n += pod->containers[i].wanted > 0;
	return n == 1;
}

/* Of several containers the first may have had the last slot, and given it back. */
static bool was_refused(const struct world_pod *pod)
{
	return pod->object.exists && pod->object.admission_failed &&
	       pod->is_refused_for_none && is_one_asking(pod);
}

/* The one that was refused last; NULL: none was, or its object is gone. */
static const struct world_pod *find_refused(int node)
{
	const struct world_pod *last = NULL;

	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == node && was_refused(&world.pods[i]) &&
		    (!last || world.pods[i].created_at >= last->created_at))
			last = &world.pods[i];
	return last;
}

static bool is_on(const struct world_container *container, int gpu)
{
	for (int i = 0; i < container->n_slots; i++)
		if (container->slots[i].gpu == gpu)
			return true;
	return false;
}

/* When a slot of the device was last given or given back; or any of the node was given. */
static uint64_t last_change(int gpu)
{
	const int node = world.gpus[gpu].node;
	uint64_t last = device_manager_offered_since(node);

	for (int i = 0; i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++) {
			const struct world_container *container = &world.pods[i].containers[c];
			const uint64_t from = container->held_from, until = container->held_until;

			if (world.pods[i].node == node && from != WORLD_NEVER && from > last)
				last = from;
			if (is_on(container, gpu) && until != WORLD_NEVER && until > last)
				last = until;
		}
	return last;
}

static int count_held(int gpu)
{
	int n = 0;

	for (int i = 0; i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++)
			for (int s = 0; s < world.pods[i].containers[c].n_slots; s++)
				n += world_is_active(&world.pods[i]) &&
				     world.pods[i].containers[c].slots[s].gpu == gpu;
	return n;
}

/* What is said of who holds it may be late or wrong for other reasons. */
static bool is_plain(int gpu)
{
	const enum world_mode mode = world.nodes[world.gpus[gpu].node].mode;

	return mode != WORLD_HAMI && !world_is_claims(mode) && world.gpus[gpu].moved_at == 0 &&
	       !world.gpus[gpu].lost;
}

/*
 * Somebody had a slot of the device for a moment, when or shortly before the pod came. If nobody saw it,
 * the refusal looks like a leak: tests/README.md has that among what is known. HAMi's IDs are of other
 * devices than those it gives.
 */
static bool may_be_unseen(int gpu, const struct world_pod *pod)
{
	const bool is_hami = world.nodes[pod->node].mode == WORLD_HAMI;

	for (int i = 0; i < world.n_pods; i++)
		for (int c = 0; c < world.pods[i].n_containers; c++) {
			const struct world_container *container = &world.pods[i].containers[c];

			if ((is_hami || is_on(container, gpu)) && container->held_until != WORLD_NEVER &&
			    container->held_until + UNSEEN_MS > pod->created_at &&
			    container->held_until - container->held_from < UNSEEN_MS)
				return true;
		}
	return false;
}

enum difference_state leaks_state(int gpu)
{
	const int node = world.gpus[gpu].node;
	const struct world_pod *pod = find_refused(node);
	const char *ids[MAX_IDS];
	const int n_offered = device_manager_offered(gpu, ids, MAX_IDS);

	if (!pod)
		return DIFFERENCE_NO;
	if (!device_manager_was_leaking(node))
		return may_be_unseen(gpu, pod) ? DIFFERENCE_UNJUDGED : DIFFERENCE_NO;
	if (!device_manager_is_leaking(node) || n_offered == 0 || count_held(gpu) >= n_offered || !is_plain(gpu))
		return DIFFERENCE_UNJUDGED;
	return pod->created_at > last_change(gpu) + LONG_MS && clockwork_now() < pod->created_at + FRESH_MS
		       ? DIFFERENCE_YES
		       : DIFFERENCE_UNJUDGED;
}
