/* SPDX-License-Identifier: Apache-2.0 */
#include "io/strangers.h"

#include <stdlib.h>

#define NETWORK_SIZE 16u

struct strangers_network {
	struct table_node node;
	struct list strangers; /* who may be sent away */
	uint32_t count;
	uint8_t len;
	char bytes[NETWORK_SIZE];
};

static struct view key_of(const struct table_node *node)
{
	const struct strangers_network *network =
		CONTAINER_OF(node, struct strangers_network, node);
	return (struct view){network->bytes, network->len};
}

void strangers_init(struct strangers *strangers, uint32_t cap, uint32_t cap_of_network)
{
	assert((cap > 0) == (cap_of_network > 0));
	*strangers = (struct strangers){.cap = cap, .cap_of_network = cap_of_network};
	table_init(&strangers->networks, key_of);
	list_init(&strangers->all);
}

void strangers_deinit(struct strangers *strangers)
{
	assert(strangers->count == 0);
	table_deinit(&strangers->networks);
}

static struct strangers_network *find(const struct strangers *strangers, struct view network)
{
	struct table_node *node = table_find(&strangers->networks, network);
	return node ? CONTAINER_OF(node, struct strangers_network, node) : NULL;
}

static struct strangers_network *make(struct strangers *strangers, struct view bytes)
{
	struct error err;
	assert(bytes.len <= NETWORK_SIZE);
	struct strangers_network *network = malloc(sizeof(*network));
	if (!network)
		return NULL;
	*network = (struct strangers_network){.len = (uint8_t)bytes.len};
	view_copy(bytes, network->bytes);
	if (table_add(&strangers->networks, &network->node, &err) != 0) {
		free(network);
		return NULL;
	}
	list_init(&network->strangers);
	return network;
}

enum strangers_step strangers_ask(const struct strangers *strangers, struct view network,
				  struct stranger **ret_first)
{
	const struct strangers_network *found = find(strangers, network);
	const struct list *link = NULL;
	if (found && found->count >= strangers->cap_of_network) {
		link = list_first(&found->strangers);
		*ret_first = link ? CONTAINER_OF(link, struct stranger, in_network) : NULL;
	} else if (strangers->count >= strangers->cap) {
		*ret_first = strangers_first(strangers);
	} else {
		return STRANGERS_ROOM;
	}
	return *ret_first ? STRANGERS_EVICT : STRANGERS_FULL;
}

void strangers_release(struct strangers *strangers, struct stranger *stranger)
{
	if (!stranger->network || !list_is_empty(&stranger->in_all))
		return;
	list_append(&strangers->all, &stranger->in_all);
	list_append(&stranger->network->strangers, &stranger->in_network);
}

bool strangers_enter(struct strangers *strangers, struct stranger *stranger, struct view network)
{
	struct strangers_network *found = find(strangers, network);
	if (!found)
		found = make(strangers, network);
	if (!found)
		return false;
	found->count++;
	strangers->count++;
	stranger->network = found;
	list_init(&stranger->in_all);
	list_init(&stranger->in_network);
	strangers_release(strangers, stranger);
	return true;
}

void strangers_hold(struct stranger *stranger)
{
	if (!stranger->network)
		return;
	list_remove(&stranger->in_all);
	list_remove(&stranger->in_network);
}

void strangers_leave(struct strangers *strangers, struct stranger *stranger)
{
	struct strangers_network *network = stranger->network;
	if (!network)
		return;
	strangers_hold(stranger);
	strangers->count--;
	stranger->network = NULL;
	if (--network->count > 0)
		return;
	table_remove(&strangers->networks, &network->node);
	free(network);
}

struct stranger *strangers_first(const struct strangers *strangers)
{
	struct list *link = list_first(&strangers->all);
	return link ? CONTAINER_OF(link, struct stranger, in_all) : NULL;
}
