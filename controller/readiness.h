/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * readiness - what /readyz says, and a log line whenever that changes. There is one check for each
 * resource that is followed, one for the API server, one for the serving certificate, and one for
 * the statuses that are written. Each says why it fails.
 *
 * Before a resource has synced, any failure with it makes us unready. Afterwards what is known is
 * served, so only a failure that lasts for READINESS_GRACE_MS does. A restart of the API server
 * must not take the report endpoint out of its Service. If the controller can work without the
 * resource, the failure is shown and does not make us unready.
 *
 * Threads: the loop's.
 */

#include "controller/certificates.h"
#include "controller/probes.h"
#include "controller/watches.h"

#define READINESS_CHECKS (INVENTORY_N_KINDS + 4)
#define READINESS_TEXT 192
#define READINESS_GRACE_MS 60000u

struct readiness {
	struct probes_check checks[READINESS_CHECKS];
	char texts[READINESS_CHECKS][READINESS_TEXT];  /* told: empty within the grace */
	char logged[READINESS_CHECKS][READINESS_TEXT]; /* as it was logged last */
	uint64_t since[READINESS_CHECKS];              /* ms, when trouble began; 0: there is none */
	bool is_told; /* nothing changed since the last look */
};

/*
 * Looks at everything. writes: what the API server did not take of the statuses, or "". It is shown
 * and does not make us unready, for other statuses are written. True when what is told differs from
 * the last look, or at the first.
 */
bool readiness_look(struct readiness *readiness, const struct watches *watches,
		    const struct certificates *certificates, const char *writes,
		    uint64_t now_ms);
/* What was seen; borrowed until the next look. */
const struct probes_check *readiness_checks(const struct readiness *readiness, size_t *ret_n);
/* The next look counts as a change. */
void readiness_forget(struct readiness *readiness);
