/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * apiserver - the API server as the controller sees it: objects with resource versions, lists,
 * watches; and what can go wrong with each of them. Writes are in sim/attributions.h.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/sbuf.h"
#include "sim/world.h"

struct fetch;

enum apiserver_kind {
	APISERVER_PODS,
	APISERVER_NODES,
	APISERVER_POLICIES,
	APISERVER_ATTRIBUTIONS,
	APISERVER_CLAIMS,
	APISERVER_SLICES,
	APISERVER_N_FAULTY, /* those above can be held back and cut by actions */
	APISERVER_CLUSTERS = APISERVER_N_FAULTY,
	APISERVER_CONFIGS,
	APISERVER_N_KINDS,
};

enum apiserver_fault {
	APISERVER_REFUSES,   /* no connection */
	APISERVER_BREAKS,    /* 500 */
	APISERVER_THROTTLES, /* 429 with Retry-After */
	APISERVER_HANGS,     /* takes requests, answers none */
	APISERVER_FORGETS,   /* carries out writes, and their answers are lost */
	APISERVER_DOUBLES,   /* sends events twice, and older ones again */
	APISERVER_N_FAULTS,
};

/* What is wrong with the list and watch of one node's pods alone. */
enum apiserver_node_fault {
	APISERVER_NODE_BREAKS,    /* 500 */
	APISERVER_NODE_THROTTLES, /* 429 with Retry-After */
	APISERVER_NODE_HANGS,     /* nothing is answered */
	APISERVER_NODE_SILENT,    /* the watch tells nothing */
	APISERVER_NODE_CUT,       /* the watch ends at any byte, once */
	APISERVER_NODE_EXPIRES,   /* the same, and none can begin at an older version than now */
	APISERVER_N_NODE_FAULTS,
};

/* Begins a history: no object is known, and no fault is set. */
void apiserver_reset(void);
/* Frees what it holds. */
void apiserver_clear(void);
/* The server has that fault up to then. */
void apiserver_spoil(enum apiserver_fault fault, uint64_t until);
/* True while it has that fault. */
bool apiserver_is_spoilt(enum apiserver_fault fault);
/* Refuses a request with a Status. */
void apiserver_refuse(struct fetch *fetch, enum apiserver_kind kind, int code, const char *reason,
		      int retry_after_s);
/* The version of the last change. */
uint64_t apiserver_version(void);
/* The version of the next change, and the change itself, told to all watches. */
uint64_t apiserver_next_version(void);
void apiserver_log(enum apiserver_kind kind, const char *type, struct sbuf *take_message);
/* The same of a pod on that node. */
void apiserver_log_of(enum apiserver_kind kind, int node, const char *type,
		      struct sbuf *take_message);
/* False while kubelets cannot reach it either. */
bool apiserver_is_up(void);
/* Requests for that kind are answered with this code up to then, and its open watch ends. */
void apiserver_deny(enum apiserver_kind kind, int code, uint64_t until);
/* True while a watch of that kind is open. */
bool apiserver_is_watched(enum apiserver_kind kind);
/* True while the pods of the whole cluster are watched. */
bool apiserver_is_cluster_watched(void);
/* True while the node's pods are watched, by a watch of their own or that of the cluster. */
bool apiserver_are_pods_watched(int node);
/* What the fault says of the node's pods, up to then. Its own watch, if it is open, ends. */
void apiserver_spoil_node(int node, enum apiserver_node_fault fault, uint64_t until);
/* Some of those that ask for the pods of one node are refused by 429 up to then. */
void apiserver_throttle_some(uint64_t until);
/* A request of the controller's, which was sent then, has failed, not by an answer. */
void apiserver_failed(uint64_t sent_at);
/* Each open connection breaks off, and watches begin anew from what is there then (or not). */
void apiserver_kill(bool forgets);
/* Started, but not ready: until then some requests are refused with 403, others with 500. */
void apiserver_start_slowly(uint64_t until);
/*
 * Nothing gets through until then, and connections stay: what was under way goes on, or is answered,
 * `late_ms` after that.
 */
void apiserver_part(uint64_t until, uint64_t late_ms);
bool apiserver_is_parted(void);
/* No event of that kind is sent before. */
void apiserver_hold(enum apiserver_kind kind, uint64_t until);
/* The watch of that kind, or the list that comes next, ends at any byte. */
void apiserver_cut(enum apiserver_kind kind);
/* No watch can begin at a version that is older than now; those there are end with 410. */
void apiserver_expire(bool in_stream);
/* An object may have changed: tells it. A pod or node that does not exist any more is deleted. */
void apiserver_put_pod(struct world_pod *pod);
void apiserver_put_node(struct world_node *node);
void apiserver_put_claim(const struct world_claim *claim);
void apiserver_put_slice(int node, int slice);
void apiserver_put_policy(bool exists);
bool apiserver_has_policy(void);
/* The controller starts anew and has been told nothing. */
void apiserver_forget_told(void);
