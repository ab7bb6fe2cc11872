/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * word_counts - counts in how many histories without a violation each word was published. Words are the
 * types of drift, the other reasons of the condition InSync, those of Attributed, Ready and
 * ReportFresh, those of health, recovery actions, and states of activity. It only observes.
 * sim/matrix.h calls it.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdio.h>

#include "model/attribution.h"

/* Before and after a history; is_clean: nothing was violated, so it counts. */
void word_counts_begin(void);
void word_counts_end(bool is_clean);
/* The status has taken effect. */
void word_counts_wrote(const struct attribution_status *status);
/*
 * Prints the counts, and why some words cannot be. Returns how many that can be are in no history, or
 * cannot be and are, and says which.
 */
int word_counts_print(FILE *file);
