/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource_slice - the devices that a driver of dynamic resource allocation publishes for a node. A
 * pool of devices may span several slices; all slices of its newest generation together describe
 * it. A slice of a driver that hands out no GPUs, or that belongs to no single node, keeps its name
 * only.
 *
 * Threads: the loop thread; immutable once made.
 */

#include "model/record_set.h"

struct resource_slice_device {
	struct view name; /* in the pool */
	struct view uuid; /* as NVML writes it: "GPU-...", "MIG-..."; here and below empty: */
	struct view parent_uuid; /* not said */

	struct view model;
	struct view compute_capability; /* the three are semantic versions: "8.0.0" */
	struct view driver_version;
	struct view cuda_version;
	struct view pci_bus_id;
	int64_t memory_mib; /* 0: not said */
};

/* Four times what the API server of Kubernetes 1.36 allows. */
#define RESOURCE_SLICE_MAX_DEVICES 512u

struct resource_slice {
	struct view name;
	struct view driver; /* empty: not a driver of GPUs; then the rest is empty too */
	struct view node;   /* empty: the slice is of no single node */
	struct view pool;
	int64_t generation;   /* of the pool */
	int64_t slice_count;  /* of the pool in that generation */
	struct array devices; /* struct resource_slice_device */
};

/* What a decoder found; all borrowed from the document. */
struct resource_slice_fields {
	struct resource_slice slice; /* its devices are the first of those here */
	struct resource_slice_device devices[RESOURCE_SLICE_MAX_DEVICES];
};

/*
 * Copies fields into one new block, the caller's to free(). Fails with ERROR_NO_MEMORY, or
 * ERROR_LIMIT when a text is longer than Kubernetes allows.
 */
MUST_USE int resource_slice_new(const struct resource_slice_fields *fields,
				struct resource_slice **ret_slice, struct error *err);
/* True when both are of one pool of a driver. */
bool resource_slice_has_pool_of(const struct resource_slice *a, const struct resource_slice *b);

/* A node's devices fit into a handful; whoever writes for a node cannot make joins slow by more. */
#define RESOURCE_SLICE_SET_MAX_OF_NODE 64u

/*
 * The ResourceSlices that the API server has. Each that is of one node hangs on that node's state,
 * RESOURCE_SLICE_SET_MAX_OF_NODE at most. A change touches its node, and the one that it was of.
 */
struct resource_slice_set {
	struct record_set records; /* of struct resource_slice, by name */
	size_t n_unplaced; /* slices of drivers of GPUs that are of no single node: not used */
};

/* Without any. node_states is borrowed and must outlive the set. */
void resource_slice_set_init(struct resource_slice_set *set, struct node_state_set *node_states);
/* True when a slice of the node state describes the device of that UUID, or a part of it. */
bool resource_slice_set_names_device(const struct node_state *node_state, struct view uuid);
