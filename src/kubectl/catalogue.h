/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * catalogue - the GPUAttributions that a command shows, decoded, in the order in which people look
 * for GPUs: by node, by index on the node, by UUID. The tenants of each are in the order of their
 * names.
 *
 * Threads: owner.
 * Limits:  CATALOGUE_BYTES of decoded objects: some 50 000 of them, or fewer with many tenants.
 */

#include "base/arena.h"
#include "base/limits.h"
#include "model/attribution.h"

#define CATALOGUE_BYTES (256u * LIMIT_MIB)

/* Is this object wanted? It is borrowed for the call. */
typedef bool (*catalogue_want_fn)(const void *context, const struct attribution *object);

struct catalogue {
	struct arena arena;   /* of what is kept */
	struct arena scratch; /* of the object that is being looked at */
	catalogue_want_fn want;
	const void *context;
	struct catalogue_entry *newest;
	const struct attribution **devices; /* after catalogue_sort() */
	size_t n_devices;
	size_t n_unreadable;        /* objects that could not be decoded */
	struct error unreadable;    /* why the first of them could not */
};

/* want NULL: all are wanted. */
void catalogue_init(struct catalogue *catalogue, catalogue_want_fn want, const void *context);
/* Accepts a zeroed object. For CLEANUP. */
void catalogue_deinit(struct catalogue *catalogue);
/*
 * Takes one object as JSON, for an intake; context is the catalogue. What is no readable
 * GPUAttribution is counted. Fails with ERROR_LIMIT when CATALOGUE_BYTES or memory is used up, and
 * says what to do; with ERROR_NO_MEMORY.
 */
MUST_USE int catalogue_take(void *context, struct view json, struct error *err);
/* Makes `devices`; to be called once, after the last object. Fails with ERROR_LIMIT. */
MUST_USE int catalogue_sort(struct catalogue *catalogue, struct error *err);
