/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * uuid_prefix - finds the device that the beginning of a UUID means.
 *
 * Threads: any.
 */

#include "model/attribution.h"

#define UUID_PREFIX_NAME_SIZE 41u /* of an object's name, and a NUL */

/*
 * Does the text begin the UUID of the device or of one of its partitions? Case does not matter, and
 * "GPU-" and "MIG-" may be left out.
 */
bool uuid_prefix_fits(struct view text, const struct attribution *device);
/* True for the whole UUID of a device: the name of its object. */
bool uuid_prefix_object_name(struct view text, char ret[static UUID_PREFIX_NAME_SIZE]);
