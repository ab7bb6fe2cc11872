/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each object and each node has a bucket. A write needs a token of both, and takes none if one of
 * them has none. Tokens go when a write is sent: what is asked before, and does not become a write, has
 * cost nothing.
 *
 * A bucket that was not asked for its life's time is full, and need not be kept.
 *
 * Where the node is short of tokens, the next round begins with the first device that got none for
 * that reason. Otherwise the first devices would use up all tokens again and again.
 */

#include "controller/write_budget.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct write_budget_bucket {
	struct table_node by_name;
	struct list by_use;
	struct credit credit;
	uint64_t used_at_ms;
	uint64_t told_at_ms; /* of a node; 0: never */
	size_t turn;         /* of a node: the device that is next */
	size_t n_held;       /* of a node: objects, in its last round */
	size_t name_len;
	char name[];
};

static struct view name_of(const struct table_node *node)
{
	const struct write_budget_bucket *bucket =
		CONTAINER_OF(node, const struct write_budget_bucket, by_name);

	return (struct view){bucket->name, bucket->name_len};
}

static struct write_budget_bucket *bucket_of(struct table_node *node)
{
	return node ? CONTAINER_OF(node, struct write_budget_bucket, by_name) : NULL;
}

static void init(struct write_budget_buckets *buckets, struct credit_rate rate, size_t cap,
		 uint64_t life_ms)
{
	assert(life_ms >= 1000ull * rate.brim_s);
	*buckets = (struct write_budget_buckets){.rate = rate, .cap = cap, .life_ms = life_ms};
	table_init(&buckets->by_name, name_of);
	list_init(&buckets->by_use);
}

void write_budget_init(struct write_budget *budget)
{
	static const struct credit_rate object = {WRITE_BUDGET_OBJECT_PER_SECOND,
						  WRITE_BUDGET_OBJECT_BURST_S};
	static const struct credit_rate node = {WRITE_BUDGET_NODE_PER_SECOND,
						WRITE_BUDGET_NODE_BURST_S};

	_Static_assert(WRITE_BUDGET_NODE_PER_SECOND * WRITE_BUDGET_NODE_BURST_S >=
			       2 * LIMIT_NODE_OBJECTS,
		       "all objects of a node and their first statuses");
	*budget = (struct write_budget){0};
	init(&budget->objects, object, LIMIT_WRITE_OBJECTS, 1000 * WRITE_BUDGET_OBJECT_BURST_S);
	init(&budget->nodes, node, LIMIT_WRITE_NODES, WRITE_BUDGET_TELL_MS);
}

static void let_go(struct write_budget_buckets *nodes, struct write_budget_bucket *node)
{
	nodes->n_holding -= node->n_held > 0;
	nodes->n_held -= node->n_held;
	node->n_held = 0;
}

static void remove_bucket(struct write_budget_buckets *buckets, struct write_budget_bucket *bucket)
{
	let_go(buckets, bucket);
	list_remove(&bucket->by_use);
	table_remove(&buckets->by_name, &bucket->by_name);
	free(bucket);
}

static struct write_budget_bucket *oldest(const struct write_budget_buckets *buckets)
{
	struct list *link = list_first(&buckets->by_use);

	return link ? CONTAINER_OF(link, struct write_budget_bucket, by_use) : NULL;
}

static void deinit(struct write_budget_buckets *buckets)
{
	struct write_budget_bucket *bucket;

	while (buckets->by_name.count > 0 && (bucket = oldest(buckets)))
		remove_bucket(buckets, bucket);
	table_deinit(&buckets->by_name);
}

void write_budget_deinit(struct write_budget *budget)
{
	deinit(&budget->objects);
	deinit(&budget->nodes);
}

uint64_t write_budget_forgotten(const struct write_budget *budget)
{
	return budget->objects.n_forgotten + budget->nodes.n_forgotten;
}

struct write_budget_held write_budget_held(const struct write_budget *budget)
{
	return (struct write_budget_held){budget->nodes.n_holding, budget->nodes.n_held};
}

size_t write_budget_list_held(const struct write_budget *budget, size_t max,
			      struct write_budget_held_node *ret_nodes)
{
	const struct write_budget_buckets *nodes = &budget->nodes;
	const size_t n_wanted = nodes->n_holding < max ? nodes->n_holding : max;
	struct table_node *at = NULL;
	size_t n = 0;

	while (n < n_wanted && (at = table_next(&nodes->by_name, at))) {
		const struct write_budget_bucket *node = bucket_of(at);

		if (node->n_held > 0)
			ret_nodes[n++] =
				(struct write_budget_held_node){name_of(at), node->n_held};
	}
	return n;
}

static void forget_full(struct write_budget_buckets *buckets, uint64_t now_ms)
{
	struct write_budget_bucket *bucket;

	while ((bucket = oldest(buckets)) && bucket->used_at_ms + buckets->life_ms <= now_ms)
		remove_bucket(buckets, bucket);
}

