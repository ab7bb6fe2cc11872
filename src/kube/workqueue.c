/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each key is one item, in one of three places: in the heap until its time, in the line of its
 * priority when that has come, or with the caller. An item that is with the caller remembers
 * whether it was added meanwhile; nobody else gets it before workqueue_done() or _failed(). An item
 * exists as long as its key is wanted or worked on, so its failures live in it.
 *
 * A failed item has a time before which no add gets through. The work itself often adds its key: a
 * conflict brings the object that it was about, and that is an event. Without that time, such work
 * would fail at the speed of the network.
 *
 * Our own back-off holds adds off for HOLD_OFF_CAP_MS at most. It may have grown to a quarter of an
 * hour while the server was away, and an event is a reason to look again. A delay that the caller
 * asked for always holds to its end.
 */

#include "kube/workqueue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/heap.h"
#include "base/table.h"

#define BACKOFF_BASE_MS 5u
#define BACKOFF_CAP_MS 1000000u
#define HOLD_OFF_CAP_MS 30000u
#define N_PRIORITIES 2

enum place {
	WAITING, /* in the heap */
	READY,   /* in a line */
	WORKING, /* with the caller */
};

struct item {
	struct table_node node;
	struct heap_node wait;
	struct item *next; /* in its line, or among those worked on */
	struct item *previous;
	enum place place;
	enum workqueue_priority priority;
	struct backoff backoff;
	bool again; /* WORKING: was added meanwhile, for again_at */
	uint64_t again_at;
	uint64_t since;      /* READY: when it was due; WORKING: when it was taken */
	uint64_t not_before; /* WAITING after a failure: adds do not go below it */
	size_t key_size;
	char key[];
};

struct line {
	struct item *first;
	struct item *last;
};

struct workqueue {
	struct table items;
	struct heap waiting;
	struct line lines[N_PRIORITIES];
	struct line working;
	size_t n_ready;
	struct prng prng;
	struct workqueue_counters counters;
};

static struct view key_of(const struct table_node *node)
{
	const struct item *item = CONTAINER_OF(node, const struct item, node);
	return (struct view){item->key, item->key_size};
}

int workqueue_new(uint64_t seed, struct workqueue **ret_queue, struct error *err)
{
	struct workqueue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return error_no_memory(err);
	table_init(&queue->items, key_of);
	heap_init(&queue->waiting);
	prng_init(&queue->prng, seed);
	queue->counters.waited.bounds = histogram_seconds;
	*ret_queue = queue;
	return 0;
}

void workqueue_free(struct workqueue *queue)
{
	if (!queue)
		return;
	struct table_node *node = table_next(&queue->items, NULL);
	while (node) {
		struct table_node *next = table_next(&queue->items, node);
		free(CONTAINER_OF(node, struct item, node));
		node = next;
	}
	table_deinit(&queue->items);
	heap_deinit(&queue->waiting);
	free(queue);
}

static void join_line(struct line *line, struct item *item)
{
	item->next = NULL;
	item->previous = line->last;
	if (line->last)
		line->last->next = item;
	else
		line->first = item;
	line->last = item;
}

/* To the end of the line of its priority. */
static void append(struct workqueue *queue, struct item *item)
{
	assert(item->priority < N_PRIORITIES);
	assert(!heap_contains(&item->wait));
	item->place = READY;
	join_line(&queue->lines[item->priority], item);
}

/* It is due since then. */
static void become_ready(struct workqueue *queue, struct item *item, uint64_t since)
{
	queue->counters.adds++;
	queue->n_ready++;
	item->since = since;
	append(queue, item);
}

static void leave_line(struct line *line, struct item *item)
{
	assert(!item->previous == (line->first == item));
	assert(!item->next == (line->last == item));
	if (item->previous)
		item->previous->next = item->next;
	else
		line->first = item->next;
	if (item->next)
		item->next->previous = item->previous;
	else
		line->last = item->previous;
}

static struct item *find(const struct workqueue *queue, struct view key)
{
	struct table_node *node = table_find(&queue->items, key);
	return node ? CONTAINER_OF(node, struct item, node) : NULL;
}

static int add_new(struct workqueue *queue, struct view key, enum workqueue_priority priority,
		   uint64_t at, struct error *err)
{
	struct item *item = malloc(sizeof(*item) + key.len);
	if (!item)
		return error_no_memory(err);
	*item = (struct item){.place = WAITING, .priority = priority, .key_size = key.len};
	if (key.len > 0)
		memcpy(item->key, key.ptr, key.len);
	backoff_init(&item->backoff, BACKOFF_BASE_MS, BACKOFF_CAP_MS);
	if (heap_set(&queue->waiting, &item->wait, at, err) != 0) {
		free(item);
		return -1;
	}
	if (table_add(&queue->items, &item->node, err) != 0) {
		heap_remove(&queue->waiting, &item->wait);
		free(item);
		return -1;
	}
	return 0;
}

static void raise_priority(struct workqueue *queue, struct item *item,
			   enum workqueue_priority priority)
{
	if (priority <= item->priority)
		return;
	if (item->place == READY)
		leave_line(&queue->lines[item->priority], item);
	item->priority = priority;
	if (item->place == READY)
		append(queue, item);
}

