/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node - what the API server says of a node that matters to the join.
 *
 * Threads: the loop thread; immutable once made.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/view.h"

struct node_state_set;
struct record_set;

/* A resource of the node that may be a GPU's. */
struct node_resource {
	struct view name;  /* "nvidia.com/gpu" */
	int64_t count;     /* status.allocatable */
};

/* A label "nvidia.com/gpu.deploy.<operand>", by which the operator's pods come to the node. */
struct node_deploy {
	struct view operand; /* "device-plugin" */
	struct view value;   /* "true"; "paused-..."; "false" */
};

/* A label "nvidia.com/mig-<profile>.count", by GPU feature discovery. */
struct node_mig_count {
	struct view profile; /* "1g.5gb"; a "+" is a dot */
	struct view value;
};

/* Each label is empty where the node has none of it. The keys of texts begin with "nvidia.com/". */
struct node {
	struct view name;
	struct view uid;
	struct view boot_id;          /* status.nodeInfo.bootID */
	struct view sharing_strategy; /* gpu.sharing-strategy, by GPU feature discovery */
	struct view gpu_present;      /* gpu.present, by the operator */
	struct view gpu_count;        /* gpu.count, by GPU feature discovery */
	struct view gpu_product;      /* gpu.product */
	struct view gpu_replicas;     /* gpu.replicas */
	struct view mig_capable;      /* mig.capable */
	struct view mig_strategy;     /* mig.strategy */
	struct view mig_config;       /* mig.config: the layout that is wanted */
	struct view mig_config_state; /* mig.config.state, by the MIG manager */
	struct view plugin_config;    /* device-plugin.config: the configuration that is wanted */
	struct view driver_upgrade;   /* gpu-driver-upgrade-state */
	struct view workload_config;  /* gpu.workload.config */
	struct array deploys;         /* struct node_deploy, by operand */
	struct array mig_counts;      /* struct node_mig_count, by profile */
	struct array allocatable;     /* struct node_resource, by name */
	bool is_found_by_nfd; /* a label of node feature discovery says that the node has a GPU */
};

/* The value of gpu.deploy.<operand>; empty: the node has no such label. */
struct view node_deploy_of(const struct node *node, struct view operand);
/*
 * Makes a set of Nodes, without any. Each hangs on its node state, which notes when a Node comes
 * and goes. node_states is borrowed and must outlive the set.
 */
void node_set_init(struct record_set *set, struct node_state_set *node_states);
