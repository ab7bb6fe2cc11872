/* SPDX-License-Identifier: Apache-2.0 */

/* Field numbers: k8s.io/api/core/v1/generated.proto, k8s.io/apimachinery's meta/v1. */

#include "sim/objects.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/kube_bytes.h"

#define CAP (1u << 20)

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

static void pod_metadata(struct sbuf *out, const struct world_pod *pod, const char *version)
{
	struct sbuf meta;

	sbuf_init(&meta, CAP);
	text_field(&meta, 1, pod->name);
	text_field(&meta, 3, pod->namespace);
	text_field(&meta, 5, pod->uid);
	text_field(&meta, 6, version);
	if (pod->object.deleting)
		kube_bytes_field(&meta, 9, VIEW("\x08\x01"));
	if (pod->system)
		map_entry(&meta, 11, "app", "nvidia-cuda-validator");
	if (pod->hash[0]) {
		map_entry(&meta, 12, "kubernetes.io/config.hash", pod->hash);
		map_entry(&meta, 12, "kubernetes.io/config.mirror", pod->hash);
	}
	if (pod->owner[0] || pod->hash[0])
		owner_reference(&meta, pod);
	close_field(out, 1, &meta);
}

/* Spec */

static void container_spec(struct sbuf *spec, const struct world_container *container)
{
	struct sbuf message, resources;

	sbuf_init(&message, CAP);
	sbuf_init(&resources, CAP);
	text_field(&message, 1, container->name);
	if (container->wanted > 0)
		quantity_entry(&resources, 1, container->resource, container->wanted);
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
		container_spec(&spec, &pod->containers[i]);
	if (pod->system)
		text_field(&spec, 8, "nvidia-operator-validator");
	text_field(&spec, 10, world.nodes[pod->node].name);
	close_field(out, 2, &spec);
}

/* Status */

static void resource_status(struct sbuf *out, const struct world_container *container)
{
	struct sbuf status, health;

	sbuf_init(&status, CAP);
	text_field(&status, 1, container->resource);
	for (int i = 0; i < container->n_slots; i++) {
		sbuf_init(&health, CAP);
		text_field(&health, 1, container->slots[i].id);
		text_field(&health, 2, "Healthy");
		close_field(&status, 2, &health);
	}
	close_field(out, 14, &status);
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
	if (pod->object.has_resources && container->kind == WORLD_MAIN && container->n_slots > 0)
		resource_status(&message, container);
	close_field(status, container->kind == WORLD_MAIN ? 8 : 10, &message);
}

static void pod_status(struct sbuf *out, const struct world_pod *pod)
{
	static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};
	struct sbuf status;

	sbuf_init(&status, CAP);
	text_field(&status, 1, phases[pod->object.phase]);
	if (pod->object.admission_failed)
		text_field(&status, 4, "UnexpectedAdmissionError");
	for (int i = 0; pod->object.has_statuses && i < pod->n_containers; i++)
		container_status(&status, pod, i);
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
	close_field(out, 1, &meta);
	ready_condition(&status);
	node_info(&status, node);
	close_field(out, 3, &status);
}
