/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_row - a row in a section of one device, as the columns' functions get it.
 *
 * Threads: any.
 */

#include "model/attribution.h"

struct sbuf;

struct device_row {
	const void *element; /* a tenant, an event, ...: what the section is a list of */
	const struct attribution_status *status;
	int64_t now; /* ms since 1970, or WORDS_NO_NOW */
};

/*
 * Appends the name of the pod with that UID, with " (left)" behind a former tenant's. If the status
 * does not know the name it is the UID. Failure is the buffer's.
 */
void device_row_pod(const struct attribution_status *status, struct view uid, struct sbuf *cell);
