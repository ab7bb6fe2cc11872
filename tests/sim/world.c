/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/world.h"

#include <stdio.h>
#include <string.h>

#include "sim/check.h"
#include "sim/clockwork.h"

struct world world;

void world_reset(uint64_t seed)
{
	memset(&world, 0, sizeof(world));
	world.seed = seed;
	prng_init(&world.prng, seed * 2 + 1);
}

uint64_t world_between(uint64_t low, uint64_t high)
{
	return prng_between(&world.prng, low, high);
}

bool world_chance(unsigned n)
{
	return world_between(0, 99) < n;
}

void world_new_uuid(char ret[static WORLD_UID_SIZE])
{
	unsigned number = ++world.n_uids;

	snprintf(ret, WORLD_UID_SIZE, "%08x-0000-4000-8000-%012x", number * 2654435761u, number);
}

bool world_is_mig(enum world_mode mode)
{
	return mode == WORLD_MIG || mode == WORLD_MIG_TIME_SLICED || mode == WORLD_MIG_CLAIMS;
}

bool world_is_exclusive_process(const struct world_gpu *gpu)
{
	return gpu->mps_daemon || gpu->left_exclusive;
}

bool world_is_claims(enum world_mode mode)
{
	return mode == WORLD_CLAIMS || mode == WORLD_MIG_CLAIMS;
}

static void add_gpu(int node)
{
	struct world_gpu *gpu;
	char uuid[WORLD_UID_SIZE];

	if (world.n_gpus == WORLD_MAX_GPUS)
		return;
	gpu = &world.gpus[world.n_gpus];
	gpu->minor = world.n_gpus++;
	world_new_uuid(uuid);
	snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%s", uuid);
	gpu->node = node;
	gpu->changed_at = clockwork_now();
	gpu->mps_daemon = world.nodes[node].mode == WORLD_MPS;
	world_divide(gpu, world_is_mig(world.nodes[node].mode), 3);
}

void world_boot(struct world_node *node)
{
	world_new_uuid(node->boot_id);
	node->boot++;
	node->boot_told_at = WORLD_NEVER;
}

int world_add_node(int kubelet_minor, enum world_mode mode, int replicas, int n_gpus, bool renamed)
{
	int index = world.n_nodes;
	struct world_node *node = &world.nodes[index];

	if (index == WORLD_MAX_NODES)
		return -1;
	world.n_nodes++;
	snprintf(node->name, sizeof(node->name), "node-%u", (unsigned)(index + 1) % 100);
	world_new_uuid(node->uid);
	world_boot(node);
	node->kubelet_minor = kubelet_minor;
	node->mode = mode;
	node->replicas = replicas;
	node->renamed = renamed;
	node->in_api = true;
	node->powered = true;
	node->gone_told_at = WORLD_NEVER;
	world.pools[index].withdrawn = -1;
	world.pools[index].whole_told_at = WORLD_NEVER;
	for (int i = 0; i < n_gpus; i++)
		add_gpu(index);
	return index;
}

void world_divide(struct world_gpu *gpu, bool mig, int n_partitions)
{
	char uuid[WORLD_UID_SIZE];

	for (int i = 0; i < gpu->n_partitions; i++)
		gpu->partitions[i].exists = false;
	gpu->mig = mig;
	gpu->changed_at = clockwork_now();
	for (int i = 0; mig && i < n_partitions && gpu->n_partitions < WORLD_MAX_PARTITIONS; i++) {
		struct world_partition *partition = &gpu->partitions[gpu->n_partitions];

		world_new_uuid(uuid);
		snprintf(partition->uuid, sizeof(partition->uuid), "MIG-%s", uuid);
		partition->gpu_instance = 1 + gpu->n_partitions++;
		partition->exists = true;
	}
}

void world_raise(struct world_gpu *gpu, int code)
{
	world_raise_on(gpu, code, -1);
}

void world_raise_on(struct world_gpu *gpu, int code, int partition)
{
	if (gpu->n_errors == WORLD_MAX_ERRORS)
		return;
	gpu->errors[gpu->n_errors++] = (struct world_error){
		.code = code,
		.partition = partition,
		.node = gpu->node,
		.raised_at = clockwork_now(),
		.fetched_at = WORLD_NEVER};
}

static void init_containers(struct world_pod *pod)
{
	for (int i = 0; i < WORLD_MAX_CONTAINERS; i++) {
		pod->containers[i].held_from = WORLD_NEVER;
		pod->containers[i].held_until = WORLD_NEVER;
	}
}

struct world_pod *world_add_pod(int node, const char *name)
{
	struct world_pod *pod;

	if (world.n_pods == WORLD_MAX_PODS)
		return NULL;
	pod = &world.pods[world.n_pods++];
	*pod = (struct world_pod){.node = node,
				  .namespace = "ml",
				  .stage = WORLD_NEW,
				  .created_at = clockwork_now(),
				  .end_known_at = WORLD_NEVER,
				  .known_at = WORLD_NEVER,
				  .shown_at = WORLD_NEVER,
				  .over_at = WORLD_NEVER,
				  .mirror_of = -1,
				  .claim = -1,
				  .group = -1};
	snprintf(pod->name, sizeof(pod->name), "%s", name);
	world_new_uuid(pod->uid);
	init_containers(pod);
	return pod;
}

struct world_pod *world_find_pod(const char *name)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].object.exists && strcmp(world.pods[i].name, name) == 0)
			return &world.pods[i];
	return NULL;
}

const struct world_pod *world_holder(const struct world_pod *pod)
{
	return pod->mirror_of >= 0 ? &world.pods[pod->mirror_of] : pod;
}

struct world_pod *world_mirror(const struct world_pod *pod)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].mirror_of == world_index(pod) && world.pods[i].object.exists)
			return &world.pods[i];
	return NULL;
}

int world_index(const struct world_pod *pod)
{
	return (int)(pod - world.pods);
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool world_place(const char *id, struct world_slot *ret_slot)
{
	*ret_slot = (struct world_slot){.partition = -1};
	snprintf(ret_slot->id, sizeof(ret_slot->id), "%s", id);
	for (ret_slot->gpu = 0; ret_slot->gpu < world.n_gpus; ret_slot->gpu++) {
		const struct world_gpu *gpu = &world.gpus[ret_slot->gpu];

		if (begins_with(id, gpu->uuid))
			return true;
		for (int i = 0; i < gpu->n_partitions; i++) {
			if (!begins_with(id, gpu->partitions[i].uuid))
				continue;
			ret_slot->partition = i;
			return true;
		}
	}
	return false;
}

void world_release(struct world_pod *pod)
{
	for (int i = 0; i < pod->n_containers; i++) {
		struct world_container *container = &pod->containers[i];

		if (container->held_from != WORLD_NEVER && container->held_until == WORLD_NEVER)
			container->held_until = clockwork_now();
	}
}

bool world_is_active(const struct world_pod *pod)
{
	return pod->stage >= WORLD_ADMITTED && pod->stage <= WORLD_TERMINATING;
}

bool world_is_deleted(const struct world_pod *pod)
{
	return !pod->object.exists && !pod->hash[0];
}

bool world_is_over(const struct world_object *object)
{
	return !object->exists || object->admission_failed || object->phase == WORLD_SUCCEEDED ||
	       object->phase == WORLD_FAILED;
}

int world_count_gpus(int node)
{
	int n = 0;

	for (int i = 0; i < world.n_gpus; i++)
		n += world.gpus[i].node == node;
	return n;
}
