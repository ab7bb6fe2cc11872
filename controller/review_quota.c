/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/review_quota.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NETWORK_SIZE 16u
/* The credit of a client is full again after this time, as that of one who was never here. */
#define FULL_AFTER_MS 1000u

struct review_quota_client {
	struct table_node node;
	struct list by_use;
	struct credit credit;
	uint64_t used_at_ms;
	uint32_t under_way;
	uint8_t network_len;
	char network[NETWORK_SIZE];
};

static struct view key_of(const struct table_node *node)
{
	const struct review_quota_client *client =
		CONTAINER_OF(node, struct review_quota_client, node);
	return (struct view){client->network, client->network_len};
}

static struct credit_rate rate_of(const struct review_quota *quota)
{
	return (struct credit_rate){quota->limits.per_second, FULL_AFTER_MS / 1000};
}

static struct credit_rate rate_of_strangers(const struct review_quota *quota)
{
	return (struct credit_rate){quota->limits.strangers_per_second, 1};
}

void review_quota_init(struct review_quota *quota, const struct review_quota_limits *limits)
{
	*quota = (struct review_quota){.limits = *limits};
	quota->strangers_credit = credit_full(rate_of_strangers(quota), 0);
	table_init(&quota->table, key_of);
	list_init(&quota->by_use);
}

static void forget(struct review_quota *quota, struct review_quota_client *client)
{
	table_remove(&quota->table, &client->node);
	list_remove(&client->by_use);
	free(client);
}

static struct review_quota_client *silent_for_longest(const struct review_quota *quota)
{
	struct list *link = list_first(&quota->by_use);
	return link ? CONTAINER_OF(link, struct review_quota_client, by_use) : NULL;
}

void review_quota_deinit(struct review_quota *quota)
{
	for (struct review_quota_client *client = silent_for_longest(quota); client;
	     client = silent_for_longest(quota))
		forget(quota, client);
	table_deinit(&quota->table);
}

static void touch(struct review_quota *quota, struct review_quota_client *client, uint64_t now_ms)
{
	client->used_at_ms = now_ms;
	list_remove(&client->by_use);
	list_append(&quota->by_use, &client->by_use);
}

/* Clients that have nothing to be remembered for; one with reviews under way is passed over later. */
static void forget_silent(struct review_quota *quota, uint64_t now_ms)
{
	for (int i = 0; i < 2; i++) {
		struct review_quota_client *client = silent_for_longest(quota);
		if (!client || now_ms - client->used_at_ms < FULL_AFTER_MS)
			return;
		if (client->under_way > 0)
			touch(quota, client, now_ms);
		else
			forget(quota, client);
	}
}

static struct review_quota_client *add(struct review_quota *quota, struct view network,
				       uint64_t now_ms)
{
	struct error err;
	struct review_quota_client *client = malloc(sizeof(*client));
	if (!client)
		return NULL;
	*client = (struct review_quota_client){.credit = credit_full(rate_of(quota), now_ms),
					       .network_len = (uint8_t)network.len};
	view_copy(network, client->network);
	if (table_add(&quota->table, &client->node, &err) != 0) {
		free(client);
		return NULL;
	}
	list_init(&client->by_use);
	return client;
}

static struct review_quota_client *use(struct review_quota *quota, struct view network,
				       bool is_known, uint64_t now_ms)
{
	struct table_node *node = table_find(&quota->table, network);
	struct review_quota_client *client =
		node ? CONTAINER_OF(node, struct review_quota_client, node) : NULL;
	if (!client && (is_known || quota->table.count < quota->limits.max_clients))
		client = add(quota, network, now_ms);
	if (client)
		touch(quota, client, now_ms);
	return client;
}

/* Until its review accepts the token, a stranger pays for it. */
static bool pay(struct review_quota *quota, uint64_t now_ms)
{
	return quota->limits.strangers_per_second == 0 ||
	       credit_draw(&quota->strangers_credit, rate_of_strangers(quota), 1, now_ms);
}

enum review_quota_step review_quota_enter(struct review_quota *quota, struct view network,
					  bool is_known, uint64_t now_ms,
					  struct review_quota_place *ret_place)
{
	const struct review_quota_limits *limits = &quota->limits;
	assert(network.len <= NETWORK_SIZE);
	if (limits->max_clients == 0) {
		*ret_place = (struct review_quota_place){0};
		return REVIEW_QUOTA_ADMITTED;
	}
	forget_silent(quota, now_ms);
	if (!is_known && quota->strangers >= limits->max_strangers)
		return REVIEW_QUOTA_FULL;
	struct review_quota_client *client = use(quota, network, is_known, now_ms);
	if (!client)
		return REVIEW_QUOTA_FULL;
	if (client->under_way >= limits->max_of_client ||
	    !credit_draw(&client->credit, rate_of(quota), 1, now_ms))
		return REVIEW_QUOTA_TOO_OFTEN;
	if (!is_known && !pay(quota, now_ms))
		return REVIEW_QUOTA_CROWDED;
	client->under_way++;
	quota->strangers += !is_known;
	*ret_place = (struct review_quota_place){client, !is_known};
	return REVIEW_QUOTA_ADMITTED;
}

void review_quota_leave(struct review_quota *quota, struct review_quota_place place, bool is_good)
{
	if (!place.client)
		return;
	assert(place.client->under_way > 0);
	place.client->under_way--;
	quota->strangers -= place.is_stranger;
	if (place.is_stranger && is_good)
		credit_return(&quota->strangers_credit, 1);
}
