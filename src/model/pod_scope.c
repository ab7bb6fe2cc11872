/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A version is a revision of etcd, so those of different watches compare. Four rules make one of two
 * watches that are not in step:
 *
 * - A record gives way only to a higher version, also to an item of a list. Where one watch tells
 *   alone, its list counts as it is: after a restore of etcd versions may be lower.
 * - What goes leaves its version with the place (pods_floor), and so does a list of the node. What is
 *   older, and of which there is no record, has gone meanwhile.
 * - A list ends no record that is newer than it.
 * - Whose name another pod took on another node is remembered as ended, and does not come back.
 *
 * A node's list marks what it contains with a number of its own (pod_record.node_epoch), for a list of
 * the cluster may be under way at the same time.
 */

#include "model/pod_scope.h"

#include <assert.h>

void pod_scope_init(struct pod_scope *scope, struct pod_set *pods, struct place_book *places)
{
	*scope = (struct pod_scope){.pods = pods, .places = places, .is_fed = true};
}

void pod_scope_deinit(struct pod_scope *scope)
{
	struct place *place = place_next(scope->places, NULL);
	while (place) {
		struct place *next = place_next(scope->places, place);

		place->is_followed = false;
		place_release(scope->places, place);
		place = next;
	}
}

static struct pod_record *pod_of(struct record *record)
{
	return CONTAINER_OF(record, struct pod_record, base);
}

/* Forgets */

static const struct record_event forgetting = {.change = STORE_DELETE, .is_forgotten = true};

/* The place may be gone afterwards. */
static void forget_pods(struct pod_scope *scope, struct place *place)
{
	struct list *l = place->pods.next;
	const bool is_kept = place->is_followed;
	place->is_followed = true;
	while (l != &place->pods) {
		struct pod_record *record = CONTAINER_OF(l, struct pod_record, base.link);

		l = l->next;
		record_set_remove(&scope->pods->records, &record->base, &forgetting);
	}
	place->is_followed = is_kept;
	place->pods_known_at = 0;
	place_release(scope->places, place);
}

static bool is_known_alone(const struct place *place)
{
	return place->is_followed && place->is_listed;
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
	struct place *place = NULL;
	store_begin_replace(&scope->pods->records.store);
	while ((place = place_next(scope->places, place)))
		if (!place->is_followed)
			place->pods_floor = 0;
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
	struct place *place = place_next(scope->places, NULL);
	scope->is_fed = false;
	scope->is_whole = false;
	while (place) {
		struct place *next = place_next(scope->places, place);

		if (!is_known_alone(place))
			forget_pods(scope, place);
		place = next;
	}
}

/* One node */

int pod_scope_follow(struct pod_scope *scope, struct view node_name, struct error *err)
{
	struct place *place = place_ensure(scope->places, node_name, err);
	if (!place)
		return -1;
	assert(!place->is_followed);
	place->is_followed = true;
	place->is_listed = false; /* what another watch told before need not be so now */
	place->pods_age = INVENTORY_STALE; /* until the owner says otherwise */
	scope->n_followed++;
	scope->has_followed = true;
	return 0;
}

static struct place *followed(const struct pod_scope *scope, struct view node_name)
{
	struct place *place = place_find(scope->places, node_name);
	assert(place && place->is_followed);
	return place;
}

void pod_scope_unfollow(struct pod_scope *scope, struct view node_name)
{
	struct place *place = followed(scope, node_name);
	place->is_followed = false;
	scope->n_followed--;
	if (scope->is_whole)
		place_release(scope->places, place);
	else
		forget_pods(scope, place);
}

void pod_scope_begin_node(struct pod_scope *scope, struct view node_name)
{
	struct place *place = followed(scope, node_name);
	place->pods_epoch++;
	if (!scope->is_fed)
		place->pods_floor = 0; /* versions may go back */
}

static void sweep(struct pod_scope *scope, struct place *place, uint64_t version, uint64_t now_ms)
{
	const struct record_event event = {.change = STORE_DELETE, .now_ms = now_ms};
	struct list *l = place->pods.next;
	while (l != &place->pods) {
		struct pod_record *record = CONTAINER_OF(l, struct pod_record, base.link);
		const bool is_newer = scope->is_fed && version > 0 && record->base.entry.version > version;

		l = l->next;
		if (record->node_epoch != place->pods_epoch && !is_newer)
			record_set_remove(&scope->pods->records, &record->base, &event);
	}
}

