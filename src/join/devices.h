/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * devices - the devices that a join is about, and which of them a device ID means. They are those that
 * the report lists, and those whose published status names the node. While NVML does not answer, or
 * there is no report, there are more. The kubelet, the status of pods and ResourceSlices name these by
 * their full UUID.
 *
 * Threads: any.
 * Limits:  a report without NVML's list adds at most LIMIT_REPORT_DEVICES devices. Of the
 *          partitions that a device was published with, 8 * LIMIT_PARTITIONS are known, those of
 *          tenants last, each as often as it is named.
 */

#include "base/keyed.h"
#include "join/input.h"
#include "join/previous.h"
#include "model/device_id.h"

struct device {
	struct view uuid;
	const struct report_device *reported; /* NULL: the report does not list it */
	const struct join_previous *object; /* NULL: it has none */
	const struct previous *previous;    /* the object's status, of whichever node; or NULL */
	const struct previous *published;   /* the same if it is this node's, else NULL */
	bool is_ours;                         /* the object's status names this node */
	bool is_taken;                        /* the object's status names another node */
	bool is_elsewhere; /* and nothing shows that the device has been moved to this one */
	const struct slice_device *slice;     /* what ResourceSlices of the node say of it, or NULL */
	bool is_called_unhealthy; /* by the status of a pod that has it and is not over */
};

struct devices {
	enum report_list nvml; /* what NVML's list is worth */
	struct device *devices; /* by UUID in lower case */
	size_t n_devices;
	struct keyed uuids, partitions, minors; /* of these; partitions: the device that has it */
};

/* Where a device ID points to. */
struct device_place {
	const struct device *device; /* NULL: to none of the devices */
	struct device_id id;
	struct view partition; /* UUID of the MIG device, or empty */
};

/* Lists the devices. The result lies in arena and borrows from input. ERROR_NO_MEMORY. */
MUST_USE int devices_make(const struct join_input *input, struct arena *arena,
			  struct devices *ret_devices, struct error *err);
/* Finds the device of a raw device ID. */
struct device_place devices_find(const struct devices *devices, struct view device_id);
/* Told of a device that is named by its full UUID, which is borrowed from the input. */
typedef void (*devices_named_fn)(void *owner, struct view uuid);
/*
 * Tells which devices the kubelet, the status of pods that are not over and ResourceSlices name; one as
 * often as it is named.
 */
void devices_name_all(const struct join_input *input, devices_named_fn named, void *owner);
/* A recent report of another node names the device. */
bool devices_is_claimed_elsewhere(const struct join_input *input, const struct device *device);
