/* SPDX-License-Identifier: Apache-2.0 */
#include "io/known_addresses.h"

#include <assert.h>
#include <stdlib.h>

struct known_address {
	struct table_node node;
	struct list by_use;
	uint64_t used_at_ms;
	char bytes[KNOWN_ADDRESSES_SIZE];
};

static struct view key_of(const struct table_node *node)
{
	const struct known_address *address = CONTAINER_OF(node, struct known_address, node);
	return (struct view){address->bytes, sizeof(address->bytes)};
}

void known_addresses_init(struct known_addresses *known, size_t cap)
{
	*known = (struct known_addresses){.cap = cap};
	table_init(&known->table, key_of);
	list_init(&known->by_use);
}

static bool forget_oldest(struct known_addresses *known)
{
	struct list *link = list_first(&known->by_use);
	if (!link)
		return false;
	struct known_address *oldest = CONTAINER_OF(link, struct known_address, by_use);
	table_remove(&known->table, &oldest->node);
	list_remove(&oldest->by_use);
	free(oldest);
	return true;
}

void known_addresses_deinit(struct known_addresses *known)
{
	while (forget_oldest(known))
		;
	table_deinit(&known->table);
}

static struct known_address *find(const struct known_addresses *known, struct view address)
{
	struct table_node *node = table_find(&known->table, address);
	return node ? CONTAINER_OF(node, struct known_address, node) : NULL;
}

static struct known_address *make(struct known_addresses *known, struct view address)
{
	struct error err;
	struct known_address *made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	view_copy(address, made->bytes);
	if (table_add(&known->table, &made->node, &err) != 0) {
		free(made);
		return NULL;
	}
	list_init(&made->by_use);
	return made;
}

void known_addresses_add(struct known_addresses *known, struct view address, uint64_t now_ms)
{
	assert(address.len == KNOWN_ADDRESSES_SIZE);
	struct known_address *found = find(known, address);
	if (!found && known->cap > 0) {
		if (known->table.count >= known->cap)
			(void)forget_oldest(known);
		found = make(known, address);
	}
	if (!found)
		return;
	found->used_at_ms = now_ms;
	list_remove(&found->by_use);
	list_append(&known->by_use, &found->by_use);
}

bool known_addresses_has(const struct known_addresses *known, struct view address, uint64_t now_ms)
{
	const struct known_address *found = find(known, address);
	return found && now_ms - found->used_at_ms < KNOWN_ADDRESSES_FOR_MS;
}
