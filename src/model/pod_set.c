/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pod_set.h"

#include <stdlib.h>

#include "base/limits.h"
#include "model/device_id.h"

static struct pod_set *set_of(struct record_set *records)
{
	return CONTAINER_OF(records, struct pod_set, records);
}

static struct pod_record *record_of(struct record *record)
{
	return CONTAINER_OF(record, struct pod_record, base);
}

static const struct pod *pod_of(const struct record *record)
{
	return CONTAINER_OF(record, struct pod_record, base)->pod;
}

static struct view record_uid(const struct table_node *node)
{
	return pod_uid(CONTAINER_OF(node, struct pod_record, by_uid)->pod);
}

static bool are_equal(const struct record *a, const struct record *b)
{
	return pod_equal(pod_of(a), pod_of(b));
}

static bool is_told(const struct pod *pod)
{
	return pod_gpu(pod)->allocations.count > 0;
}

/* Whether a join of the node state can see the pod. */
static bool matters(const struct node_state *node_state, const struct pod *pod)
{
	if (!node_state)
		return false;
	return pod_state(pod)->wants_gpu || node_state_reports_uid(node_state, pod_uid(pod)) ||
	       node_state_reports_name(node_state, pod_namespace(pod), pod_name(pod)) ||
	       (pod_config_hash(pod).len > 0 && node_state_reports_uid(node_state, pod_config_hash(pod)));
}

/* The operator's pods hold no device: whether they are there and ready is what is looked at. */
static void touch(const struct pod_set *set, const struct pod_record *record,
		  const struct record_event *event)
{
	if (matters(record->base.node_state, record->pod) ||
	    (record->base.node_state && pod_state(record->pod)->operand != POD_NO_OPERAND))
		node_state_touch(set->records.node_states, record->base.node_state, event->is_initial);
}

/* Without memory for it a late report shows the pod as Pending for a while: it is gone all the same. */
static void remember_uid(struct node_state *node_state, struct view uid, uint64_t since_ms, uint64_t now_ms)
{
	struct error ignored = {0};
	int failed = node_state_remember_ended(node_state, uid, since_ms, now_ms, &ignored);
	(void)failed;
}

/* A pod that a report may still name for a while is remembered as ended. */
static void remember(struct pod_record *record, uint64_t now_ms)
{
	struct node_state *node_state = record->base.node_state;
	struct view hash = pod_config_hash(record->pod);
	uint64_t since = record->over_since > 0 ? record->over_since : now_ms;
	if (!matters(node_state, record->pod))
		return;
	remember_uid(node_state, pod_uid(record->pod), since, now_ms);
	if (hash.len > 0)
		remember_uid(node_state, hash, since, now_ms);
}

static int admit(struct record_set *records, const struct record *record, const struct record *old,
		 struct error *err)
{
	(void)record;
	(void)old;
	return table_reserve(&set_of(records)->by_uid, err);
}

static void leave(struct pod_set *set, struct pod_record *record, bool has_ended,
		  const struct record_event *event)
{
	if (!event->is_forgotten)
		touch(set, record, event);
	if (has_ended && !event->is_forgotten)
		remember(record, event->now_ms);
	set->n_left_out -= pod_left_out(record->pod);
	table_remove(&set->by_uid, &record->by_uid);
	if (record->base.node_state)
		record->base.node_state->n_told -= is_told(record->pod);
}

static uint64_t keep_since(bool is_so, uint64_t before, uint64_t now_ms)
{
	return !is_so ? 0 : before > 0 ? before : now_ms;
}

static void note_times(struct pod_record *record, const struct pod_record *before, uint64_t now_ms)
{
	record->over_since = keep_since(pod_is_over(record->pod), before ? before->over_since : 0, now_ms);
	record->start_told_at = keep_since(pod_gpu(record->pod)->started_at != 0,
					   before ? before->start_told_at : 0, now_ms);
}

