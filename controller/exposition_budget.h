/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * exposition_budget - the memory that all texts of /metrics together may have in this process: those
 * that are written, those that are kept, and those that slow clients still read.
 *
 * Threads: any.
 * Limits:  LIMIT_EXPOSITION_BYTES.
 */

#include <stdbool.h>
#include <stddef.h>

/* Counts so many bytes as used. False: they are too many, and nothing has changed. */
bool exposition_budget_take(size_t size);
/* They are free again. */
void exposition_budget_give(size_t size);
/* True if so many bytes more could be taken now. */
bool exposition_budget_has(size_t size);
/* How many are used. */
size_t exposition_budget_used(void);
