/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * measure - has the activity of one device assessed: tells assess/activity.h what the join knows of it
 *
 * Threads: any; pure.
 */

#include "assess/activity.h"
#include "join/subject.h"

/*
 * Judges the activity of the device and of its partitions, which are in the status, as its sharing
 * mode is, and puts it there. is_fresh: the last report is recent. Results lie in the subject's arena
 * or are borrowed from what is given. *ret_again_in_ms: time alone may change it then; -1: it does
 * not. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int measure_activity(const struct subject *subject, bool is_fresh,
			      struct attribution_status *status, int64_t *ret_again_in_ms,
			      struct error *err);
