/* SPDX-License-Identifier: Apache-2.0 */

/* Field numbers: generated.proto of k8s.io/api/core/v1 and resource/v1, and of meta/v1. */

#include "sim/objects.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/kube_bytes.h"
#include "sim/forms.h"
#include "sim/policies.h"
#include "sim/usage.h"

#define CAP (1u << 20)
#define DRIVER "gpu.nvidia.com"
#define REFUSED \
	"Allocate failed due to requested number of devices unavailable for %s. Requested: 1, " \
	"Available: 0, which is unexpected"

static void close_field(struct sbuf *out, uint32_t number, struct sbuf *from)
{
	kube_bytes_field(out, number, sbuf_view(from));
	sbuf_deinit(from);
}

static void text_field(struct sbuf *out, uint32_t number, const char *text)
{
	if (text[0])
		kube_bytes_field(out, number, view_from(text));
}

static void map_entry(struct sbuf *out, uint32_t number, const char *key, const char *value)
{
	struct sbuf entry;

	sbuf_init(&entry, CAP);
	text_field(&entry, 1, key);
	text_field(&entry, 2, value);
	close_field(out, number, &entry);
}

static void quantity_entry(struct sbuf *out, uint32_t number, const char *key, int amount)
{
	struct sbuf entry, quantity;
	char text[16];

	sbuf_init(&entry, CAP);
	sbuf_init(&quantity, CAP);
	snprintf(text, sizeof(text), "%d", amount);
	text_field(&quantity, 1, text);
	text_field(&entry, 1, key);
	close_field(&entry, 2, &quantity);
	close_field(out, number, &entry);
}

/* Kubernetes cuts times to seconds. */
static void time_field(struct sbuf *out, uint32_t number, int64_t at)
{
	struct sbuf time;

	sbuf_init(&time, CAP);
	kube_bytes_number(&time, 1, (uint64_t)(at / 1000));
	close_field(out, number, &time);
}

/* Metadata */

static void owner_reference(struct sbuf *meta, const struct world_pod *pod)
{
	struct sbuf owner;

	sbuf_init(&owner, CAP);
	text_field(&owner, 1, pod->hash[0] ? "Node" : "StatefulSet");
	text_field(&owner, 3, pod->hash[0] ? world.nodes[pod->node].name : pod->owner);
	kube_bytes_number(&owner, 6, 1);
	close_field(meta, 13, &owner);
}

/* What HAMi and KAI write on pods, or others in their name. */
static void sharing_marks(struct sbuf *meta, const struct world_pod *pod)
{
	char group[16];

	snprintf(group, sizeof(group), "group-%d", pod->group);
	if (pod->group >= 0)
		map_entry(meta, 11, "runai-gpu-group", group);
	if (pod->hami[0])
		map_entry(meta, 12, "hami.io/vgpu-devices-allocated", pod->hami);
	if (pod->reserves[0])
		map_entry(meta, 12, "run.ai/reserve_for_gpu_index", pod->reserves);
}

static void pod_metadata(struct sbuf *out, const struct world_pod *pod, const char *version)
{
	struct sbuf meta;

	sbuf_init(&meta, CAP);
	text_field(&meta, 1, pod->name);
	text_field(&meta, 3, pod->namespace);
	text_field(&meta, 5, pod->uid);
	text_field(&meta, 6, version);
	if (pod->created_wall_ms != 0)
		time_field(&meta, 8, pod->created_wall_ms);
	if (pod->object.deleting)
		kube_bytes_field(&meta, 9, VIEW("\x08\x01"));
	if (pod->system)
		map_entry(&meta, 11, "app", "nvidia-cuda-validator");
	if (pod->hash[0]) {
		map_entry(&meta, 12, "kubernetes.io/config.hash", pod->hash);
		map_entry(&meta, 12, "kubernetes.io/config.mirror", pod->hash);
	}
	sharing_marks(&meta, pod);
	if (pod->owner[0] || pod->hash[0])
		owner_reference(&meta, pod);
	close_field(out, 1, &meta);
}

/* Spec */

