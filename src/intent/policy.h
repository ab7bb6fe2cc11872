/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policy - what the GPU operator's ClusterPolicies intend, and the ConfigMaps that they name.
 *
 * Threads: the loop thread; immutable once made.
 */

#include "base/array.h"
#include "base/compact.h"
#include "base/error.h"
#include "base/view.h"
#include "intent/mig_config.h"
#include "intent/plugin_config.h"

/* A member "enabled" of the policy. What UNSET means depends on the operand: policy_is_on(). */
enum policy_switch {
	POLICY_UNSET,
	POLICY_ON,
	POLICY_OFF,
};

/* What the policy switches on and off. */
enum policy_operand {
	POLICY_DRIVER,
	POLICY_TOOLKIT,
	POLICY_DEVICE_PLUGIN,
	POLICY_GFD,
	POLICY_DCGM,
	POLICY_DCGM_EXPORTER,
	POLICY_MIG_MANAGER,
	POLICY_SANDBOX_WORKLOADS, /* nodes may be for virtual machines, which have other parts */
	POLICY_DRIVER_CRD, /* driver.useNvidiaDriverCRD: drivers come from NVIDIADriver objects */
	POLICY_PRECOMPILED, /* driver.usePrecompiled: the kernel is part of the driver's version */
	POLICY_CDI, /* cdi.enabled; UNSET: on since v25.10 of the operator, off before */
	POLICY_N_OPERANDS,
};

/* A condition that the operator wrote. */
struct policy_condition {
	struct view type; /* "Ready", "Error" */
	struct view status;
	struct view reason;
	struct view message;
	int64_t last_transition_time; /* ms since 1970; 0: not told */
};

/* A variable that the policy gives to one of the operator's pods; it overrides the pod's configuration. */
struct policy_variable {
	struct view name;
	struct view value;
};

struct policy {
	struct view name;
	struct view uid;
	struct view namespace;             /* status.namespace: the operator's; empty: not told */
	struct view state;                 /* status.state: "ready", "notReady", "ignored", or empty */
	struct view driver_version;        /* driver.version */
	struct view plugin_config;         /* devicePlugin.config.name: a ConfigMap */
	struct view plugin_config_default; /* devicePlugin.config.default: a key of it */
	struct view mig_strategy;          /* mig.strategy; empty: the plugin's own */
	struct view mig_config;            /* migManager.config.name: a ConfigMap */
	struct view mig_config_default;    /* migManager.config.default: a key of it */
	struct view mig_manager_version;   /* migManager.version: an image's tag */
	struct view default_workload;      /* sandboxWorkloads.defaultWorkload; empty: container */
	struct view unreadable; /* why spec or status cannot be read; empty: they can. The members */
				/* that lie in them are then empty, but for the namespace */
	struct array plugin_env; /* struct policy_variable */
	struct array plugin_args; /* struct view, devicePlugin.args: they go before variables */
	struct array gfd_env;    /* struct policy_variable, gfd.env: of GPU feature discovery */
	struct array gfd_args;   /* struct view, gfd.args */
	struct array conditions; /* struct policy_condition */
	int64_t created_at;      /* ms since 1970 */
	uint8_t switches[POLICY_N_OPERANDS]; /* enum policy_switch, as written */
};

/* A GPUCluster: the operator's other way, by dynamic resource allocation. */
struct gpu_cluster {
	struct view name;
	struct view uid;
};

extern const struct compact_row policy_rows[], policy_gpu_cluster_rows[]; /* of each of these two */

/* True when the operator deploys it: where nothing is written, by the default in the operator's code. */
bool policy_is_on(const struct policy *policy, enum policy_operand operand);

/* The variable of that name among devicePlugin.env: the last, which counts. NULL: there is none. */
const struct policy_variable *policy_find_variable(const struct policy *policy, struct view name);
/* The same among gfd.env. */
const struct policy_variable *policy_find_gfd_variable(const struct policy *policy, struct view name);

