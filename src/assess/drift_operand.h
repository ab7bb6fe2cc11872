/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_operand - rules about the operator itself and what it runs on the node: its policy, the driver,
 * the device plugin, dcgm-exporter. And which of its parts are wanted on a node.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"
#include "base/sbuf.h"

/* Whether the operator shall run one of its parts on the node. */
enum drift_operand_want {
	DRIFT_OPERAND_UNKNOWN, /* the node's labels are not known */
	DRIFT_OPERAND_WANTED,
	DRIFT_OPERAND_OFF,     /* on purpose: drift_operand_say_off() says where that is written */
	DRIFT_OPERAND_NOT_HERE, /* the operator has not labelled the node for it */
};

/* Sets the wants of a node that has a policy: each rule asks for some, for each device. */
void drift_operand_look(struct drift_node *node);
/*
 * Of what has pods of its own: not of POLICY_SANDBOX_WORKLOADS and those after it. There must be a
 * policy, and the node is prepared.
 */
enum drift_operand_want drift_operand_want(const struct drift_node *node,
					   enum policy_operand operand);
/* True when pods and labels of the node are known. */
bool drift_operand_is_node_known(const struct drift_node *node);
/*
 * The node's devices are for virtual machines, which they are passed through to: then the driver does not
 * list them. False where the policy or the node is not known.
 */
bool drift_operand_is_passed_through(const struct drift_node *node);
/* The pods of the operator's of that kind; NULL: they are not known. There must be a policy. */
const struct drift_operand *drift_operand_pods(const struct drift_node *node,
					       enum pod_operand operand);
/*
 * Adds to the message what is off on purpose, each as "; dcgmExporter is off by ClusterPolicy NAME". On a
 * node for virtual machines all of it is. Also adds that the operator has not labelled a node with GPUs,
 * and whether NFD has found them, or that the label of one part is gone. There must be a policy.
 */
void drift_operand_say_off(const struct drift_node *node, struct drift_text *text,
			   struct sbuf *message);

drift_rule_fn drift_operand_policy_conflict;
drift_rule_fn drift_operand_policy_not_ready;
drift_rule_fn drift_operand_plugin_missing;
drift_rule_fn drift_operand_plugin_unexpected;
drift_rule_fn drift_operand_driver_version;
drift_rule_fn drift_operand_exporter_missing;
drift_rule_fn drift_operand_exporter_unexpected;
