/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policies - what is intended: ClusterPolicies, a GPUCluster, the ConfigMap of the device plugin, the
 * labels of nodes; and the pods that the GPU operator has there. In every third fleet, chosen by its
 * seed, there is such an operator. What is chosen for it comes from a stream of its own. Every second
 * one of those has more, by another stream: texts that share devices, a MIG strategy and layouts by name.
 * It has the daemon of MPS and a date of what is not ready, too. In every second one, by a third stream,
 * the ConfigMap of mig-parted with its layouts is edited, made unreadable and deleted. Elsewhere it has
 * a layout that goes by device-filter.
 *
 * All of it is a set of knobs, each a small number. Objects are written from them, and the judge of
 * drifts (sim/drifts.h) reads them.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"
#include "base/sbuf.h"
#include "sim/world.h"

/* What the operator runs on nodes, as far as it matters. */
enum policies_operand {
	POLICIES_DRIVER,
	POLICIES_PLUGIN,
	POLICIES_GFD,
	POLICIES_EXPORTER,
	POLICIES_MIG_MANAGER,
	POLICIES_N_OPERANDS,
	POLICIES_MPS = POLICIES_N_OPERANDS, /* the daemon: it has pods, and nothing else of these */
	POLICIES_N_PODS,
};

/* In the cluster. */
enum policies_knob {
	POLICIES_FIRST,      /* the ClusterPolicy "policy" is there */
	POLICIES_SECOND,     /* another one, in which nothing is written but the MIG manager's version */
	POLICIES_CLUSTER,    /* a GPUCluster */
	POLICIES_UNREADABLE, /* the first has what its definition does not allow */
	POLICIES_STATE,      /* the first's: 0 none, 1 ready, 2 notReady */
	POLICIES_VERSION,    /* of the driver: enum policies_version */
	POLICIES_CONFIG,     /* the first names a ConfigMap for the device plugin */
	POLICIES_DEFAULT,    /* and a key of it: enum policies_key */
	POLICIES_SWITCH,     /* of each operand: enum policies_switch */
	POLICIES_MAP = POLICIES_SWITCH + POLICIES_N_OPERANDS, /* the ConfigMap is there */
	POLICIES_KEY_A,      /* what it has: enum policies_text */
	POLICIES_KEY_B,
	POLICIES_MORE_KNOBS, /* from here on they are turned where there is more: */
	POLICIES_SHARING_A = POLICIES_MORE_KNOBS, /* what a good text says: policies_sharing() */
	POLICIES_SHARING_B,
	POLICIES_STRATEGY, /* the first's mig.strategy: enum policies_strategy */
	POLICIES_LAYOUT_KNOBS, /* from here on they are turned where layouts are: */
	POLICIES_MIG_CONFIG = POLICIES_LAYOUT_KNOBS, /* enum policies_mig_config */
	POLICIES_MIG_MAP,  /* the operator's ConfigMap of layouts: enum policies_mig_map */
	POLICIES_BALANCED, /* what its layout all-balanced says: enum policies_balanced */
	POLICIES_N_KNOBS,
};

/* Of a node. */
enum policies_node_knob {
	POLICIES_LABEL_ALL,    /* gpu.deploy.operands: enum policies_deploy */
	POLICIES_LABEL,        /* gpu.deploy.<operand>, each */
	POLICIES_LABEL_CONFIG = POLICIES_LABEL + POLICIES_N_OPERANDS, /* enum policies_key */
	POLICIES_LABEL_LAYOUT, /* mig.config is there */
	POLICIES_LABEL_STATE,  /* mig.config.state: enum policies_mig */
	POLICIES_LABEL_UPGRADE, /* of the driver: 0 none, 1 done, 2 failed, 3 and 4 under way */
	POLICIES_LABEL_GPUS,   /* gpu.product: 0 none, 1 right, 2 of other devices */
	POLICIES_ALLOCATABLE,  /* 1: the node has more GPUs to give than it needs; 0: none */
	POLICIES_POD,          /* of each operand: enum policies_pod */
	POLICIES_MORE_NODE_KNOBS = POLICIES_POD + POLICIES_N_OPERANDS, /* as above */
	POLICIES_POD_OF_MPS = POLICIES_MORE_NODE_KNOBS,
	POLICIES_LAYOUT, /* what mig.config names: 0 a layout of the operator's, 1 all-disabled */
	POLICIES_N_NODE_KNOBS,
};

