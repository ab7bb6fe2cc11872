/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/device_manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/kube_bytes.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/host.h"
#include "sim/kubelet.h"
#include "sim/trouble.h"
#include "wire/base64.h"

#define CAP (4u << 20)
#define MAX_ENTRIES 96
#define MAX_OFFERS 96

struct entry {
	int pod;
	int container;
	char uid[WORLD_UID_SIZE]; /* the kubelet's */
};

struct offer {
	char resource[48];
	char id[WORLD_ID_SIZE];
};

/* A copy of the entries; the devices are those of the world's containers. */
struct allocations {
	struct entry entries[MAX_ENTRIES];
	int n_entries;
};

struct device_manager {
	struct allocations memory, saved;
	struct offer offers[MAX_OFFERS]; /* healthy */
	int n_offers;
	bool is_registered;
	bool leaks, leaked; /* what is free counts as taken; and ever was */
	uint64_t offered_since;
	bool has_file;
	struct sbuf file;
};

static struct device_manager all[WORLD_MAX_NODES];

void device_manager_reset(void)
{
	for (int i = 0; i < WORLD_MAX_NODES; i++) {
		all[i] = (struct device_manager){0};
		sbuf_init(&all[i].file, CAP);
	}
}

void device_manager_clear(void)
{
	for (int i = 0; i < WORLD_MAX_NODES; i++)
		sbuf_deinit(&all[i].file);
}

/* The plugin */

const char *device_manager_resource(int node)
{
	const struct world_node *n = &world.nodes[node];

	switch (n->mode) {
	case WORLD_TIME_SLICED:
	case WORLD_MPS:
		return n->renamed ? "nvidia.com/gpu.shared" : "nvidia.com/gpu";
	case WORLD_MIG:
		return n->renamed ? "nvidia.com/mig-1g.5gb" : "nvidia.com/gpu";
	case WORLD_MIG_TIME_SLICED:
		return n->renamed ? "nvidia.com/mig-1g.5gb.shared" : "nvidia.com/gpu.shared";
	default:
		return "nvidia.com/gpu";
	}
}

static void offer_id(struct device_manager *manager, int node, const char *uuid, int replica)
{
	struct offer *offer = &manager->offers[manager->n_offers];

	if (manager->n_offers == MAX_OFFERS)
		return;
	manager->n_offers++;
	snprintf(offer->resource, sizeof(offer->resource), "%s", device_manager_resource(node));
	if (replica < 0)
		snprintf(offer->id, sizeof(offer->id), "%s", uuid);
	else
		snprintf(offer->id, sizeof(offer->id), "%s::%d", uuid, replica);
}

/* As HAMi's plugin counts them. */
static void offer_hami(struct device_manager *manager, int node, const char *uuid)
{
	char id[WORLD_ID_SIZE];

	for (int i = 0; i < world.nodes[node].replicas; i++) {
		snprintf(id, sizeof(id), "%s-%d", uuid, i);
		offer_id(manager, node, id, -1);
	}
}

static void offer_device(struct device_manager *manager, int node, const char *uuid)
{
	const struct world_node *n = &world.nodes[node];
	bool is_shared = n->mode == WORLD_TIME_SLICED || n->mode == WORLD_MPS ||
			 n->mode == WORLD_MIG_TIME_SLICED;

	if (n->mode == WORLD_HAMI)
		offer_hami(manager, node, uuid);
	else if (!is_shared)
		offer_id(manager, node, uuid, -1);
	for (int i = 0; is_shared && i < n->replicas; i++)
		offer_id(manager, node, uuid, i);
}

static void offer_gpu(struct device_manager *manager, int node, const struct world_gpu *gpu)
{
	if (!world_is_mig(world.nodes[node].mode)) {
		if (!gpu->mig)
			offer_device(manager, node, gpu->uuid);
		return;
	}
	for (int i = 0; i < gpu->n_partitions; i++)
		if (gpu->partitions[i].exists)
			offer_device(manager, node, gpu->partitions[i].uuid);
}

static void save(int node);

