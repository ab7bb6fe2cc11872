/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/roll.h"

void roll_init(struct roll *roll)
{
	*roll = (struct roll){0};
	roll->end = &roll->oldest;
	arena_init(&roll->arena, ROLL_BYTES);
}

void roll_deinit(struct roll *roll)
{
	arena_deinit(&roll->arena);
}

int roll_take(void *context, struct view json, struct error *err)
{
	struct roll *roll = context;
	struct roll_entry *entry = arena_alloc(&roll->arena, 1, sizeof(*entry));
	if (!entry)
		return error_set(err, ERROR_LIMIT, 0, "more than %u MiB of pods",
				 ROLL_BYTES / LIMIT_MIB);
	if (pod_card_decode(json, &roll->arena, &entry->card, err) != 0)
		return error_wrap(err, "pod");
	*roll->end = entry;
	roll->end = &entry->next;
	roll->n_pods++;
	return 0;
}

const struct pod_card *roll_find(const struct roll *roll, struct view name)
{
	for (const struct roll_entry *entry = roll->oldest; entry; entry = entry->next) {
		if (view_equal(entry->card.name, name))
			return &entry->card;
	}
	return NULL;
}
