/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/claims.h"

#include <stdio.h>
#include <string.h>

#include "sim/apiserver.h"
#include "sim/cause.h"
#include "sim/check.h"
#include "sim/clockwork.h"

#define API_RETRY_MS 1000u
#define RESOURCE "gpu.nvidia.com"

static struct world_slice pending[WORLD_MAX_NODES][WORLD_MAX_SLICES];

/* Slices */

static void device_name(const struct world_gpu *gpu, int partition, char *ret)
{
	if (partition < 0)
		snprintf(ret, WORLD_DEVICE_NAME, "gpu-%d", gpu->minor);
	else
		snprintf(ret, WORLD_DEVICE_NAME, "gpu-%d-mig-1g5gb-%d-0", gpu->minor,
			 gpu->partitions[partition].gpu_instance);
}

static void add_device(int node, int number, const struct world_gpu *gpu, int partition)
{
	struct world_slice *slice = &pending[node][number % WORLD_MAX_SLICES];

	check(slice->n_devices < WORLD_MAX_SLICED);
	device_name(gpu, partition, slice->devices[slice->n_devices].name);
	snprintf(slice->devices[slice->n_devices].uuid, WORLD_ID_SIZE, "%s",
		 partition < 0 ? gpu->uuid : gpu->partitions[partition].uuid);
	snprintf(slice->devices[slice->n_devices].parent, WORLD_ID_SIZE, "%s",
		 partition < 0 ? "" : gpu->uuid);
	slice->n_devices++;
}

/* Returns how many there are. */
static int collect_devices(int node)
{
	int n = 0;

	for (int i = 0; i < world.n_gpus; i++) {
		const struct world_gpu *gpu = &world.gpus[i];

		if (gpu->node != node || gpu->lost || i == world.pools[node].withdrawn)
			continue;
		if (!gpu->mig)
			add_device(node, n++, gpu, -1);
		for (int k = 0; gpu->mig && k < gpu->n_partitions; k++)
			if (gpu->partitions[k].exists)
				add_device(node, n++, gpu, k);
	}
	return n;
}

static void put_slice(int node, int slice, bool exists)
{
	struct world_slice *to = &world.pools[node].slices[slice];
	int told = to->told_generation;

	if (exists)
		*to = pending[node][slice];
	to->exists = exists;
	to->told_generation = told;
	apiserver_put_slice(node, slice);
}

static bool has_devices(const struct world_pool *pool)
{
	int n = 0;

	for (int i = 0; i < pool->slice_count; i++)
		n += pool->slices[i].n_devices;
	return n > 0;
}

/*
 * number: which publication it is, and which of its slices. Slices without any device look like those
 * of a driver that starts, for as long as they are so.
 */
static void publish_slice(void *owner, uint64_t number)
{
	struct world_pool *pool = owner;
	int node = (int)(pool - world.pools), slice = (int)(number % WORLD_MAX_SLICES);

	if (number / WORLD_MAX_SLICES != pool->number || !world.nodes[node].powered)
		return;
	if (!apiserver_is_up()) {
		clockwork_in(API_RETRY_MS, publish_slice, pool, number);
		return;
	}
	put_slice(node, slice, slice < pool->slice_count);
	if (slice + 1 == WORLD_MAX_SLICES && has_devices(pool))
		cause_end(CAUSE_SLICES, node, -1);
}

void claims_publish(int node, uint64_t second_ms)
{
	struct world_pool *pool = &world.pools[node];

	if (!world_is_claims(world.nodes[node].mode) || !world.nodes[node].powered)
		return;
	memset(pending[node], 0, sizeof(pending[node]));
	pool->is_away = false;
	pool->number++;
	pool->generation++;
	pool->slice_count = collect_devices(node) > 1 ? 2 : 1;
	pool->whole_told_at = WORLD_NEVER;
	for (int i = 0; i < WORLD_MAX_SLICES; i++) {
		pending[node][i].generation = pool->generation;
		pending[node][i].slice_count = pool->slice_count;
		clockwork_in((uint64_t)i * second_ms, publish_slice, pool,
			     (uint64_t)pool->number * WORLD_MAX_SLICES + (unsigned)i);
	}
	cause_add(CAUSE_SLICES, node, -1, clockwork_now(), WORLD_NEVER);
}