int workqueue_add(struct workqueue *queue, struct view key, enum workqueue_priority priority,
		  uint64_t at, struct error *err)
{
	assert(priority < N_PRIORITIES);
	struct item *item = find(queue, key);
	if (!item && add_new(queue, key, priority, at, err) != 0)
		return -1;
	if (!item)
		return 0;
	raise_priority(queue, item, priority);
	if (item->place == WORKING) {
		item->again_at = item->again && item->again_at < at ? item->again_at : at;
		item->again = true;
	}
	if (item->place != WAITING)
		return 0;
	assert(heap_contains(&item->wait));
	if (at < item->not_before)
		at = item->not_before;
	return at < item->wait.deadline ? heap_set(&queue->waiting, &item->wait, at, err) : 0;
}

/* Whose time has come goes into its line, in the order of their times. */
static void call_up(struct workqueue *queue, uint64_t now)
{
	struct heap_node *first;
	while ((first = heap_first(&queue->waiting)) && first->deadline <= now) {
		heap_remove(&queue->waiting, first);
		struct item *item = CONTAINER_OF(first, struct item, wait);
		assert(item->place == WAITING);
		become_ready(queue, item, first->deadline);
	}
}

bool workqueue_take(struct workqueue *queue, uint64_t now, struct view *ret_key)
{
	call_up(queue, now);
	for (int priority = N_PRIORITIES - 1; priority >= 0; priority--) {
		struct item *item = queue->lines[priority].first;
		if (!item)
			continue;
		leave_line(&queue->lines[priority], item);
		assert(queue->n_ready > 0);
		queue->n_ready--;
		histogram_observe(&queue->counters.waited, (double)(now - item->since) / 1000);
		item->since = now;
		item->place = WORKING;
		join_line(&queue->working, item);
		item->again = false;
		*ret_key = key_of(&item->node);
		return true;
	}
	return false;
}

static void want_again(struct workqueue *queue, struct item *item, uint64_t at, uint64_t now)
{
	struct error ignored;
	assert(item->place == WORKING);
	item->place = WAITING;
	/* Without memory for the wait there is none: better too early than never. */
	if (heap_set(&queue->waiting, &item->wait, at, &ignored) != 0)
		become_ready(queue, item, now);
}

static struct item *worked_on(const struct workqueue *queue, struct view key)
{
	struct item *item = find(queue, key);
	assert(item && item->place == WORKING);
	assert(!heap_contains(&item->wait));
	return item;
}

void workqueue_done(struct workqueue *queue, struct view key, uint64_t now)
{
	struct item *item = worked_on(queue, key);
	leave_line(&queue->working, item);
	backoff_reset(&item->backoff);
	item->not_before = 0;
	if (item->again) {
		want_again(queue, item, item->again_at, now);
		return;
	}
	table_remove(&queue->items, &item->node);
	free(item);
}

void workqueue_put_off(struct workqueue *queue, struct view key, uint64_t now)
{
	struct item *item = worked_on(queue, key);
	assert(item->again);
	leave_line(&queue->working, item);
	item->not_before = 0;
	want_again(queue, item, item->again_at, now);
}

void workqueue_failed(struct workqueue *queue, struct view key, uint32_t retry_after_ms,
		      uint64_t now)
{
	struct item *item = worked_on(queue, key);
	uint32_t wait = backoff_next(&item->backoff, &queue->prng);
	uint32_t hold_off = wait < HOLD_OFF_CAP_MS ? wait : HOLD_OFF_CAP_MS;
	uint64_t at = now + (wait > retry_after_ms ? wait : retry_after_ms);
	item->not_before = now + (hold_off > retry_after_ms ? hold_off : retry_after_ms);
	if (item->again && item->again_at < at)
		at = item->again_at > item->not_before ? item->again_at : item->not_before;
	assert(at >= item->not_before);
	queue->counters.retries++;
	leave_line(&queue->working, item);
	want_again(queue, item, at, now);
}

uint64_t workqueue_next_due(const struct workqueue *queue)
{
	for (int priority = 0; priority < N_PRIORITIES; priority++) {
		if (queue->lines[priority].first)
			return 0;
	}
	const struct heap_node *first = heap_first(&queue->waiting);
	return first ? first->deadline : UINT64_MAX;
}

size_t workqueue_depth(const struct workqueue *queue)
{
	assert(queue->waiting.count <= queue->items.count);
	return queue->items.count;
}

struct workqueue_counters workqueue_counters(const struct workqueue *queue)
{
	return queue->counters;
}

struct workqueue_load workqueue_load(struct workqueue *queue, uint64_t now)
{
	struct workqueue_load load = {0};
	call_up(queue, now);
	load.ready = queue->n_ready;
	for (const struct item *item = queue->working.first; item; item = item->next) {
		uint64_t worked_ms = now - item->since;
		load.working++;
		load.unfinished_ms += worked_ms;
		if (worked_ms > load.longest_ms)
			load.longest_ms = worked_ms;
	}
	return load;
}

uint64_t workqueue_worked_ms(const struct workqueue *queue, struct view key, uint64_t now)
{
	return now - worked_on(queue, key)->since;
}
