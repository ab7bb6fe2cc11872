/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nvml_process - has the driver called by a process of its own, so that a call that does not return
 * stops nobody else.
 *
 * The child (agent/nvml_child.h) is forked when something is asked for first. What it says is believed
 * no more than what comes from a network. A child that says what it should not, or ends, is replaced
 * after a back-off.
 *
 * XID errors are waited for by a thread of the child, which puts them into memory that the parent shares
 * (agent/nvml_ring.h). It gives notice of them, and they are taken at once, but no more often than every
 * NVML_PROCESS_NOTICE_MS. So the errors of a hang are told while it lasts, however long that is. The last
 * ones are taken after the child was killed or has ended. What no child watched is missed, and
 * nvml_process_events_since() says so.
 *
 * A request that is older than the time-out is told as a hang, with the call that is under way and its
 * device (agent/nvml_call.h). Nothing waits for it any more, so its child goes on: a driver that is only
 * slow answers after all. A child is ended when one request has taken NVML_PROCESS_LONGEST_MS, or the
 * time-out if that is longer. Later it is replaced.
 *
 * To end it at the time-out would lose what matters then. If a GPU's firmware does not answer, NVIDIA's driver
 * itself waits for 6 s or 45 s. Then it raises XID 119, every 45 s in
 * https://github.com/NVIDIA/open-gpu-kernel-modules/issues/446. NVML repeats no event to the next child,
 * and that one watches nothing at first. And each new child begins with the same slow calls: without
 * persistence mode these open the GPUs, so a driver that takes a steady 6 s would never be read. That holds
 * for any call, not for the first ones only.
 *
 * A process that a driver holds in the kernel cannot be ended: it is left behind and counted. A hang is over
 * when a reading comes within its time-out. One that is late brings what it has, and the hang goes on. So
 * does a failure, until the next child has given readings, none of them late, for NVML_PROCESS_TRIAL_MS: a
 * driver may break the next call of each child.
 *
 * Threads: the loop's.
 * Limits:  one child, and LIMIT_NVML_ORPHANS left behind: while there are as many, none is started.
 *          LIMIT_READING_BYTES a message. Back-off from 1 s to NVML_PROCESS_LONGEST_MS. It begins anew
 *          when one child has given readings, none of them late, for as long as that.
 */

#include <sys/types.h>

#include "agent/nvml_child.h"
#include "base/wall_time.h"
#include "io/loop.h"

#define NVML_PROCESS_LONGEST_MS 60000u
#define NVML_PROCESS_NOTICE_MS 100u
#define NVML_PROCESS_TRIAL_MS 5000u /* there is a look at utilisation within that time */

struct nvml_process;

/* What the kernel does; a test may put something else there. */
struct nvml_process_system {
	int (*kill)(pid_t pid, int number);
	pid_t (*wait)(pid_t pid, int *ret_status, int options);
	void (*run)(const struct nvml_child_ends *ends, const struct nvml_child_config *config);
};

struct nvml_process_config {
	struct nvml_child_config child;
	uint32_t timeout_ms;                      /* of a request */
	uint32_t restart_ms;                      /* shortest back-off; 0: 1 s */
	uint32_t longest_ms;                      /* 0: NVML_PROCESS_LONGEST_MS; not below restart_ms */
	uint32_t trial_ms;                        /* 0: NVML_PROCESS_TRIAL_MS */
	const struct nvml_process_system *system; /* NULL: the real one; borrowed */
};

enum nvml_process_outcome {
	NVML_PROCESS_READING, /* a reading, with XID errors */
	NVML_PROCESS_EVENTS,  /* XID errors only; also without a request, when there are some */
	NVML_PROCESS_HANGS,   /* a request is older than its time-out; its answer may still come */
	NVML_PROCESS_FAILED,  /* the child ended, or said what it should not */
};

struct nvml_process_answer {
	enum nvml_process_outcome outcome;
	struct report reading;   /* READING, EVENTS: what report_doc_decode_reading() gives */
	bool is_doubtful;        /* READING: the hang, or failure, that was told last goes on */
	struct arena *arena;     /* of the reading; may be moved away, else it is freed afterwards */
	int64_t asked_wall;      /* when the request was sent, ms since 1970 */
	uint64_t asked_boot;     /* the same, ms since boot */
	const struct error *why; /* HANGS, FAILED */
};

typedef void (*nvml_process_fn)(void *owner, const struct nvml_process_answer *answer);

/* Starts no process yet. Fails with ERROR_NO_MEMORY or ERROR_RETRY. */
MUST_USE int nvml_process_new(struct loop *loop, const struct nvml_process_config *config,
			      nvml_process_fn answered, void *owner,
			      struct nvml_process **ret_process, struct error *err);
/*
 * Ends the child without calling back. Waits for its end for at most 1 s; after that it is left behind.
 * Accepts NULL.
 */
void nvml_process_free(struct nvml_process *process);
/*
 * Asks for something. True: `answered` is called later, within the time-out; a request like one that
 * waits already is the same one. False: the driver hangs, or there is no child for a while, which
 * `answered` has told. What was asked for is then asked as soon as it can be.
 */
bool nvml_process_ask(struct nvml_process *process, enum nvml_child_request request);
/* How many children were started. */
int64_t nvml_process_started(const struct nvml_process *process);
/* How many children were killed and have not ended, as far as was seen. */
int64_t nvml_process_left_behind(const struct nvml_process *process);
/* Since when no XID error can have been missed, as the child said; never: some can be missed now. */
struct wall_time nvml_process_events_since(const struct nvml_process *process);
