/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_scope - of which nodes the pods are known. A watch of the whole cluster may tell them, or one of
 * each node that is followed, or both for a while. A pod of a node that is not looked at is neither
 * there nor gone: nothing is known of it. While both watches tell of a node's pods, the newer word counts.
 *
 * Threads: the loop thread.
 */

#include "model/node_state.h"
#include "model/pod_set.h"

struct pod_scope {
	struct pod_set *pods;
	struct node_state_set *node_states;
	bool is_fed;   /* a watch of the whole cluster runs */
	bool is_whole; /* and all that there was is here */
	uint64_t whole_since; /* ms; 0: never */
	size_t n_followed;    /* node states */
	bool has_followed;    /* any, ever: there was more than one watch */
};

/* The watch of the whole cluster runs, and nothing is here. Both are borrowed for good. */
void pod_scope_init(struct pod_scope *scope, struct pod_set *pods, struct node_state_set *node_states);

/* Follows no node any more; touches nobody. */
void pod_scope_deinit(struct pod_scope *scope);

/* The watch of the whole cluster begins (again). */
void pod_scope_begin_whole(struct pod_scope *scope);
/* Its complete state begins to arrive. */
void pod_scope_begin_list(struct pod_scope *scope);
/* It has arrived. True when pods of nodes may be known from now on that were not. */
bool pod_scope_end_list(struct pod_scope *scope, uint64_t now_ms);
/*
 * The watch of the whole cluster has ended for good. Pods of nodes that are not known otherwise are
 * forgotten, as if they had never been told: none has ended.
 */
void pod_scope_end_whole(struct pod_scope *scope);

/* A watch of the node's pods begins, and is old until pod_scope_set_age(). Fails with ERROR_NO_MEMORY. */
MUST_USE int pod_scope_follow(struct pod_scope *scope, struct view node_name, struct error *err);
/* It has ended for good. The node's pods are forgotten unless they are known otherwise. */
void pod_scope_unfollow(struct pod_scope *scope, struct view node_name);
/* A complete state of a node that is followed begins to arrive. */
void pod_scope_begin_node(struct pod_scope *scope, struct view node_name);
/*
 * It has arrived, as of that version (0: not known): what it did not contain is gone. Touches the node
 * when its pods were not known before.
 */
void pod_scope_end_node(struct pod_scope *scope, struct view node_name, uint64_t version, uint64_t now_ms);
/* How the pods of a node that is followed stand to what the API server has. Touches it on news. */
void pod_scope_set_age(struct pod_scope *scope, struct view node_name, enum inventory_age age);

/* An object as a watch tells it, before it is decoded. */
struct pod_scope_word {
	struct view node_name; /* whose watch; empty: that of the cluster */
	struct view key;       /* "namespace/name" */
	enum store_change change;
	uint64_t version;
};
/*
 * True when it is newer than what is there, and must be decoded and put. Otherwise the pod that is
 * there outlives the list under way.
 */
bool pod_scope_wants(struct pod_scope *scope, const struct pod_scope_word *word);
/*
 * Keeps a copy of the pod, which the watch of that node tells (empty: that of the cluster). Fails as
 * pod_set_put() does, and with ERROR_REJECTED for a pod of another
 * node than the watch is of. Fails with ERROR_RETRY for one in a list if a newer one of that name is on
 * another node: one of the two lists is old.
 */
MUST_USE int pod_scope_put(struct pod_scope *scope, struct view node_name,
			   const struct pod_fields *fields, const struct record_event *event,
			   struct error *err);
/* Notes that a pod goes, before it does: what is older and comes later is not believed. */
void pod_scope_note_removal(struct pod_scope *scope, const struct record *record, uint64_t version);
/* True when a list of the cluster, as of that version (0: not known), does not end the pod. */
bool pod_scope_spares(const struct record *record, uint64_t version);

/* Are the pods of the node all here? node_state may be NULL. */
bool pod_scope_knows(const struct pod_scope *scope, const struct node_state *node_state);
/* Since when, ms; 0: they are not. */
uint64_t pod_scope_known_at(const struct pod_scope *scope, const struct node_state *node_state);
/* The better age of those by which they are known; whole_age: of the watch of the cluster. */
enum inventory_age pod_scope_age(const struct pod_scope *scope, const struct node_state *node_state,
				 enum inventory_age whole_age);
