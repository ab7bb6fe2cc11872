/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_pods - the pods that the API server places on one node. Tells which of them a UID or a name
 * means, and whether a List of the kubelet's holds all that it must.
 *
 * Threads: any.
 */

#include "base/keyed.h"
#include "join/input.h"

struct node_pods {
	const struct join_input *input;
	const struct pod **gpu_pods; /* those that want a GPU */
	size_t n_gpu_pods;
	struct keyed uids;   /* each pod by its UID */
	struct keyed hashes; /* those that have one by their config hash */
	struct keyed names;  /* each by its namespace and name */
	struct keyed listed; /* what the List has, by the same */
	struct keyed told_later, lacking, awaiting; /* of the input, by UID */
	struct keyed ends; /* the same; of several of one pod the input's first is found */
};

/* Fails with ERROR_NO_MEMORY. The result lies in arena and borrows from input. */
MUST_USE int node_pods_take(const struct join_input *input, struct arena *arena,
			    struct node_pods *ret_node_pods, struct error *err);
/* The pod with that UID, or with that config hash for a static pod; or NULL. */
const struct pod *node_pods_find_uid(const struct node_pods *node_pods, struct view uid);
/* The pod of that name, or NULL; of several the input's first that wants a GPU, else its first. */
const struct pod *node_pods_find_name(const struct node_pods *node_pods, struct view namespace,
				      struct view name);
/* True when the pod (NULL: none) is one of the input's that lack a claim. */
bool node_pods_is_lacking(const struct node_pods *node_pods, const struct pod *pod);
/* True when the pod (NULL: none) is one of the input's that await a device. */
bool node_pods_is_awaiting(const struct node_pods *node_pods, const struct pod *pod);
/* True when the API server places the pod of that UID, which is named here, on another node. */
bool node_pods_is_elsewhere(const struct node_pods *node_pods, struct view uid);
/* When the API server told that the pod of that UID is over or gone, by the controller's wall clock.
 * Its first List counts too. Now, where it has not told so, or nobody remembers when. */
int64_t node_pods_ended_at(const struct node_pods *node_pods, struct view uid);
/*
 * True when the List was read after the kubelet took the pod over, which has told its start. The
 * node's clock must say so, which tells the start to the second. So must the order in which the
 * controller was told of both, as that clock may have been set back.
 */
bool node_pods_is_read_since(const struct node_pods *node_pods, const struct pod *pod);
/* True when the report's List names the pod, which is one of the node's. */
bool node_pods_is_named(const struct node_pods *node_pods, const struct pod *pod);
/* True when the report's List has every pod that is not over and has a container it must show. */
bool node_pods_is_listed(const struct node_pods *node_pods);
