/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * holder_list - collects who holds which device from what the kubelet says, and puts it in order.
 *
 * The kubelet walks hash maps: it lists the same state in another order each time, one device once
 * per NUMA node, one resource in many pieces. Here that becomes one sorted list without
 * duplicates, so that an unchanged state gives an unchanged report.
 *
 * Only what may concern a GPU is kept: resources of known publishers, and of others the devices
 * whose IDs name a GPU.
 *
 * Threads: owner.
 * Limits:  HOLDER_LIST_MAX devices; else as the report bounds texts, holders and their devices.
 */

#include "base/arena.h"
#include "base/array.h"

#define HOLDER_LIST_MAX 131072u

/* One device of one holder. What does not apply is empty. */
struct holder_device {
	struct view namespace;
	struct view pod; /* name or UID, as the source has it */
	struct view container;
	struct view resource;
	struct view device_id; /* empty: the source names the resource, and no device of it */
	bool mps;
};

struct holder_list {
	struct holder_device *items;
	uint32_t count;
	uint32_t allocated;
};

/* Accepts a zeroed object, which is an empty collection. For CLEANUP. */
void holder_list_deinit(struct holder_list *list);
/*
 * Adds one device, or leaves it out because it is no GPU's. Texts are borrowed while the
 * collection lives. Fails with ERROR_LIMIT or ERROR_NO_MEMORY; the collection is then unchanged.
 */
MUST_USE int holder_list_add(struct holder_list *list, const struct holder_device *device,
			     struct error *err);

/*
 * These sort the collection and make an array of it, with all its texts in arena. Each holder and
 * resource is one element; its mps is set if it is set for any of its devices. Fail with
 * ERROR_LIMIT or ERROR_NO_MEMORY; *ret is then untouched.
 */

/* struct report_pod_resource. */
MUST_USE int holder_list_to_pod_resources(struct holder_list *list, struct arena *arena,
					  struct array *ret, struct error *err);
/* struct report_checkpoint_entry; `pod` is the UID. */
MUST_USE int holder_list_to_checkpoint_entries(struct holder_list *list, struct arena *arena,
					       struct array *ret, struct error *err);
/* struct report_resource_devices; only resource and device_id matter. */
MUST_USE int holder_list_to_resource_devices(struct holder_list *list, struct arena *arena,
					     struct array *ret, struct error *err);
