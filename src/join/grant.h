/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * grant - who holds which device by way of dynamic resource allocation: a ResourceClaim says what
 * it was given and for which pods that is reserved, the pod says which container uses it, and the
 * node's ResourceSlices say which device stands behind a name. No agent has a part in it.
 *
 * A pod has the use of a claim only if the claim is reserved for its UID. One that is reserved for a
 * PodGroup does not tell which pods those are: if others of the node name it, their device is marked
 * so. Only slices of the node itself are asked, so that no node can speak for another.
 *
 * A pool counts only when all slices of its newest generation are there. While they are not, none
 * of its devices is known, not even one that an older generation described: numbers in names
 * change when a node is booted, and an older slice may have been overwritten.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_REPORT_DEVICES described devices; further ones are counted. What a claim gives of
 *          them is given all the same, and is then a device that nobody knows (join/unplaced.h).
 */

#include "base/arena.h"
#include "join/input.h"
#include "model/pod.h"
#include "model/resource_claim.h"
#include "model/resource_slice.h"

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
	const struct join_grant *grants; /* in the order of the uses */
	size_t n_grants;
	const struct join_slice_device *devices; /* by UUID */
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
