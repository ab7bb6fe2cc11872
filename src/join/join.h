/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * join - from what is known of one node, the status of each of its devices. A pure function: the same
 * input gives the same output.
 *
 * A tenant is (pod UID, container). It never goes because a List was short. A source that went quiet
 * changes freshness, not tenancy.
 *
 * A fresh report creates objects, adopts one without a node, and takes one from a node. Where no agent
 * reports, what the API server says of devices creates and adopts. It then takes an object only from a
 * node without an agent, when nothing there names the device any more.
 *
 * Threads: any.
 * Limits:  no object is created for a node that has LIMIT_NODE_OBJECTS.
 */

#include "base/arena.h"
#include "join/input.h"
#include "model/node_state.h"

enum join_action {
	JOIN_KEEP,   /* the published status is right: write nothing */
	JOIN_WRITE,  /* publish `status` (create the object first when previous is NULL) */
	JOIN_DELETE, /* the object's node has been gone for the stated time */
};

struct join_device {
	enum join_action action;
	struct view name;                   /* of the object */
	struct view uuid;                   /* spec.uuid */
	const struct attribution *previous; /* from the input, or NULL */
	struct attribution_status status;   /* JOIN_WRITE and JOIN_KEEP: what is so now */
	enum inventory_age pods_age; /* as in the input */
	bool is_by_names; /* whom the List means, its names alone decided, at least in part: no */
			  /* good checkpoint, or none that has all of it */
};

struct join_result {
	struct join_device *devices; /* not those without an object that shall get none now */
	size_t n_devices;
	struct recall recall;          /* for the next join: replaces what the last one said */
	struct node_state_refusals refused; /* what could not be used */
	int64_t events_until;          /* once this is written, statuses hold the report's events up */
				       /* to this sequence, if their device has an object; 0: none. */
				       /* Lately listed no more, it may yet get one */
	int64_t again_in_ms;           /* time alone changes the result then; -1: it does not */
	bool is_buried;                /* the node is gone: its report will not be asked for again */
};

/*
 * Computes *ret_result. Everything in it lies in arena or is borrowed from the input. Fails with
 * ERROR_NO_MEMORY or ERROR_LIMIT when the arena is full.
 */
MUST_USE int join_node(const struct join_input *input, struct arena *arena,
		       struct join_result *ret_result, struct error *err);
/*
 * True when a name alone speaks for the tenant: another pod may have that name by now. Before such a
 * one is published the API server is asked, unless pods_age says that the holders are frozen.
 */
bool join_is_by_name(const struct join_device *device, const struct attribution_tenant *tenant);
