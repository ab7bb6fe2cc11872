/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * event_idle - notices when a workload has held an idle GPU for long: once for each tenancy. Under MIG
 * it is the partition that is idle, also beside busy ones: once for each that the tenancy has. Time
 * alone makes that so, so no status tells it.
 *
 * A replica that follows looks, too, and tells nobody: what it sees counts as told, for the one that
 * leads tells it. It looks at what was so a while ago (controller/event_teller.h). So after a take-over
 * it tells once more what the old leader told in that time.
 *
 * Each look tells of what became so since the last one. Of an object that was published anew since, it also
 * tells of what had become so before, which was not known then. The first look begins at the start. So a
 * restart of the controller tells nothing twice, and what becomes so while no controller runs is not
 * told.
 *
 * Threads: owner.
 * Limits:  LIMIT_EVENT_TENANCIES tenancies are remembered as told, or as not to be told. The last seen
 *          version is remembered of as many objects. Beyond these limits, some are forgotten, the
 *          oldest first. Only who is forgotten as both, or is in an object that is
 *          published anew, may be told again.
 */

#include "controller/event_changes.h"
#include "model/inventory.h"

struct event_idle {
	int64_t after_ms;  /* how long it is idle and held */
	int64_t looked_at; /* ms since 1970 */
	bool has_looked;
	uint64_t *told;    /* LIMIT_EVENT_TENANCIES of them, in groups; 0: none */
	uint64_t *seen;    /* the same of versions of objects; behind it */
	size_t n_told;     /* objects, in this look */
	uint64_t n_left_out; /* objects, and tenants of one, of which a look had too many; rises only */
};

/* wall_ms: ms since 1970, here and below. Fails with ERROR_NO_MEMORY. */
MUST_USE int event_idle_init(struct event_idle *idle, int64_t after_ms, int64_t wall_ms,
			     struct error *err);
/* Accepts a zeroed object. */
void event_idle_deinit(struct event_idle *idle);

/* One change of an object; borrowed. */
typedef void (*event_idle_fn)(void *owner, struct view node_name,
			      const struct event_change *change);
/*
 * Tells of all objects that became so since the last look, or of LIMIT_EVENT_QUEUE of them. If the
 * clock was set back it waits until it is where it was. tell: NULL if all of it counts as told.
 */
void event_idle_look(struct event_idle *idle, const struct inventory *inventory, int64_t wall_ms,
		     event_idle_fn tell, void *owner);
