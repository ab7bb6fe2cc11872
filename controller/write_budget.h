/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * write_budget - how often the API server may be asked to change one object, and all objects of one
 * node. It decides and keeps nothing: a write that is held is forgotten, and the caller decides
 * anew when there is room for it. So of several held states only the last one is written.
 *
 * Devices of a node that share too little take turns.
 *
 * Threads: owner.
 * Times:   monotonic, in milliseconds.
 * Limits:  WRITE_BUDGET_... below. LIMIT_WRITE_OBJECTS objects and LIMIT_WRITE_NODES nodes are
 *          remembered, until their budgets are full again. Where there is no room, the one that
 *          asked longest ago is forgotten: it begins with a full budget. Without memory nothing is
 *          held.
 */

#include "base/credit.h"
#include "base/list.h"
#include "base/table.h"

/*
 * So many at once that pods may come and go quickly. 50 pods one after the other on three GPUs, each with
 * three writes within 0.7 s, need up to 30.
 */
#define WRITE_BUDGET_OBJECT_PER_SECOND 1u
#define WRITE_BUDGET_OBJECT_BURST_S 30u
/* Twice as many at once as a node may have objects (LIMIT_NODE_OBJECTS). */
#define WRITE_BUDGET_NODE_PER_SECOND 10u
#define WRITE_BUDGET_NODE_BURST_S 26u
/* At most once in this time it is said that a node's writes are held. */
#define WRITE_BUDGET_TELL_MS 60000u

enum write_budget_holder {
	WRITE_BUDGET_OBJECT, /* the object had too many writes */
	WRITE_BUDGET_NODE,   /* its node had */
	WRITE_BUDGET_N_HOLDERS,
};

/* Of the nodes, or of the objects. */
struct write_budget_buckets {
	struct table by_name;
	struct list by_use; /* who asked longest ago in front */
	struct credit_rate rate;
	size_t cap;
	uint64_t life_ms; /* after the last use; full by then */
	uint64_t n_forgotten;
	size_t n_holding; /* nodes with something that was held in their last round */
	size_t n_held;    /* objects that were, of all nodes */
};

struct write_budget {
	struct write_budget_buckets objects;
	struct write_budget_buckets nodes;
	uint64_t held[WRITE_BUDGET_N_HOLDERS]; /* writes; one that is held again counts again */
};

/* Nobody has written yet. Allocates nothing. */
void write_budget_init(struct write_budget *budget);
/* Accepts a zeroed object. */
void write_budget_deinit(struct write_budget *budget);
/* Budgets that were forgotten before they were full again. Rises only. */
uint64_t write_budget_forgotten(const struct write_budget *budget);

struct write_budget_held {
	size_t nodes;
	size_t objects;
};
/* What is held now: of what the nodes wanted to write last. */
struct write_budget_held write_budget_held(const struct write_budget *budget);

struct write_budget_held_node {
	struct view name; /* borrowed until the budget is used again */
	size_t n_objects; /* at least 1 */
};
/*
 * The nodes of which something is held now, in no stated order, and no more than max of them. Returns
 * how many were put into ret_nodes.
 */
size_t write_budget_list_held(const struct write_budget *budget, size_t max,
			      struct write_budget_held_node *ret_nodes);

struct write_budget_bucket; /* opaque */

/* What one join of a node wants to write. */
struct write_budget_round {
	struct write_budget *budget;
	struct write_budget_bucket *node; /* NULL: no memory */
	uint64_t now_ms;
	size_t first;     /* the device to ask for first; the others follow, around the end */
	size_t n_granted;
	size_t n_held;
	uint64_t due_at;  /* something of what was held can be written then, not before */
	enum write_budget_holder holder; /* of what was held first */
	bool has_turn;    /* it is known who is next */
};

/*
 * Begins the round of a node with n_devices, at least one. It ends with the next call of this
 * function for the budget.
 */
struct write_budget_round write_budget_begin(struct write_budget *budget, struct view node,
					     size_t n_devices, uint64_t now_ms);
/*
 * May the object of the device with that index be written? Once for each device of a round. False: it
 * is held. What is granted costs nothing until it is spent.
 */
bool write_budget_grant(struct write_budget_round *round, size_t index, struct view object);
/*
 * The device with that index, and those that follow, are not asked for in this round. It is the first of
 * the next one, unless the round has held another for the node.
 */
void write_budget_leave(struct write_budget_round *round, size_t index);
/* The node wants to write nothing now. */
void write_budget_settle(struct write_budget *budget, struct view node);
/* True at most once in WRITE_BUDGET_TELL_MS for the node of a round in which something is held. */
bool write_budget_may_tell(struct write_budget_round *round);
/* A write of the object, which was granted, is sent. */
void write_budget_spend(struct write_budget *budget, struct view node, struct view object,
			uint64_t now_ms);
