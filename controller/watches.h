/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * watches - which resources the controller follows, and the way of their objects from bytes to the
 * inventory: a reflector, a decoder and a kind each.
 *
 * Threads: the loop's.
 */

#include "base/error.h"
#include "core/inventory.h"
#include "io/loop.h"
#include "kube/apiclient.h"
#include "kube/reflector.h"

struct watches;

struct watches_config {
	enum reflector_initial initial; /* how the first state is read */
	uint64_t seed;
};

/*
 * Starts following everything. Loop, client and inventory are borrowed and must outlive the
 * watches.
 */
MUST_USE int watches_new(struct loop *loop, struct apiclient *client, struct inventory *inventory,
			 const struct watches_config *config, struct watches **ret_watches,
			 struct error *err);
/* The client must have been freed before: it runs the reflectors. Accepts NULL. */
void watches_free(struct watches *watches);

/* True once every resource has arrived whole, or is known to be out of our reach and not needed. */
bool watches_are_synced(const struct watches *watches);

/* What one of them does, for readiness and metrics; all borrowed until the next call. */
struct watches_state {
	const char *name;    /* "pods", static */
	const char *trouble; /* "" when all is well */
	bool synced;
	bool tolerated;      /* the trouble is a lack that the controller works without */
	struct reflector_counters counters;
};
/* The i-th, i < INVENTORY_N_KINDS. */
struct watches_state watches_state(const struct watches *watches, unsigned i);
