/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_set - all pods of the cluster: by name for the watch, by UID for reports, by node state for
 * the join.
 *
 * Threads: the loop thread.
 */

#include "model/pod.h"
#include "model/record_set.h"

struct pod_record {
	struct record base; /* by "namespace/name"; its node state: NULL: not scheduled */
	struct table_node by_uid;
	struct pod *pod;     /* owned */
	uint32_t node_epoch; /* of the last list of its node alone that had it (model/pod_scope.h) */
	uint64_t over_since; /* when it was told that it is over, ms; 0: it is not */
	uint64_t
		start_told_at; /* when it was told that the kubelet took it over, ms; 0: it was not */
};

struct pod_set {
	struct record_set records;
	struct table by_uid;
	size_t n_left_out; /* what pods have beyond what is kept of one: pod_left_out() */
};

/* node_states is borrowed and must outlive the set. */
void pod_set_init(struct pod_set *set, struct node_state_set *node_states);
/* Removes all pods. */
void pod_set_deinit(struct pod_set *set);
/*
 * Adds or changes the pod, if it is newer; touches the nodes that may care. When one goes, or
 * another takes its name, its UID is remembered as ended. Fails with ERROR_NO_MEMORY, ERROR_LIMIT,
 * or ERROR_REJECTED for a UID that another pod has; a present record stays.
 */
MUST_USE int pod_set_put(struct pod_set *set, const struct pod_fields *fields,
			 const struct record_event *event, struct error *err);
/* The pod's node state by its UID; NULL: no such pod, or not scheduled. */
const struct node_state *pod_set_node_state_of(const struct pod_set *set, struct view uid);
/* The same by its namespace and name. */
const struct node_state *pod_set_node_state_of_name(const struct pod_set *set,
						    struct view namespace, struct view name);
/* True when the kubelet told a pod of the node state, which is not over, that it has the device. */
bool pod_set_names_device(const struct node_state *node_state, struct view uuid);
