/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * receiver - POST /v1/report: decides about each report and answers the agent. Accepted reports go
 * to the loop. If a report repeats the last one of its node, the loop only gets the news that the
 * node was heard of.
 *
 * A request is decided by its head first, in this order:
 * 1. path, method, media type, length;
 * 2. the bearer token is there;
 * 3. we can take reports at all;
 * 4. the node whose token it is;
 * 5. how often that node asks, and how much of it is being read.
 * Only then its body is read, and decides in this order:
 * 6. whether it says anything new, and how often the node repeats itself;
 * 7. its form;
 * 8. the node that it is about;
 * 9. its order among the node's reports.
 *
 * Threads: the front's.
 * Limits:  nodes as configured; those silent for ten minutes make room. Bodies, requests and memory
 *          as in controller/senders.h. What finds no memory is refused with 429.
 */

#include "base/metric.h"
#include "controller/admission.h"
#include "controller/memory_account.h"
#include "controller/report_order.h"
#include "io/loop.h"
#include "io/server.h"
#include "model/report.h"

/* What became of a report; the order of the labels of metric RECEIVER_METRIC. */
enum receiver_outcome {
	RECEIVER_ACCEPTED,        /* 200, handed over */
	RECEIVER_UNCHANGED,       /* 200, as the last one of its node */
	RECEIVER_MALFORMED,       /* 400 */
	RECEIVER_UNAUTHENTICATED, /* 401 */
	RECEIVER_FORBIDDEN,       /* 403 */
	RECEIVER_NOT_FOUND,       /* 404, 405 */
	RECEIVER_STALE,           /* 409 */
	RECEIVER_NO_LENGTH,       /* 411 */
	RECEIVER_MEDIA_TYPE,      /* 415 */
	RECEIVER_THROTTLED,       /* 429 */
	RECEIVER_UNAVAILABLE,     /* 503 */
	RECEIVER_N_OUTCOMES,
};

/* Label sets in that order, for a row of a metrics table. */
#define RECEIVER_LABELS                                                                    \
	METRIC_LABELS("outcome=\"accepted\"", "outcome=\"unchanged\"", "outcome=\"malformed\"", \
		      "outcome=\"unauthenticated\"", "outcome=\"forbidden\"",                   \
		      "outcome=\"not_found\"", "outcome=\"stale\"", "outcome=\"no_length\"",     \
		      "outcome=\"media_type\"", "outcome=\"throttled\"",                        \
		      "outcome=\"unavailable\"")

struct figures;
struct shared_report;

/* A heartbeat: the last report that was handed over holds. */
struct receiver_refresh {
	struct view node;
	int64_t listed_at;            /* see join/join.h */
	struct shared_report *of;     /* that report; borrowed */
	struct figures *figures;      /* of its devices; to be taken over. NULL: as last told */
};

struct receiver_config {
	struct admission_config admission; /* decided and owner are the receiver's to set; review is
	                                      called with the owner below */
	uint32_t reports_per_second;       /* of one node that say something new; four times as many
	                                      at once */
	size_t max_nodes;
	size_t max_body_bytes;   /* memory for bodies that are being read, */
	size_t max_report_bytes; /* and for reports; memory_account.h says how nodes share them */
	uint32_t refresh_ms;   /* a node is said to have been heard of at most once in this time */
	struct metric_registry *metrics; /* NULL: none */
	size_t metric;         /* the row of enum receiver_outcome */
	size_t durations;      /* histogram: seconds from the head of a request to its 200 */
	/* Passes a report on; false: no room, the report is still the caller's. */
	bool (*hand_over)(void *owner, struct shared_report *take_report);
	/* The node was heard of. False: no room, the figures are still the caller's. */
	bool (*refresh)(void *owner, const struct receiver_refresh *refresh);
	void *owner;
};

struct receiver;

/* loop and what config points to are borrowed for the receiver's life; max_nodes and
 * reports_per_second are at least 1. Fails with ERROR_NO_MEMORY. */
MUST_USE int receiver_new(struct loop *loop, const struct receiver_config *config,
			  struct receiver **ret_receiver, struct error *err);
/* Its server must be gone. Accepts NULL. */
void receiver_free(struct receiver *receiver);
/* For server_new(). */
struct server_handler receiver_handler(struct receiver *receiver);

/* Why no report can be taken, one line, copied; empty: they are taken. Not taken at the start. */
void receiver_set_trouble(struct receiver *receiver, struct view trouble);
/* What agents are told, by the replica that leads. */
void receiver_set_heartbeat(struct receiver *receiver, uint32_t seconds);
/*
 * Whether this replica leads; it does not at the start. Only then a 200 has heartbeatSeconds and
 * acknowledgedEvents. Else it is an empty object: the report is taken as any other.
 */
void receiver_set_leads(struct receiver *receiver, bool leads);
/* As admission_answer(). */
void receiver_answer_review(struct receiver *receiver, uint64_t ticket,
			    const struct identity *identity);
/* The next report of the node, or with an empty view of each, is handed over whole. */
void receiver_forget(struct receiver *receiver, struct view node);

/* What the loop knows of the order of a node's reports. */
struct receiver_order {
	struct view node;
	struct view named_boot;        /* the boot that the Node names; empty: none */
	struct report_order_mark last; /* that was accepted by an earlier controller; no boot: none */
};
/*
 * Takes that into account. Without `last`, only if the node has reported: of one that reports for
 * the first time it must be said again then. No room for a further node: its order begins anew.
 */
void receiver_set_order(struct receiver *receiver, const struct receiver_order *order);

/* Events of one agent process that need not be sent again. */
struct receiver_acknowledgement {
	struct view node;
	struct view boot_id;
	int64_t instance;
	int64_t sequence;
};
/* Ignored when the node's last report was of another process. */
void receiver_acknowledge(struct receiver *receiver,
			  const struct receiver_acknowledgement *acknowledgement);
/* For metrics. */
size_t receiver_nodes(const struct receiver *receiver);
/* The memory of bodies that are being read. */
struct memory_account_state receiver_body_memory(const struct receiver *receiver);
/* The memory of reports that were accepted and that somebody still has. */
struct memory_account_state receiver_report_memory(const struct receiver *receiver);
/* What became of tokens. */
struct admission_counters receiver_admissions(const struct receiver *receiver);
/* Verdicts on tokens that are remembered. */
size_t receiver_tokens(const struct receiver *receiver);
/* As agent_series_render(). */
void receiver_render_agents(const struct receiver *receiver, struct sbuf *buf);
