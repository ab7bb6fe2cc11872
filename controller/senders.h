/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * senders - what is kept of each node that reports, between its reports, and what it may ask for.
 *
 * Threads: owner.
 * Limits:  nodes as configured. A node that was silent for SENDERS_SILENT_MS makes room for a new
 *          one; if there is none, the new one is refused. Bodies being read: SENDERS_BODY_BYTES of
 *          one node. Memory of bodies and of reports: as their accounts say. Requests:
 *          SENDERS_REQUESTS_PER_SECOND of one node, of which those with a large body count several
 *          times. Reports that must be decoded: as configured.
 */

#include "base/credit.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"
#include "controller/agent_counts.h"
#include "controller/body_digest.h"
#include "controller/memory_share.h"
#include "controller/report_order.h"

#define SENDERS_SILENT_MS 600000u
#define SENDERS_BODY_BYTES (2u * LIMIT_REPORT_BYTES)
/* A body uses so many times its size: its buffer doubles as it comes. */
#define SENDERS_BODY_COST 2u
#define SENDERS_REQUESTS_PER_SECOND 1000u
/* A request counts once, and once more for each so many bytes of its body. */
#define SENDERS_REQUEST_BYTES (16u * LIMIT_KIB)
/* Changes that may come together, in seconds' worth of them. */
#define SENDERS_CHANGES_BURST_S 4u

struct figures;
struct report;
struct shared_report;

struct sender {
	struct table_node by_name;
	struct list by_use;
	uint64_t used_at_ms;
	struct credit requests;
	struct credit changes;
	size_t body_bytes;         /* of its bodies being read */
	struct memory_share *bodies;  /* what they use */
	struct memory_share *reports; /* what its reports use, wherever they are */
	uint64_t refreshed_at_ms;  /* when the loop was last told of the node */
	int64_t listed_at;         /* when the last accepted report's List was read, node's clock */
	int64_t acknowledged;      /* highest event sequence of this instance that is safe */
	struct agent_counts counts; /* of the last report that was decoded */
	struct report_order order;
	struct body_digest body_digest; /* of the last accepted report */
	struct shared_report *last; /* a reference to it; NULL: the next one goes whole */
	size_t last_charged;       /* bytes of the last accepted report, also when that was forgotten */
	struct figures *figures;   /* of a heartbeat after it, untold; NULL: there are none */
	size_t name_len;
	char name[];
};

struct senders_config {
	size_t cap;                  /* nodes, at least 1 */
	uint32_t changes_per_second; /* of one node, at least 1 */
	struct memory_account *bodies;  /* borrowed, */
	struct memory_account *reports; /* for the life of the senders */
};

struct senders {
	struct table table;
	struct list by_use; /* silent for longest in front */
	struct senders_config config;
};

/* No node is known. Allocates nothing. */
void senders_init(struct senders *senders, const struct senders_config *config);
/* Frees all records, also those given out, and gives up their reports. */
void senders_deinit(struct senders *senders);
/*
 * The node's record, made if it is new; valid for at least SENDERS_SILENT_MS from now. NULL: too
 * many, or no memory.
 */
struct sender *senders_use(struct senders *senders, struct view node, uint64_t now_ms);
/* The node's record, or NULL. */
struct sender *senders_find(const struct senders *senders, struct view node);
/* The node's name, borrowed while the record lives. */
struct view senders_name(const struct sender *sender);

enum senders_verdict {
	SENDERS_ADMITTED,
	SENDERS_TOO_OFTEN, /* the node has asked too often lately */
	SENDERS_TOO_MUCH,  /* too much of it is being read already */
	SENDERS_FULL,      /* there is no memory for it */
};
/*
 * May a body of this size be read? When admitted it is counted until senders_release(), and the
 * record is valid until then.
 */
enum senders_verdict senders_admit(struct sender *sender, size_t size, uint64_t now_ms);
/* The memory of an admitted body is free again. Once for each, with the size given then. */
void senders_release(struct sender *sender, size_t size);
/* Counts a report that must be decoded. False: the node has sent too many lately. */
bool senders_admit_change(const struct senders *senders, struct sender *sender, uint64_t now_ms);
/*
 * The next report is compared with this one: takes a reference, and gives up the last one and the
 * figures.
 */
void senders_keep_report(struct sender *sender, struct shared_report *report);
/* Keeps the figures of a report with the evidence of the last. Fails with ERROR_NO_MEMORY. */
MUST_USE int senders_keep_figures(struct sender *sender, const struct report *report,
				  struct error *err);
/* The next report is as if it were the first, but for its order. */
void senders_forget_report(struct sender *sender);
/* senders_forget_report() for all. */
void senders_forget_reports(struct senders *senders);