static void claim_use(struct sbuf *resources, const struct world_container *container)
{
	struct sbuf use;
	char request[16];

	sbuf_init(&use, CAP);
	text_field(&use, 1, "gpus");
	snprintf(request, sizeof(request), "r%d", container->request);
	if (container->request >= 0)
		text_field(&use, 2, request);
	close_field(resources, 3, &use);
}

static void pod_claim(struct sbuf *spec, const struct world_pod *pod)
{
	struct sbuf claim;

	sbuf_init(&claim, CAP);
	text_field(&claim, 1, "gpus");
	if (pod->is_claim_from_template)
		text_field(&claim, 4, "gpus-of-a-pod");
	else
		text_field(&claim, 3, world.claims[pod->claim].name);
	close_field(spec, 39, &claim);
}

static void container_spec(struct sbuf *spec, const struct world_container *container)
{
	struct sbuf message, resources;

	sbuf_init(&message, CAP);
	sbuf_init(&resources, CAP);
	text_field(&message, 1, container->name);
	if (container->wanted > 0)
		quantity_entry(&resources, 1, container->resource, container->wanted);
	if (container->uses_claim)
		claim_use(&resources, container);
	close_field(&message, 8, &resources);
	if (container->kind == WORLD_SIDECAR)
		text_field(&message, 24, "Always");
	close_field(spec, container->kind == WORLD_MAIN ? 2 : 20, &message);
}

static void pod_spec(struct sbuf *out, const struct world_pod *pod)
{
	struct sbuf spec;

	sbuf_init(&spec, CAP);
	for (int i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].kind == WORLD_MAIN)
			container_spec(&spec, &pod->containers[i]);
	if (pod->system)
		text_field(&spec, 8, "nvidia-operator-validator");
	text_field(&spec, 10, world.nodes[pod->node].name);
	for (int i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].kind != WORLD_MAIN)
			container_spec(&spec, &pod->containers[i]);
	if (pod->claim >= 0)
		pod_claim(&spec, pod);
	close_field(out, 2, &spec);
}

/* Status */

static void resource_status(struct sbuf *out, const struct world_container *container,
			    enum world_health how)
{
	static const char *const texts[] = {
		[WORLD_HEALTHY] = "Healthy",
		[WORLD_ILL] = "Unhealthy",
		[WORLD_HEALTH_UNKNOWN] = "Unknown"};
	char id[WORLD_ID_SIZE + sizeof(DRIVER "/")];
	struct sbuf status, health;

	sbuf_init(&status, CAP);
	text_field(&status, 1, container->uses_claim ? "claim:gpus" : container->resource);
	for (int i = 0; i < container->n_slots; i++) {
		sbuf_init(&health, CAP);
		snprintf(id, sizeof(id), "%s%s", container->uses_claim ? DRIVER "/" : "",
			 container->slots[i].id);
		text_field(&health, 1, id);
		text_field(&health, 2, texts[how]);
		close_field(&status, 2, &health);
	}
	close_field(out, 14, &status);
}

/* Where nobody compares it with processes it is left out. */
static void container_id(struct sbuf *status, const struct world_pod *pod, int i)
{
	char id[USAGE_ID_SIZE], text[USAGE_ID_SIZE + sizeof("containerd://")];

	if (!world.nodes[pod->node].sees_processes || pod->object.starts[i] == 0)
		return;
	usage_container_id(world_holder(pod), i, pod->object.starts[i], id);
	snprintf(text, sizeof(text), "containerd://%s", id);
	text_field(status, 8, text);
}

static void container_status(struct sbuf *status, const struct world_pod *pod, int i)
{
	static const uint32_t state_fields[] = {
		[WORLD_WAITING] = 1, [WORLD_RUNNING] = 2, [WORLD_TERMINATED] = 3};
	const struct world_container *container = &pod->containers[i];
	struct sbuf message, state;

	sbuf_init(&message, CAP);
	sbuf_init(&state, CAP);
	text_field(&message, 1, container->name);
	kube_bytes_field(&state, state_fields[pod->object.states[i]], VIEW(""));
	close_field(&message, 2, &state);
	container_id(&message, pod, i);
	if (pod->object.has_resources && container->kind == WORLD_MAIN && container->n_slots > 0)
		resource_status(&message, container, pod->object.health);
	close_field(status, container->kind == WORLD_MAIN ? 8 : 10, &message);
}

