/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * readiness - what /readyz says: one check a resource that is followed, and one for the serving
 * certificate, each with why it fails.
 *
 * Threads: the loop's.
 */

#include "controller/certificates.h"
#include "controller/probes.h"
#include "controller/watches.h"

#define READINESS_CHECKS (INVENTORY_N_KINDS + 1)
#define READINESS_TEXT 192

struct readiness {
	struct probes_check checks[READINESS_CHECKS];
	char texts[READINESS_CHECKS][READINESS_TEXT];
	bool is_told; /* nothing changed since the last look */
};

/*
 * Looks at everything; true when something differs from the last look, or at the first. A watch
 * that fails for a while after it synced is not unready: what is known is served.
 */
bool readiness_look(struct readiness *readiness, const struct watches *watches,
		    const struct certificates *certificates);
/* What was seen; borrowed until the next look. */
const struct probes_check *readiness_checks(const struct readiness *readiness, size_t *ret_n);
/* The next look counts as a change. */
void readiness_forget(struct readiness *readiness);
