/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_case - a node on which all is as intended, for tests of assess/drift.h to spoil.
 *
 * ClusterPolicy cluster-policy has the plugin share GPUs by time-slicing, 4 replicas each: key shared
 * of ConfigMap gpu-operator/plugin-config, which a label of the node names. The node has two GPUs,
 * DRIFT_CASE_GPU and another; the first is judged. Each of the operator's parts has a Ready pod.
 *
 * Threads: a test's own.
 */

#include "assess/drift.h"
#include "assess/drift_text.h"

#define DRIFT_CASE_GPU "GPU-00000000-0000-0000-0000-00000000000a"
#define DRIFT_CASE_OTHER_GPU "GPU-00000000-0000-0000-0000-00000000000b"
#define DRIFT_CASE_NOW INT64_C(1767323045000)
#define DRIFT_CASE_MAX 16u

struct drift_case {
	struct arena arena;
	struct drift_text text;
	struct drift_node node;
	struct drift_device device;
	/* What those two point to. */
	struct intent intent;
	struct policy policy;
	struct policy_variable variables[2];
	struct view arguments[2];
	struct policy_condition conditions[2];
	struct plugin_configs plugin_configs;
	struct plugin_config configs[2], former[2]; /* of configs the first is "shared" */
	struct plugin_config_shared shared[2], former_shared[2];
	struct mig_configs mig_configs;
	struct mig_config layouts[2];    /* "all-disabled", and "half": */
	struct mig_config_part parts[4]; /* of the first; of the second, which has two */
	struct mig_config_count counts[2];
	struct view filters[1];
	int64_t indices[1];
	struct node labels;
	struct node_deploy deploys[8];
	struct node_resource resources[2];
	struct report report;
	struct report_device devices[3]; /* the report lists two */
	struct report_partition partitions[4]; /* of the first device, if it is said so */
	struct report_process processes[2];
	struct report_resource_devices on_offer[2];
	struct view ids[DRIFT_CASE_MAX];
	struct report_checkpoint_entry entries[2];
	struct pod *pods[DRIFT_CASE_MAX];
	const struct pod *pod_list[DRIFT_CASE_MAX];
	struct attribution_status status;
	struct attribution_user users[2];
	struct attribution_tenant tenants[2];
	struct attribution_past_tenant past[2];
	struct drift_offer offers[2];
	struct attribution_intent_state published;
	struct drift_previous previous; /* made of it */
	struct attribution_drift published_drifts[DRIFT_CASE_MAX * 2];
	struct attribution_pending_drift published_pending[DRIFT_CASE_MAX * 2];
	struct drift_verdict verdict;
};

/* Makes one on which all is well. drift_case_deinit() at the end. */
void drift_case_init(struct drift_case *c);
/* Frees what it has. */
void drift_case_deinit(struct drift_case *c);

/* Changes; drift_case_ask() and drift_case_judge() prepare the node anew. */

/* Adds a pod of the node in the operator's namespace. */
void drift_case_add_operand(struct drift_case *c, enum pod_operand operand, bool is_ready);
/* Takes away the pods of that operand, or of no operand. */
void drift_case_drop_operand(struct drift_case *c, enum pod_operand operand);
/* Adds a pod of the node by what is known of it; the UID is its name. */
void drift_case_add_pod(struct drift_case *c, const struct pod_fields *fields);
/* Sets label nvidia.com/gpu.deploy.<operand>. */
void drift_case_deploy(struct drift_case *c, const char *operand, const char *value);
/* What is on offer of the device, and of the other one, as that resource. */
void drift_case_offer(struct drift_case *c, const char *resource, int64_t n_ids, bool is_replica,
		      bool is_mig);
/* Cuts the device into so many MIG devices of profile 1g.10gb. */
void drift_case_cut(struct drift_case *c, uint32_t n);
/* Takes the device out of NVML's list. */
void drift_case_remove_device(struct drift_case *c);

/* Questions */

/* What one rule says. */
struct drift_finding drift_case_ask(struct drift_case *c, drift_rule_fn *rule);
/* Judges the device: c->verdict. */
void drift_case_judge(struct drift_case *c);
/* Publishes the verdict: the next one is judged with it. */
void drift_case_publish(struct drift_case *c);
/* The drift of that type in the verdict, or NULL. */
const struct attribution_drift *drift_case_drift(const struct drift_case *c, const char *type);
/* The pending difference of that type in the verdict, or NULL. */
const struct attribution_pending_drift *drift_case_pending(const struct drift_case *c,
							   const char *type);

/* One row of a table of tests: what a rule says of a node that was spoilt so. */
struct drift_case_row {
	drift_rule_fn *rule;
	void (*spoil)(struct drift_case *c); /* NULL: all is well */
	enum drift_answer answer;
	const char *intended; /* parts of the texts; NULL: any */
	const char *observed;
	int severity; /* enum attribution_severity */
	const char *message; /* a part of what to do; NULL: any */
};

/* Asks each row of a node of its own, and fails the test where the answer is another. */
void drift_case_expect(const struct drift_case_row *rows, size_t n);
