/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * dcgm - the node's dcgm-exporter as a source of how busy devices are. The figures of the last good
 * scrape are kept and dated.
 *
 * It is scraped along with samples, but not more often than every DCGM_INTERVAL_MS. dcgm-exporter
 * itself measures every 30 s unless told otherwise. So a figure is as old as its scrape or older, by
 * up to that interval, and two scrapes may give the same one.
 *
 * Plain HTTP only. Nothing is sent but the request, redirects are not followed. What the figures say
 * decides whether a device counts as idle, and nothing else.
 *
 * Threads: the loop's.
 * Limits:  LIMIT_DCGM_BYTES an answer, LIMIT_PROMTEXT_LINE a line of it; each scrape has the
 *          configured time.
 */

#include "agent/activity_windows.h"
#include "agent/dcgm_figures.h"
#include "io/fetch.h"

/* At rest there is a sample every 15 s: every other one scrapes. */
#define DCGM_INTERVAL_MS 20000u
/*
 * A figure counts for so long after its scrape was begun: one scrape may fail. Where samples are rarer,
 * no figure counts.
 */
#define DCGM_FRESH_MS 75000u

struct dcgm;

/* Borrowed for its life. */
struct dcgm_config {
	const char *url;            /* "": switched off */
	uint32_t timeout_ms;        /* for a scrape, from connecting on */
	const struct array *devices; /* that NVML lists, struct report_device; read at each scrape */
};

/* What happened since the start. */
struct dcgm_counts {
	uint64_t scrapes;
	uint64_t failures;
	uint64_t rubbish; /* rows with a figure that cannot be, or without a usable label */
};

/* A scrape has ended. is_news: the source's state is not what it was. Figures are no news. */
typedef void (*dcgm_fn)(void *owner, bool is_news);

/* Fails with ERROR_NO_MEMORY. */
MUST_USE int dcgm_new(struct loop *loop, struct fetcher *fetcher, const struct dcgm_config *config,
		      dcgm_fn finished, void *owner, struct dcgm **ret_dcgm, struct error *err);
/* Ends a scrape under way without calling back. Accepts NULL. */
void dcgm_free(struct dcgm *dcgm);
/*
 * Starts a scrape, unless it is switched off, one is under way, or the last was begun less than
 * DCGM_INTERVAL_MS ago. now_ms counts from boot. `finished` is called later, once for each that was
 * started. A failure becomes the source's state, and the last figures stay.
 */
void dcgm_scrape(struct dcgm *dcgm, uint64_t now_ms);
/* True from the start of a scrape until `finished` is about to be called. */
bool dcgm_is_busy(const struct dcgm *dcgm);
/*
 * What the last good scrape says of a device (gpu_instance_id -1) or of its MIG instance, borrowed
 * until the loop turns. NULL: nothing. *ret_asked_ms is when that scrape was begun, counted from boot; it
 * is set if there is a figure.
 */
const struct dcgm_figure *dcgm_find(const struct dcgm *dcgm, struct view uuid,
				    int64_t gpu_instance_id, uint64_t *ret_asked_ms);
/*
 * How busy it is, 0 to 100 per cent, by the larger of the two figures. -1: there is none, or its
 * scrape was begun more than DCGM_FRESH_MS before now_ms.
 */
int64_t dcgm_percent(const struct dcgm *dcgm, struct view uuid, int64_t gpu_instance_id,
		     uint64_t now_ms);
/*
 * Offers that to the activity of each of these devices (struct report_device) and of its partitions:
 * -1 where there is none. Offers nothing if it is switched off.
 */
void dcgm_offer(const struct dcgm *dcgm, uint64_t now_ms, struct array devices);
/* Puts the source's state into the report, borrowed until the next scrape has ended. */
void dcgm_tell(const struct dcgm *dcgm, struct report *report);
/* What happened since the start. */
struct dcgm_counts dcgm_count(const struct dcgm *dcgm);
