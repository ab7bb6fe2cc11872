/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A series is one type of one object. It is in one of two lists:
 *
 *	queue    there is something to write, in the order in which that came up
 *	windows  it was written less than repeat_ms ago, in the order in which that ends
 *
 * A series of which nothing was told in its window is forgotten at the end of it. So what comes later is a
 * new Event, with a note of its own.
 */

#include "controller/event_budget.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"
#include "controller/event_note.h"
#include "controller/event_quota.h"

#define NAME_SIZE (LIMIT_TEXT_NAME + 1)
#define SUFFIX 17 /* ".0123456789abcdef" */

/* An Event's contents; the texts lie behind it. */
struct content {
	struct event_change change;
	char name[NAME_SIZE];
	int64_t first_seen; /* ms since 1970 */
	int64_t last_seen;
	int64_t count;
	char texts[];
};

struct series {
	struct table_node by_key;
	struct list link;
	struct event_quota_node *node;
	struct content *content;
	struct content *later; /* about something else; NULL: there is none */
	bool is_queued;        /* else it is in `windows` */
	bool is_sent;          /* the content was, with this count: */
	int64_t sent_count;
	uint64_t due_since;    /* ms: since when it has waited in the queue */
	uint64_t window_ends;  /* ms */
	uint64_t key;
};

struct event_budget {
	struct event_budget_limits limits;
	struct table series;
	struct event_quota quota; /* of nodes */
	struct list queue;
	struct list windows;
	size_t n_queued;
	struct series *under_way; /* in neither list */
	struct event_counters counters;
};

static struct view key_of_series(const struct table_node *node)
{
	const struct series *series = CONTAINER_OF(node, struct series, by_key);

	return (struct view){(const char *)&series->key, sizeof(series->key)};
}

int event_budget_new(const struct event_budget_limits *limits, struct event_budget **ret_budget,
		     struct error *err)
{
	struct event_budget *budget = calloc(1, sizeof(*budget));

	if (!budget)
		return error_no_memory(err);
	budget->limits = *limits;
	table_init(&budget->series, key_of_series);
	event_quota_init(&budget->quota, limits->per_minute);
	list_init(&budget->queue);
	list_init(&budget->windows);
	*ret_budget = budget;
	return 0;
}

/* Contents */

static void copy_text(struct view *text, char **to)
{
	*text = view_copy(*text, *to);
	*to += text->len;
}

static void copy_object(struct kube_event_object *object, char **to)
{
	copy_text(&object->namespace, to);
	copy_text(&object->name, to);
	copy_text(&object->uid, to);
}

static size_t size_of(const struct kube_event_object *object)
{
	return object->namespace.len + object->name.len + object->uid.len;
}

/* As client-go names them: the object's name, and a number. A name is cut to fit. */
static void make_name(const struct event_change *change, char name[static NAME_SIZE])
{
	size_t len = change->regarding.name.len;

	if (len > LIMIT_TEXT_NAME - SUFFIX)
		len = LIMIT_TEXT_NAME - SUFFIX;
	while (len > 0 && (change->regarding.name.ptr[len - 1] == '.' ||
			   change->regarding.name.ptr[len - 1] == '-'))
		len--;
	snprintf(name, NAME_SIZE, "%.*s.%016llx", (int)len, change->regarding.name.ptr,
		 (unsigned long long)change->id);
}

/* api_version and kind are static texts. */
static struct content *content_new(const struct event_change *change, int64_t wall_ms)
{
	struct content *content = calloc(1, sizeof(*content) + size_of(&change->regarding) +
						    size_of(&change->related) + change->note.len);
	char *to;

	if (!content)
		return NULL;
	to = content->texts;
	content->change = *change;
	copy_object(&content->change.regarding, &to);
	copy_object(&content->change.related, &to);
	copy_text(&content->change.note, &to);
	make_name(change, content->name);
	content->first_seen = wall_ms;
	content->last_seen = wall_ms;
	content->count = change->count;
	return content;
}

/* Series */

static uint64_t key_of(const struct event_change *change)
{
	uint64_t key = event_note_hash_number(EVENT_NOTE_BASIS, change->type);

	key = event_note_hash_text(key, change->regarding.kind);
	key = event_note_hash_text(key, change->regarding.namespace);
	key = event_note_hash_text(key, change->regarding.name);
	return event_note_hash_text(key, change->regarding.uid);
}

static void series_free(struct event_budget *budget, struct series *series)
{
	table_remove(&budget->series, &series->by_key);
	list_remove(&series->link);
	event_quota_leave(&budget->quota, series->node);
	free(series->content);
	free(series->later);
	free(series);
}

