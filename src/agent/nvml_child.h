/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_child - what runs in the process that calls the driver. It answers one request after the other,
 * each with a reading (schema/report_doc.h) whose sequence is the number of the request.
 *
 * It asks the driver for XID errors when it is asked for them, and never waits for one in the driver.
 * So each call belongs to a request whose age the parent knows. And no reading waits for an event. For a
 * reading it asks before and after: a driver in trouble is closed by the reading.
 *
 * Threads: owner. A call takes as long as the driver does; that may be for ever.
 * Limits:  an answer has LIMIT_READING_BYTES and LIMIT_REPORT_EVENTS events; further events are for
 *          the next request.
 */

#include "agent/nvml.h"
#include "base/sbuf.h"
#include "base/wall_time.h"

/* What is asked for; the body of a request is this one byte. */
enum nvml_child_request {
	NVML_CHILD_READING = 1, /* everything, XID errors too */
	NVML_CHILD_EVENTS = 2,  /* XID errors; utilisation is looked at now and then */
};

struct nvml_child {
	struct nvml *nvml;
	int64_t n_requests;
	uint64_t watch;       /* nvml_watch() at the last reading */
	uint64_t sampled_at;  /* monotonic ms: utilisation, also between two readings; 0: never */
	struct wall_time events_since; /* that is so; never: not all devices are watched */
};

/* Texts and array are borrowed. */
struct nvml_child_config {
	const char *library_name;
	const struct array *last; /* struct report_device, of the last good reading; see nvml_remember() */
};

/* Loads nothing yet. Fails with ERROR_NO_MEMORY. */
MUST_USE int nvml_child_init(struct nvml_child *child, const struct nvml_child_config *config,
			     struct error *err);
/* Shuts the library down. Accepts a zeroed object. */
void nvml_child_deinit(struct nvml_child *child);
/*
 * Appends the answer to a request. An answer that would be too long says so as the state of its
 * source, and has the events still. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int nvml_child_answer(struct nvml_child *child, enum nvml_child_request request,
			       struct sbuf *out, struct error *err);
/*
 * Makes a forked process the child: it answers requests from the socket until the other end is closed.
 * It closes all other descriptors but the standard ones, and handles no signals. It dies with its
 * parent, which has this PID.
 */
_Noreturn void nvml_child_run(int fd, int parent, const struct nvml_child_config *config);
