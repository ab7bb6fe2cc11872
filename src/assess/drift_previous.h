/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_previous - what was published of intent, by type instead of by word.
 *
 * Threads: any; pure.
 */

#include "assess/drift_rule.h"

/* Words that are none of ours are left out, and of equal ones all but the first. Borrows from it. */
struct drift_previous drift_previous_read(const struct attribution_intent_state *published);
/* True when there was one of that type, be it a drift or pending. */
bool drift_previous_has(const struct drift_previous *previous, enum drift_type type);