static void put_in_queue(struct event_budget *budget, struct series *series, uint64_t now_ms)
{
	series->is_queued = true;
	series->due_since = now_ms;
	series->node->n_queued++;
	budget->n_queued++;
	list_append(&budget->queue, &series->link);
}

static void take_from_queue(struct event_budget *budget, struct series *series)
{
	series->is_queued = false;
	series->node->n_queued--;
	budget->n_queued--;
	list_remove(&series->link);
}

void event_budget_free(struct event_budget *budget)
{
	struct table_node *node;

	if (!budget)
		return;
	while ((node = table_next(&budget->series, NULL)))
		series_free(budget, CONTAINER_OF(node, struct series, by_key));
	table_deinit(&budget->series);
	event_quota_deinit(&budget->quota);
	free(budget);
}

static uint64_t *counter(struct event_budget *budget, enum event_type type,
			 enum event_outcome outcome)
{
	return &budget->counters.by_type[type][outcome];
}

static bool has_room(const struct event_budget *budget, const struct event_quota_node *node)
{
	return budget->series.count < LIMIT_EVENT_SERIES && budget->n_queued < LIMIT_EVENT_QUEUE &&
	       node->n_queued < LIMIT_EVENT_NODE_QUEUE;
}

static bool add_series(struct event_budget *budget, struct event_quota_node *node,
		       const struct event_change *change, uint64_t now_ms, int64_t wall_ms)
{
	struct series *series = calloc(1, sizeof(*series));
	struct content *content = content_new(change, wall_ms);
	struct error ignored;

	if (series) {
		series->key = key_of(change);
		list_init(&series->link);
	}
	if (!series || !content || table_add(&budget->series, &series->by_key, &ignored) < 0) {
		free(series);
		free(content);
		return false;
	}
	series->node = node;
	series->content = content;
	put_in_queue(budget, series, now_ms);
	return true;
}

static bool take_new(struct event_budget *budget, struct view node_name,
		     const struct event_change *change, uint64_t now_ms, int64_t wall_ms)
{
	struct event_quota_node *node = event_quota_use(&budget->quota, node_name, now_ms);

	if (!node)
		return false;
	if (has_room(budget, node) && add_series(budget, node, change, now_ms, wall_ms))
		return true;
	event_quota_leave(&budget->quota, node);
	return false;
}

static void repeat(struct content *content, const struct event_change *change, int64_t wall_ms)
{
	content->change.id = change->id; /* told again it is known; the Event's name stays */
	content->last_seen = wall_ms;
	content->count += change->count;
}

static bool is_known(const struct series *series, uint64_t id)
{
	return series->content->change.id == id || (series->later && series->later->change.id == id);
}

/* What is the same but for its time, told or waiting. */
static struct content *find_topic(const struct series *series, uint64_t topic)
{
	if (series->content->change.topic == topic)
		return series->content;
	return series->later && series->later->change.topic == topic ? series->later : NULL;
}

/* Returns how many changes have no Event of their own now. */
static unsigned take_repeat(struct series *series, const struct event_change *change,
			    int64_t wall_ms)
{
	struct content *same = find_topic(series, change->topic);
	struct content *later;
	unsigned n_replaced;

	if (is_known(series, change->id))
		return 0;
	if (same) {
		repeat(same, change, wall_ms);
		return 1;
	}
	if (series->later && series->later->change.gravity > change->gravity)
		return 1;
	later = content_new(change, wall_ms);
	if (!later)
		return 1;
	n_replaced = series->later ? 1 : 0;
	free(series->later);
	series->later = later;
	return n_replaced;
}

void event_budget_take(struct event_budget *budget, struct view node_name,
		       const struct event_change *change, uint64_t now_ms, int64_t wall_ms)
{
	const uint64_t key = key_of(change);
	struct table_node *found = table_find(
		&budget->series, (struct view){(const char *)&key, sizeof(key)});

	*counter(budget, change->type, EVENT_HELD_BACK) +=
		found ? take_repeat(CONTAINER_OF(found, struct series, by_key), change, wall_ms)
		      : !take_new(budget, node_name, change, now_ms, wall_ms);
}

/* What is due */

static struct series *first_of(const struct list *head)
{
	struct list *link = list_first(head);

	return link ? CONTAINER_OF(link, struct series, link) : NULL;
}