/* The name of the claim that was made for the pod. */
static void claim_status(struct sbuf *status, const struct world_pod *pod)
{
	struct sbuf claim;

	sbuf_init(&claim, CAP);
	text_field(&claim, 1, "gpus");
	text_field(&claim, 2, world.claims[pod->claim].name);
	close_field(status, 15, &claim);
}

/* The first that asks is the one that had none. */
static void refusal(struct sbuf *status, const struct world_pod *pod)
{
	char text[256];

	for (int i = 0; i < pod->n_containers; i++)
		if (pod->containers[i].wanted > 0) {
			snprintf(text, sizeof(text), REFUSED, pod->containers[i].resource);
			text_field(status, 3, text);
			return;
		}
}

static void pod_status(struct sbuf *out, const struct world_pod *pod)
{
	static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};
	struct sbuf status;

	sbuf_init(&status, CAP);
	text_field(&status, 1, phases[pod->object.phase]);
	if (pod->object.admission_failed)
		text_field(&status, 4, "UnexpectedAdmissionError");
	if (pod->object.admission_failed && pod->is_refused_for_none &&
	    pod->created_wall_ms != 0)
		refusal(&status, pod);
	if (pod->object.started_at != 0)
		time_field(&status, 7, pod->object.started_at);
	for (int i = 0; pod->object.has_statuses && i < pod->n_containers; i++)
		container_status(&status, pod, i);
	if (pod->claim >= 0 && pod->is_claim_from_template)
		claim_status(&status, pod);
	close_field(out, 3, &status);
}

static void version_text(uint64_t version, char ret[static 24])
{
	snprintf(ret, 24, "%" PRIu64, version);
}

void objects_pod(const struct world_pod *pod, uint64_t version, struct sbuf *out)
{
	char text[24];

	version_text(version, text);
	pod_metadata(out, pod, text);
	pod_spec(out, pod);
	pod_status(out, pod);
}

/* Nodes */

static void node_info(struct sbuf *status, const struct world_node *node)
{
	struct sbuf info;
	char version[24];

	sbuf_init(&info, CAP);
	snprintf(version, sizeof(version), "v1.%d.0", node->kubelet_minor);
	text_field(&info, 3, node->boot_id);
	text_field(&info, 7, version);
	close_field(status, 7, &info);
}

static void ready_condition(struct sbuf *status)
{
	struct sbuf condition;

	sbuf_init(&condition, CAP);
	text_field(&condition, 1, "Ready");
	text_field(&condition, 2, "True");
	close_field(status, 4, &condition);
}

void objects_node(const struct world_node *node, uint64_t version, struct sbuf *out)
{
	struct sbuf meta, status;
	char text[24];

	version_text(version, text);
	sbuf_init(&meta, CAP);
	sbuf_init(&status, CAP);
	text_field(&meta, 1, node->name);
	text_field(&meta, 5, node->uid);
	text_field(&meta, 6, text);
	map_entry(&meta, 11, "nvidia.com/gpu.sharing-strategy",
		  node->mode == WORLD_MPS           ? "mps"
		  : node->mode == WORLD_TIME_SLICED ? "time-slicing"
						    : "none");
	policies_label(node, map_entry, &meta);
	if (forms_is_labelled((int)(node - world.nodes)))
		map_entry(&meta, 11, "nvidia.com/gpu.present", "true");
	close_field(out, 1, &meta);
	if (policies_allocatable(node) >= 0)
		quantity_entry(&status, 2, "nvidia.com/gpu", policies_allocatable(node));
	ready_condition(&status);
	node_info(&status, node);
	close_field(out, 3, &status);
}

/* Dynamic resource allocation */

