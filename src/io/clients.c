/* SPDX-License-Identifier: Apache-2.0 */
#include "io/clients.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct client {
	struct table_node node;
	struct list connections; /* that joined first in front */
	uint32_t count;
	size_t name_len;
	char name[];
};

static struct view name_of(const struct table_node *node)
{
	const struct client *client = CONTAINER_OF(node, const struct client, node);
	return (struct view){client->name, client->name_len};
}

void clients_init(struct clients *clients, uint32_t cap)
{
	*clients = (struct clients){.cap = cap};
	table_init(&clients->table, name_of);
}

void clients_deinit(struct clients *clients)
{
	assert(clients->table.count == 0);
	table_deinit(&clients->table);
}

static struct client *make(struct clients *clients, struct view name)
{
	struct error err;
	struct client *client = malloc(sizeof(*client) + name.len);
	if (!client)
		return NULL;
	*client = (struct client){.name_len = name.len};
	view_copy(name, client->name);
	list_init(&client->connections);
	if (table_add(&clients->table, &client->node, &err) != 0) {
		free(client);
		return NULL;
	}
	return client;
}

static struct client *find_or_make(struct clients *clients, struct view name)
{
	struct table_node *node = table_find(&clients->table, name);
	return node ? CONTAINER_OF(node, struct client, node) : make(clients, name);
}

bool clients_join(struct clients *clients, struct client_connection *connection, struct view name)
{
	struct client *client = connection->client;
	if (client && view_equal(name_of(&client->node), name))
		return true;
	clients_leave(clients, connection);
	client = find_or_make(clients, name);
	if (!client)
		return false;
	client->count++;
	list_append(&client->connections, &connection->link);
	connection->client = client;
	return true;
}

void clients_leave(struct clients *clients, struct client_connection *connection)
{
	struct client *client = connection->client;
	if (!client)
		return;
	list_remove(&connection->link);
	connection->client = NULL;
	if (--client->count > 0)
		return;
	table_remove(&clients->table, &client->node);
	free(client);
}

bool clients_has_too_many(const struct clients *clients, const struct client_connection *connection)
{
	return clients->cap > 0 && connection->client && connection->client->count > clients->cap;
}

struct client_connection *clients_next(const struct client_connection *of,
				       const struct client_connection *after)
{
	const struct list *head = &of->client->connections;
	struct list *link = after ? after->link.next : head->next;
	return link == head ? NULL : CONTAINER_OF(link, struct client_connection, link);
}
