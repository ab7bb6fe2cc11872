/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * probes - /livez and /readyz, in clear. /readyz names each thing that it waits for, and why;
 * "?verbose" names also what is well, and which optional parts are missing.
 *
 * Threads: the front's.
 * Limits:  PROBES_MAX_CHECKS checks; their texts are cut at 255 bytes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/view.h"
#include "io/server.h"

#define PROBES_MAX_CHECKS 16u

/* One thing that readiness depends on. */
struct probes_check {
	struct view name;    /* "pods" */
	struct view trouble; /* one line; empty: all is well */
	bool tolerated;      /* reported, but does not make the controller unready */
	struct view note;    /* what "?verbose" says of it while all is well; may be empty */
};

struct probes_config {
	/* How long ago the loop thread showed its last sign of life. */
	uint64_t (*silent_ms)(void *owner);
	void *owner;
	uint64_t max_silent_ms;
};

struct probes;

/* config is copied, what it points to borrowed for the probes' life. Fails with ERROR_NO_MEMORY. */
MUST_USE int probes_new(const struct probes_config *config, struct probes **ret_probes,
			struct error *err);
/* Its server must be gone. Accepts NULL. */
void probes_free(struct probes *probes);
/* For server_new(). */
struct server_handler probes_handler(struct probes *probes);
/* Replaces all checks, copied; before the first call nothing is ready. n_checks is at most
 * PROBES_MAX_CHECKS. */
void probes_set(struct probes *probes, const struct probes_check *checks, size_t n_checks);
