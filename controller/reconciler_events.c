/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/reconciler_events.h"

#include <stdlib.h>
#include <string.h>

/* Few at a time: events are rare. */
struct waiting {
	struct list link;
	struct reconciler_events events; /* texts in the same block */
};

void reconciler_events_init(struct reconciler_events_queue *queue)
{
	list_init(&queue->waiting);
}

static void forget(struct waiting *waiting)
{
	list_remove(&waiting->link);
	free(waiting);
}

void reconciler_events_deinit(struct reconciler_events_queue *queue)
{
	struct list *link;

	while ((link = list_first(&queue->waiting)))
		forget(CONTAINER_OF(link, struct waiting, link));
}

void reconciler_events_add(struct reconciler_events_queue *queue,
			   const struct reconciler_events *events)
{
	const struct view node_name = events->node_name, boot_id = events->boot_id;
	struct waiting *waiting = calloc(1, sizeof(*waiting) + node_name.len + boot_id.len);
	char *text;

	if (!waiting)
		return;
	text = (char *)(waiting + 1);
	memcpy(text, node_name.ptr, node_name.len);
	memcpy(text + node_name.len, boot_id.ptr, boot_id.len);
	waiting->events = *events;
	waiting->events.node_name.ptr = text;
	waiting->events.boot_id.ptr = text + node_name.len;
	list_init(&waiting->link);
	list_append(&queue->waiting, &waiting->link);
}

void reconciler_events_end(struct reconciler_events_queue *queue, struct view node_name,
			   reconciler_events_fn fn, void *owner)
{
	struct list *next;

	for (struct list *l = queue->waiting.next; l != &queue->waiting; l = next) {
		struct waiting *waiting = CONTAINER_OF(l, struct waiting, link);

		next = l->next;
		if (!view_equal(waiting->events.node_name, node_name))
			continue;
		if (fn)
			fn(owner, &waiting->events);
		forget(waiting);
	}
}
