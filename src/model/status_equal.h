/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * status_equal - do two statuses say the same to a reader? If so, nothing is written.
 *
 * Threads: any.
 */

#include "model/attribution.h"

/*
 * True when every published field is the same, but for the memory that processes take, of tenants
 * and of unallocated users, and the number of a tenant's processes where there are any: these move
 * all the time, and a new figure alone is no news. Nor is that the same was reported again: which
 * report a status was made from makes no difference. An empty array is the same as an absent one.
 */
bool status_equal(const struct attribution_status *a, const struct attribution_status *b);
