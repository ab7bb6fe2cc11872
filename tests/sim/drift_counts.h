/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_counts - counts in how many histories without a violation each type of drift was published, and
 * each other reason of the condition InSync. It only observes. sim/matrix.h calls it.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdio.h>

#include "model/attribution.h"

/* Before and after a history; is_clean: nothing was violated, so it counts. */
void drift_counts_begin(void);
void drift_counts_end(bool is_clean);
/* The status has taken effect. */
void drift_counts_wrote(const struct attribution_status *status);
/* Prints the counts. Each word can be made here: returns how many are in no history, and says which. */
int drift_counts_print(FILE *file);
