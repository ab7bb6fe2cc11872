/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sharing - how one device is divided among containers, by what was seen on it.
 *
 * Threads: any; pure.
 */

#include "assess/sharing_rule.h"
#include "assess/slot.h"
#include "base/arena.h"
#include "model/node.h"
#include "model/report.h"

struct sharing_input {
	const struct slot *slots; /* of the device, by ID */
	size_t n_slots;
	bool is_offered;  /* some slot of it is on offer */
	bool has_sharers; /* pods have shares of it that are no slots: KAI's */
	const struct report_device *reported; /* NULL: NVML does not list it */
	const struct node *node; /* NULL: the API server has none of that name */
};

/*
 * Concludes the sharing mode. The evidence lies in arena. *ret_is_without_ids: no device ID tells that a
 * plugin hands it out. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int sharing_judge(const struct sharing_input *input, struct arena *arena,
			   struct attribution_sharing *ret_sharing, bool *ret_is_without_ids,
			   struct error *err);
/* True when those lines of evidence (enum evidence) were published of a device whose IDs were not known. */
bool sharing_is_without_ids(unsigned evidence);
/* True when NVML lists a client of MPS on the device. */
bool sharing_has_mps_process(const struct report_device *reported);
