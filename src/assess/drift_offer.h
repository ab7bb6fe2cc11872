/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * drift_offer - what the device plugin has on offer now, by the slots of devices.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_OFFERS resources of one device; further ones are not told.
 */

#include "assess/drift_rule.h"
#include "assess/slot.h"
#include "base/limits.h"

/* Whether any of the slots, of all devices, is on offer. */
bool drift_offer_is_any(const struct slot *slots, size_t n_slots);
/*
 * Lists by which resources a device is on offer; the slots are its own, by ID. By resource: messages name
 * the first. Returns how many.
 */
size_t drift_offer_list(const struct slot *slots, size_t n_slots,
			struct drift_offer offers[static LIMIT_OFFERS]);
