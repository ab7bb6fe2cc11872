/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_watches - reads the pods of the whole cluster, or those of each GPU node alone, as
 * controller/pod_selection.h decides, and changes over between the two.
 *
 * A change-over leaves no gap: the new form tells all, and is current, before the old one ends. Nothing
 * is forgotten then but pods of nodes that are not looked at any more. A node that begins to show a GPU
 * is read before anything is said of it (pod_watches_allow()).
 *
 * Threads: the loop's.
 * Limits:  POD_SELECTION_MAX nodes, or fewer as configured.
 */

#include "controller/pod_selection.h"
#include "controller/pod_watch.h"

struct pod_watches;

struct pod_watches_config {
	struct pod_watch_host host; /* `changed` may ask about writes, and must not look at a watch */
	enum pod_selection_policy policy;
	uint32_t threshold_percent;
	uint32_t max_nodes; /* by node; 0: POD_SELECTION_MAX */
	uint64_t seed;
	/* Is it known which nodes there are, and which of them have GPUs? */
	bool (*are_nodes_known)(void *owner);
	/* Begins the watch of the whole cluster. Fails with ERROR_NO_MEMORY or ERROR_LIMIT. */
	int (*start_whole)(void *owner, struct error *err);
	/* Ends it for good; the inventory need not be told. */
	void (*stop_whole)(void *owner);
	/* It is open and has caught up. */
	bool (*is_whole_current)(void *owner);
};

/*
 * The configuration is copied, host.owner is that of all its functions. If the policy says that the
 * cluster is always read whole, that begins at once. Fails with ERROR_NO_MEMORY, or as start_whole().
 */
MUST_USE int pod_watches_new(const struct pod_watches_config *config,
			     struct pod_watches **ret_watches, struct error *err);
/* The client must have been freed before: it runs the reflectors. Accepts NULL. */
void pod_watches_free(struct pod_watches *watches);
/*
 * May the node be joined and written about, as far as its pods go? If not, it is read if need be, and
 * touched when it may. Where the whole cluster is read that is the caller's to know: then it is true.
 */
bool pod_watches_allow(struct pod_watches *watches, struct view node_name);
/* Do the watches of single nodes count, and not that of the whole cluster? */
bool pod_watches_are_by_node(const struct pod_watches *watches);

struct pod_watches_state {
	enum pod_selection_form form; /* that is wanted */
	bool is_by_node;  /* pod_watches_are_by_node() */
	size_t n_watches; /* of nodes */
	size_t n_known;   /* of which all pods are known */
	size_t n_given_up;
	uint64_t n_refused;  /* nodes that found no room */
	const char *trouble; /* of the one that is worst off, with how many fail; "": none does. Borrowed */
	struct reflector_counters counters; /* of all that there were; last_version is 0 */
};
/* What is done, for readiness and metrics. */
struct pod_watches_state pod_watches_state(struct pod_watches *watches);
