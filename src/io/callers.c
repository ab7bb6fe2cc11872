/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A hash table by the sixteen bytes of an IPv6 address, IPv4 mapped into it. An address is in it
 * only while it has connections, so the table is no larger than the number of connections.
 */

#include "io/callers.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static_assert(CALLERS_TEXT_SIZE >= INET6_ADDRSTRLEN, "room for any address");

struct caller {
	struct table_node node;
	uint32_t connections;
	struct list idle; /* of them */
	struct in6_addr address;
	struct in6_addr network;
};

static struct view key_of(const struct table_node *node)
{
	const struct caller *caller = CONTAINER_OF(node, struct caller, node);
	return (struct view){(const char *)&caller->address, sizeof(caller->address)};
}

void callers_init(struct callers *callers, uint32_t cap)
{
	assert(cap > 0);
	*callers = (struct callers){.cap = cap};
	table_init(&callers->table, key_of);
}

void callers_deinit(struct callers *callers)
{
	assert(callers->table.count == 0);
	table_deinit(&callers->table);
}

static struct in6_addr read_address(const struct sockaddr_storage *from)
{
	struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	if (from->ss_family == AF_INET6)
		memcpy(&address, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
	else
		memcpy(&address.s6_addr[12], &((const struct sockaddr_in *)from)->sin_addr, 4);
	return address;
}

/* Whoever has one address of a /64 has all of them. */
static struct in6_addr network_of(const struct in6_addr *address)
{
	struct in6_addr network = *address;
	if (!IN6_IS_ADDR_V4MAPPED(address))
		memset(&network.s6_addr[8], 0, 8);
	return network;
}

static struct caller *make(struct callers *callers, const struct in6_addr *address)
{
	struct error err;
	struct caller *caller = malloc(sizeof(*caller));
	if (!caller)
		return NULL;
	*caller = (struct caller){.address = *address, .network = network_of(address)};
	list_init(&caller->idle);
	if (table_add(&callers->table, &caller->node, &err) != 0) {
		free(caller);
		return NULL;
	}
	return caller;
}

struct caller *callers_add(struct callers *callers, const struct sockaddr_storage *address)
{
	const struct in6_addr bytes = read_address(address);
	struct table_node *node = table_find(
		&callers->table, (struct view){(const char *)&bytes, sizeof(bytes)});
	struct caller *caller =
		node ? CONTAINER_OF(node, struct caller, node) : make(callers, &bytes);
	if (caller)
		caller->connections++;
	return caller;
}

bool callers_has_too_many(const struct callers *callers, const struct caller *caller)
{
	return caller->connections > callers->cap;
}

struct list *callers_idle(struct caller *caller)
{
	return &caller->idle;
}

void callers_remove(struct callers *callers, struct caller *caller)
{
	assert(caller->connections > 0);
	if (--caller->connections > 0)
		return;
	table_remove(&callers->table, &caller->node);
	free(caller);
}

struct view callers_address(const struct caller *caller)
{
	return (struct view){(const char *)&caller->address, sizeof(caller->address)};
}

struct view callers_network(const struct caller *caller)
{
	return (struct view){(const char *)&caller->network, sizeof(caller->network)};
}

void callers_write(const struct caller *caller, char ret[static CALLERS_TEXT_SIZE])
{
	const struct in6_addr *address = &caller->address;
	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], ret, CALLERS_TEXT_SIZE);
	else
		inet_ntop(AF_INET6, address, ret, CALLERS_TEXT_SIZE);
}
