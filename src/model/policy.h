/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policy - what the GPU operator's ClusterPolicies intend.
 *
 * Threads: the loop thread; immutable once made.
 */

#include "base/array.h"
#include "base/error.h"
#include "base/view.h"

enum policy_toggle {
	POLICY_UNSET, /* the operator's own default applies */
	POLICY_ON,
	POLICY_OFF,
};

struct policy {
	struct view name;
	struct view uid;
	int64_t created_at;    /* ms since 1970 */
	struct view state;     /* status.state */
	struct view namespace; /* status.namespace: the operator's */
	struct view mig_strategy;
	struct view plugin_config;         /* devicePlugin.config.name */
	struct view plugin_config_default; /* devicePlugin.config.default */
	struct view driver_version;
	enum policy_toggle driver;
	enum policy_toggle device_plugin;
	enum policy_toggle dcgm_exporter;
	enum policy_toggle gfd;
};

/* What is known of intent in the cluster. */
struct intent {
	bool known; /* the ClusterPolicies have been read, or their kind is absent */
	uint32_t n_policies;
	const struct policy *policy; /* the one that counts: oldest, then lowest name; or NULL */
};