void claims_take_away(int node, bool all)
{
	struct world_pool *pool = &world.pools[node];

	if (!world_is_claims(world.nodes[node].mode) || !apiserver_is_up())
		return;
	pool->is_away = true;
	pool->number++;
	for (int i = all ? 0 : 1; i < WORLD_MAX_SLICES; i++)
		put_slice(node, i, false);
	if (all) {
		pool->generation = 0;
		pool->slice_count = 0; /* nothing is whole */
	}
	cause_add(CAUSE_SLICES, node, -1, clockwork_now(), WORLD_NEVER);
}

static bool is_published(const struct world_pool *pool)
{
	for (int i = 0; i < pool->slice_count; i++)
		if (!pool->slices[i].exists || pool->slices[i].generation != pool->generation)
			return false;
	return pool->slice_count > 0 && !pool->is_away;
}

/* What names mean */

static bool find_device(int node, const char *name, struct world_slot *slot)
{
	char text[WORLD_DEVICE_NAME];

	for (slot->gpu = 0; slot->gpu < world.n_gpus; slot->gpu++) {
		const struct world_gpu *gpu = &world.gpus[slot->gpu];

		if (gpu->node != node)
			continue;
		for (slot->partition = -1; slot->partition < gpu->n_partitions; slot->partition++) {
			if (slot->partition >= 0 && !gpu->partitions[slot->partition].exists)
				continue;
			device_name(gpu, slot->partition, text);
			if (strcmp(text, name) == 0)
				return true;
		}
	}
	return false;
}

static void set_slots(const struct world_claim *claim, struct world_container *container)
{
	container->n_slots = 0;
	for (int i = 0; container->uses_claim && i < claim->n_results; i++) {
		const struct world_result *result = &claim->results[i];
		struct world_slot slot = {.is_admin = result->is_admin};

		if ((container->request >= 0 && container->request != result->request) ||
		    !find_device(claim->node, result->device, &slot))
			continue;
		snprintf(slot.id, sizeof(slot.id), "%.15s/%.45s", world.nodes[claim->node].name,
			 result->device);
		container->slots[container->n_slots++] = slot;
	}
}

static void move_containers(const struct world_claim *claim, struct world_pod *pod)
{
	for (int c = 0; c < pod->n_containers; c++) {
		struct world_container *container = &pod->containers[c];

		memcpy(container->old_slots, container->slots, sizeof(container->slots));
		container->n_old_slots = container->n_slots;
		container->renumbered_at = clockwork_now();
		for (int i = 0; i < container->n_slots; i++)
			container->was_on |= UINT64_C(1) << container->slots[i].gpu;
		set_slots(claim, container);
	}
}

static void move_consumers(const struct world_claim *claim)
{
	for (int i = 0; i < claim->n_consumers; i++)
		move_containers(claim, &world.pods[claim->consumers[i]]);
}

static bool has_claimless(int node)
{
	for (int i = 0; i < world.n_pods; i++)
		if (world.pods[i].node == node && world.pods[i].claim >= 0 &&
		    world_is_active(&world.pods[i]) && !world.claims[world.pods[i].claim].exists)
			return true;
	return false;
}

void claims_renumber(int node)
{
	struct world_gpu *last = NULL;

	/*
	 * One thing at a time: what a tenant of before held is kept for the last time only. And a pod
	 * whose claim is gone would not start again.
	 */
	if (world.nodes[node].mode != WORLD_CLAIMS ||
	    world.pools[node].whole_told_at == WORLD_NEVER || has_claimless(node))
		return;
	for (int i = 0; i < world.n_gpus; i++) {
		struct world_gpu *gpu = &world.gpus[i];
		int minor = gpu->minor;

		if (gpu->node != node)
			continue;
		gpu->minor = last ? last->minor : minor;
		if (last)
			last->minor = minor;
		last = gpu;
	}
	for (int i = 0; i < world.n_claims; i++)
		if (world.claims[i].node == node && world.claims[i].exists)
			move_consumers(&world.claims[i]);
	world.pools[node].whole_told_at = WORLD_NEVER;
	world.pools[node].is_away = true;
	world.pools[node].slice_count = 0; /* nothing of before is whole */
}