static void result(struct sbuf *devices, const struct world_claim *claim,
		   const struct world_result *from)
{
	struct sbuf message;
	char request[16];

	sbuf_init(&message, CAP);
	snprintf(request, sizeof(request), "r%d", from->request);
	text_field(&message, 1, request);
	text_field(&message, 2, DRIVER);
	text_field(&message, 3, world.nodes[claim->node].name);
	text_field(&message, 4, from->device);
	if (from->is_admin)
		kube_bytes_number(&message, 5, 1);
	close_field(devices, 1, &message);
}

static void consumer(struct sbuf *status, const struct world_pod *pod)
{
	struct sbuf message;

	sbuf_init(&message, CAP);
	text_field(&message, 3, "pods");
	text_field(&message, 4, pod->name);
	text_field(&message, 5, pod->uid);
	close_field(status, 2, &message);
}

static void claim_state(struct sbuf *out, const struct world_claim *claim)
{
	struct sbuf status, allocation, devices;

	sbuf_init(&status, CAP);
	sbuf_init(&allocation, CAP);
	sbuf_init(&devices, CAP);
	for (int i = 0; i < claim->n_results; i++)
		result(&devices, claim, &claim->results[i]);
	close_field(&allocation, 1, &devices);
	if (claim->is_allocated)
		kube_bytes_field(&status, 1, sbuf_view(&allocation));
	sbuf_deinit(&allocation);
	for (int i = 0; i < claim->n_consumers; i++)
		consumer(&status, &world.pods[claim->consumers[i]]);
	close_field(out, 3, &status);
}

void objects_claim(const struct world_claim *claim, uint64_t version, struct sbuf *out)
{
	struct sbuf meta;
	char text[24];

	version_text(version, text);
	sbuf_init(&meta, CAP);
	text_field(&meta, 1, claim->name);
	text_field(&meta, 3, "ml");
	text_field(&meta, 6, text);
	close_field(out, 1, &meta);
	claim_state(out, claim);
}

static void attribute(struct sbuf *device, const char *key, const char *text)
{
	struct sbuf entry, value;

	sbuf_init(&entry, CAP);
	sbuf_init(&value, CAP);
	text_field(&entry, 1, key);
	text_field(&value, 4, text);
	close_field(&entry, 2, &value);
	close_field(device, 2, &entry);
}

static void slice_devices(struct sbuf *spec, const struct world_slice *slice)
{
	struct sbuf device;

	for (int i = 0; i < slice->n_devices; i++) {
		sbuf_init(&device, CAP);
		text_field(&device, 1, slice->devices[i].name);
		attribute(&device, "uuid", slice->devices[i].uuid);
		if (slice->devices[i].parent[0])
			attribute(&device, "parentUUID", slice->devices[i].parent);
		close_field(spec, 6, &device);
	}
}

static void slice_pool(struct sbuf *spec, int node, const struct world_slice *slice)
{
	struct sbuf pool;

	sbuf_init(&pool, CAP);
	text_field(&pool, 1, world.nodes[node].name);
	kube_bytes_number(&pool, 2, (uint64_t)slice->generation);
	kube_bytes_number(&pool, 3, (uint64_t)slice->slice_count);
	close_field(spec, 2, &pool);
}

void objects_slice_name(int node, int slice, char *ret)
{
	snprintf(ret, OBJECTS_NAME, "%.15s-" DRIVER "-%d", world.nodes[node].name, slice);
}

void objects_slice(int node, int slice, uint64_t version, struct sbuf *out)
{
	const struct world_slice *from = &world.pools[node].slices[slice];
	struct sbuf meta, spec;
	char text[24], name[OBJECTS_NAME];

	version_text(version, text);
	objects_slice_name(node, slice, name);
	sbuf_init(&meta, CAP);
	sbuf_init(&spec, CAP);
	text_field(&meta, 1, name);
	text_field(&meta, 6, text);
	close_field(out, 1, &meta);
	text_field(&spec, 1, DRIVER);
	slice_pool(&spec, node, from);
	text_field(&spec, 3, world.nodes[node].name);
	slice_devices(&spec, from);
	close_field(out, 2, &spec);
}