void device_manager_register(int node)
{
	struct device_manager *manager = &all[node];

	manager->n_offers = 0;
	manager->offered_since = clockwork_now();
	if (world_is_claims(world.nodes[node].mode))
		return;
	manager->is_registered = true;
	for (int i = 0; i < world.n_gpus; i++)
		if (world.gpus[i].node == node && !world.gpus[i].lost &&
		    !trouble_is_unwell(i))
			offer_gpu(manager, node, &world.gpus[i]);
	save(node);
}

void device_manager_unregister(int node)
{
	all[node].n_offers = 0;
	all[node].offered_since = clockwork_now();
	if (all[node].is_registered)
		save(node);
}

void device_manager_leak(int node)
{
	all[node].leaks = all[node].leaked = true;
}

bool device_manager_is_leaking(int node)
{
	return all[node].leaks;
}

bool device_manager_was_leaking(int node)
{
	return all[node].leaked;
}

uint64_t device_manager_offered_since(int node)
{
	return all[node].offered_since;
}

int device_manager_offered(int gpu, const char **ret_ids, int max)
{
	const struct device_manager *manager;
	struct world_slot slot;
	int n = 0;

	if (world.gpus[gpu].node < 0)
		return 0;
	manager = &all[world.gpus[gpu].node];
	for (int i = 0; i < manager->n_offers && n < max; i++)
		if (world_place(manager->offers[i].id, &slot) && slot.gpu == gpu)
			ret_ids[n++] = manager->offers[i].id;
	return n;
}

/* The checkpoint */

static void append_mps_response(struct sbuf *out)
{
	struct sbuf env, response;

	sbuf_init(&env, CAP);
	sbuf_init(&response, CAP);
	kube_bytes_field(&env, 1, VIEW("CUDA_MPS_PIPE_DIRECTORY"));
	kube_bytes_field(&env, 2, VIEW("/mps/nvidia.com/gpu/pipe"));
	kube_bytes_field(&response, 1, sbuf_view(&env));
	base64_encode(sbuf_view(&response), out);
	sbuf_deinit(&env);
	sbuf_deinit(&response);
}

static void append_entry(const struct entry *entry, struct sbuf *out)
{
	const struct world_container *container =
		&world.pods[entry->pod].containers[entry->container];

	sbuf_printf(out,
		    "{\"PodUID\":\"%s\",\"ContainerName\":\"%s\",\"ResourceName\":\"%s\","
		    "\"DeviceIDs\":{\"-1\":[",
		    entry->uid, container->name, container->resource);
	for (int i = 0; i < container->n_slots; i++)
		sbuf_printf(out, "%s\"%s\"", i > 0 ? "," : "", container->slots[i].id);
	sbuf_printf(out, "]},\"AllocResp\":\"");
	if (container->mps)
		append_mps_response(out);
	sbuf_printf(out, "\"}");
}

static void append_registered(const struct device_manager *manager, int node, struct sbuf *out)
{
	if (!manager->is_registered)
		return;
	sbuf_printf(out, "\"%s\":[",
		    manager->n_offers > 0 ? manager->offers[0].resource : device_manager_resource(node));
	for (int i = 0; i < manager->n_offers; i++)
		sbuf_printf(out, "%s\"%s\"", i > 0 ? "," : "", manager->offers[i].id);
	sbuf_printf(out, "]");
}

static void save(int node)
{
	struct device_manager *manager = &all[node];
	const struct allocations *memory = &manager->memory;

	sbuf_clear(&manager->file);
	sbuf_printf(&manager->file, "{\"Data\":{\"PodDeviceEntries\":%s",
		    memory->n_entries > 0 ? "[" : "null");
	for (int i = 0; i < memory->n_entries; i++) {
		if (i > 0)
			sbuf_append_char(&manager->file, ',');
		append_entry(&memory->entries[i], &manager->file);
	}
	sbuf_printf(&manager->file, "%s,\"RegisteredDevices\":{", memory->n_entries > 0 ? "]" : "");
	append_registered(manager, node, &manager->file);
	sbuf_printf(&manager->file, "}},\"Checksum\":1}");
	check(manager->file.failure == ERROR_NONE);
	manager->saved = *memory;
	manager->has_file = true;
	host_changed(node, HOST_PLUGINS, HOST_CHECKPOINT, true);
}

