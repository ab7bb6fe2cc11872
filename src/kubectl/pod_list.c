/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/pod_list.h"

void pod_list_init(struct pod_list *pods)
{
	*pods = (struct pod_list){0};
	pods->end = &pods->oldest;
	arena_init(&pods->arena, POD_LIST_BYTES);
}

void pod_list_deinit(struct pod_list *pods)
{
	arena_deinit(&pods->arena);
}

int pod_list_take(void *context, struct view json, struct error *err)
{
	struct pod_list *pods = context;
	struct pod_list_entry *entry = arena_alloc(&pods->arena, 1, sizeof(*entry));
	if (!entry)
		return error_set(err, ERROR_LIMIT, 0, "more than %u MiB of pods",
				 POD_LIST_BYTES / LIMIT_MIB);
	if (pod_card_decode(json, &pods->arena, &entry->card, err) != 0)
		return error_wrap(err, "pod");
	*pods->end = entry;
	pods->end = &entry->next;
	pods->n_pods++;
	return 0;
}

const struct pod_card *pod_list_find(const struct pod_list *pods, struct view name)
{
	for (const struct pod_list_entry *entry = pods->oldest; entry; entry = entry->next) {
		if (view_equal(entry->card.name, name))
			return &entry->card;
	}
	return NULL;
}
