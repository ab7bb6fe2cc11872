/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * why_verdicts - on what the verdicts on health and on intent rest. They are the rows of
 * assess/health.def and of assess/drift.def, and the evidence for each that the status has.
 *
 * Threads: any.
 */

#include "kubectl/why_list.h"
#include "model/attribution.h"

/* Of whether the device is well: each reason. */
void why_verdicts_health(struct why_list *list, const struct attribution_status *status);
/* Of what is intended: each drift, and what is pending. */
void why_verdicts_intent(struct why_list *list, const struct attribution_status *status);
