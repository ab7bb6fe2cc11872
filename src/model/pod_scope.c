/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A version is a revision of etcd, so those of different watches compare. Four rules make one of two
 * watches that are not in step:
 *
 * - A record gives way only to a higher version, also to an item of a list. Where one watch tells
 *   alone, its list counts as it is: after a restore of etcd versions may be lower.
 * - What goes leaves its version with the node state (pods_floor), and so does a list of the node.
 *   What is older, and of which there is no record, has gone meanwhile.
 * - A list ends no record that is newer than it.
 * - Whose name another pod took on another node is remembered as ended, and does not come back.
 *
 * A node's list marks what it contains with a number of its own (pod_record.node_epoch), for a list of
 * the cluster may be under way at the same time.
 */

#include "model/pod_scope.h"

#include <assert.h>

void pod_scope_init(struct pod_scope *scope, struct pod_set *pods, struct node_state_set *node_states)
{
	*scope = (struct pod_scope){.pods = pods, .node_states = node_states, .is_fed = true};
}

void pod_scope_deinit(struct pod_scope *scope)
{
	struct node_state *node_state = node_state_next(scope->node_states, NULL);
	while (node_state) {
		struct node_state *next = node_state_next(scope->node_states, node_state);

		node_state->is_followed = false;
		node_state_release(scope->node_states, node_state);
		node_state = next;
	}
}

static struct pod_record *pod_of(struct record *record)
{
	return CONTAINER_OF(record, struct pod_record, base);
}

/* Forgets */

static const struct record_event forgetting = {.change = STORE_DELETE, .is_forgotten = true};

/* The node state may be gone afterwards. */
static void forget_pods(struct pod_scope *scope, struct node_state *node_state)
{
	struct list *l = node_state->pods.next;
	const bool is_kept = node_state->is_followed;
	node_state->is_followed = true;
	while (l != &node_state->pods) {
		struct pod_record *record = CONTAINER_OF(l, struct pod_record, base.link);

		l = l->next;
		record_set_remove(&scope->pods->records, &record->base, &forgetting);
	}
	node_state->is_followed = is_kept;
	node_state->pods_known_at = 0;
	node_state_release(scope->node_states, node_state);
}

static bool is_known_alone(const struct node_state *node_state)
{
	return node_state->is_followed && node_state->is_listed;
}

/* The whole cluster */

void pod_scope_begin_whole(struct pod_scope *scope)
{
	assert(!scope->is_whole);
	scope->is_fed = true;
}

/* Versions may go back, where no other watch says how high they are. */
void pod_scope_begin_list(struct pod_scope *scope)
{
	struct node_state *node_state = NULL;
	store_begin_replace(&scope->pods->records.store);
	while ((node_state = node_state_next(scope->node_states, node_state)))
		if (!node_state->is_followed)
			node_state->pods_floor = 0;
}

bool pod_scope_end_list(struct pod_scope *scope, uint64_t now_ms)
{
	const bool is_news = !scope->is_whole;
	if (is_news)
		scope->whole_since = now_ms;
	scope->is_whole = scope->is_fed;
	return is_news;
}

void pod_scope_end_whole(struct pod_scope *scope)
{
	struct node_state *node_state = node_state_next(scope->node_states, NULL);
	scope->is_fed = false;
	scope->is_whole = false;
	while (node_state) {
		struct node_state *next = node_state_next(scope->node_states, node_state);

		if (!is_known_alone(node_state))
			forget_pods(scope, node_state);
		node_state = next;
	}
}

/* One node */

int pod_scope_follow(struct pod_scope *scope, struct view node_name, struct error *err)
{
	struct node_state *node_state = node_state_ensure(scope->node_states, node_name, err);
	if (!node_state)
		return -1;
	assert(!node_state->is_followed);
	node_state->is_followed = true;
	node_state->is_listed = false; /* what another watch told before need not be so now */
	node_state->pods_age = INVENTORY_STALE; /* until the owner says otherwise */
	scope->n_followed++;
	scope->has_followed = true;
	return 0;
}

static struct node_state *followed(const struct pod_scope *scope, struct view node_name)
{
	struct node_state *node_state = node_state_find(scope->node_states, node_name);
	assert(node_state && node_state->is_followed);
	return node_state;
}

void pod_scope_unfollow(struct pod_scope *scope, struct view node_name)
{
	struct node_state *node_state = followed(scope, node_name);
	node_state->is_followed = false;
	scope->n_followed--;
	if (scope->is_whole)
		node_state_release(scope->node_states, node_state);
	else
		forget_pods(scope, node_state);
}

void pod_scope_begin_node(struct pod_scope *scope, struct view node_name)
{
	struct node_state *node_state = followed(scope, node_name);
	node_state->pods_epoch++;
	if (!scope->is_fed)
		node_state->pods_floor = 0; /* versions may go back */
}

static void sweep(struct pod_scope *scope, struct node_state *node_state, uint64_t version, uint64_t now_ms)
{
	const struct record_event event = {.change = STORE_DELETE, .now_ms = now_ms};
	struct list *l = node_state->pods.next;
	while (l != &node_state->pods) {
		struct pod_record *record = CONTAINER_OF(l, struct pod_record, base.link);
		const bool is_newer = scope->is_fed && version > 0 && record->base.entry.version > version;

		l = l->next;
		if (record->node_epoch != node_state->pods_epoch && !is_newer)
			record_set_remove(&scope->pods->records, &record->base, &event);
	}
}

