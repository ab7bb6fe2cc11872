/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * quantity - amounts of resources as Kubernetes writes them: "8", "1k", "16Gi", "12e6".
 *
 * Threads: any.
 */

#include "base/view.h"

/*
 * Reads an amount that is a whole number of at most 2^63 - 1. False for anything else, also for a
 * fraction ("500m", "1.5k"), which no extended resource may have; *ret is then untouched.
 */
bool quantity_parse(struct view text, int64_t *ret);
