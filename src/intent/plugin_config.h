/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * plugin_config - the configurations of NVIDIA's device plugin, as one ConfigMap has them: each key is
 * the name of one. Only what a rule of assess/drift.h needs is kept.
 *
 * Threads: any; immutable once made.
 */

#include "base/array.h"
#include "base/view.h"

enum plugin_config_sharing {
	PLUGIN_CONFIG_NOT_SHARED,
	PLUGIN_CONFIG_TIME_SLICING,
	PLUGIN_CONFIG_MPS, /* also where both are written: MPS wins without a word */
};

/* What is written and has no effect, as bits. */
enum plugin_config_dead {
	PLUGIN_CONFIG_DEAD_RESOURCES = 1u << 0, /* resources: the plugin ignores them */
	PLUGIN_CONFIG_DEAD_RENAME = 1u << 1,    /* rename to another name than the default */
	PLUGIN_CONFIG_DEAD_DEVICES = 1u << 2,   /* devices other than all */
	PLUGIN_CONFIG_DEAD_SLICING = 1u << 3,   /* timeSlicing beside mps */
	/* Flags that the operator's variables override, unless the policy sets them itself. */
	PLUGIN_CONFIG_DEAD_FAIL_ON_INIT_ERROR = 1u << 4,
	PLUGIN_CONFIG_DEAD_MPS_ROOT = 1u << 5,
	PLUGIN_CONFIG_DEAD_PASS_DEVICE_SPECS = 1u << 6,
	PLUGIN_CONFIG_DEAD_DEVICE_ID_STRATEGY = 1u << 7,
};

/* flags.plugin.deviceListStrategy: how a container is given its devices, as bits. */
enum plugin_config_list {
	PLUGIN_CONFIG_LIST_ENVVAR = 1u << 0,
	PLUGIN_CONFIG_LIST_CDI_ANNOTATIONS = 1u << 1,
	PLUGIN_CONFIG_LIST_CDI_CRI = 1u << 2,
	PLUGIN_CONFIG_LIST_OTHER = 1u << 3, /* which the operator never sets: volume-mounts */
};

/* One resource that is shared. */
struct plugin_config_shared {
	struct view resource; /* "nvidia.com/gpu", with its prefix */
	int64_t replicas;     /* of each device; at least 2 */
};

struct plugin_config {
	struct view name;         /* the key */
	struct view error;        /* why the plugin refuses it, with line and column; else empty */
	struct view unsupported;  /* why we cannot read what the plugin may accept; else empty */
	struct view mig_strategy; /* flags.migStrategy; empty: none is written */
	struct array shared;      /* struct plugin_config_shared, of the strategy in effect */
	int sharing;              /* enum plugin_config_sharing */
	uint32_t dead;            /* bits of enum plugin_config_dead */
	uint32_t device_lists;    /* bits of enum plugin_config_list; 0: none is written */
	bool is_renamed;          /* renameByDefault: the resource is called <name>.shared */
};

struct plugin_configs {
	struct view namespace;
	struct view name;     /* the ConfigMap */
	struct array configs; /* struct plugin_config, by name */
	/*
	 * Configurations of the same keys that this ConfigMap had before, newest first: the plugin goes
	 * on with what it has read until a label of its node changes.
	 */
	struct array former;
};

/* The configuration of that name among those (of the two arrays above), the first; or NULL. */
const struct plugin_config *plugin_config_find(struct array configs, struct view name);
/* True when both mean the same to the plugin; their names do not count. */
bool plugin_config_equal(const struct plugin_config *a, const struct plugin_config *b);
/* The replicas of that resource; 1: it is not shared. */
int64_t plugin_config_replicas(const struct plugin_config *config, struct view resource);
