/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * describe - what one device is, and how it is cut. What no source tells now is what was published.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_PARTITIONS.
 */

#include "assess/slot.h"
#include "base/arena.h"
#include "model/attribution.h"
#include "model/grant.h"
#include "model/report.h"

struct describe_input {
	const struct report *report; /* NULL: none since the start */
	const struct report_device *reported; /* NULL: it does not list the device */
	const struct slice_device *slice; /* what ResourceSlices say of it, or NULL */
	const struct attribution_status *published; /* by this node, or NULL */
	bool is_agentless; /* that was made without any report of an agent */
	const struct slot *slots; /* of the device */
	size_t n_slots;
	bool is_as_published; /* there may be more slots than these: those that were published */
};

/*
 * What the device is, by NVML or by slices. index and minor: -1 where they are not known. The result
 * lies in arena or is borrowed from the input. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int describe_device(const struct describe_input *input, struct arena *arena,
			     struct attribution_device *ret_device, struct error *err);
/* How many partitions it has. */
uint32_t describe_count_partitions(const struct describe_input *input);
/* Its MIG partitions (struct attribution_partition), by UUID, but for their activity. The same. */
MUST_USE int describe_partitions(const struct describe_input *input, struct arena *arena,
				 struct array *ret_partitions, struct error *err);
/*
 * How many slots there are, and are given out; -1: not known. Where both are known, allocated is at most
 * total and the summary is made, which else is empty. The same.
 */
MUST_USE int describe_slots(int64_t total, int64_t allocated, struct arena *arena,
			    struct attribution_slots *ret_slots, struct error *err);
