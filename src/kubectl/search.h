/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * search - which device does somebody mean who types a UUID, or the beginning of one?
 *
 * Threads: any.
 */

#include "model/attribution.h"

#define SEARCH_NAME_SIZE 41u /* of an object's name, and a NUL */

/*
 * Does the text begin the UUID of the device or of one of its partitions? Case does not matter, and
 * "GPU-" and "MIG-" may be left out.
 */
bool search_fits(struct view text, const struct attribution *device);
/* True for the whole UUID of a device: the name of its object. */
bool search_object_name(struct view text, char ret[static SEARCH_NAME_SIZE]);
