/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_findings - the columns of what was found out about one device: health events, drifts from
 * what is intended, conditions.
 *
 * Threads: any.
 */

#include "kubectl/text_table.h"

/* A row is a struct device_row with the element that the name says. */
extern const struct text_table_column device_findings_events[];     /* attribution_health_event */
extern const struct text_table_column device_findings_drifts[];     /* attribution_drift */
extern const struct text_table_column device_findings_pending[];    /* attribution_pending_drift */
extern const struct text_table_column device_findings_conditions[]; /* condition */
