/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * layout - what one device is and how it is cut: NVML's description, its MIG partitions, and how
 * many slots there are and are given out. What no source tells now is what was published.
 *
 * Threads: any.
 * Limits:  LIMIT_PARTITIONS partitions.
 */

#include "join/subject.h"

/* Each lies in the subject's arena or is borrowed from it, and fails with ERROR_NO_MEMORY. */

/* index and minor: -1 where they are not known. */
MUST_USE int layout_describe(const struct subject *subject, struct attribution_device *ret_device,
			     struct error *err);
/* struct attribution_partition, by UUID. */
MUST_USE int layout_partition(const struct subject *subject, struct array *ret_partitions,
			      struct error *err);
/* summary is empty unless both numbers are known; allocated is then at most total. */
MUST_USE int layout_count(const struct subject *subject, struct attribution_slots *ret_slots,
			  struct error *err);