/* The ConfigMap of layouts that the first names. */
enum policies_mig_config { POLICIES_UNNAMED, POLICIES_OWN, POLICIES_ELSEWHERE };
enum policies_mig_map { POLICIES_NO_MIG_MAP, POLICIES_MIG_MAP_THERE, POLICIES_MIG_MAP_BROKEN };
enum policies_balanced {
	POLICIES_NO_BALANCED,
	POLICIES_BALANCED_OFF,
	POLICIES_BALANCED_TWO, /* MIG devices */
	POLICIES_BALANCED_THREE,
	POLICIES_BALANCED_BY_FILTER, /* three, where NVML tells which model the device is */
};
enum policies_switch { POLICIES_UNSET, POLICIES_ON, POLICIES_OFF };
enum policies_version {
	POLICIES_NO_VERSION,
	POLICIES_LOADED,   /* that which is loaded */
	POLICIES_OTHER,
	POLICIES_A_WORD,   /* which is no version */
};
enum policies_key { POLICIES_NO_KEY, POLICIES_A, POLICIES_B, POLICIES_NOWHERE };
enum policies_text {
	POLICIES_ABSENT,
	POLICIES_GOOD,
	POLICIES_INVALID,
	POLICIES_DEAD, /* good, but a part of it has no effect */
};
/* What a good text shares, of each device. */
struct policies_sharing {
	bool is_unsupported; /* the controller does not read it, and the plugin does */
	bool is_mps, is_renamed;
	int replicas; /* 1: nothing is shared */
};
enum policies_strategy {
	POLICIES_NO_STRATEGY,
	POLICIES_NONE,
	POLICIES_SINGLE,
	POLICIES_MIXED,
};
enum policies_deploy { POLICIES_NO_LABEL, POLICIES_TRUE, POLICIES_PAUSED, POLICIES_FALSE };
enum policies_mig {
	POLICIES_NO_STATE,
	POLICIES_SUCCESS,
	POLICIES_FAILED,
	POLICIES_PENDING,
	POLICIES_REBOOTING,
};
enum policies_pod { POLICIES_NO_POD, POLICIES_NOT_READY, POLICIES_READY };

/* Whether there is an operator in a history of that seed. */
bool policies_are_there(uint64_t seed);
/* Whether there is more. */
bool policies_are_rich(uint64_t seed);
/* Whether layouts of MIG devices are edited. */
bool policies_have_layouts(uint64_t seed);
/* After the world's. */
void policies_reset(uint64_t seed);
/* Tells what the cluster has from the beginning. */
void policies_begin(void);
/* The operator comes to a node that has just joined; before the API server has it. */
void policies_set_up(int node);

/* Whether the plugin of a node that joins does what is configured, by the stream of what is more. */
bool policies_have_plugin_obey(void);
/* The knob's value now. Where there is no operator, all are 0. */
int policies_of(enum policies_knob knob);
/* The same, of the node. */
int policies_of_node(int node, enum policies_node_knob knob);
/* The knob's values are 0 to this. */
int policies_most(enum policies_knob knob);
int policies_most_of_node(enum policies_node_knob knob);
/* Turns the knob, and tells the API server's watches. */
void policies_set(enum policies_knob knob, int value);
void policies_set_of_node(int node, enum policies_node_knob knob, int value);
#define POLICIES_NO_FORMER (-2)
/* What that value of POLICIES_SHARING_A or _B says. */
struct policies_sharing policies_sharing(int value);
/* Of a key, POLICIES_A or POLICIES_B: the value of before the n-th last edit; -1: it was in no effect;
 * POLICIES_NO_FORMER: there was none. */
int policies_former(int key, int n, uint64_t *ret_until);
/* Until when the first policy last did not name the ConfigMap, or was not there. */
uint64_t policies_unnamed_until(void);
/* When the first policy became notReady, as a condition of it says, ms since 1970; 0: none says it. */
int64_t policies_failed_at(void);
/* The ClusterPolicy that counts: 0 or 1; -1: there is none. */
int policies_counts(void);
/* Its name. */
const char *policies_name(int policy);
/* The ConfigMap may not be read up to then. */
void policies_deny(uint64_t until);
bool policies_are_denied(void);
/* So lately that what was read before still counts. */
bool policies_were_just_denied(void);
/* While on, it counts as if it could be read. */
void policies_take_as_read(bool is_on);

/* For the API server's lists: messages and items. False: an operator is not there. */
bool policies_list(struct sbuf *message);
void policies_list_clusters(struct sbuf *message);
void policies_list_configs(void (*item)(struct sbuf *message, struct sbuf *item),
			   struct sbuf *message);
/* Those of that node; -1: all. */
void policies_list_pods(int of_node, void (*item)(struct sbuf *message, struct sbuf *item),
			struct sbuf *message);
/* What the node has to give of nvidia.com/gpu; -1: nothing is written. */
int policies_allocatable(const struct world_node *node);
/* Appends labels to the metadata of a node. */
void policies_label(const struct world_node *node,
		    void (*label)(struct sbuf *out, uint32_t number, const char *key,
				  const char *value),
		    struct sbuf *metadata);