static void enter(struct pod_set *set, struct pod_record *record, const struct record_event *event)
{
	struct node_state *node_state = record->base.node_state;
	struct error error = {0};
	int failed = table_add(&set->by_uid, &record->by_uid, &error);
	assert(!failed); /* there is room for it */
	(void)failed;
	set->n_left_out += pod_left_out(record->pod);
	if (!node_state)
		return;
	list_append(&node_state->pods, &record->base.link);
	node_state->n_told += is_told(record->pod);
	touch(set, record, event);
}

/* A pod of the same name and another UID is another pod: the old one has ended. */
static void change(struct record_set *records, struct record *old, struct record *record,
		   const struct record_event *event)
{
	bool is_same = old && record && view_equal(pod_uid(pod_of(old)), pod_uid(pod_of(record)));
	if (old)
		leave(set_of(records), record_of(old), !is_same, event);
	if (!record)
		return;
	if (old && old->node_state == record->node_state)
		record_of(record)->node_epoch = record_of(old)->node_epoch;
	note_times(record_of(record), is_same ? record_of(old) : NULL, event->now_ms);
	enter(set_of(records), record_of(record), event);
}

static void free_record(struct record_set *records, struct record *base)
{
	struct pod_record *record = record_of(base);
	(void)records;
	pod_free(record->pod);
	free(record);
}

static const struct record_kind kind = {
	.are_equal = are_equal,
	.admit = admit,
	.change = change,
	.free = free_record,
};

void pod_set_init(struct pod_set *set, struct node_state_set *node_states)
{
	*set = (struct pod_set){0};
	record_set_init(&set->records, &kind, node_states);
	table_init(&set->by_uid, record_uid);
}

void pod_set_deinit(struct pod_set *set)
{
	record_set_deinit(&set->records);
	table_deinit(&set->by_uid);
}

/* No API server gives two pods one UID: what says so is not believed. */
static int check_uid(const struct pod_set *set, const struct pod *pod, struct error *err)
{
	struct table_node *node = table_find(&set->by_uid, pod_uid(pod));
	if (!node || view_equal(pod_key(CONTAINER_OF(node, struct pod_record, by_uid)->pod), pod_key(pod)))
		return 0;
	return error_set(err, ERROR_REJECTED, 0, "pod %.*s has the UID of another one",
			 VIEW_ARG(pod_key(pod)));
}

int pod_set_put(struct pod_set *set, const struct pod_fields *fields,
		const struct record_event *event, struct error *err)
{
	struct pod_record *record = calloc(1, sizeof(*record));
	if (!record)
		return error_no_memory(err);
	if (pod_new(fields, &record->pod, err) < 0) {
		free(record);
		return -1;
	}
	if (check_uid(set, record->pod, err) < 0) {
		free_record(&set->records, &record->base);
		return -1;
	}
	record->base.key = pod_key(record->pod);
	return record_set_put(&set->records, &record->base, fields->node, event, err);
}

const struct node_state *pod_set_node_state_of(const struct pod_set *set, struct view uid)
{
	struct table_node *node = table_find(&set->by_uid, uid);
	return node ? CONTAINER_OF(node, struct pod_record, by_uid)->base.node_state : NULL;
}

const struct node_state *pod_set_node_state_of_name(const struct pod_set *set,
						    struct view namespace, struct view name)
{
	char key[RECORD_KEY_SIZE];
	const struct record *record;
	if (namespace.len > LIMIT_TEXT_LABEL || name.len > LIMIT_TEXT_NAME)
		return NULL;
	record = record_set_find(&set->records, record_set_key(namespace, name, key));
	return record ? record->node_state : NULL;
}

static bool is_told_of(const struct pod *pod, struct view uuid)
{
	ARRAY_EACH(const struct pod_allocation, told, pod_gpu(pod)->allocations)
		if (view_equal_ignoring_case(device_id_parse(told->id).uuid, uuid))
			return !pod_is_over(pod);
	return false;
}

bool pod_set_names_device(const struct node_state *node_state, struct view uuid)
{
	for (const struct list *l = node_state->pods.next; l != &node_state->pods; l = l->next)
		if (is_told_of(CONTAINER_OF(l, struct pod_record, base.link)->pod, uuid))
			return true;
	return false;
}
