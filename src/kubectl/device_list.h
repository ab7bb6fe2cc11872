/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_list - the GPUAttributions that a command shows, decoded. They are in the order of their
 * nodes, then of their indexes on the node, then of their UUIDs. Tenants are in the order of names.
 *
 * Threads: owner.
 * Limits:  DEVICE_LIST_BYTES of decoded objects: some 50 000 of them, or fewer with many tenants.
 */

#include "base/arena.h"
#include "base/limits.h"
#include "kubectl/uuid_prefix.h"
#include "model/attribution.h"

#define DEVICE_LIST_BYTES (256u * LIMIT_MIB)

/* Is this object wanted? It is borrowed for the call. */
typedef bool (*device_list_want_fn)(const void *context, const struct attribution *object);

struct device_list {
	struct arena arena;   /* of what is kept */
	struct arena scratch; /* of the object that is being looked at */
	device_list_want_fn want;
	const void *context;
	struct uuid_prefix *known; /* gets the UUIDs of each object and its partitions; or NULL */
	struct device_list_entry *newest;
	const struct attribution **devices; /* after device_list_sort() */
	size_t n_devices;
	size_t n_unreadable;        /* objects that could not be decoded */
	struct error unreadable;    /* why the first of them could not */
};

/* want NULL: all are wanted. `known` may then be set. */
void device_list_init(struct device_list *list, device_list_want_fn want, const void *context);
/* Accepts a zeroed object. For CLEANUP. */
void device_list_deinit(struct device_list *list);
/*
 * Takes one object as JSON, for an object_stream; context is the list. Objects that
 * cannot be decoded are counted. Fails with ERROR_LIMIT when DEVICE_LIST_BYTES are used up, with a
 * text that says what to do, or with ERROR_NO_MEMORY.
 */
MUST_USE int device_list_take(void *context, struct view json, struct error *err);
/* Makes `devices`; to be called once, after the last object. Fails with ERROR_LIMIT. */
MUST_USE int device_list_sort(struct device_list *list, struct error *err);