/*
 * What devicePlugin.args say of the plugin's flag of that name, as in "--name=value": the last counts. False:
 * they do not have it.
 */
bool policy_find_flag(const struct policy *policy, struct view name, struct view *ret_value);
/* The same of gfd.args, up to the first that is no flag: what follows is not read as flags. */
bool policy_find_gfd_flag(const struct policy *policy, struct view name, struct view *ret_value);
/*
 * True when devicePlugin.args have more than flags: then nobody can tell with which flags the plugin is
 * started. Operators since v1.11 give them to a shell, whose command is the first of them. It refuses one
 * that is a flag, so there flags alone keep the plugin from starting.
 */
bool policy_has_command(const struct policy *policy);

/*
 * The ConfigMap of mig-parted's layouts: migManager.config.name, or where nothing is written the one that
 * the operator makes itself. Empty: the MIG manager is off, or the policy cannot be read.
 */
struct view policy_mig_config(const struct policy *policy);
/*
 * Where the policy names no ConfigMap of layouts, the MIG manager reads the one that the operator makes. It
 * does so before v0.14. Later ones make layouts themselves, of what their devices can do, and read that one
 * only where they cannot. False also where the policy has no version that can be read.
 */
bool policy_goes_by_own_layouts(const struct policy *policy);
/*
 * The node's MIG manager may make the layouts itself, and then tells them in a ConfigMap of the node
 * (model/node_layouts.h). False also where it is off, or the policy cannot be read.
 */
bool policy_may_make_layouts(const struct policy *policy);

/* The ConfigMaps that a policy may name, or leave to the MIG managers. */
enum intent_config {
	INTENT_PLUGIN_CONFIG, /* of the device plugin: devicePlugin.config.name */
	INTENT_MIG_CONFIG,    /* of mig-parted: policy_mig_config() */
	INTENT_NODE_LAYOUTS,  /* all those of nodes: policy_may_make_layouts() */
	INTENT_N_CONFIGS,
};

/* What is known of a ConfigMap that the policy names. */
enum intent_config_state {
	INTENT_CONFIG_NONE,       /* the policy names none */
	INTENT_CONFIG_UNREADABLE, /* it cannot be read, or has not been yet */
	INTENT_CONFIG_MISSING,    /* there is none of that name in the operator's namespace */
	INTENT_CONFIG_THERE,
};

/* Why a ConfigMap is UNREADABLE. */
enum intent_config_why {
	INTENT_CONFIG_NOT_YET,   /* it has not been read, and may be soon */
	INTENT_CONFIG_NO_RIGHT,  /* the API server refuses us */
	INTENT_CONFIG_TOO_LARGE, /* it is beyond a limit, */
	INTENT_CONFIG_MALFORMED, /* or no ConfigMap that can be decoded */
	INTENT_CONFIG_NO_ANSWER, /* no request for it succeeds */
	INTENT_CONFIG_NO_PLACE,  /* the policy does not tell the operator's namespace */
	INTENT_N_CONFIG_WHYS,
};

/* What is known of intent in the cluster. */
struct intent {
	bool known; /* the ClusterPolicies can be read, or their kind is absent */
	bool is_unserved; /* the API server has them in other versions only: not known */
	bool is_stale; /* what is here may be old, for their watch has been away for long: not known */
	uint32_t n_policies;
	const struct policy *policy; /* the one that counts: oldest, then lowest name; or NULL */
	uint32_t n_gpu_clusters;     /* objects of kind GPUCluster, which must not be beside a policy */
	bool are_gpu_clusters_unread; /* these may be others now */
	enum intent_config_state plugin_configs_state;
	enum intent_config_why plugin_configs_why; /* UNREADABLE */
	const struct plugin_configs *plugin_configs; /* THERE, else NULL */
	enum intent_config_state mig_configs_state;
	enum intent_config_why mig_configs_why;
	const struct mig_configs *mig_configs; /* THERE, else NULL */
	enum intent_config_state node_layouts_state; /* THERE: what nodes have of them is known */
	enum intent_config_why node_layouts_why;
};