/* Allocation */

static bool is_free(int node, const char *device)
{
	for (int i = 0; i < world.n_claims; i++) {
		const struct world_claim *claim = &world.claims[i];

		for (int k = 0; claim->exists && claim->node == node && k < claim->n_results; k++)
			if (!claim->results[k].is_admin &&
			    strcmp(claim->results[k].device, device) == 0)
				return false;
	}
	return true;
}

/* Slices may still name what is no longer there: that is not given to anybody. */
static bool is_choice(int node, const char *device, bool is_admin)
{
	struct world_slot slot;

	return find_device(node, device, &slot) && (is_admin || is_free(node, device));
}

static bool choose(struct world_claim *claim, bool is_admin)
{
	const struct world_pool *pool = &world.pools[claim->node];
	struct world_result *result = &claim->results[claim->n_results];
	const char *names[WORLD_MAX_SLICES * WORLD_MAX_SLICED];
	int n = 0;

	for (int i = 0; i < pool->slice_count; i++)
		for (int k = 0; k < pool->slices[i].n_devices; k++)
			if (is_choice(claim->node, pool->slices[i].devices[k].name, is_admin))
				names[n++] = pool->slices[i].devices[k].name;
	if (n == 0)
		return false;
	*result = (struct world_result){.request = claim->n_results, .is_admin = is_admin};
	snprintf(result->device, sizeof(result->device), "%s",
		 names[world_between(0, (uint64_t)n - 1)]);
	claim->n_results++;
	return true;
}

static bool allocate(struct world_claim *claim, int n, bool is_admin)
{
	claim->n_results = 0;
	for (int i = 0; i < n; i++)
		if (!choose(claim, is_admin)) {
			claim->n_results = 0;
			return false;
		}
	claim->is_allocated = true;
	return true;
}

static struct world_claim *add_claim(int node)
{
	struct world_claim *claim = &world.claims[world.n_claims];

	if (world.n_claims == WORLD_MAX_CLAIMS)
		return NULL;
	world.n_claims++;
	*claim = (struct world_claim){.node = node, .exists = true};
	return claim;
}

static struct world_claim *find_shared(const char *name)
{
	for (int i = 0; i < world.n_claims; i++)
		if (world.claims[i].exists && strcmp(world.claims[i].name, name) == 0)
			return &world.claims[i];
	return NULL;
}

static bool is_there(const struct world_claim *claim)
{
	struct world_slot slot;

	for (int i = 0; i < claim->n_results; i++)
		if (!find_device(claim->node, claim->results[i].device, &slot))
			return false;
	return claim->is_allocated;
}

/* The shared claim of that number, allocated. NULL: it cannot be, or is of another node. */
static struct world_claim *share(const struct world_pod *pod, int number)
{
	struct world_claim *claim;
	char name[40];

	snprintf(name, sizeof(name), "shared-%d", number);
	claim = find_shared(name);
	if (!claim && (claim = add_claim(pod->node))) {
		snprintf(claim->name, sizeof(claim->name), "%s", name);
		claim->is_shared = true;
	}
	if (!claim || claim->n_consumers == WORLD_MAX_CONSUMERS)
		return NULL;
	if (claim->n_consumers == 0)
		claim->node = pod->node;
	if (claim->node != pod->node || (claim->n_consumers == 0 && !allocate(claim, 1, false)))
		return NULL;
	return is_there(claim) ? claim : NULL;
}

static struct world_claim *make_own(const struct world_pod *pod, int n, bool is_admin)
{
	struct world_claim *claim = add_claim(pod->node);

	if (!claim)
		return NULL;
	snprintf(claim->name, sizeof(claim->name), "%.20s-gpus-%d", pod->name, world.n_claims);
	if (allocate(claim, n, is_admin))
		return claim;
	claim->exists = false;
	return NULL;
}

static struct world_claim *find_claim(const struct world_pod *pod, int code)
{
	int kind = code >> 4 & 7;

