/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * front - the thread that faces the network. It ends TLS, answers probes, and decides about reports
 * (controller/receiver.h) and readers of metrics (controller/metrics_gate.h). It exchanges whole
 * objects with the loop thread over two queues.
 *
 * From front to loop go messages: "review this token", "this report was accepted", "this node was
 * heard of". From loop to front go verdicts, certificates, readiness.
 *
 * Threads: as said at each function; "loop" is one thread, the one that is not the front's.
 * Limits:  connections, nodes, tokens, waiting messages and their memory as configured.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/handoff.h"
#include "base/metric.h"
#include "base/view.h"
#include "controller/identity.h"
#include "controller/metrics_gate.h"
#include "controller/probes.h"
#include "controller/receiver.h"
#include "controller/scrapes.h"

struct exposition_text;
struct figures;
struct report;
struct shared_report;
struct token_review;
struct front;

/* Rows of the program's metrics table. */
struct front_metrics {
	struct metric_registry *registry; /* NULL: nothing is counted */
	size_t reports;                   /* counter with RECEIVER_LABELS */
	size_t connections;               /* counter with FRONT_CONNECTION_LABELS */
	size_t open_connections;          /* gauge */
	size_t idle_connections;          /* gauge: of these, between two requests */
	size_t nodes;                     /* gauge: nodes that reported */
	size_t tokens;                    /* gauge: verdicts remembered */
	size_t incomplete;                /* counter with SCRAPES_LABELS */
	size_t refused;                   /* counter: requests for /metrics beyond limits */
	size_t requests;                  /* counter with METRICS_GATE_LABELS */
	size_t token_questions;           /* counter with ADMISSION_LABELS */
	size_t durations;                 /* histogram: seconds that reports took */
	size_t readers;                   /* counter with FRONT_CONNECTION_LABELS: who reads metrics */
	size_t memory_used;               /* gauge with FRONT_MEMORY_LABELS */
	size_t memory_limit;              /* the same */
	size_t memory_refused;            /* counter with FRONT_MEMORY_LABELS */
	size_t turns;                     /* histogram with FRONT_LOOP_LABELS */
};

/* Whose loop it is. */
#define FRONT_LOOP_LABELS METRIC_LABELS("thread=\"loop\"", "thread=\"front\"")
#define FRONT_LOOP_LABEL 1u

/* What memory is for. */
#define FRONT_MEMORY_LABELS METRIC_LABELS("kind=\"bodies\"", "kind=\"reports\"")

/* Of the report endpoint, and of the one of metrics. */
#define FRONT_CONNECTION_LABELS                                                              \
	METRIC_LABELS("event=\"accepted\"", "event=\"refused_limit\"", "event=\"evicted\"",      \
		      "event=\"handshake_failed\"", "event=\"timed_out\"",                       \
		      "event=\"malformed_request\"", "event=\"body_too_large\"",                 \
		      "event=\"accept_paused\"", "event=\"evicted_unauthenticated\"")

struct front_config {
	const char *report_address;
	const char *probe_address;
	const char *metrics_address;   /* "": metrics cannot be read */
	bool metrics_insecure;         /* in clear, and by anybody */
	struct identity_rules rules;   /* texts copied */
	uint32_t token_ttl_ms;         /* how long a review is believed */
	uint32_t reviews_per_second;   /* of new tokens from one address */
	uint32_t max_reviews;          /* of agents' tokens, under way; at least 2 */
	uint32_t max_reader_reviews;   /* of tokens of who reads metrics; at least 2 */
	uint32_t max_connections;      /* of agents */
	uint32_t heartbeat_ms;         /* an agent's connection may be idle for two of them */
	uint32_t max_metrics_connections;
	uint32_t max_probe_connections;
	uint32_t max_connections_per_address;
	uint32_t max_strangers_per_network; /* of agents', and of readers' of metrics: whose token was */
					    /* not judged yet */
	uint32_t reports_per_second;   /* of one node that say something new */
	uint32_t refusal_delay_ms;     /* until a node is answered that sends too much, or what cannot be read */
	uint32_t refresh_ms;           /* the loop hears of one node no more often */
	size_t max_nodes;
	size_t memory_limit;           /* of the process, in bytes; parts of it are for what agents send, and */
				       /* for pages of metrics */
	uint32_t max_silent_ms;        /* of the loop, for /livez */
	struct front_metrics metrics;
	bool with_exposition; /* the loop writes what /metrics says of devices */
};