void pod_scope_end_node(struct pod_scope *scope, struct view node_name, uint64_t version, uint64_t now_ms)
{
	struct node_state *node_state = followed(scope, node_name);
	const bool is_news = !pod_scope_knows(scope, node_state);
	sweep(scope, node_state, version, now_ms);
	if (version > node_state->pods_floor)
		node_state->pods_floor = version;
	node_state->is_listed = true;
	if (node_state->pods_known_at == 0)
		node_state->pods_known_at = scope->is_whole ? scope->whole_since : now_ms;
	if (is_news)
		node_state_touch(scope->node_states, node_state, true);
}

void pod_scope_set_age(struct pod_scope *scope, struct view node_name, enum inventory_age age)
{
	struct node_state *node_state = followed(scope, node_name);
	if (node_state->pods_age == age)
		return;
	node_state->pods_age = age;
	if (node_state->is_listed)
		node_state_touch(scope->node_states, node_state, true);
}

/* Objects */

/* The newer word counts: other watches tell of pods, too, whose names may have been this node's. */
static bool is_merged(const struct pod_scope *scope, const struct pod_scope_word *word)
{
	return word->node_name.len > 0 ? scope->is_fed : scope->n_followed > 0;
}

static void mark(const struct pod_scope *scope, const struct pod_scope_word *word, struct record *record)
{
	if (word->node_name.len == 0)
		store_note(&scope->pods->records.store, &record->entry);
	else if (record->node_state && view_equal(record->node_state->name, word->node_name))
		pod_of(record)->node_epoch = record->node_state->pods_epoch;
}

bool pod_scope_wants(struct pod_scope *scope, const struct pod_scope_word *word)
{
	struct record *record = record_set_find(&scope->pods->records, word->key);
	const bool is_listed = word->change == STORE_LISTED;
	bool is_elsewhere;
	if (!record)
		return true;
	is_elsewhere = word->node_name.len > 0 &&
		       !(record->node_state && view_equal(record->node_state->name, word->node_name));
	if (is_listed || word->version == 0 || word->version >= record->entry.version)
		mark(scope, word, record);
	if (is_elsewhere && is_listed)
		return true; /* the two contradict each other */
	if (word->version == 0)
		return true;
	if (is_listed && !is_merged(scope, word))
		return word->version != record->entry.version;
	return word->version > record->entry.version;
}

/* Something newer is known, or was and has gone. */
static bool is_late(const struct pod_scope *scope, const struct pod_scope_word *word,
		    const struct pod_fields *fields, const struct record *record)
{
	const struct node_state *node_state = node_state_find(scope->node_states, fields->node);
	const bool is_list = word->change == STORE_LISTED;
	if (word->version == 0 || (is_list && !is_merged(scope, word)))
		return false;
	if (record && word->version < record->entry.version)
		return true;
	if (record && view_equal(pod_uid(CONTAINER_OF(record, struct pod_record, base)->pod), fields->uid))
		return false;
	return node_state && scope->has_followed &&
	       (word->version < node_state->pods_floor || node_state_has_ended(node_state, fields->uid));
}

static int check(const struct pod_scope *scope, const struct pod_scope_word *word,
		 const struct pod_fields *fields, const struct record *record, struct error *err)
{
	if (word->node_name.len == 0)
		return 0;
	if (!view_equal(fields->node, word->node_name))
		return error_set(err, ERROR_REJECTED, 0, "pod %.*s is of another node", VIEW_ARG(word->key));
	if (record && word->change == STORE_LISTED && !scope->is_fed && record->node_state &&
	    !view_equal(record->node_state->name, word->node_name) &&
	    word->version < record->entry.version)
		return error_set(err, ERROR_RETRY, 0, "pod %.*s is newer on another node",
				 VIEW_ARG(word->key));
	return 0;
}

int pod_scope_put(struct pod_scope *scope, struct view node_name, const struct pod_fields *fields,
		  const struct record_event *event, struct error *err)
{
	char key[RECORD_KEY_SIZE];
	const struct pod_scope_word word = {node_name,
					    record_set_key(fields->namespace, fields->name, key),
					    event->change, event->version};
	struct record_set *records = &scope->pods->records;
	struct record *record = record_set_find(records, word.key);
	struct record_event merged = *event;

	if (check(scope, &word, fields, record, err) < 0)
		return -1;
	if (is_late(scope, &word, fields, record))
		return 0;
	/* The order of one watch says nothing of what another tells. */
	if (scope->has_followed)
		records->store.removed_version = 0;
	if (event->change == STORE_LISTED && is_merged(scope, &word))
		merged.change = STORE_UPSERT;
	if (pod_set_put(scope->pods, fields, &merged, err) < 0)
		return -1;
	record = record_set_find(records, word.key);
	if (record)
		mark(scope, &word, record);
	return 0;
}

void pod_scope_note_removal(struct pod_scope *scope, const struct record *record, uint64_t version)
{
	struct node_state *node_state = record->node_state;
	if (node_state && scope->n_followed > 0 && version > node_state->pods_floor)
		node_state->pods_floor = version;
}

bool pod_scope_spares(const struct record *record, uint64_t version)
{
	return record->node_state && is_known_alone(record->node_state) && version > 0 &&
	       record->entry.version > version;
}

/* What is known */

bool pod_scope_knows(const struct pod_scope *scope, const struct node_state *node_state)
{
	return scope->is_whole || (node_state && is_known_alone(node_state));
}

uint64_t pod_scope_known_at(const struct pod_scope *scope, const struct node_state *node_state)
{
	if (node_state->pods_known_at > 0)
		return node_state->pods_known_at;
	return scope->is_whole ? scope->whole_since : 0;
}

enum inventory_age pod_scope_age(const struct pod_scope *scope, const struct node_state *node_state,
				 enum inventory_age whole_age)
{
	if (!is_known_alone(node_state))
		return whole_age;
	return scope->is_whole && whole_age < node_state->pods_age ? whole_age : node_state->pods_age;
}