void device_manager_load(int node)
{
	struct device_manager *manager = &all[node];

	manager->memory = manager->saved;
	manager->n_offers = 0;
	manager->is_registered = false;
	manager->leaks = false;
	manager->offered_since = clockwork_now();
}

void device_manager_wipe(int node)
{
	all[node].saved.n_entries = 0;
	all[node].has_file = false;
	sbuf_clear(&all[node].file);
}

bool device_manager_file(int node, struct view *ret)
{
	*ret = sbuf_view(&all[node].file);
	return all[node].has_file;
}

/* Allocation */

static void free_ended(struct allocations *allocations)
{
	int n = 0;

	for (int i = 0; i < allocations->n_entries; i++)
		if (world_is_active(&world.pods[allocations->entries[i].pod]))
			allocations->entries[n++] = allocations->entries[i];
	allocations->n_entries = n;
}

static bool holds(const struct world_container *container, const char *id)
{
	for (int i = 0; i < container->n_slots; i++)
		if (strcmp(container->slots[i].id, id) == 0)
			return true;
	return false;
}

/* Devices of a pod's ordinary init containers go to its later containers. */
static bool is_taken(const struct device_manager *manager, const struct world_pod *pod, int index,
		     const char *id)
{
	for (int i = 0; i < manager->memory.n_entries; i++) {
		const struct entry *entry = &manager->memory.entries[i];
		const struct world_pod *holder = &world.pods[entry->pod];
		const struct world_container *container = &holder->containers[entry->container];
		bool is_reused = holder == pod && container->kind == WORLD_INIT;

		if (!is_reused && holds(container, id))
			return true;
	}
	return holds(&pod->containers[index], id);
}

static bool was_init(const struct world_pod *pod, int index, const char *id)
{
	for (int i = 0; i < index; i++)
		if (pod->containers[i].kind == WORLD_INIT && holds(&pod->containers[i], id))
			return true;
	return false;
}

static const char *choose(const struct device_manager *manager, const struct world_pod *pod,
			  int index)
{
	int first = manager->n_offers > 0 ? (int)world_between(0, (uint64_t)manager->n_offers - 1) : 0;
	const char *found = NULL;

	for (int i = 0; i < manager->n_offers; i++) {
		const struct offer *offer = &manager->offers[(first + i) % manager->n_offers];

		if (strcmp(offer->resource, pod->containers[index].resource) != 0 ||
		    is_taken(manager, pod, index, offer->id))
			continue;
		if (was_init(pod, index, offer->id))
			return offer->id;
		found = found ? found : offer->id;
	}
	return found;
}

static bool is_of_hami(const struct world_pod *pod)
{
	return world.nodes[pod->node].mode == WORLD_HAMI && pod->hami[0];
}

/* Of a resource without healthy devices the kubelet says something else (devicesToAllocate()). */
static bool has_offer(const struct device_manager *manager, const char *resource)
{
	for (int i = 0; i < manager->n_offers; i++)
		if (strcmp(manager->offers[i].resource, resource) == 0)
			return true;
	return false;
}

/* A device that HAMi has chosen may have gone to another node meanwhile. */
static bool allocate_container(struct device_manager *manager, struct world_pod *pod, int index)
{
	struct world_container *container = &pod->containers[index];
	struct entry *entry;

	container->n_slots = 0;
	for (int i = 0; i < container->wanted; i++) {
		const char *id = manager->leaks ? NULL : choose(manager, pod, index);

		pod->is_refused_for_none = !id && i == 0 && has_offer(manager, container->resource);

		if (!id || manager->memory.n_entries == MAX_ENTRIES ||
		    (is_of_hami(pod) && world.gpus[container->chosen[i]].node != pod->node)) {
			container->n_slots = 0;
			return false;
		}
		check(world_place(id, &container->slots[container->n_slots]));
		if (is_of_hami(pod))
			container->slots[container->n_slots].gpu = container->chosen[i];
		container->n_slots++;
	}
	if (container->n_slots == 0)
		return true;
	container->mps = world.nodes[pod->node].mode == WORLD_MPS;
	container->held_from = clockwork_now();
	entry = &manager->memory.entries[manager->memory.n_entries++];
	*entry = (struct entry){.pod = world_index(pod), .container = index};
	snprintf(entry->uid, sizeof(entry->uid), "%s", pod->uid);
	save(pod->node);
	return true;
}

