/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_quota - how many writes of Events each node had in the last minute. A node is known while
 * somebody uses it, and until its last write is a minute old. So who uses it for a moment only, again
 * and again, has no more writes than others.
 *
 * Threads: owner.
 * Limits:  LIMIT_EVENT_SERIES nodes.
 */

#include "base/list.h"
#include "base/table.h"

struct event_quota {
	uint32_t per_minute;
	struct table nodes;
	struct list unused; /* in the order in which they were left */
};

struct event_quota_node {
	struct table_node by_name;
	struct list link; /* in `unused`, while it is */
	size_t n_users;
	size_t n_queued; /* for the users */
	uint32_t next;   /* in `writes`: the oldest */
	size_t name_len;
	char *name;        /* behind `writes` */
	uint64_t writes[]; /* when the last per_minute were made; 0: never */
};

/* No node is known yet. per_minute: at least 1. */
void event_quota_init(struct event_quota *quota, uint32_t per_minute);
/* Nobody may use a node any more. */
void event_quota_deinit(struct event_quota *quota);
/*
 * The node, which is in use until event_quota_leave(); NULL: there is no memory or no room for it.
 * now_ms: monotonic, here and below.
 */
struct event_quota_node *event_quota_use(struct event_quota *quota, struct view name,
					 uint64_t now_ms);
/* One of those who use the node does so no more. */
void event_quota_leave(struct event_quota *quota, struct event_quota_node *node);
/* When the node may write again; it may be in the past. */
uint64_t event_quota_allowed_at(const struct event_quota_node *node);
/* It writes now. */
void event_quota_count(const struct event_quota *quota, struct event_quota_node *node,
		       uint64_t now_ms);
