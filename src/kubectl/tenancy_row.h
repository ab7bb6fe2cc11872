/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tenancy_row - which row of join/arbitrate.def decided on a tenant, as far as the published status
 * tells. It goes by confidence, witnesses and phase, and by what the sources said where they differ.
 *
 * Every input of the table is tried. Those that would give what is published are left, and each of
 * their rows may be the one. Mostly that is one row. It is two where the tenant may have been kept
 * because a source could not be read. Which one failed is told in messages only, and no message decides
 * here. Until a node's first report since the controller's start, the row is that of the last report.
 *
 * Threads: any; pure.
 */

#include "join/arbitrate.h"
#include "model/attribution.h"

/* The rows that may have decided, as bits 1 << enum arbitrate_row; 0: none fits in this version. */
unsigned tenancy_row_find(const struct attribution_status *status,
			  const struct attribution_tenant *tenant);
/* What the row says, as a sentence without its full stop; static. */
struct view tenancy_row_text(enum arbitrate_row row);
