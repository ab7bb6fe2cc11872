/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scrapes - answers requests for /metrics, whoever may send them: that is decided before. The body is
 * what the loop's thread wrote of devices (controller/exposition.h), then this process's own metrics.
 *
 * The loop is asked at most once a second, and never while it writes. All who ask meanwhile share one
 * page, which is sent without being copied. If no text comes, or none within SCRAPES_TIMEOUT_MS, the
 * page has the own metrics alone, and a counter in it says why.
 *
 * Clients that do not read hold older pages. If a further one would not fit beside them, a request is
 * refused with 503, and counted.
 *
 * Threads: the front's.
 * Limits:  all pages together: controller/exposition_budget.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/metric.h"
#include "controller/exposition_text.h"
#include "io/loop.h"
#include "io/server.h"

#define SCRAPES_KEEP_MS 1000u
#define SCRAPES_TIMEOUT_MS 5000u
#define SCRAPES_RETRY_S 5u

/* Why a page lacks what is said of devices; the order of SCRAPES_LABELS. */
enum scrapes_lack {
	SCRAPES_NO_MEMORY,
	SCRAPES_TOO_LARGE,  /* for exposition_budget.h */
	SCRAPES_NO_ANSWER,  /* the loop did not write it in time */
	SCRAPES_QUEUE_FULL, /* the loop could not be asked */
	SCRAPES_N_LACKS,
};

/* Label sets in that order, for a row of a metrics table. */
#define SCRAPES_LABELS                                                                        \
	METRIC_LABELS("reason=\"no_memory\"", "reason=\"too_large\"", "reason=\"no_answer\"",     \
		      "reason=\"queue_full\"")

struct scrapes;

struct scrapes_config {
	const struct metric_registry *metrics;
	void (*collect)(void *owner); /* called before they are rendered; NULL: nobody is */
	/* Appends further metrics of this process; NULL: there are none. */
	void (*append)(void *owner, struct sbuf *own);
	/* Asks for a text, of which scrapes_take() tells. False: none will come. NULL: none ever does. */
	bool (*ask)(void *owner);
	void *owner;
};

/* What became of requests. */
struct scrapes_counts {
	uint64_t incomplete[SCRAPES_N_LACKS]; /* answers without devices; counts itself already */
	uint64_t refused;                     /* by 503, for want of room */
};

/* loop and what config points to are borrowed. Fails with ERROR_NO_MEMORY. */
MUST_USE int scrapes_new(struct loop *loop, const struct scrapes_config *config,
			 struct scrapes **ret_scrapes, struct error *err);
/* Its server must be gone, and with it who waits. Accepts NULL. */
void scrapes_free(struct scrapes *scrapes);
/* Answers the request, now or later. */
void scrapes_answer(struct scrapes *scrapes, struct server_request *request);
/* The text that was asked for, with one reference; NULL: it could not be made, for that reason. */
void scrapes_take(struct scrapes *scrapes, struct exposition_text *take_text,
		  enum error_kind failure);
/* Since scrapes_new(). */
struct scrapes_counts scrapes_counts(const struct scrapes *scrapes);
