/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_set.h"

#include <stdlib.h>

struct node_record {
	struct record base;
	struct node *node; /* owned */
};

static const struct node *node_of(const struct record *record)
{
	return CONTAINER_OF(record, struct node_record, base)->node;
}

static bool are_equal(const struct record *a, const struct record *b)
{
	return node_equal(node_of(a), node_of(b));
}

static void change(struct record_set *set, struct record *old, struct record *record,
		   const struct record_event *event)
{
	struct place *place = record ? record->place : old->place;
	bool same_boot = old && record &&
			 view_equal(node_of(old)->boot_id, node_of(record)->boot_id);

	place->node = record ? node_of(record) : NULL;
	place->node_changes += !old || !record;
	if (!record)
		place->gone_at = event->now_ms;
	else if (!same_boot)
		place_note_boot(set->places, place);
	place_touch(set->places, place, event->is_initial);
}

static void free_record(struct record_set *set, struct record *base)
{
	struct node_record *record = CONTAINER_OF(base, struct node_record, base);

	(void)set;
	node_free(record->node);
	free(record);
}

static const struct record_kind kind = {
	.are_equal = are_equal,
	.change = change,
	.free = free_record,
};

void node_set_init(struct record_set *set, struct place_book *places)
{
	record_set_init(set, &kind, places);
}

int node_set_put(struct record_set *set, const struct node_fields *fields,
		 const struct record_event *event, struct error *err)
{
	struct node_record *record = calloc(1, sizeof(*record));

	if (!record)
		return error_no_memory(err);
	if (node_new(fields, &record->node, err) < 0) {
		free(record);
		return -1;
	}
	record->base.key = record->node->name;
	return record_set_put(set, &record->base, record->node->name, event, err);
}
