/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * why_sources - who says what the rules of assess/drift.def go by. What the agent reads has the time of its
 * report. Of what the API server has, the status has no time.
 *
 * Threads: any.
 */

#include "kubectl/why_list.h"
#include "model/attribution.h"

/* Adds to the last statement, which is a difference of that type, who says what is there. Else nothing. */
void why_sources_of_type(struct why_list *list, const struct attribution_status *status, struct view type);
/* Adds to the last statement, which is the verdict on intent, who says what is intended and what is there. */
void why_sources_of_verdict(struct why_list *list, const struct attribution_status *status);
