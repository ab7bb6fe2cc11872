/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * past - what was published of pods, by UID and by name: who was known once, and who held what.
 * Objects of cards that came from another node count too.
 *
 * Threads: any.
 */

#include "base/lookup.h"
#include "join/devices.h"

/* Any device of the devices. */
#define PAST_ANYWHERE SIZE_MAX

struct past_name;   /* opaque: a container of a name on a device */
struct past_holder; /* opaque: a container of a UID on a device */

struct past {
	struct lookup uids, names, holders;
	struct view *uid_items;
	struct past_name *name_items;
	struct past_holder *holder_items;
};

/* Reads it. The result lies in arena and borrows from the devices's input. ERROR_NO_MEMORY. */
MUST_USE int past_read(const struct devices *devices, struct arena *arena, struct past *ret_past,
		       struct error *err);
/* True when the pod of that UID was a tenant, and known to the API server. */
bool past_has(const struct past *past, struct view uid);
/* True when a container of that name of a pod with another UID was on the device (index in the
 * devices, or PAST_ANYWHERE). */
bool past_has_namesake(const struct past *past, const struct report_pod_resource *said,
		       struct view uid, size_t device);
/* The witnesses (of enum witness) that the container's tenancy of the device, by the last
 * status that names this node, had; 0: it had none. */
unsigned past_witnesses(const struct past *past, struct view uid, struct view container,
			size_t device);
