/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ready_mark - a file by which the agent says that its reports are accepted, for the readiness
 * probe. The probe is another process of the same program; so the agent opens no port.
 *
 * The mark names the boot, and two times of it: when a report was accepted last, and until when that
 * makes the agent ready. No wall clock is read. A mark of another boot, or of the future, is none.
 *
 * Threads: any.
 * Times:   milliseconds since boot, suspend counted.
 * Limits:  a mark has at most 256 bytes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/boot_id.h"
#include "base/error.h"

struct ready_mark {
	const char *path; /* borrowed; "": there is no mark */
	struct boot_id boot_id;
	bool failed;      /* the last one could not be written */
};

/* Reads which boot this is; writes nothing. Fails as boot_id_read() does. */
MUST_USE int ready_mark_init(struct ready_mark *mark, const char *path, const char *boot_id_file,
			     struct error *err);
/* An agent that starts is not ready: no earlier mark shall speak for it. Fails as filewrite_remove(). */
MUST_USE int ready_mark_clear(const struct ready_mark *mark, struct error *err);
/*
 * A report was accepted just now: the agent is ready for two heartbeats. The file is replaced whole,
 * by filewrite_replace(). If that fails it is logged once; the probe will then say that the agent is not
 * ready, and reports are as good.
 */
void ready_mark_accepted(struct ready_mark *mark, uint64_t now_ms, uint32_t heartbeat_ms);
/*
 * 0: the agent is ready. Else the error says why it is not, for the people who read the pod's events.
 * It is ERROR_NOT_FOUND (no report was accepted since it started), ERROR_RETRY (the last one is too
 * long ago), ERROR_REJECTED (no mark of this boot), or that of file_read().
 */
MUST_USE int ready_mark_check(const struct ready_mark *mark, uint64_t now_ms, struct error *err);
