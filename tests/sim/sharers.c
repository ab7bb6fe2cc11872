/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sharers.h"

#include <stdio.h>
#include <string.h>

#include "sim/cause.h"
#include "sim/clockwork.h"

#define FORGED_GROUP 99 /* no reservation is of that group */

/* HAMi */

static bool is_chosen(const int *chosen, int n, int gpu)
{
	for (int i = 0; i < n; i++)
		if (chosen[i] == gpu)
			return true;
	return false;
}

static bool choose(int node, int *chosen, int n)
{
	int first = (int)world_between(0, (uint64_t)world.n_gpus - 1);

	for (int i = 0; i < world.n_gpus; i++) {
		int gpu = (first + i) % world.n_gpus;

		if (world.gpus[gpu].node == node && !is_chosen(chosen, n, gpu)) {
			chosen[n] = gpu;
			return true;
		}
	}
	return false;
}

static void append(struct world_pod *pod, const char *uuid, const char *behind)
{
	size_t used = strlen(pod->hami);

	snprintf(pod->hami + used, sizeof(pod->hami) - used, "%s%s%s", uuid,
		 uuid[0] ? ",NVIDIA,4096,30" : "", behind);
}

/* Which parts a release writes, see join/from_hami.c. */
enum release { MAIN_ONLY, ALL, NOT_EMPTY, N_RELEASES };

/* Before HAMi 2.9.0 only app containers have devices of HAMi's. */
bool sharers_choose(struct world_pod *pod)
{
	enum release release = (enum release)(pod->node % N_RELEASES);

	for (int c = 0; c < pod->n_containers; c++) {
		struct world_container *container = &pod->containers[c];

		if (container->kind != WORLD_MAIN && release == MAIN_ONLY) {
			container->wanted = 0;
			continue;
		}
		for (int i = 0; i < container->wanted; i++) {
			if (!choose(pod->node, container->chosen, i))
				return false;
			append(pod, world.gpus[container->chosen[i]].uuid, ":");
		}
		if (container->wanted > 0 || release != NOT_EMPTY)
			append(pod, "", ";");
	}
	return true;
}

/* KAI */

static bool is_reservation_of(const struct world_pod *reservation, const struct world_pod *pod)
{
	return reservation->is_reservation && reservation->node == pod->node && pod->group >= 0 &&
	       reservation->group == pod->group;
}

static bool holds(const struct world_pod *pod, int gpu)
{
	for (int i = 0; i < pod->containers[0].n_slots; i++)
		if (pod->containers[0].slots[i].gpu == gpu)
			return pod->containers[0].held_from != WORLD_NEVER;
	return false;
}

const struct world_pod *sharers_reservation(const struct world_pod *pod)
{
	for (int i = 0; i < world.n_pods && !pod->is_reservation; i++)
		if (is_reservation_of(&world.pods[i], pod) && world_is_active(&world.pods[i]) &&
		    !world_is_over(&world.pods[i].object))
			return &world.pods[i];
	return NULL;
}

bool sharers_is_on(const struct world_pod *pod, int gpu)
{
	const struct world_pod *reservation = sharers_reservation(pod);

	return reservation && holds(reservation, gpu);
}

bool sharers_was_on(const struct world_pod *pod, int gpu, uint64_t sent_at)
{
	for (int i = 0; i < world.n_pods; i++)
		if (is_reservation_of(&world.pods[i], pod) && holds(&world.pods[i], gpu) &&
		    world.pods[i].containers[0].held_from <= sent_at &&
		    world.pods[i].end_known_at >= sent_at)
			return true;
	return false;
}

bool sharers_has_any(const struct world_pod *reservation)
{
	for (int i = 0; i < world.n_pods; i++)
		if (!world.pods[i].is_reservation && !world_is_over(&world.pods[i].object) &&
		    is_reservation_of(reservation, &world.pods[i]))
			return true;
	return false;
}

struct world_pod *sharers_find(int group)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].is_reservation && world.pods[i].group == group &&
		    world.pods[i].object.exists)
			return &world.pods[i];
	return NULL;
}

/* Forging */

static const struct world_gpu *some_gpu(int node, bool own)
{
	int first = (int)world_between(0, (uint64_t)world.n_gpus - 1);

	for (int i = 0; i < world.n_gpus; i++) {
		const struct world_gpu *gpu = &world.gpus[(first + i) % world.n_gpus];

		if (gpu->node >= 0 && (gpu->node == node) == own)
			return gpu;
	}
	return NULL;
}

static bool forge_hami(struct world_pod *pod, enum sharers_forgery forgery)
{
	const struct world_gpu *gpu = some_gpu(pod->node, forgery == SHARERS_HAMI_HERE);

	if (world.nodes[pod->node].mode == WORLD_HAMI)
		return false;
	if (forgery == SHARERS_HAMI_NOWHERE)
		append(pod, "GPU-ffffffff-0000-4000-8000-ffffffffffff", ":;");
	else if (gpu)
		append(pod, gpu->uuid, ":;");
	return pod->hami[0] != '\0';
}

void sharers_spoil(struct world_pod *pod)
{
	const struct world_gpu *gpu = some_gpu(pod->node, false);

	pod->is_hami_spoilt = true;
	if (gpu)
		pod->said_on |= 1u << (gpu - world.gpus);
	pod->hami[0] = '\0';
	for (int c = 0; c < pod->n_containers; c++)
		append(pod, gpu ? gpu->uuid : "GPU-ffffffff-0000-4000-8000-ffffffffffff", ":;");
	cause_add(CAUSE_FORGED, pod->node, -1, clockwork_now(), WORLD_NEVER);
}

bool sharers_is_said_on(const struct world_pod *pod, int gpu)
{
	return pod->said_on >> gpu & 1;
}

static bool join_foreign_group(struct world_pod *pod)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].is_reservation && world.pods[i].node != pod->node)
			pod->group = world.pods[i].group;
	if (pod->group < 0)
		pod->group = FORGED_GROUP;
	return !sharers_reservation(pod);
}

static bool forge_reservation(struct world_pod *pod)
{
	const struct world_gpu *gpu = some_gpu(pod->node, true);

	if (!gpu)
		return false;
	pod->group = FORGED_GROUP;
	snprintf(pod->reserves, sizeof(pod->reserves), "%s", gpu->uuid);
	return true;
}

bool sharers_forge(struct world_pod *pod, enum sharers_forgery forgery)
{
	if (forgery == SHARERS_GROUP)
		return join_foreign_group(pod);
	if (forgery == SHARERS_RESERVATION)
		return forge_reservation(pod);
	return forge_hami(pod, forgery);
}
