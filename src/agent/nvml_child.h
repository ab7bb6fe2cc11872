/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_child - what runs in the process that calls the driver. It answers one request after the other,
 * each with a reading (schema/report_doc.h) whose sequence is the number of the request.
 *
 * Each call into the driver but one belongs to a request whose age the parent knows. The one is the wait
 * for XID errors, on a thread of its own (agent/nvml_waiter.h): no reading waits for an event. It puts
 * errors where the parent takes them, and gives notice by an eventfd. So they come although a request is
 * not answered. While that wait hangs no request is answered, so the parent knows of it. Other events say
 * that a device reads differently now. The parent asks for them after a notice: report.has_new_state.
 *
 * Without such a thread, as in nvml_child_init(), errors are in the answers. For a reading they are taken
 * before and after: a driver in trouble is closed by the reading.
 *
 * Threads: owner. A call takes as long as the driver does; that may be for ever.
 * Limits:  an answer has LIMIT_READING_BYTES and LIMIT_REPORT_EVENTS events; further events are for
 *          the next request.
 */

#include <sys/types.h>

#include "agent/nvml.h"
#include "base/sbuf.h"
#include "base/wall_time.h"

/*
 * How long one wait for XID errors takes in the driver. When the driver must be closed, that is put off
 * for as long. A shorter one would cost more at rest.
 */
#define NVML_CHILD_WAIT_MS 2000u

/* What is asked for; the body of a request is this one byte. */
enum nvml_child_request {
	NVML_CHILD_READING = 1,     /* everything, XID errors too */
	NVML_CHILD_EVENTS = 2,      /* XID errors */
	NVML_CHILD_UTILIZATION = 4, /* the same, and utilisation is looked at for the next reading */
};

struct nvml_child {
	struct nvml *nvml;
	int64_t n_requests;
	uint64_t watch;       /* nvml_watch() at the last reading */
	struct wall_time events_since; /* that is so; never: not all devices are watched */
};

/* Texts and array are borrowed. */
struct nvml_child_config {
	const char *library_name;
	uint32_t wait_ms;         /* of one wait for XID errors in the driver; 0: NVML_CHILD_WAIT_MS */
	const struct array *last; /* struct report_device, of the last good reading; see nvml_remember() */
};

/* Where a forked process finds what it needs. */
struct nvml_child_ends {
	int socket; /* of requests and answers */
	int notice; /* eventfd: there are XID errors to be taken, or there is something to be asked for */
	struct nvml_call *call; /* where calls are announced; NULL: nowhere */
	struct nvml_ring *ring; /* where XID errors are put */
	pid_t parent;
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
 * It closes all descriptors but these and the standard ones, and handles no signals. It dies with its
 * parent.
 */
_Noreturn void nvml_child_run(const struct nvml_child_ends *ends,
			      const struct nvml_child_config *config);
