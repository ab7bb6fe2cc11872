/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Throttling is a bucket of credit that fills evenly and holds what comes together in one second.
 */

#include "controller/senders.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "controller/receiver.h"

#define REPORT_CREDIT 1000u

struct view senders_name(const struct sender *sender)
{
	return (struct view){sender->name, sender->name_len};
}

static struct view key_of(const struct table_node *node)
{
	return senders_name(CONTAINER_OF(node, struct sender, by_name));
}

void senders_init(struct senders *senders, size_t cap, uint32_t per_second)
{
	assert(cap > 0 && per_second > 0);
	*senders = (struct senders){.cap = cap, .per_second = per_second};
	table_init(&senders->table, key_of);
	list_init(&senders->by_use);
}

void senders_forget_report(struct sender *sender)
{
	receiver_report_unref(sender->last);
	sender->last = NULL;
	sender->likeness = (struct likeness){0};
}

static void remove_sender(struct senders *senders, struct sender *sender)
{
	table_remove(&senders->table, &sender->by_name);
	list_remove(&sender->by_use);
	senders_forget_report(sender);
	free(sender);
}

static struct sender *silent_for_longest(const struct senders *senders)
{
	struct list *link = list_first(&senders->by_use);
	return link ? CONTAINER_OF(link, struct sender, by_use) : NULL;
}

void senders_deinit(struct senders *senders)
{
	for (struct sender *sender = silent_for_longest(senders); sender;
	     sender = silent_for_longest(senders))
		remove_sender(senders, sender);
	table_deinit(&senders->table);
}

struct sender *senders_find(const struct senders *senders, struct view node)
{
	struct table_node *found = table_find(&senders->table, node);
	return found ? CONTAINER_OF(found, struct sender, by_name) : NULL;
}

static bool make_room(struct senders *senders, uint64_t now_ms)
{
	if (senders->table.count < senders->cap)
		return true;
	struct sender *oldest = silent_for_longest(senders);
	if (now_ms - oldest->used_at_ms < SENDERS_SILENT_MS)
		return false;
	remove_sender(senders, oldest);
	return true;
}

static struct sender *add_sender(struct senders *senders, struct view node, uint64_t now_ms)
{
	struct error err;
	struct sender *sender =
		make_room(senders, now_ms) ? malloc(sizeof(*sender) + node.len) : NULL;
	if (!sender)
		return NULL;
	*sender = (struct sender){
		.name_len = node.len,
		.credit = (uint64_t)senders->per_second * REPORT_CREDIT,
		.credited_at_ms = now_ms,
	};
	memcpy(sender->name, node.ptr, node.len);
	list_init(&sender->by_use);
	if (table_add(&senders->table, &sender->by_name, &err) != 0) {
		free(sender);
		return NULL;
	}
	return sender;
}

struct sender *senders_use(struct senders *senders, struct view node, uint64_t now_ms)
{
	struct sender *sender = senders_find(senders, node);
	if (!sender)
		sender = add_sender(senders, node, now_ms);
	if (!sender)
		return NULL;
	sender->used_at_ms = now_ms;
	list_remove(&sender->by_use);
	list_append(&senders->by_use, &sender->by_use);
	return sender;
}

bool senders_admit(const struct senders *senders, struct sender *sender, uint64_t now_ms)
{
	const uint64_t cap = (uint64_t)senders->per_second * REPORT_CREDIT;
	uint64_t passed_ms = now_ms - sender->credited_at_ms;
	if (passed_ms > 1000)
		passed_ms = 1000;
	/* A report a second is a thousandth of it a millisecond. */
	sender->credit += passed_ms * senders->per_second;
	if (sender->credit > cap)
		sender->credit = cap;
	sender->credited_at_ms = now_ms;
	if (sender->credit < REPORT_CREDIT)
		return false;
	sender->credit -= REPORT_CREDIT;
	return true;
}

void senders_forget_reports(struct senders *senders)
{
	struct list *head = &senders->by_use;
	for (struct list *link = head->next; link != head; link = link->next)
		senders_forget_report(CONTAINER_OF(link, struct sender, by_use));
}
