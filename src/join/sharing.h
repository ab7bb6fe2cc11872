/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sharing - how one device is divided among containers, concluded from what was seen on it: the
 * form of its device IDs, MIG mode, what allocation responses carried, compute mode, processes, and
 * whether claims give it to several pods or in shares.
 * The node's label decides nothing: it corroborates, or a line says that it contradicts.
 *
 * Threads: any.
 * Limits:  evidence is at most 5 lines.
 */

#include "join/slot.h"
#include "join/tenant.h"

/*
 * Concludes mode, replicas and evidence of the device at that index of the devices, which has those
 * tenants now. With no device ID known and sources that failed it is what was published. The
 * evidence's texts are static or borrowed from what is given, their array lies in arena. Fails with
 * ERROR_NO_MEMORY.
 */
MUST_USE int sharing_conclude(const struct facts *facts, const struct slots *slots,
			      size_t device, const struct tenants *tenants, struct arena *arena,
			      struct attribution_sharing *ret_sharing, struct error *err);
/* True when that conclusion was drawn without any device ID. */
bool sharing_is_without_ids(const struct attribution_sharing *sharing);
