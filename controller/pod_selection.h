/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_selection - whose pods are read: those of the whole cluster, or those of each GPU node alone. A
 * state machine without I/O. It is told now and then which nodes show signs of a GPU. It says which
 * nodes are wanted, and by which form their pods are to be read.
 *
 * A node that shows no sign any more is wanted for POD_SELECTION_KEEP_MS all the same. So a label that
 * comes and goes changes nothing.
 *
 * By node only where GPU nodes are few of many: their watches are cheaper than one of the cluster then.
 * The form changes when the figures have asked for it for POD_SELECTION_SETTLE_MS, and clearly. What
 * makes the form by node impossible ends it at once.
 *
 * Threads: owner.
 * Limits:  POD_SELECTION_MAX nodes, or fewer as configured. With more the form is that of the cluster.
 */

#include "base/error.h"
#include "base/table.h"

#define POD_SELECTION_MAX 8192u
#define POD_SELECTION_MIN_NODES 100u
#define POD_SELECTION_KEEP_MS 300000u
#define POD_SELECTION_SETTLE_MS 60000u

enum pod_selection_form {
	POD_SELECTION_UNDECIDED, /* before the first look */
	POD_SELECTION_CLUSTER,
	POD_SELECTION_NODE,
};

/* What the operator wants (--pod-selection). */
enum pod_selection_policy {
	POD_SELECTION_ALWAYS_CLUSTER,
	POD_SELECTION_AUTO,
	POD_SELECTION_ALWAYS_NODE, /* where that is possible */
};

struct pod_selection_node {
	struct table_node link;
	uint64_t seen_at; /* ms; when it showed a sign last */
	struct view name;
};

struct pod_selection {
	enum pod_selection_policy policy;
	uint32_t threshold_percent; /* of all nodes; by node if at most so many have GPUs */
	uint32_t max_nodes;         /* with GPUs, for the form by node */
	enum pod_selection_form form;
	enum pod_selection_form asked_for; /* another form, which the figures ask for; or `form` */
	uint64_t asked_since;              /* ms */
	struct table by_name;
	uint64_t n_over; /* nodes that found no room, once for each look */
	bool is_over;    /* in the present look */
};

/* Wants no node. max_nodes: at most POD_SELECTION_MAX; 0: that. */
void pod_selection_init(struct pod_selection *selection, enum pod_selection_policy policy,
			uint32_t threshold_percent, uint32_t max_nodes);
/* Forgets all nodes. Accepts a zeroed object. */
void pod_selection_deinit(struct pod_selection *selection);
/* The node shows a sign of a GPU at now (monotonic ms). Fails with ERROR_NO_MEMORY. */
MUST_USE int pod_selection_see(struct pod_selection *selection, struct view name, uint64_t now,
			       struct error *err);

/* What else a decision rests on. */
struct pod_selection_facts {
	size_t n_nodes;  /* of the cluster, with and without GPUs */
	bool may_share;  /* thousands of watches can share connections */
	uint64_t now;    /* monotonic ms */
};
/* All signs that there are were told: forgets who showed none for long, and decides on the form. */
void pod_selection_look(struct pod_selection *selection, const struct pod_selection_facts *facts);

/* Is the node wanted? */
bool pod_selection_wants(const struct pod_selection *selection, struct view name);
/* Walks the nodes that are wanted: the first for NULL; NULL at the end. In no stated order. */
const struct pod_selection_node *pod_selection_next(const struct pod_selection *selection,
						    const struct pod_selection_node *node);
/* How many are wanted. */
size_t pod_selection_count(const struct pod_selection *selection);