/* The defaults of what is not an operator's choice; the rest is zero. */
struct front_config front_config_default(void);

/*
 * Opens the ports; nothing is answered yet. What all pages of metrics in the process may use is now
 * what the memory limit says (controller/exposition_budget.h). Any thread. Fails as server_new() does.
 */
MUST_USE int front_new(const struct front_config *config, struct front **ret_front,
		       struct error *err);
/* Starts the thread. The caller is the loop from now on. Fails with ERROR_RETRY. */
MUST_USE int front_start(struct front *front, struct error *err);
/* Ends the thread and waits for it. Loop; nothing to do when it does not run. */
void front_stop(struct front *front);
/* Closes everything; messages not taken are freed. Stopped or never started. Accepts NULL. */
void front_free(struct front *front);
/* The port that takes reports. Any thread. */
uint16_t front_report_port(const struct front *front);
/* The port that answers probes. Any thread. */
uint16_t front_probe_port(const struct front *front);
/* The port that answers /metrics, 0: none does. Any thread. */
uint16_t front_metrics_port(const struct front *front);

enum front_kind {
	FRONT_REVIEW,  /* review `text`, a token, and call front_answer_review() with the ticket */
	FRONT_READER,  /* the same of a reader of metrics, and front_answer_reader() */
	FRONT_REPORT,  /* `report` was accepted */
	FRONT_REFRESH, /* the node `text` was heard of; its last report holds */
	FRONT_SCRAPE,  /* somebody asks for metrics: call front_expose() */
};

struct front_message {
	struct handoff_node node; /* the queue's */
	enum front_kind kind;
	uint64_t ticket;
	struct shared_report *report;   /* a reference; TAKE() it, else it is given up with this. Of a */
					/* refresh: whose evidence holds; NULL where there are no figures */
	struct figures *figures;        /* of a refresh, or NULL: as before. TAKE() them likewise */
	struct view text;               /* borrowed from this */
	int64_t listed_at;              /* of a refresh: when its List was read, node's clock */
};

/* Readable when messages wait. Loop. */
int front_fd(const struct front *front);
/* The oldest message, or NULL; ask until NULL. Belongs to the caller. Loop. */
struct front_message *front_next(struct front *front);
/* Accepts NULL. Loop. */
void front_message_free(struct front_message *message);

/* The following fail with ERROR_NO_MEMORY or ERROR_LIMIT; nothing has then changed. Loop. */

/* What was said of the token with this ticket; NULL: it could not be found out. */
MUST_USE int front_answer_review(struct front *front, uint64_t ticket,
				 const struct token_review *review, struct error *err);
/* Whether the holder of the token with this ticket may read metrics; NULL: it could not be found out. */
MUST_USE int front_answer_reader(struct front *front, uint64_t ticket,
				 const struct identity *verdict, struct error *err);
/* Serves with this pair from now on. Fails also with ERROR_REJECTED. */
MUST_USE int front_set_certificate(struct front *front, struct view cert_pem, struct view key_pem,
				   struct error *err);

/* What the loop knows and the front tells others. Borrowed for the call. */
struct front_state {
	struct view trouble;   /* why no report can be taken; empty: they are */
	uint32_t heartbeat_s;  /* what agents are told */
	bool leads;            /* this replica is the one that writes statuses */
	const struct probes_check *checks; /* for /readyz */
	size_t n_checks;
};
/* Replaces all of it. */
MUST_USE int front_publish(struct front *front, const struct front_state *state,
			   struct error *err);
/*
 * The loop does not have the node's report (any more): the next one shall come whole. An empty
 * name: of every node.
 */
MUST_USE int front_forget(struct front *front, struct view node, struct error *err);
/* What is known of the order of some nodes' reports: see receiver_set_order(). */
MUST_USE int front_set_orders(struct front *front, const struct receiver_order *orders, size_t n,
			      struct error *err);
/*
 * What FRONT_SCRAPE asks for; NULL: it could not be made, for that reason. Takes the reference over in
 * any case.
 */
MUST_USE int front_expose(struct front *front, struct exposition_text *take_text,
			  enum error_kind failure, struct error *err);
/* The events of this report are safe and need not be sent again. */
MUST_USE int front_acknowledge(struct front *front, const struct report *report,
			       struct error *err);

/* A sign of life for /livez; more often than max_silent_ms. Loop. Cannot fail. */
void front_beat(struct front *front);
