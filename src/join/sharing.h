/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sharing - how one device is divided among containers, concluded from what was seen on it: the
 * form of its device IDs, MIG mode, what allocation responses carried, compute mode, processes, and
 * whether claims give it to several pods or in shares.
 * The node's label decides nothing: it corroborates, or a line says that it contradicts.
 *
 * Threads: any.
 */

#include "join/slots.h"

/*
 * Concludes how the device is shared. While its slots are as published so is that, unless no device
 * ID was known then and one is now. The result lies in the subject's arena, or is borrowed from what
 * is published. *ret_is_without_ids: no device ID told it. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int sharing_conclude(const struct subject *subject, struct attribution_sharing *ret_sharing,
			      bool *ret_is_without_ids, struct error *err);
