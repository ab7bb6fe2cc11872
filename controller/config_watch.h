/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * config_watch - follows the ConfigMaps that the ClusterPolicy names, each by its name in the operator's
 * namespace, and puts what they say into the inventory. Which these are is asked of the inventory. Where
 * the policy leaves layouts to the MIG managers, it follows the ConfigMaps in which these tell them, by their
 * label. While there is no policy for it, nothing is requested.
 *
 * What may not be read, or has not been heard of for CONFIG_WATCH_WAIT_MS in which the API server
 * answers, counts as unreadable.
 *
 * Threads: the loop's.
 */

#include "io/loop.h"
#include "kube/apiclient.h"
#include "model/inventory.h"

#define CONFIG_WATCH_WAIT_MS 10000u

struct config_watch;

/* Follows nothing yet. Loop, client and inventory are borrowed and must outlive it. */
MUST_USE int config_watch_new(struct loop *loop, struct apiclient *client,
			      struct inventory *inventory, const struct reflector_config *config,
			      struct config_watch **ret_watch, struct error *err);
/* The client must have been freed before: it runs the reflectors. Accepts NULL. */
void config_watch_free(struct config_watch *watch);

/* From now on calls told(owner) when config_watch_is_settled() may have changed, a moment later at most. */
void config_watch_on_told(struct config_watch *watch, void (*told)(void *owner), void *owner);
/* The policies may have changed: looks, at the loop's next turn, which ConfigMaps they name. */
void config_watch_look(struct config_watch *watch);
/* True when of each ConfigMap that is named it is known what it says, or that it cannot be read. */
bool config_watch_is_settled(const struct config_watch *watch);

/* For readiness and metrics. */
struct config_watch_state {
	const char *trouble; /* why one of them cannot be followed; "": nothing. Borrowed */
	uint32_t n_named;
	uint32_t n_followed; /* their watch is open */
	struct reflector_counters counters; /* of all that were ever followed; rise only */
};
/* What it does now. */
struct config_watch_state config_watch_state(const struct config_watch *watch);
