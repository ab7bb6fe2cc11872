/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cause.h"

#include <string.h>

#include "sim/clockwork.h"
#include "sim/world.h"

#define MAX_CAUSES 4096

struct entry {
	enum cause cause;
	int node, gpu;
	uint64_t from, until;
};

static struct entry entries[MAX_CAUSES];
static int n_entries;

void cause_reset(void)
{
	n_entries = 0;
}

void cause_add(enum cause cause, int node, int gpu, uint64_t from, uint64_t until)
{
	if (n_entries < MAX_CAUSES)
		entries[n_entries++] = (struct entry){cause, node, gpu, from, until};
}

void cause_end(enum cause cause, int node, int gpu)
{
	for (int i = 0; i < n_entries; i++) {
		struct entry *entry = &entries[i];

		if (entry->cause == cause && entry->node == node && entry->gpu == gpu &&
		    entry->until == WORLD_NEVER)
			entry->until = clockwork_now();
	}
}

static bool touches(const struct entry *entry, int node, int gpu)
{
	return (entry->node < 0 || node < 0 || entry->node == node) &&
	       (entry->gpu < 0 || gpu < 0 || entry->gpu == gpu);
}

bool cause_since(enum cause cause, int node, int gpu, uint64_t from)
{
	for (int i = 0; i < n_entries; i++) {
		const struct entry *entry = &entries[i];

		if (entry->cause == cause && touches(entry, node, gpu) && entry->until >= from &&
		    entry->from <= clockwork_now())
			return true;
	}
	return false;
}

bool cause_any_since(unsigned causes, int node, int gpu, uint64_t from)
{
	for (int cause = 0; cause < CAUSE_N; cause++)
		if (causes & 1u << cause && cause_since((enum cause)cause, node, gpu, from))
			return true;
	return false;
}
