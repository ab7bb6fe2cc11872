/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node - what the API server says of a node that matters to a GPU: its labels of the NVIDIA stack,
 * how many GPU resources it has, and its readiness.
 *
 * Threads: the loop thread; immutable once made.
 */

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"

/* A label whose key starts with "nvidia.com/", without that prefix. */
struct node_label {
	struct view key;
	struct view value;
};

/* Capacity and allocatable of a resource whose name starts with "nvidia.com/". */
struct node_resource {
	struct view name; /* whole */
	int64_t capacity;
	int64_t allocatable;
};

enum node_ready {
	NODE_READY_UNKNOWN,
	NODE_READY_TRUE,
	NODE_READY_FALSE,
};

#define NODE_MAX_LABELS 128u
#define NODE_MAX_RESOURCES 32u

/* What a decoder found; all borrowed from the document. */
struct node_fields {
	struct view name;
	struct view uid;
	struct view boot_id;         /* status.nodeInfo.bootID */
	struct view kubelet_version; /* "v1.36.3" */
	enum node_ready ready;
	struct node_label labels[NODE_MAX_LABELS];
	uint32_t n_labels;
	struct node_resource resources[NODE_MAX_RESOURCES];
	uint32_t n_resources;
};

struct node {
	struct view name;
	struct view uid;
	struct view boot_id;
	struct view kubelet_version;
	enum node_ready ready;
	struct array labels;    /* struct node_label, by key */
	struct array resources; /* struct node_resource, by name */
};

/* Copies fields into one new block, the caller's to free(). Fails with ERROR_NO_MEMORY. */
MUST_USE int node_new(const struct node_fields *fields, struct node **ret_node, struct error *err);
/* The label's value; false when the node has no such label. Key without "nvidia.com/". */
bool node_label(const struct node *node, struct view key, struct view *ret_value);
/* True when both say the same in every fact. */
bool node_equal(const struct node *a, const struct node *b);
