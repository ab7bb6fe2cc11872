/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * exposition_budget - the memory that all texts of /metrics together may have in this process: those
 * that are written, those that are kept, and those that slow clients still read. memory_limit.h says
 * how much that is.
 *
 * Threads: any.
 * Limits:  LIMIT_EXPOSITION_BYTES, or what exposition_budget_set_cap() said.
 */

#include <stdbool.h>
#include <stddef.h>

/* They may have so many bytes from now on. Texts that have more already keep it. */
void exposition_budget_set_cap(size_t cap);
/* Counts so many bytes as used. False: they are too many, and nothing has changed. */
bool exposition_budget_take(size_t size);
/* They are free again. */
void exposition_budget_give(size_t size);
/* How many bytes more could be taken now. */
size_t exposition_budget_left(void);
/* How many are used. */
size_t exposition_budget_used(void);
