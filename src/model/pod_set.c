/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pod_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

static struct view record_key(const struct table_node *node)
{
	return pod_key(CONTAINER_OF(node, struct pod_record, entry.node)->pod);
}

static struct view record_uid(const struct table_node *node)
{
	return pod_uid(CONTAINER_OF(node, struct pod_record, by_uid)->pod);
}

static struct pod_record *record_of(struct store_entry *entry)
{
	return CONTAINER_OF(entry, struct pod_record, entry);
}

void pod_set_init(struct pod_set *set, struct place_book *places)
{
	store_init(&set->store, record_key);
	table_init(&set->by_uid, record_uid);
	intern_init(&set->intern);
	set->places = places;
}

void pod_set_deinit(struct pod_set *set)
{
	assert(set->store.table.count == 0);
	store_deinit(&set->store);
	table_deinit(&set->by_uid);
	intern_deinit(&set->intern);
}

static bool is_told(const struct pod *pod)
{
	uint32_t n;

	(void)pod_allocations(pod, &n);
	return n > 0;
}

static void place_pod(struct pod_record *record, struct place *place)
{
	record->place = place;
	if (!place)
		return;
	list_append(&place->pods, &record->link);
	place->n_told += is_told(record->pod);
}

static void displace_pod(struct pod_record *record)
{
	assert(!record->place == list_is_empty(&record->link));
	assert(!record->place || record->place->n_told >= is_told(record->pod));
	list_remove(&record->link);
	if (record->place)
		record->place->n_told -= is_told(record->pod);
}

/* Whether a join of the place can see the pod. */
static bool matters(const struct place *place, const struct pod *pod)
{
	if (!place)
		return false;
	return pod_wants_gpu(pod) || place_reports_uid(place, pod_uid(pod)) ||
	       place_reports_name(place, pod_namespace(pod), pod_name(pod)) ||
	       (pod_config_hash(pod).len > 0 && place_reports_uid(place, pod_config_hash(pod)));
}

/* Without memory for it a late report shows the pod as Pending for a while: it is gone all the same. */
static void remember_uid(struct place *place, struct view uid, uint64_t since_ms, uint64_t now_ms)
{
	struct error ignored = {0};
	int failed = place_remember_ended(place, uid, since_ms, now_ms, &ignored);

	(void)failed;
}

/* A pod that a report may still name for a while is remembered as ended. */
static void remember(struct pod_record *record, uint64_t now_ms)
{
	struct view hash = pod_config_hash(record->pod);
	uint64_t since = record->over_since > 0 ? record->over_since : now_ms;

	if (!matters(record->place, record->pod))
		return;
	remember_uid(record->place, pod_uid(record->pod), since, now_ms);
	if (hash.len > 0)
		remember_uid(record->place, hash, since, now_ms);
}

void pod_set_remove(struct pod_set *set, struct store_entry *entry, uint64_t now_ms)
{
	struct pod_record *record = record_of(entry);

	if (matters(record->place, record->pod))
		place_touch(set->places, record->place, false);
	remember(record, now_ms);
	assert(set->n_left_out >= pod_left_out(record->pod));
	set->n_left_out -= pod_left_out(record->pod);
	store_remove(&set->store, entry);
	table_remove(&set->by_uid, &record->by_uid);
	displace_pod(record);
	place_release(set->places, record->place);
	pod_free(&set->intern, record->pod);
	free(record);
}

static uint64_t keep_since(bool is_so, uint64_t before, uint64_t now_ms)
{
	return !is_so ? 0 : before > 0 ? before : now_ms;
}

/* Before record->pod becomes that pod. */
static void note_times(struct pod_record *record, const struct pod *pod, uint64_t now_ms)
{
	if (record->pod && !view_equal(pod_uid(record->pod), pod_uid(pod)))
		record->over_since = record->start_told_at = 0;
	record->over_since = keep_since(pod_is_over(pod), record->over_since, now_ms);
	record->start_told_at = keep_since(pod_started_at(pod) != 0, record->start_told_at, now_ms);
}

/* Takes pod over on success. */
static int insert(struct pod_set *set, struct pod *pod, struct place *place, uint64_t version,
		  uint64_t now_ms, struct error *err)
{
	struct pod_record *record = calloc(1, sizeof(*record));

	if (!record)
		return error_no_memory(err);
	note_times(record, pod, now_ms);
	record->pod = pod;
	list_init(&record->link);
	if (store_add(&set->store, &record->entry, version, err) < 0) {
		free(record);
		return -1;
	}
	if (table_add(&set->by_uid, &record->by_uid, err) < 0) {
		store_remove(&set->store, &record->entry);
		free(record);
		return -1;
	}
	set->n_left_out += pod_left_out(pod);
	place_pod(record, place);
	return 0;
}

/* A table that a record was just taken out of has room for it: this cannot fail. */
static void put_back(struct table *table, struct table_node *node)
{
	struct error error = {0};
	int failed = table_add(table, node, &error);

	assert(!failed);
	(void)failed;
}

