/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_set.h"

#include <assert.h>

#include "model/compact.h"

static const struct compact_row rows[] = {
	COMPACT_TEXTS_ROW(node, name, sharing_strategy),
	{0},
};

static bool are_equal(const struct record *a, const struct record *b)
{
	return compact_equal(rows, a->object, b->object);
}

static void change(struct record_set *set, struct record *old, struct record *record,
		   const struct record_event *event)
{
	const struct node *before = old ? old->object : NULL,
			  *node = record ? record->object : NULL;
	struct place *place;

	assert(old || record);
	place = record ? record->place : old->place;
	place->node = node;
	place->node_changes += !before || !node;
	if (!node)
		place->gone_at = event->now_ms;
	else if (!before || !view_equal(before->boot_id, node->boot_id))
		place_note_boot(set->places, place);
	place_touch(set->places, place, event->is_initial);
}

static const struct record_kind kind = {.are_equal = are_equal, .change = change};

void node_set_init(struct record_set *set, struct place_book *places)
{
	record_set_init(set, &kind, places);
}

int node_set_put(struct record_set *set, const struct node *node, const struct record_event *event,
		 struct error *err)
{
	const struct node *copy;
	void *block;

	if (compact_new(rows, node, sizeof(*node), COMPACT_ANY_TEXT, &block, err) < 0)
		return -1;
	copy = block;
	return record_set_put_object(set, block, copy->name, copy->name, event, err);
}
