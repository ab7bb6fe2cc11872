/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * previous_index - the pods that are, or were, published on any device, by UID and by name. Objects
 * of devices that came from another node count too.
 *
 * Threads: any; immutable once made.
 */

#include "join/devices.h"

struct previous_index_item; /* opaque: a container that is, or was, published on a device */

struct previous_index {
	struct lookup uids, names;
	struct previous_index_item *items;
};

/* Makes it. The result lies in arena and borrows from the devices. Fails with ERROR_NO_MEMORY. */
MUST_USE int previous_index_make(const struct devices *devices, struct arena *arena,
				 struct previous_index *ret_index, struct error *err);
/* True when the pod of that UID was a tenant, and known to the API server. */
bool previous_index_has(const struct previous_index *index, struct view uid);
/* True when the container of that name, of a pod of that name with another UID, was on the device
 * (NULL: on any). */
bool previous_index_has_namesake(const struct previous_index *index,
				 const struct report_pod_resource *said, struct view uid,
				 const struct device *device);