/* What waits takes the place of what was told, or cannot be. */
static void move_on(struct series *series)
{
	free(series->content);
	series->content = TAKE(series->later);
	series->is_sent = false;
}

static void end_window(struct event_budget *budget, struct series *series, uint64_t now_ms)
{
	list_remove(&series->link);
	if (series->later)
		move_on(series);
	if (series->is_sent && series->content->count == series->sent_count)
		series_free(budget, series);
	else
		put_in_queue(budget, series, now_ms);
}

static void end_windows(struct event_budget *budget, uint64_t now_ms)
{
	struct series *series;

	while ((series = first_of(&budget->windows)) && series->window_ends <= now_ms)
		end_window(budget, series, now_ms);
}

/* What waits behind it has its own turn. */
static void give_up(struct event_budget *budget, struct series *series, uint64_t now_ms)
{
	*counter(budget, series->content->change.type, EVENT_FAILED) += 1;
	if (series->later) {
		move_on(series);
		put_in_queue(budget, series, now_ms);
	} else {
		series_free(budget, series);
	}
}

static void drop_stale(struct event_budget *budget, uint64_t now_ms)
{
	struct series *series;

	while ((series = first_of(&budget->queue)) &&
	       series->due_since + EVENT_BUDGET_STALE_MS <= now_ms) {
		take_from_queue(budget, series);
		give_up(budget, series, now_ms);
	}
}

static struct series *find_allowed(const struct event_budget *budget, uint64_t now_ms)
{
	for (struct list *l = budget->queue.next; l != &budget->queue; l = l->next) {
		struct series *series = CONTAINER_OF(l, struct series, link);

		if (event_quota_allowed_at(series->node) <= now_ms)
			return series;
	}
	return NULL;
}

static struct event_budget_write describe(const struct series *series)
{
	const struct content *content = series->content;
	const struct event_change *change = &content->change;
	const struct view namespace = change->regarding.namespace;

	return (struct event_budget_write){
		.event = {
			.name = view_from(content->name),
			.namespace = namespace.len > 0 ? namespace : VIEW("default"),
			.regarding = change->regarding,
			.related = change->related,
			.reason = event_change_reason(change->type),
			.action = event_change_action(change->type),
			.note = change->note,
			.is_warning = change->is_warning,
			.event_time = content->first_seen,
			.count = content->count,
			.last_observed_time = content->last_seen,
		},
		.is_patch = series->is_sent,
	};
}

bool event_budget_next(struct event_budget *budget, uint64_t now_ms,
		       struct event_budget_write *ret_write)
{
	struct series *series;

	assert(!budget->under_way);
	end_windows(budget, now_ms);
	drop_stale(budget, now_ms);
	series = find_allowed(budget, now_ms);
	if (!series)
		return false;
	take_from_queue(budget, series);
	event_quota_count(&budget->quota, series->node, now_ms);
	budget->under_way = series;
	series->sent_count = series->content->count;
	*ret_write = describe(series);
	return true;
}

static struct series *end_write(struct event_budget *budget)
{
	assert(budget->under_way);
	return TAKE(budget->under_way);
}

void event_budget_sent(struct event_budget *budget, uint64_t now_ms)
{
	struct series *series = end_write(budget);

	*counter(budget, series->content->change.type, EVENT_SENT) += 1;
	series->is_sent = true;
	series->window_ends = now_ms + budget->limits.repeat_ms;
	list_append(&budget->windows, &series->link);
}

/* In front, as what it waits for has been waited for the longest. */
void event_budget_put_back(struct event_budget *budget)
{
	struct series *series = end_write(budget);
	const uint64_t due_since = series->due_since;
	struct list others;

	list_init(&others);
	list_append_all(&others, &budget->queue);
	put_in_queue(budget, series, due_since);
	list_append_all(&budget->queue, &others);
}

void event_budget_drop(struct event_budget *budget, uint64_t now_ms)
{
	give_up(budget, end_write(budget), now_ms);
}

uint64_t event_budget_due_at(const struct event_budget *budget, uint64_t now_ms)
{
	const struct series *first = first_of(&budget->windows);
	uint64_t due = first ? first->window_ends : UINT64_MAX;

	for (struct list *l = budget->queue.next; l != &budget->queue && due > now_ms; l = l->next) {
		const struct event_quota_node *node = CONTAINER_OF(l, struct series, link)->node;

		if (event_quota_allowed_at(node) < due)
			due = event_quota_allowed_at(node);
	}
	return due;
}

struct event_counters event_budget_counters(const struct event_budget *budget)
{
	return budget->counters;
}
