/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_quota.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

#define MINUTE_MS 60000u

static struct view name_of(const struct table_node *node)
{
	const struct event_quota_node *record = CONTAINER_OF(node, struct event_quota_node, by_name);

	return (struct view){record->name, record->name_len};
}

void event_quota_init(struct event_quota *quota, uint32_t per_minute)
{
	assert(per_minute > 0 && per_minute <= LIMIT_EVENT_RATE);
	quota->per_minute = per_minute;
	table_init(&quota->nodes, name_of);
	list_init(&quota->unused);
}

static void forget(struct event_quota *quota, struct event_quota_node *node)
{
	list_remove(&node->link);
	table_remove(&quota->nodes, &node->by_name);
	free(node);
}

static struct event_quota_node *first_unused(const struct event_quota *quota)
{
	struct list *link = list_first(&quota->unused);

	return link ? CONTAINER_OF(link, struct event_quota_node, link) : NULL;
}

void event_quota_deinit(struct event_quota *quota)
{
	struct event_quota_node *node;

	while ((node = first_unused(quota)))
		forget(quota, node);
	assert(quota->nodes.count == 0);
	table_deinit(&quota->nodes);
}

static uint64_t last_write(const struct event_quota *quota, const struct event_quota_node *node)
{
	return node->writes[(node->next + quota->per_minute - 1) % quota->per_minute];
}

/* The first may hold up the others, for a minute at most. */
static void forget_old(struct event_quota *quota, uint64_t now_ms)
{
	struct event_quota_node *node;

	while ((node = first_unused(quota)) && last_write(quota, node) + MINUTE_MS <= now_ms)
		forget(quota, node);
}

static struct event_quota_node *add(struct event_quota *quota, struct view name)
{
	const size_t writes_size = quota->per_minute * sizeof(uint64_t);
	struct event_quota_node *node;
	struct error ignored;

	if (quota->nodes.count >= LIMIT_EVENT_SERIES)
		return NULL;
	node = calloc(1, sizeof(*node) + writes_size + name.len);
	if (!node)
		return NULL;
	node->name = (char *)node + sizeof(*node) + writes_size;
	node->name_len = name.len;
	memcpy(node->name, name.ptr, name.len);
	list_init(&node->link);
	if (table_add(&quota->nodes, &node->by_name, &ignored) < 0) {
		free(node);
		return NULL;
	}
	return node;
}

struct event_quota_node *event_quota_use(struct event_quota *quota, struct view name,
					 uint64_t now_ms)
{
	struct event_quota_node *node;
	struct table_node *found;

	forget_old(quota, now_ms);
	found = table_find(&quota->nodes, name);
	node = found ? CONTAINER_OF(found, struct event_quota_node, by_name) : add(quota, name);
	if (!node)
		return NULL;
	list_remove(&node->link);
	node->n_users++;
	return node;
}

void event_quota_leave(struct event_quota *quota, struct event_quota_node *node)
{
	assert(node->n_users > 0);
	if (--node->n_users > 0)
		return;
	if (last_write(quota, node) > 0)
		list_append(&quota->unused, &node->link);
	else
		forget(quota, node);
}

uint64_t event_quota_allowed_at(const struct event_quota_node *node)
{
	const uint64_t oldest = node->writes[node->next];

	return oldest ? oldest + MINUTE_MS : 0;
}

void event_quota_count(const struct event_quota *quota, struct event_quota_node *node,
		       uint64_t now_ms)
{
	node->writes[node->next] = now_ms ? now_ms : 1;
	node->next = (node->next + 1) % quota->per_minute;
}
