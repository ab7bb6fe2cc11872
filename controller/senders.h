/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * senders - what is kept of each node that reports, between its reports.
 *
 * Threads: owner.
 * Limits:  nodes as configured. A node that was silent for SENDERS_SILENT_MS makes room for a new
 *          one; if there is none, the new one is refused.
 */

#include "base/list.h"
#include "base/table.h"
#include "controller/likeness.h"
#include "controller/report_order.h"

#define SENDERS_SILENT_MS 600000u

struct receiver_report;

struct sender {
	struct table_node by_name;
	struct list by_use;
	uint64_t used_at_ms;
	uint64_t credit;           /* thousandths of a report that may come now */
	uint64_t credited_at_ms;
	uint64_t refreshed_at_ms;  /* when the loop was last told of the node */
	int64_t acknowledged;      /* highest event sequence of this instance that is safe */
	struct report_order order;
	struct likeness likeness;  /* of the last accepted report */
	struct receiver_report *last; /* a reference to it; NULL: the next one goes whole */
	size_t name_len;
	char name[];
};

struct senders {
	struct table table;
	struct list by_use; /* silent for longest in front */
	size_t cap;
	uint32_t per_second; /* reports of one node */
};

void senders_init(struct senders *senders, size_t cap, uint32_t per_second);
void senders_deinit(struct senders *senders);
/*
 * The node's record, made if it is new; valid for at least SENDERS_SILENT_MS from now. NULL: too
 * many, or no memory.
 */
struct sender *senders_use(struct senders *senders, struct view node, uint64_t now_ms);
/* The node's record, or NULL. */
struct sender *senders_find(const struct senders *senders, struct view node);
struct view senders_name(const struct sender *sender);
/* Counts a report. False: the node has sent too many lately. */
bool senders_admit(const struct senders *senders, struct sender *sender, uint64_t now_ms);
/* The next report is as if it were the first, but for its order. */
void senders_forget_report(struct sender *sender);
/* senders_forget_report() for all. */
void senders_forget_reports(struct senders *senders);
