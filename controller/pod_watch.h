/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_watch - follows the pods of one node, by a field selector as each kubelet does. It begins with a
 * list of the newest state, never with a watch from nothing: that would make the API server look at all
 * pods it has.
 *
 * It is current, waited for and given up as the watch of a whole resource is (controller/watches.h).
 *
 * Threads: the loop's.
 */

#include "base/error.h"
#include "base/table.h"
#include "io/loop.h"
#include "kube/apiclient.h"
#include "model/inventory.h"

/* What all watches have in common; outlives them. */
struct pod_watch_host {
	struct loop *loop;
	struct apiclient *client;
	struct inventory *inventory;
	/* For how many ms the API server has answered in all. */
	uint64_t (*answering_ms)(void *owner);
	/* Something that others wait for may have changed. It must not free a watch. */
	void (*changed)(void *owner);
	void *owner;
};

struct pod_watch {
	struct table_node link;
	const struct pod_watch_host *host;
	struct view name; /* of the node */
	char *selector;
	struct resource resource;
	struct reflector *reflector;
	uint64_t changed_at; /* ms; when is_followed did last */
	uint64_t lost_at;    /* when it was current last, or begun, or listed first; by answering_ms() */
	bool is_followed;
	bool is_given_up;
	bool is_known;    /* its first list has arrived */
	uint64_t n_lists; /* of the reflector, when the last had arrived */
	bool is_proven;   /* and it was current once */
	bool is_asked_for; /* somebody waits for it: the node is touched when it is current */
};

/* Can a node be called that? Others have no pods, and are not asked for. */
bool pod_watch_is_name(struct view node_name);
/*
 * Begins. The node must not be followed. Fails with ERROR_NO_MEMORY, or ERROR_LIMIT where there are too
 * many.
 */
MUST_USE int pod_watch_new(const struct pod_watch_host *host, struct view node_name, uint64_t seed,
			   struct pod_watch **ret_watch, struct error *err);
/*
 * Ends it: the inventory forgets the pods that it alone told. Not from a callback of a sink. Accepts
 * NULL.
 */
void pod_watch_stop(struct pod_watch *watch);
/* Frees it after the client, which ran it, has gone. Accepts NULL. */
void pod_watch_free(struct pod_watch *watch);
/* True while what it told may be written about: it is open and has caught up, or was given up. */
bool pod_watch_allows(const struct pod_watch *watch);
/* True when it was current once, was not given up, and no list is under way. */
bool pod_watch_is_in_step(const struct pod_watch *watch);
/* Looks at what time has changed. Returns when to look again, ms; UINT64_MAX: whenever. */
uint64_t pod_watch_look(struct pod_watch *watch);