static struct write_budget_bucket *add(struct write_budget_buckets *buckets, struct view name,
				       uint64_t now_ms)
{
	struct write_budget_bucket *bucket = calloc(1, sizeof(*bucket) + name.len);
	struct error ignored;

	if (!bucket)
		return NULL;
	bucket->credit = credit_full(buckets->rate, now_ms);
	bucket->name_len = name.len;
	memcpy(bucket->name, name.ptr, name.len);
	list_init(&bucket->by_use);
	if (table_add(&buckets->by_name, &bucket->by_name, &ignored) < 0) {
		free(bucket);
		return NULL;
	}
	return bucket;
}

static struct write_budget_bucket *use(struct write_budget_buckets *buckets, struct view name,
				       uint64_t now_ms)
{
	struct write_budget_bucket *bucket;
	struct table_node *found;

	forget_full(buckets, now_ms);
	found = table_find(&buckets->by_name, name);
	if (!found && buckets->by_name.count >= buckets->cap) {
		remove_bucket(buckets, oldest(buckets));
		buckets->n_forgotten++;
	}
	bucket = found ? bucket_of(found) : add(buckets, name, now_ms);
	if (!bucket)
		return NULL;
	bucket->used_at_ms = now_ms;
	list_remove(&bucket->by_use);
	list_append(&buckets->by_use, &bucket->by_use);
	return bucket;
}

struct write_budget_round write_budget_begin(struct write_budget *budget, struct view node,
					     size_t n_devices, uint64_t now_ms)
{
	struct write_budget_round round = {
		.budget = budget,
		.node = use(&budget->nodes, node, now_ms),
		.now_ms = now_ms,
		.due_at = UINT64_MAX,
	};

	assert(n_devices > 0);
	if (round.node) {
		round.first = round.node->turn % n_devices;
		let_go(&budget->nodes, round.node);
	}
	return round;
}

/* The first that has to wait for the node is the next one's first. */
static void give_turn(struct write_budget_round *round, size_t index)
{
	if (round->has_turn || !round->node)
		return;
	round->has_turn = true;
	round->node->turn = index;
}

static void hold(struct write_budget_round *round, size_t index, uint64_t object_ms,
		 uint64_t node_ms)
{
	enum write_budget_holder holder = object_ms > 0 ? WRITE_BUDGET_OBJECT : WRITE_BUDGET_NODE;
	uint64_t due_at = round->now_ms + (object_ms > node_ms ? object_ms : node_ms);

	if (round->n_held++ == 0)
		round->holder = holder;
	if (due_at < round->due_at)
		round->due_at = due_at;
	round->budget->held[holder]++;
	round->budget->nodes.n_holding += round->node->n_held++ == 0;
	round->budget->nodes.n_held++;
	if (holder == WRITE_BUDGET_NODE)
		give_turn(round, index);
}

/* How long it takes until the node has a token more than were granted already. */
static uint64_t wait_for_node(const struct write_budget_round *round)
{
	const struct credit_rate rate = round->budget->nodes.rate;
	size_t n = round->n_granted + 1;

	return n > (size_t)rate.per_second * rate.brim_s
		       ? 1000u / rate.per_second
		       : credit_wait_ms(round->node->credit, rate, n, round->now_ms);
}

bool write_budget_grant(struct write_budget_round *round, size_t index, struct view object)
{
	struct write_budget_buckets *objects = &round->budget->objects;
	struct write_budget_bucket *bucket =
		round->node ? use(objects, object, round->now_ms) : NULL;
	uint64_t object_ms, node_ms;

	if (!bucket)
		return true;
	object_ms = credit_wait_ms(bucket->credit, objects->rate, 1, round->now_ms);
	node_ms = wait_for_node(round);
	if (object_ms > 0 || node_ms > 0) {
		hold(round, index, object_ms, node_ms);
		return false;
	}
	round->n_granted++;
	return true;
}

void write_budget_leave(struct write_budget_round *round, size_t index)
{
	give_turn(round, index);
}

void write_budget_settle(struct write_budget *budget, struct view node)
{
	struct table_node *found = table_find(&budget->nodes.by_name, node);

	if (found)
		let_go(&budget->nodes, bucket_of(found));
}

bool write_budget_may_tell(struct write_budget_round *round)
{
	struct write_budget_bucket *node = round->node;

	if (round->n_held == 0 || !node ||
	    (node->told_at_ms != 0 && round->now_ms - node->told_at_ms < WRITE_BUDGET_TELL_MS))
		return false;
	node->told_at_ms = round->now_ms > 0 ? round->now_ms : 1;
	return true;
}

static void draw(struct write_budget_buckets *buckets, struct view name, uint64_t now_ms)
{
	struct write_budget_bucket *bucket = use(buckets, name, now_ms);

	/* It has a token: it was asked for one, and had it or has become full since. */
	if (bucket)
		(void)credit_draw(&bucket->credit, buckets->rate, 1, now_ms);
}

void write_budget_spend(struct write_budget *budget, struct view node, struct view object,
			uint64_t now_ms)
{
	draw(&budget->objects, object, now_ms);
	draw(&budget->nodes, node, now_ms);
}