bool device_manager_allocate(struct world_pod *pod)
{
	struct device_manager *manager = &all[pod->node];

	free_ended(&manager->memory);
	for (int i = 0; pod->claim < 0 && i < pod->n_containers; i++)
		if (!allocate_container(manager, pod, i))
			return false;
	return true;
}

bool device_manager_has(const struct world_pod *pod)
{
	const struct allocations *memory = &all[pod->node].memory;

	for (int i = 0; i < memory->n_entries; i++)
		if (memory->entries[i].pod == world_index(pod))
			return true;
	return false;
}

/* PodResources */

static void close_field(struct sbuf *out, uint32_t number, struct sbuf *from)
{
	kube_bytes_field(out, number, sbuf_view(from));
	sbuf_deinit(from);
}

static void append_devices(struct sbuf *out, uint32_t number, const char *resource, const char *id)
{
	struct sbuf devices;

	sbuf_init(&devices, CAP);
	kube_bytes_field(&devices, 1, view_from(resource));
	kube_bytes_field(&devices, 2, view_from(id));
	close_field(out, number, &devices);
}

static void append_container(const struct world_container *container, bool is_recorded,
			     struct sbuf *pod)
{
	struct sbuf message;

	sbuf_init(&message, CAP);
	kube_bytes_field(&message, 1, view_from(container->name));
	for (int i = 0; is_recorded && i < container->n_slots; i++)
		append_devices(&message, 2, container->resource, container->slots[i].id);
	close_field(pod, 3, &message);
}

static bool is_recorded(const struct device_manager *manager, int pod, int container)
{
	for (int i = 0; i < manager->memory.n_entries; i++)
		if (manager->memory.entries[i].pod == pod &&
		    manager->memory.entries[i].container == container)
			return true;
	return false;
}

static void append_pod(const struct device_manager *manager, const struct world_pod *pod,
		       struct sbuf *out)
{
	struct sbuf message;

	sbuf_init(&message, CAP);
	kube_bytes_field(&message, 1, view_from(pod->name));
	kube_bytes_field(&message, 2, view_from(pod->namespace));
	for (int i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].kind != WORLD_INIT)
			append_container(&pod->containers[i], is_recorded(manager, world_index(pod), i),
					 &message);
	close_field(out, 1, &message);
}

/*
 * A kubelet that starts knows no pods but those that its sources have, which those that were deleted
 * are not among. Before Kubernetes 1.34 pods that ended are listed until their objects are gone.
 */
static bool is_listed(const struct world_pod *pod, bool is_ready)
{
	if (pod->relisted_at > clockwork_now() || pod->stage == WORLD_NEW ||
	    (!is_ready && world_is_deleted(pod)))
		return false;
	if (world_is_active(pod))
		return true;
	return world.nodes[pod->node].kubelet_minor < 34 && pod->stage != WORLD_GONE;
}

/* The kubelet has no two of a name at a time, which is what a name in a List is good for. */
static void check_names(struct world_pod *const *pods, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			check(strcmp(pods[i]->name, pods[k]->name) != 0 ||
			      strcmp(pods[i]->namespace, pods[k]->namespace) != 0);
}

void device_manager_list(int node, bool is_ready, struct sbuf *out)
{
	struct device_manager *manager = &all[node];
	struct world_pod *listed[WORLD_MAX_PODS];
	int n = 0;

	if (is_ready && world.nodes[node].kubelet_minor >= 34)
		free_ended(&manager->memory);
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == node && world.pods[i].mirror_of < 0 &&
		    is_listed(&world.pods[i], is_ready))
			listed[n++] = &world.pods[i];
	check_names(listed, n);
	for (int i = 0; i < n; i++)
		append_pod(manager, listed[i], out);
}

void device_manager_allocatable(int node, struct sbuf *out)
{
	const struct device_manager *manager = &all[node];

	for (int i = 0; i < manager->n_offers; i++)
		append_devices(out, 1, manager->offers[i].resource, manager->offers[i].id);
}
