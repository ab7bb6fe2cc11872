/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * podres - the kubelet's PodResources service as a source of evidence: which pod, by name, holds
 * which device, and which devices are advertised. The last good List is kept and dated.
 *
 * Threads: the loop's.
 * Limits:  LIMIT_PODRESOURCES_BYTES an answer; each call has the configured time.
 */

#include "io/fetch.h"
#include "model/report.h"

struct podres;

/* Borrowed for its life. */
struct podres_config {
	const char *socket; /* path */
	uint32_t timeout_ms;
};

/* What a reading gave. */
struct podres_outcome {
	bool is_news;
	bool is_repeat; /* of a List that was news, for the first time more than a second later */
	bool throttled; /* the kubelet answered ResourceExhausted */
};

typedef void (*podres_fn)(void *owner, const struct podres_outcome *outcome);

/* Fails with ERROR_NO_MEMORY. */
MUST_USE int podres_new(struct loop *loop, struct fetcher *fetcher,
			const struct podres_config *config, podres_fn finished, void *owner,
			struct podres **ret_podres, struct error *err);
/* Ends a reading under way without calling back. Accepts NULL. */
void podres_free(struct podres *podres);
/*
 * Starts a reading of the List, and of the advertised devices if asked for; now_ms is monotonic.
 * `finished` is called later, exactly once. None may be under way. A failure becomes the source's
 * state, and the last List stays. If the List is good but the advertised devices could not be read,
 * the report leaves them out and the source's message says why.
 */
void podres_read(struct podres *podres, bool with_advertised, uint64_t now_ms);
/*
 * True when another socket is there than at the last call: the kubelet has restarted. When it was
 * made is told with the rest; 0 if none was ever seen.
 */
bool podres_socket_changed(struct podres *podres);
/* Puts PodResources' part into the report, borrowed until the next reading has finished. */
void podres_tell(const struct podres *podres, struct report *report);
