/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * xid_counts - how many XID errors of each number and device have got into a published status. An
 * error counts once, when a status has it first; what an earlier process published does not count.
 *
 * A status keeps few errors, so their number there is no count. An object that is deleted and made
 * anew has its errors from the report once more: they are known by time and number then.
 *
 * Threads: owner; pure.
 * Limits:  max_devices; the one with the oldest error makes room. LIMIT_XID_NUMBERS of a device.
 */

#include "base/error.h"
#include "model/attribution.h"

struct xid_counts;

/* No device is known. max_devices is at least 1. Fails with ERROR_NO_MEMORY. */
MUST_USE int xid_counts_new(size_t max_devices, struct xid_counts **ret_counts,
			    struct error *err);
/* Accepts NULL. */
void xid_counts_free(struct xid_counts *counts);
/*
 * `now` is published instead of `before`; NULL: it is not known what was. Fails with ERROR_NO_MEMORY,
 * only for the first errors of a device, which are not counted then.
 */
MUST_USE int xid_counts_publish(struct xid_counts *counts, const struct attribution *before,
				const struct attribution *now, struct error *err);

struct xid_count {
	int64_t xid; /* -1: all others */
	uint64_t count;
};

/* Of the device with that name; borrowed until the next change. *ret_n is 0 for one not known. */
const struct xid_count *xid_counts_of(const struct xid_counts *counts, struct view name,
				      size_t *ret_n);
