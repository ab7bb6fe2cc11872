/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A node is throttled twice. By its head each request is counted, a large one more often than a
 * small one, generously: a report that says nothing new costs little. What has to be decoded costs
 * ten times as much, and no healthy agent has many of those.
 */

#include "controller/senders.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "controller/shared_report.h"
#include "model/figures.h"

static const struct credit_rate request_rate = {SENDERS_REQUESTS_PER_SECOND, 1};

static struct credit_rate change_rate(const struct senders *senders)
{
	return (struct credit_rate){senders->config.changes_per_second, SENDERS_CHANGES_BURST_S};
}

struct view senders_name(const struct sender *sender)
{
	return (struct view){sender->name, sender->name_len};
}

static struct view key_of(const struct table_node *node)
{
	return senders_name(CONTAINER_OF(node, struct sender, by_name));
}

void senders_init(struct senders *senders, const struct senders_config *config)
{
	assert(config->cap > 0 && config->changes_per_second > 0);
	*senders = (struct senders){.config = *config};
	table_init(&senders->table, key_of);
	list_init(&senders->by_use);
}

static void drop_figures(struct sender *sender)
{
	figures_free(sender->figures);
	sender->figures = NULL;
}

void senders_keep_report(struct sender *sender, struct shared_report *report)
{
	struct shared_report *before = sender->last;

	sender->last = shared_report_ref(report);
	sender->last_charged = report->charged;
	shared_report_unref(before);
	drop_figures(sender);
}

int senders_keep_figures(struct sender *sender, const struct report *report, struct error *err)
{
	struct figures *figures;

	if (figures_new(report, &figures, err) < 0)
		return -1;
	drop_figures(sender);
	sender->figures = figures;
	return 0;
}

void senders_forget_report(struct sender *sender)
{
	shared_report_unref(sender->last);
	sender->last = NULL;
	drop_figures(sender);
	sender->body_digest = (struct body_digest){0};
}

static void free_sender(struct sender *sender)
{
	senders_forget_report(sender);
	memory_share_unref(sender->bodies);
	memory_share_unref(sender->reports);
	free(sender);
}

static void remove_sender(struct senders *senders, struct sender *sender)
{
	table_remove(&senders->table, &sender->by_name);
	list_remove(&sender->by_use);
	free_sender(sender);
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
	if (senders->table.count < senders->config.cap)
		return true;
	struct sender *oldest = silent_for_longest(senders);
	if (now_ms - oldest->used_at_ms < SENDERS_SILENT_MS || oldest->body_bytes > 0)
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
		.requests = credit_full(request_rate, now_ms),
		.changes = credit_full(change_rate(senders), now_ms),
	};
	memcpy(sender->name, node.ptr, node.len);
	list_init(&sender->by_use);
	sender->bodies = memory_share_new(senders->config.bodies, &err);
	sender->reports = memory_share_new(senders->config.reports, &err);
	if (!sender->bodies || !sender->reports ||
	    table_add(&senders->table, &sender->by_name, &err) != 0) {
		free_sender(sender);
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

enum senders_verdict senders_admit(struct sender *sender, size_t size, uint64_t now_ms)
{
	if (size > SENDERS_BODY_BYTES - sender->body_bytes)
		return SENDERS_TOO_MUCH;
	if (!memory_share_charge(sender->bodies, SENDERS_BODY_COST * size))
		return SENDERS_FULL;
	if (!credit_draw(&sender->requests, request_rate, 1 + size / SENDERS_REQUEST_BYTES,
			 now_ms)) {
		memory_share_release(sender->bodies, SENDERS_BODY_COST * size);
		return SENDERS_TOO_OFTEN;
	}
	sender->body_bytes += size;
	return SENDERS_ADMITTED;
}

void senders_release(struct sender *sender, size_t size)
{
	assert(sender->body_bytes >= size);
	sender->body_bytes -= size;
	memory_share_release(sender->bodies, SENDERS_BODY_COST * size);
}

bool senders_admit_change(const struct senders *senders, struct sender *sender, uint64_t now_ms)
{
	return credit_draw(&sender->changes, change_rate(senders), 1, now_ms);
}

void senders_forget_reports(struct senders *senders)
{
	struct list *head = &senders->by_use;
	for (struct list *link = head->next; link != head; link = link->next)
		senders_forget_report(CONTAINER_OF(link, struct sender, by_use));
}
