/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * shared_report - an accepted report. It is compared with the next one of its node by the front and
 * looked at by the loop, each as long as it likes: hence a count of references. It never changes
 * after it was decoded.
 *
 * Threads: any, for references; the report is written before it is shared.
 */

#include <stdatomic.h>

#include "base/arena.h"
#include "controller/memory_share.h"
#include "model/report.h"

struct shared_report {
	struct report report;
	struct arena arena; /* what the report points to */
	atomic_uint references;
	struct memory_share *share; /* who is charged for it; NULL: nobody */
	size_t charged;             /* bytes */
};

/*
 * An empty report, to be decoded into the arena, which holds arena_cap bytes. One reference, the
 * caller's. NULL with ERROR_NO_MEMORY.
 */
MUST_USE struct shared_report *shared_report_new(size_t arena_cap, struct error *err);
/*
 * Charges its memory, until the last reference is given up. Once, before it is shared. It replaces a
 * report that was charged `replaced` bytes. False: there is no room, nothing was charged.
 */
bool shared_report_charge(struct shared_report *report, struct memory_share *share,
			  size_t replaced);
/* One more reference, for whom it is returned. */
struct shared_report *shared_report_ref(struct shared_report *report);
/* Gives up a reference; the last one frees. Accepts NULL. For inventory_node_state_put_report(). */
void shared_report_unref(void *report);
/* The same for CLEANUP. */
void shared_report_unrefp(struct shared_report **report);
