/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * dra_driver - which drivers of dynamic resource allocation hand out GPUs, by the name under which
 * they publish ResourceSlices and are named in the results of ResourceClaims.
 *
 * Threads: any.
 */

#include "base/view.h"

/* True when the devices of a driver of that name ("gpu.nvidia.com") are GPUs or parts of them. */
bool dra_driver_is_known(struct view name);
/*
 * The name of an attribute or a capacity, without its domain if that is the driver's. A name
 * without a domain is in the driver's domain, so both spellings mean the same. Borrowed.
 */
struct view dra_driver_attribute(struct view driver, struct view name);
