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
	struct reservation *reservations; /* in the order of the pods */
	struct keyed by_uid;  /* the same */
	struct keyed members; /* pods, by their groups; those of one group in the order of the pods */
};

/* Reservations */

static bool is_reservation(const struct pod *pod)
{
	return pod_state(pod)->is_reservation && !pod_is_over(pod);
}

static size_t count_reservations(const struct node_pods *node_pods)
{
	size_t n = 0;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++)
		n += is_reservation(node_pods->gpu_pods[i]);
	return n;
}

/* NULL: it is no reservation's. */
static struct reservation *find_uid(const struct reader *reader, struct view uid)
{
	const struct reservation *found = keyed_find(&reader->by_uid, KEYED_KEY(uid));
	return found ? &reader->reservations[found - reader->reservations] : NULL;
}

/* NULL: the pod (NULL: none) is no reservation. */
static struct reservation *find_reservation(const struct reader *reader, const struct pod *pod)
{
	return pod && is_reservation(pod) ? find_uid(reader, pod_uid(pod)) : NULL;
}

static int list_reservations(struct reader *reader, size_t n, struct error *err)
{
	const struct node_pods *node_pods = &reader->draft->facts->node_pods;
	if (!ARENA_NEW(reader->reservations, reader->draft->arena, n))
		return error_no_memory(err);
	if (keyed_make(&reader->by_uid, n, reader->draft->arena, err) < 0)
		return -1;
	n = 0;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++) {
		const struct pod *pod = node_pods->gpu_pods[i];
		if (!is_reservation(pod))
			continue;
		reader->reservations[n] = (struct reservation){.pod = pod, .held = FACT_NOWHERE};
		keyed_add(&reader->by_uid, KEYED_KEY(pod_uid(pod)), &reader->reservations[n++]);
	}
	return 0;
}

/* Its device */

/* A reservation holds one device: if the other witnesses name several, it is the first. */
static void note_held(const struct reader *reader)
{
	const struct facts *facts = reader->draft->facts;
	for (size_t i = 0; i < facts->n_items; i++) {
		struct reservation *of = find_reservation(reader, facts->items[i].owner->pod);
		if (of && facts->items[i].device < of->held)
			of->held = facts->items[i].device;
	}
}

/* The first device on which the pod is published: a pod that runs moves to no other. */
static void note_published(const struct reader *reader)
{
	const struct devices *devices = reader->draft->facts->devices;
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct previous *published = devices->devices[i].published;
		for (uint32_t k = 0; published && k < published->n_tenants; k++) {
			struct reservation *of = find_uid(reader, published->tenants[k].published->pod_uid);
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

static size_t count_groups(const struct pod *pod)
{
	return pod_state(pod)->is_reservation ? 0 : (size_t)pod_gpu(pod)->kai_groups.count + 1;
}

/* The last pod first: who is added last is found first. */
static int index_groups(struct reader *reader, struct error *err)
{
	const struct node_pods *node_pods = &reader->draft->facts->node_pods;
	size_t n = 0;
	for (size_t i = 0; i < node_pods->n_gpu_pods; i++)
		n += count_groups(node_pods->gpu_pods[i]);
	if (keyed_make(&reader->members, n, reader->draft->arena, err) < 0)
		return -1;
	for (size_t i = node_pods->n_gpu_pods; i > 0; i--) {
		const struct pod *pod = node_pods->gpu_pods[i - 1];
		if (count_groups(pod) == 0)
			continue;
		keyed_add(&reader->members, KEYED_KEY(pod_gpu(pod)->kai_group), pod);
		ARRAY_EACH(const struct view, group, pod_gpu(pod)->kai_groups)
			keyed_add(&reader->members, KEYED_KEY(*group), pod);
	}
	return 0;
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
	const size_t n_before = draft->facts->n_items;
	const struct pod *pod = NULL;
	if (group.len == 0)
		return false;
	KEYED_EACH(item, &reader->members, KEYED_KEY(group)) {
		if (item->value == pod)
			continue;
		pod = item->value;
		facts_add_on(draft, facts_add_container(draft, pod, find_container(pod), VIEW("")), device, what);
	}
	return draft->facts->n_items > n_before;
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

int from_kai_read(struct facts_draft *draft, struct error *err)
{
	struct reader reader = {.draft = draft};
	const size_t n = count_reservations(&draft->facts->node_pods);
	if (n == 0)
		return 0;
	if (list_reservations(&reader, n, err) < 0 || index_groups(&reader, err) < 0)
		return -1;
	note_held(&reader);
	note_published(&reader);
	for (size_t i = 0; i < n; i++) {
		struct reservation *of = &reader.reservations[i];
		const struct device *device = find_device(&reader, of);
		of->is_resolved = device && add_sharers(&reader, pod_gpu(of->pod)->kai_group, device);
	}
	mark_holders(&reader);
	return 0;
}
