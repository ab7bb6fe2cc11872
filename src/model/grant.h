/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * grant - who holds which device by way of dynamic resource allocation. A ResourceClaim says which
 * devices it was given, and for which pods. The pod says which container uses the claim. The node's
 * ResourceSlices say which device stands behind a name. No agent has a part in it.
 *
 * A pod has the use of a claim only if the claim is reserved for its UID. Only slices of the node
 * itself are asked, so that no node can speak for another. A pool counts only when all slices of its
 * newest generation are there. What an older one described may have another number since a boot.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_REPORT_DEVICES described devices; further ones are counted. What a claim gives of
 *          them is given all the same, and is then a device without a description.
 */

#include "base/arena.h"
#include "model/pod.h"
#include "model/resource_claim.h"
#include "model/resource_slice.h"

/* One device that a ResourceClaim gives to a pod of the node. */
struct grant {
	const struct pod *pod;
	struct view container;
	struct view uuid;      /* of the physical device; empty: no slice tells */
	struct view partition; /* UUID of the MIG device, or empty */
	struct view device;    /* "pool/device", as the driver calls it */
	bool is_part;          /* it is a MIG device, whether its UUID is known or not */
	bool is_admin;         /* adminAccess: it watches, it does not use */
	bool is_share;         /* of the device, which others may have shares of too */
};

/* A device that the node's ResourceSlices describe. */
struct slice_device {
	struct view uuid;
	struct view model;
	struct view compute_capability;
	struct view driver_version;
	struct view cuda_version;
	struct view pci_bus_id;
	int64_t minor;      /* the number in the driver's name of it, or of a part of it; -1: none */
	int64_t memory_mib; /* 0: not said */
	bool is_whole;      /* by an entry of its own, not only by those of its parts */
	bool is_nameless;   /* it is given by a claim that a pod of the node names, and that is */
			    /* reserved for a PodGroup: which pods may use it is not known */
};

/* A container's use of a claim. Uses of one pod stand together. */
struct grant_use {
	const struct pod *pod;
	const struct pod_claim *use;        /* of the pod's */
	const struct resource_claim *claim; /* of that name and the pod's namespace */
};

struct grant_input {
	const struct grant_use *uses;
	size_t n_uses;
	const struct resource_slice *const *slices; /* of the node */
	size_t n_slices;
};

struct grant_result {
	const struct grant *grants; /* in the order of the uses */
	size_t n_grants;
	const struct slice_device *devices; /* by UUID */
	size_t n_devices;
	uint32_t devices_left_out; /* whole ones that there was no room to describe */
	bool is_incomplete; /* slices of a pool are missing, or contradict each other */
};

/*
 * Finds out. The arrays lie in arena, texts are borrowed from the input. Fails with
 * ERROR_NO_MEMORY.
 */
MUST_USE int grant_compute(const struct grant_input *input, struct arena *arena,
			   struct grant_result *ret_result, struct error *err);
