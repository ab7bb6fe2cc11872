/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * health_finding - what may speak against a device, but for XID errors, and the word for it in the API.
 *
 * Threads: any; pure.
 */

#include "assess/health.def"
#include "base/view.h"

#define HEALTH_FINDING_NAME(name, ...) HEALTH_FINDING_##name,
#define HEALTH_FINDING_NO_NAME(...)
enum health_finding {
	HEALTH_TABLE(HEALTH_FINDING_NAME, HEALTH_FINDING_NO_NAME) N_HEALTH_FINDINGS
};

/*
 * What to do about a reason, one sentence; static. Empty where the recovery action says it, and for a
 * reason that is not known here.
 */
struct view health_finding_advice(struct view reason);
/* The reason that is published of it; static. Two may have one reason. */
struct view health_finding_word(enum health_finding finding);
