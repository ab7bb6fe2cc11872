/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * readiness - what /readyz says, and a log line whenever that changes. There is one check for each
 * resource that is followed. The others are of the API server, the serving certificate, the CA
 * certificate that agents read, the statuses that are written, and the leader election. Each says why
 * it fails.
 *
 * Before a resource has synced, any failure with it makes us unready. Afterwards what is known is
 * served, so only a failure that lasts for READINESS_GRACE_MS does. A restart of the API server
 * must not take the report endpoint out of its Service. If the controller can work without the
 * resource, the failure is shown and does not make us unready.
 *
 * Threads: the loop's.
 */

#include "controller/certificates.h"
#include "controller/leadership.h"
#include "controller/probes.h"
#include "controller/watches.h"

#define READINESS_CHECKS (INVENTORY_N_KINDS + 6)
#define READINESS_TEXT 192
#define READINESS_GRACE_MS 60000u

struct readiness {
	struct probes_check checks[READINESS_CHECKS];
	char texts[READINESS_CHECKS][READINESS_TEXT];  /* told: empty within the grace */
	char logged[READINESS_CHECKS][READINESS_TEXT]; /* as it was logged last */
	uint64_t since[READINESS_CHECKS];              /* ms, when trouble began; 0: there is none */
	char note[READINESS_TEXT];                     /* of the leader election */
	bool is_told; /* nothing changed since the last look */
};

/* What is looked at; borrowed for the look. */
struct readiness_sources {
	const struct watches *watches;
	const struct certificates *certificates;
	const struct leadership *leadership;
	const char *writes; /* what the API server did not take of the statuses, or "" */
};
/*
 * Looks at everything. A CA certificate that is not published does not make us unready, for agents that
 * have it go on. Nor do statuses that were not taken, for others are written; nor that we do not lead, for
 * who follows takes reports, too. True when what is told differs from the last look, or at the first.
 */
bool readiness_look(struct readiness *readiness, const struct readiness_sources *sources,
		    uint64_t now_ms);
/* What was seen; borrowed until the next look. */
const struct probes_check *readiness_checks(const struct readiness *readiness, size_t *ret_n);
/* The next look counts as a change. */
void readiness_forget(struct readiness *readiness);
