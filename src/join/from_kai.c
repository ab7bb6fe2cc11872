/* SPDX-License-Identifier: Apache-2.0 */

/*
 * KAI: its labels and annotations. A pod of KAI's own, the reservation, holds a device for all pods of
 * a group: it is a placeholder. Whoever may edit a pod may write these texts. So they make a tenant
 * only of a group for which KAI holds a device, and do not confirm one.
 *
 * Labels: runai-gpu-group, and runai-gpu-group/GROUP of pods that share several devices.
 * Annotations: run.ai/reserve_for_gpu_index and gpu-fraction-container-name.
 */

#include "join/readers.h"

#include <assert.h>

/* The container that has the share: the one that the pod names, or its first main container. An
 * ephemeral container has none: KAI knows none. */
static struct view find_container(const struct pod *pod)
{
	const struct pod_container *named = pod_find_container(pod, pod_gpu(pod)->kai_container);
	if (named && named->kind != POD_CONTAINER_EPHEMERAL)
		return named->name;
	ARRAY_EACH(const struct pod_container, c, pod_gpu(pod)->containers)
		if (c->kind == POD_CONTAINER_MAIN)
			return c->name;
	return (struct view){0};
}

/* Adds the pods of the group to the device. False: there is none that is not over. */
static bool add_sharers(struct facts_draft *draft, struct view group, const struct device *device)
{
	const struct fact what = {.witnesses = WITNESS_KAI, .takes_no_slot = true};
	const struct node_pods *node_pods = &draft->facts->node_pods;
	const size_t n_before = draft->facts->n_items;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		const struct pod *pod = node_pods->gpu_pods[i];
		if (!pod_state(pod)->is_reservation && pod_is_in_kai_group(pod, group))
			facts_add_on(draft, facts_add_container(draft, pod, find_container(pod), VIEW("")), device,
				     what);
	}
	return draft->facts->n_items > n_before;
}

/* The device that the reservation holds by the other witnesses. It holds one: if they name several,
 * it is the first. */
static const struct device *find_held(const struct facts *facts, const struct pod *pod)
{
	size_t device = FACT_NOWHERE;
	for (size_t i = 0; i < facts->n_items; i++) {
		const struct fact *item = &facts->items[i];
		assert(item->owner);
		if (item->owner->pod == pod && item->device < device)
			device = item->device;
	}
	assert(device == FACT_NOWHERE || device < facts->devices->n_devices);
	return device != FACT_NOWHERE ? &facts->devices->devices[device] : NULL;
}

/* The first device on which the pod is published: a pod that runs moves to no other. */
static const struct device *find_published(const struct devices *devices, const struct pod *pod)
{
	assert(devices->devices || devices->n_devices == 0);
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct previous *published = devices->devices[i].published;
		for (uint32_t k = 0; published && k < published->n_tenants; k++)
			if (view_equal(published->tenants[k].published->pod_uid, pod_uid(pod)))
				return &devices->devices[i];
	}
	return NULL;
}

/* The reservation's annotation decides only until a witness tells its device, or did. */
void from_kai_read(struct facts_draft *draft, const struct pod *pod)
{
	const struct facts *facts = draft->facts;
	const struct device *device;
	bool is_resolved;
	if (!pod_state(pod)->is_reservation || pod_is_over(pod))
		return;
	device = find_held(facts, pod);
	if (!device)
		device = find_published(facts->devices, pod);
	if (!device)
		device = devices_find(facts->devices, pod_gpu(pod)->kai_device).device;
	is_resolved = device && add_sharers(draft, pod_gpu(pod)->kai_group, device);
	for (struct holder *holder = draft->holders; holder; holder = holder->next) {
		if (holder->pod != pod)
			continue;
		holder->placeholder = PLACEHOLDER_KAI;
		holder->is_resolved = is_resolved;
	}
}
