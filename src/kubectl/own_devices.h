/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * own_devices - which GPUs a pod has, by objects of its own namespace alone. The kubelet writes them
 * into the pod's status (Kubernetes 1.36 and later), and ResourceClaims name theirs.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "base/array.h"
#include "base/view.h"

struct own_device {
	struct view container; /* empty where a claim tells: each container that uses the claim */
	struct view resource;  /* "nvidia.com/gpu"; of a claim "claim:NAME" */
	struct view id;        /* "GPU-...", "MIG-...", "GPU-...::3"; of a claim "driver/pool/device" */
	struct view health;    /* the kubelet's word, "Healthy", ...; or empty */
};

/* What the allocation of a ResourceClaim gives. */
struct own_claim {
	struct view namespace;
	struct view name;
	struct array ids; /* struct view, "driver/pool/device", of drivers that hand out GPUs */
};

/*
 * Finds the devices in a pod's status; *ret_devices has struct own_device, in the order of the
 * containers. It is empty where the kubelet writes none. Fails with ERROR_REJECTED, ERROR_LIMIT or
 * ERROR_NO_MEMORY. What is returned lies in arena.
 */
MUST_USE int own_devices_of_pod(struct view json, struct arena *arena, struct array *ret_devices,
				struct error *err);
/* Decodes one ResourceClaim. Fails as own_devices_of_pod(); what is returned lies in arena. */
MUST_USE int own_devices_of_claim(struct view json, struct arena *arena, struct own_claim *ret_claim,
				  struct error *err);
