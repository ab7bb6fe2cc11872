/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/join_pause.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct paused {
	struct table_node by_name;
	uint64_t until_ms;
	size_t name_len;
	char name[];
};

static struct paused *paused_of(struct table_node *node)
{
	return node ? CONTAINER_OF(node, struct paused, by_name) : NULL;
}

static struct view name_of(const struct table_node *node)
{
	const struct paused *paused = CONTAINER_OF(node, const struct paused, by_name);

	return (struct view){paused->name, paused->name_len};
}

void join_pause_init(struct join_pause *pause)
{
	pause->n_pauses = 0;
	table_init(&pause->nodes, name_of);
}

/* Removes the nodes whose pause has ended by then. */
static void forget_ended(struct join_pause *pause, uint64_t now_ms)
{
	struct table_node *node = table_next(&pause->nodes, NULL), *next;

	for (; node; node = next) {
		struct paused *paused = paused_of(node);

		next = table_next(&pause->nodes, node);
		if (paused->until_ms > now_ms)
			continue;
		table_remove(&pause->nodes, node);
		free(paused);
	}
}

void join_pause_deinit(struct join_pause *pause)
{
	forget_ended(pause, UINT64_MAX);
	table_deinit(&pause->nodes);
}

static struct paused *add(struct join_pause *pause, struct view name)
{
	struct paused *paused;
	struct error ignored;

	if (pause->nodes.count >= LIMIT_PAUSED_NODES)
		return NULL;
	paused = malloc(sizeof(*paused) + name.len);
	if (!paused)
		return NULL;
	*paused = (struct paused){.name_len = name.len};
	memcpy(paused->name, name.ptr, name.len);
	if (table_add(&pause->nodes, &paused->by_name, &ignored) < 0) {
		free(paused);
		return NULL;
	}
	return paused;
}

/* Expensive joins are rare, so it is then that records are forgotten. */
void join_pause_note(struct join_pause *pause, struct view node, uint64_t cpu_us, uint64_t now_ms)
{
	struct paused *paused;

	if (cpu_us <= JOIN_PAUSE_CHEAP_US)
		return;
	forget_ended(pause, now_ms);
	paused = paused_of(table_find(&pause->nodes, node));
	if (!paused)
		paused = add(pause, node);
	if (!paused)
		return;
	paused->until_ms = now_ms + cpu_us * JOIN_PAUSE_FACTOR / 1000;
	pause->n_pauses++;
}

uint64_t join_pause_until(const struct join_pause *pause, struct view node)
{
	const struct paused *paused = paused_of(table_find(&pause->nodes, node));

	return paused ? paused->until_ms : 0;
}