void pod_scope_end_node(struct pod_scope *scope, struct view node_name, uint64_t version,
			uint64_t now_ms)
{
	struct place *place = followed(scope, node_name);
	const bool is_news = !pod_scope_knows(scope, place);
	sweep(scope, place, version, now_ms);
	if (version > place->pods_floor)
		place->pods_floor = version;
	place->is_listed = true;
	if (place->pods_known_at == 0)
		place->pods_known_at = scope->is_whole ? scope->whole_since : now_ms;
	if (is_news)
		place_touch(scope->places, place, true);
}

void pod_scope_set_age(struct pod_scope *scope, struct view node_name, enum inventory_age age)
{
	struct place *place = followed(scope, node_name);
	if (place->pods_age == age)
		return;
	place->pods_age = age;
	if (place->is_listed)
		place_touch(scope->places, place, true);
}

/* Objects */

/* The newer word counts: other watches tell of pods, too, whose names may have been this node's. */
static bool is_merged(const struct pod_scope *scope, const struct pod_scope_word *word)
{
	return word->node_name.len > 0 ? scope->is_fed : scope->n_followed > 0;
}

static void mark(const struct pod_scope *scope, const struct pod_scope_word *word,
		 struct record *record)
{
	if (word->node_name.len == 0)
		store_note(&scope->pods->records.store, &record->entry);
	else if (record->place && view_equal(record->place->name, word->node_name))
		pod_of(record)->node_epoch = record->place->pods_epoch;
}

bool pod_scope_wants(struct pod_scope *scope, const struct pod_scope_word *word)
{
	struct record *record = record_set_find(&scope->pods->records, word->key);
	const bool is_listed = word->change == STORE_LISTED;
	bool is_elsewhere;
	if (!record)
		return true;
	is_elsewhere = word->node_name.len > 0 &&
		       !(record->place && view_equal(record->place->name, word->node_name));
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
	const struct place *place = place_find(scope->places, fields->node);
	const bool is_list = word->change == STORE_LISTED;
	if (word->version == 0 || (is_list && !is_merged(scope, word)))
		return false;
	if (record && word->version < record->entry.version)
		return true;
	if (record && view_equal(pod_uid(CONTAINER_OF(record, struct pod_record, base)->pod), fields->uid))
		return false;
	return place && scope->has_followed &&
	       (word->version < place->pods_floor || place_has_ended(place, fields->uid));
}

static int check(const struct pod_scope *scope, const struct pod_scope_word *word,
		 const struct pod_fields *fields, const struct record *record, struct error *err)
{
	if (word->node_name.len == 0)
		return 0;
	if (!view_equal(fields->node, word->node_name))
		return error_set(err, ERROR_REJECTED, 0, "pod %.*s is of another node",
				 VIEW_ARG(word->key));
	if (record && word->change == STORE_LISTED && !scope->is_fed && record->place &&
	    !view_equal(record->place->name, word->node_name) &&
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
	struct place *place = record->place;
	if (place && scope->n_followed > 0 && version > place->pods_floor)
		place->pods_floor = version;
}

bool pod_scope_spares(const struct record *record, uint64_t version)
{
	return record->place && is_known_alone(record->place) && version > 0 &&
	       record->entry.version > version;
}

/* What is known */

bool pod_scope_knows(const struct pod_scope *scope, const struct place *place)
{
	return scope->is_whole || (place && is_known_alone(place));
}

uint64_t pod_scope_known_at(const struct pod_scope *scope, const struct place *place)
{
	if (place->pods_known_at > 0)
		return place->pods_known_at;
	return scope->is_whole ? scope->whole_since : 0;
}

enum inventory_age pod_scope_age(const struct pod_scope *scope, const struct place *place,
				 enum inventory_age whole_age)
{
	if (!is_known_alone(place))
		return whole_age;
	return scope->is_whole && whole_age < place->pods_age ? whole_age : place->pods_age;
}
