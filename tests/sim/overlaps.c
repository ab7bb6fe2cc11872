/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/overlaps.h"

#include <string.h>

#include "join/wording.h"
#include "sim/device_manager.h"
#include "sim/clockwork.h"
#include "sim/oracle.h"
#include "sim/rest.h"
#include "sim/world.h"

/*
 * Not by claims, nor by an ID of HAMi's. A reservation of KAI's is one: the kubelet gave it the
 * device, and whom it gives it to as well is not of the group.
 */
static bool is_holder(const struct world_pod *pod)
{
	return pod->mirror_of < 0 && world.nodes[pod->node].mode != WORLD_HAMI;
}

static const struct condition *attributed(const struct attribution_status *status)
{
	return attribution_find_condition(status, VIEW("Attributed"));
}

/*
 * What the records have is told by IDs. Of a pod that they have forgotten only the unit is known: it
 * is given out twice when another one has been given the whole of it.
 */
static bool is_same(const char *id, const char *other, bool is_forgotten)
{
	size_t n = strcspn(id, ":"), n_other = strcspn(other, ":");

	if (!is_forgotten || (id[n] && other[n_other]))
		return strcmp(id, other) == 0;
	return n == n_other && strncmp(id, other, n) == 0;
}

/* The container, as the API server's news and the status have it. Without a status all are. */
static bool is_shown(const struct world_pod *pod, const struct world_container *container,
		     const struct attribution_status *status)
{
	const struct world_pod *object = pod->hash[0] ? world_mirror(pod) : pod;

	return !status || (object && object->object.exists && !world_is_over(&object->object) &&
			   attribution_find_tenant(status, view_from(object->uid),
						   view_from(container->name)));
}

static bool holds(const struct world_pod *pod, const char *id, bool is_forgotten, int gpu,
		  uint64_t since, const struct attribution_status *status)
{
	for (int c = 0; c < pod->n_containers; c++) {
		const struct world_container *container = &pod->containers[c];

		if (container->uses_claim || container->held_from == WORLD_NEVER ||
		    container->held_until < since || !is_shown(pod, container, status))
			continue;
		for (int s = 0; s < container->n_slots; s++)
			if (container->slots[s].gpu == gpu &&
			    is_same(container->slots[s].id, id, is_forgotten))
				return true;
	}
	return false;
}

static bool has_partition(const struct world_gpu *gpu, const char *id)
{
	size_t n = strcspn(id, ":");

	for (int i = 0; i < gpu->n_partitions; i++) {
		const struct world_partition *partition = &gpu->partitions[i];

		if (partition->exists && strlen(partition->uuid) == n &&
		    strncmp(partition->uuid, id, n) == 0)
			return true;
	}
	return false;
}

/*
 * The device is still shared out in units of the ID's kind, and into nothing less than them: a
 * replica is from when it was.
 */
static bool is_unit(const char *id, int gpu)
{
	if (strchr(id, ':'))
		return false;
	switch (rest_mode(gpu)) {
	case ATTRIBUTION_MODE_EXCLUSIVE:
		return strncmp(id, "MIG-", 4) != 0;
	case ATTRIBUTION_MODE_MIG:
		return has_partition(&world.gpus[gpu], id);
	default:
		return false;
	}
}

/*
 * Only what is seen now is said. If no record has a tenant, it is Unconfirmed, and nothing is said of
 * a later holder of its unit. If all is said to be well, the unit must have no other holder.
 */
static bool is_to_be_said(const struct world_pod *pod, const struct world_pod *other, int gpu,
			  const char *id, const struct attribution_status *status)
{
	bool is_true = attributed(status) && attributed(status)->status == CONDITION_TRUE;

	if (device_manager_has(pod) && device_manager_has(other))
		return true;
	return is_true && (device_manager_has(pod) || device_manager_has(other)) && is_unit(id, gpu);
}

/* The ID is the pod's; status: it must say so. */
static bool is_held_by_another(const struct world_pod *pod, const char *id, int gpu, uint64_t since,
			       const struct attribution_status *status)
{
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *other = &world.pods[i];
		bool is_forgotten = !status && (!device_manager_has(pod) || !device_manager_has(other));

		if (other != pod && is_holder(other) &&
		    holds(other, id, is_forgotten, gpu, since, status) &&
		    (!status || is_to_be_said(pod, other, gpu, id, status)))
			return true;
	}
	return false;
}

/* Of those that held it at that time or later. */
static bool find(int gpu, uint64_t since, const struct attribution_status *status)
{
	for (int i = 0; i < world.n_pods; i++) {
		const struct world_pod *pod = &world.pods[i];

		/* Of what was so the device may have been in another node then. */
		if (!is_holder(pod) || (status && pod->node != world.gpus[gpu].node))
			continue;
		for (int c = 0; c < pod->n_containers; c++)
			for (int s = 0; s < pod->containers[c].n_slots; s++) {
				const char *id = pod->containers[c].slots[s].id;

				if (holds(pod, id, false, gpu, since, status) &&
				    is_held_by_another(pod, id, gpu, since, status))
					return true;
			}
	}
	return false;
}

bool overlaps_are_there(int gpu, uint64_t since)
{
	return find(gpu, since, NULL);
}

bool overlaps_are_said(const struct attribution_status *status)
{
	return attributed(status) &&
	       wording_reason_of(attributed(status)->reason) == REASON_SLOT_HELD_TWICE;
}

/* What is said only where no slot is held twice. */
static bool goes_behind(const struct condition *condition)
{
	return condition->status == CONDITION_TRUE ||
	       wording_reason_of(condition->reason) == REASON_UNCONFIRMED;
}

void overlaps_judge(const struct attribution_status *status, int gpu)
{
	if (overlaps_are_said(status) && !overlaps_are_there(gpu, clockwork_now()))
		oracle_accuse(ORACLE_AT_REST, "%s: %.*s, and this is not so", world.gpus[gpu].uuid,
			      VIEW_ARG(attributed(status)->message));
	if (attributed(status) && goes_behind(attributed(status)) &&
	    find(gpu, clockwork_now(), status))
		oracle_accuse(ORACLE_AT_REST, "%s: two pods hold one ID, and it is not said",
			      world.gpus[gpu].uuid);
}
