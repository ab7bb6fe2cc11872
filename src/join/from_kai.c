/* SPDX-License-Identifier: Apache-2.0 */

/*
 * KAI: its labels and annotations. A pod of KAI's own, the reservation, holds a device for all pods of
 * a group: it is a placeholder. Whoever may edit a pod may write these texts. So they make a tenant
 * only of a group for which KAI holds a device, and do not confirm one.
 *
 * Labels: runai-gpu-group, and runai-gpu-group/GROUP of pods that share several devices.
 * Annotations: run.ai/reserve_for_gpu_index and gpu-fraction-container-name.
 *
 * There may be many reservations, and many facts, holders, published tenants and pods in groups. So each
 * of these is walked once, and what belongs to a reservation is found by its key.
 */

#include "join/readers.h"

#include <assert.h>

#include "base/keyed.h"

/* A pod that holds a device for a group, and is not over. */
struct reservation {
	const struct pod *pod;
	size_t held; /* the first device that it holds by the other witnesses; FACT_NOWHERE: none */
	const struct device *published; /* on which it is; NULL: on none */
	bool is_resolved;
};

struct reader {
	struct facts_draft *draft;
	const struct node_pods *node_pods;
	struct keyed reservations; /* by UID */
	struct keyed members; /* pods, by their groups; those of one group in the order of the pods */
};

/* Reservations */

/* NULL: the pod (NULL: none) is no reservation. */
static struct reservation *find_reservation(const struct reader *reader, const struct pod *pod)
{
	return pod && pod_state(pod)->is_reservation
		       ? keyed_find(&reader->reservations, KEYED_KEY(pod_uid(pod))) : NULL;
}

static void list_reservations(struct reader *reader)
{
	for (size_t i = 0; i < reader->node_pods->n_gpu_pods; i++) {
		const struct pod *pod = reader->node_pods->gpu_pods[i];
		struct reservation *added;
		if (!pod_state(pod)->is_reservation || pod_is_over(pod) ||
		    !ARENA_NEW(added, reader->draft->arena, 1))
			continue;
		*added = (struct reservation){.pod = pod, .held = FACT_NOWHERE};
		keyed_add(&reader->reservations, KEYED_KEY(pod_uid(pod)), added);
	}
}

/* Its device */

/* A reservation holds one device: if the other witnesses name several, it is the first. */
static void note_held(const struct reader *reader)
{
	for (const struct fact *item = reader->draft->items; item; item = item->next) {
		struct reservation *of = find_reservation(reader, item->owner->pod);
		if (of && item->device < of->held)
			of->held = item->device;
	}
}

/* The first device on which the pod is published: a pod that runs moves to no other. */
static void note_published(const struct reader *reader)
{
	const struct devices *devices = reader->draft->facts->devices;
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct previous *published = devices->devices[i].published;
		for (uint32_t k = 0; published && k < published->n_tenants; k++) {
			const struct view uid = published->tenants[k].published->pod_uid;
			struct reservation *of = keyed_find(&reader->reservations, KEYED_KEY(uid));
			if (of && !of->published)
				of->published = &devices->devices[i];
		}
	}
}

/* The annotation decides only until a witness tells the device, or did. */
static const struct device *find_device(const struct reader *reader, const struct reservation *of)
{
	const struct devices *devices = reader->draft->facts->devices;
	assert(of->held == FACT_NOWHERE || of->held < devices->n_devices);
	if (of->held != FACT_NOWHERE)
		return &devices->devices[of->held];
	return of->published ? of->published : devices_find(devices, pod_gpu(of->pod)->kai_device).device;
}

/* Sharers */

/* The last pod first: who is added last is found first. */
static void index_groups(struct reader *reader)
{
	for (size_t i = reader->node_pods->n_gpu_pods; i > 0; i--) {
		const struct pod *pod = reader->node_pods->gpu_pods[i - 1];
		if (pod_state(pod)->is_reservation)
			continue;
		keyed_add(&reader->members, KEYED_KEY(pod_gpu(pod)->kai_group), pod);
		ARRAY_EACH(const struct view, group, pod_gpu(pod)->kai_groups)
			keyed_add(&reader->members, KEYED_KEY(*group), pod);
	}
}

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

/*
 * Adds the pods of the group to the device. False: there is none that is not over. A pod that names the
 * group twice is there twice, one after the other.
 */
static bool add_sharers(const struct reader *reader, struct view group, const struct device *device)
{
	const struct fact what = {.witnesses = WITNESS_KAI, .takes_no_slot = true};
	struct facts_draft *draft = reader->draft;
	const size_t n_before = draft->n_items;
	const struct pod *pod = NULL;
	if (group.len == 0)
		return false;
	KEYED_EACH(item, &reader->members, KEYED_KEY(group)) {
		if (item->value == pod)
			continue;
		pod = item->value;
		facts_add_on(draft, facts_add_container(draft, pod, find_container(pod), VIEW("")), device, what);
	}
	return draft->n_items > n_before;
}

static void mark_holders(const struct reader *reader)
{
	for (struct holder *holder = reader->draft->holders; holder; holder = holder->next) {
		const struct reservation *of = find_reservation(reader, holder->pod);
		if (!of)
			continue;
		holder->placeholder = PLACEHOLDER_KAI;
		holder->is_resolved = of->is_resolved;
	}
}

void from_kai_read(struct facts_draft *draft)
{
	struct reader reader = {
		draft, &draft->facts->node_pods, {.arena = draft->arena}, {.arena = draft->arena}};
	list_reservations(&reader);
	if (reader.reservations.n == 0)
		return;
	index_groups(&reader);
	note_held(&reader);
	note_published(&reader);
	for (size_t i = 0; i < reader.node_pods->n_gpu_pods; i++) {
		struct reservation *of = find_reservation(&reader, reader.node_pods->gpu_pods[i]);
		const struct device *device = of ? find_device(&reader, of) : NULL;
		if (device)
			of->is_resolved = add_sharers(&reader, pod_gpu(of->pod)->kai_group, device);
	}
	mark_holders(&reader);
}
