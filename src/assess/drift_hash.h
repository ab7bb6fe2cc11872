/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_hash - tells one intent from another, by the values that it is made of and by no text.
 *
 * It is published, so it is the same in each run and in each version. A rule gives it if what it goes by
 * can be edited while the difference stays. With another hash the hold-off begins anew.
 *
 * Threads: any; pure.
 */

#include <stdint.h>

#include "base/view.h"

/* Of what the hash is of, and one value more; hash 0: of nothing. Never 0. */
uint32_t drift_hash(uint32_t hash, struct view value);
/* The same of a number. */
uint32_t drift_hash_number(uint32_t hash, int64_t value);
