/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sampler - reads the node's sources in the right order and keeps what they said.
 *
 * A sample waits for the driver for SAMPLER_PATIENCE_MS, the first one for the driver's time-out. What
 * the driver says later is put in when it comes. While the driver hangs no sample waits for it.
 *
 * Threads: the loop's. Reading local files takes as long as it does.
 */

#include "agent/activity_windows.h"
#include "agent/condition_history.h"
#include "agent/event_queue.h"
#include "agent/processes.h"
#include "io/fetch.h"

#define SAMPLER_PATIENCE_MS 500u
/* NVML's utilisation covers the last 1/6 to 1 s. To look more often would cost more than it shows. */
#define SAMPLER_LOOK_MS 5000u

struct sampler;

/* What came outside of a sample that waited for it. */
enum sampler_surprise {
	SAMPLER_EVENTS, /* XID errors */
	SAMPLER_STATE,  /* the driver says that a reading would tell something new; also during a sample */
	SAMPLER_LATE,   /* the driver says something new; the next sample counts it among its news */
};

typedef void (*sampler_surprise_fn)(void *owner, enum sampler_surprise surprise);

/* Texts are borrowed for the sampler's life. */
struct sampler_config {
	const char *pod_resources_socket;
	const char *checkpoint_file;
	const char *nvml_library;
	enum processes_mode processes;
	const char *proc_path;
	struct activity_settings activity;
	struct condition_history_settings history;
	const char *dcgm_url;  /* "": no dcgm-exporter */
	bool waits_for_dcgm;   /* a sample ends no earlier than the scrape begun with it */
	uint32_t kubelet_timeout_ms;
	uint32_t nvml_timeout_ms;
	int64_t last_event; /* sequence number before that of the first event */
	sampler_surprise_fn surprised; /* has the owner of `finished` */
};

/* What a sample gave. */
struct sampler_outcome {
	bool is_news;   /* some source says something that it did not say before, or says it */
			/* again where it matters when (agent/podres.c) */
	bool restarted; /* the kubelet has a new socket */
	bool was_called; /* the List was asked for; */
	bool throttled;  /* the kubelet answered ResourceExhausted */
};

typedef void (*sampler_fn)(void *owner, const struct sampler_outcome *outcome);

/* Reads nothing yet. Fails with ERROR_NO_MEMORY. */
MUST_USE int sampler_new(struct loop *loop, struct fetcher *fetcher,
			 const struct sampler_config *config, sampler_fn finished, void *owner,
			 struct sampler **ret_sampler, struct error *err);
/* Ends a sample under way without calling back. Accepts NULL. */
void sampler_free(struct sampler *sampler);
/*
 * Starts a sample of these parts (enum schedule_part), the checkpoint among them. `finished` is called
 * later, exactly once. None may be under way. now_ms is monotonic.
 */
void sampler_start(struct sampler *sampler, unsigned parts, uint64_t now_ms);
/* True from sampler_start() until `finished` is about to be called. */
bool sampler_is_busy(const struct sampler *sampler);
/*
 * Has the driver looked at between two samples; to be called every SAMPLER_LOOK_MS. XID errors come by
 * themselves: SAMPLER_EVENTS or the end of a sample says so.
 */
void sampler_look(struct sampler *sampler);
/* Whether there are events that were not acknowledged. */
bool sampler_has_events(const struct sampler *sampler);
/* Events up to this sequence number need not be told again. */
void sampler_acknowledge(struct sampler *sampler, int64_t sequence);
/* Puts all that the sources said into the report, borrowed until anything else happens here. */
void sampler_tell(struct sampler *sampler, struct report *report);