	if (kind >= 2 && kind <= 5)
		return share(pod, kind & 1);
	return make_own(pod, kind == 1 ? 1 : 1 + (code >> 2 & 1), kind == 1);
}

/* Of two requests each of two app containers has one; else all containers have the whole claim. */
static void use_claim(struct world_pod *pod, const struct world_claim *claim)
{
	bool is_split = pod->n_containers == 2 && pod->containers[0].kind == WORLD_MAIN &&
			claim->n_results == 2;

	for (int i = 0; i < pod->n_containers; i++) {
		struct world_container *container = &pod->containers[i];

		container->uses_claim = container->kind != WORLD_SIDECAR || container->wanted > 0;
		container->request = is_split ? i : -1;
		container->wanted = 0;
		snprintf(container->resource, sizeof(container->resource), RESOURCE);
		set_slots(claim, container);
		if (container->n_slots > 0)
			container->held_from = clockwork_now();
	}
}

bool claims_bind(struct world_pod *pod, int code)
{
	struct world_claim *claim = is_published(&world.pools[pod->node]) ? find_claim(pod, code)
									  : NULL;

	if (!claim)
		return false;
	pod->claim = (int)(claim - world.claims);
	pod->is_claim_from_template = !claim->is_shared;
	claim->consumers[claim->n_consumers++] = world_index(pod);
	use_claim(pod, claim);
	apiserver_put_claim(claim);
	cause_add(CAUSE_CLAIMED, pod->node, -1, clockwork_now(), clockwork_now());
	return true;
}

/* The end */

static int find_consumer(const struct world_claim *claim, const struct world_pod *pod)
{
	for (int i = 0; i < claim->n_consumers; i++)
		if (claim->consumers[i] == world_index(pod))
			return i;
	return -1;
}

bool claims_has(const struct world_pod *pod)
{
	const struct world_claim *claim = pod->claim >= 0 ? &world.claims[pod->claim] : NULL;

	return claim && claim->exists && find_consumer(claim, pod) >= 0;
}

bool claims_awaits_kubelet(const struct world_pod *pod)
{
	return pod->stage == WORLD_NEW && claims_has(pod);
}

bool claims_can_prepare(const struct world_pod *pod)
{
	return !claims_has(pod) || is_there(&world.claims[pod->claim]);
}

static void set_free(struct world_claim *claim)
{
	claim->is_allocated = false;
	claim->n_results = 0;
	claim->n_consumers = 0;
	apiserver_put_claim(claim);
	cause_add(CAUSE_CLAIMED, claim->node, -1, clockwork_now(), clockwork_now());
}

static void end_reservation(void *owner, uint64_t number)
{
	struct world_pod *pod = owner;
	struct world_claim *claim;

	if (!claims_has(pod))
		return;
	claim = &world.claims[pod->claim];
	if (!apiserver_is_up()) {
		clockwork_in(API_RETRY_MS, end_reservation, pod, number);
		return;
	}
	claim->consumers[find_consumer(claim, pod)] = claim->consumers[claim->n_consumers - 1];
	claim->n_consumers--;
	claim->exists = claim->is_shared || claim->n_consumers > 0;
	if (claim->n_consumers > 0)
		apiserver_put_claim(claim);
	else
		set_free(claim);
}

void claims_see(struct world_pod *pod)
{
	if (claims_has(pod) && world_is_over(&pod->object))
		clockwork_in(world_between(10, 3000), end_reservation, pod, 0);
}

void claims_delete(struct world_pod *pod)
{
	if (!claims_has(pod))
		return;
	world.claims[pod->claim].exists = false;
	apiserver_put_claim(&world.claims[pod->claim]);
	cause_add(CAUSE_DISPLACED, pod->node, -1, clockwork_now(), WORLD_NEVER);
}

void claims_deallocate(struct world_pod *pod)
{
	struct world_claim *claim;

	if (!claims_has(pod))
		return;
	claim = &world.claims[pod->claim];
	for (int i = 0; i < claim->n_consumers; i++)
		world_release(&world.pods[claim->consumers[i]]);
	set_free(claim);
}
