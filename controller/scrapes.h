/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scrapes - answers requests for /metrics, whoever may send them: that is decided before. The body is
 * what the loop's thread wrote of devices (controller/exposition.h), then this process's own metrics.
 *
 * The loop is asked at most once a second, and never while it writes. All who ask meanwhile share one
 * text, which is sent without being copied. If none comes within SCRAPES_TIMEOUT_MS the answer has the
 * own metrics alone, and is counted as incomplete. So it has while clients that do not read hold
 * LIMIT_EXPOSITION_TEXTS older texts, but for the last text, which then serves on.
 *
 * Threads: the front's.
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

/* loop and what config points to are borrowed. Fails with ERROR_NO_MEMORY. */
MUST_USE int scrapes_new(struct loop *loop, const struct scrapes_config *config,
			 struct scrapes **ret_scrapes, struct error *err);
/* Its server must be gone, and with it who waits. Accepts NULL. */
void scrapes_free(struct scrapes *scrapes);
/* Answers the request, now or later. */
void scrapes_answer(struct scrapes *scrapes, struct server_request *request);
/* The text that was asked for, with one reference; NULL: it could not be made. */
void scrapes_take(struct scrapes *scrapes, struct exposition_text *take_text);
/* How many answers lacked what is said of devices. */
uint64_t scrapes_incomplete(const struct scrapes *scrapes);