/* The key is equal, but lies in the pod: the record is taken out while that changes. */
static void change_pod(struct pod_set *set, struct pod_record *record, struct pod *pod,
		       struct place *place)
{
	struct place *old_place = record->place;

	assert(view_equal(pod_key(record->pod), pod_key(pod)));
	table_remove(&set->store.table, &record->entry.node);
	table_remove(&set->by_uid, &record->by_uid);
	displace_pod(record);
	set->n_left_out += pod_left_out(pod);
	set->n_left_out -= pod_left_out(record->pod);
	pod_free(&set->intern, record->pod);
	record->pod = pod;
	put_back(&set->store.table, &record->entry.node);
	put_back(&set->by_uid, &record->by_uid);
	place_pod(record, place);
	place_release(set->places, old_place);
}

/* Takes pod over on success. */
static int update(struct pod_set *set, struct pod_record *record, struct pod *pod,
		  uint64_t now_ms, bool initial, struct error *err)
{
	struct place *place = NULL;

	if (pod_equal(record->pod, pod)) {
		pod_free(&set->intern, pod);
		return 0;
	}
	if (pod_node(pod).len > 0 && !(place = place_ensure(set->places, pod_node(pod), err)))
		return -1;
	if (matters(record->place, record->pod))
		place_touch(set->places, record->place, initial);
	/* A pod of the same name and another UID is another pod: the old one has ended. */
	if (!view_equal(pod_uid(record->pod), pod_uid(pod)))
		remember(record, now_ms);
	note_times(record, pod, now_ms);
	change_pod(set, record, pod, place);
	if (matters(place, pod))
		place_touch(set->places, place, initial);
	return 0;
}

/* Takes pod over on success. */
static int add(struct pod_set *set, struct pod *pod, uint64_t version, uint64_t now_ms,
	       bool initial, struct error *err)
{
	struct place *place = NULL;

	if (pod_node(pod).len > 0 && !(place = place_ensure(set->places, pod_node(pod), err)))
		return -1;
	if (insert(set, pod, place, version, now_ms, err) < 0) {
		place_release(set->places, place);
		return -1;
	}
	if (matters(place, pod))
		place_touch(set->places, place, initial);
	return 0;
}

/* No API server gives two pods one UID: what says so is not believed. */
static int check_uid(const struct pod_set *set, const struct pod *pod, struct error *err)
{
	struct table_node *node = table_find(&set->by_uid, pod_uid(pod));

	if (!node ||
	    view_equal(pod_key(CONTAINER_OF(node, struct pod_record, by_uid)->pod), pod_key(pod)))
		return 0;
	return error_set(err, ERROR_REJECTED, 0, "pod %.*s has the UID of another one",
			 VIEW_ARG(pod_key(pod)));
}

int pod_set_put(struct pod_set *set, const struct pod_fields *fields, enum store_change change,
		uint64_t version, uint64_t now_ms, bool initial, struct error *err)
{
	struct store_entry *entry;
	struct pod *pod;
	uint64_t old_version;
	int failed;

	if (pod_new(&set->intern, fields, &pod, err) < 0)
		return -1;
	if (check_uid(set, pod, err) < 0) {
		pod_free(&set->intern, pod);
		return -1;
	}
	entry = store_find(&set->store, pod_key(pod));
	old_version = entry ? entry->version : version;
	switch (store_judge(&set->store, pod_key(pod), change, version, &entry)) {
	case STORE_INSERT:
		failed = add(set, pod, version, now_ms, initial, err);
		break;
	case STORE_UPDATE:
		failed = update(set, record_of(entry), pod, now_ms, initial, err);
		/* With its old contents it must not pass for the new version, which comes again. */
		if (failed)
			entry->version = old_version;
		break;
	default: /* nothing new in it */
		pod_free(&set->intern, pod);
		return 0;
	}
	if (failed)
		pod_free(&set->intern, pod);
	return failed;
}

const struct place *pod_set_place_of(const struct pod_set *set, struct view uid)
{
	struct table_node *node = table_find(&set->by_uid, uid);

	return node ? CONTAINER_OF(node, struct pod_record, by_uid)->place : NULL;
}

const struct place *pod_set_place_of_name(const struct pod_set *set, struct view namespace,
					  struct view name)
{
	char key[LIMIT_TEXT_LABEL + 1 + LIMIT_TEXT_NAME];
	const struct store_entry *entry;

	if (namespace.len > LIMIT_TEXT_LABEL || name.len > LIMIT_TEXT_NAME)
		return NULL;
	if (namespace.len > 0)
		memcpy(key, namespace.ptr, namespace.len);
	key[namespace.len] = '/';
	if (name.len > 0)
		memcpy(key + namespace.len + 1, name.ptr, name.len);
	entry = store_find(&set->store, (struct view){key, namespace.len + 1 + name.len});
	return entry ? CONTAINER_OF(entry, struct pod_record, entry)->place : NULL;
}
