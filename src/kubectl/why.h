/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * why - on what each statement of a published status rests: which witness or source said it, when, and
 * which row of which table decided. By the status alone, with the words of the tables themselves. Health
 * and intent are in kubectl/why_verdicts.h.
 *
 * Threads: any.
 */

#include "kubectl/why_list.h"
#include "model/attribution.h"

/* What the status says, as statements in a list. The texts are copied into the list's arena. */

/* Of who holds the device. pod_uid: of that pod alone; empty: of all. */
void why_tenancy(struct why_list *list, const struct attribution_status *status,
		 struct view pod_uid);
/* Of how it is shared. */
void why_mode(struct why_list *list, const struct attribution_status *status);
/* Of whether it computes. */
void why_activity(struct why_list *list, const struct attribution_status *status);
/* Adds a condition, with its message, as a statement of that section; nothing where it has none. */
void why_condition(struct why_list *list, const char *section, const struct attribution_status *status,
		   struct view type);
