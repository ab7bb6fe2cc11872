/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tenants - the tenants of one device. They hold units of it now, or stay because nothing has shown
 * that they left. Also those that left, and those about whom witnesses contradict each other.
 *
 * A contradiction counts when it has been seen for disagreement_ms (join/debounce.h). A published one
 * stays as long as it is there, and while the node is silent.
 *
 * Threads: any.
 * Limits:  LIMIT_TENANTS and LIMIT_SOURCE_DISAGREEMENT are listed and the rest counted;
 *          LIMIT_RECENT_TENANTS are remembered.
 */

#include "join/subject.h"

/* What is known of them beside what the status has. */
struct tenants {
	int64_t slots_unresolved; /* held by those that are unresolved, of which: */
	int64_t slots_pending;    /* not for long yet */
	int64_t slots_nameless;   /* by nobody with a UID */
	int64_t slots_placeholder;   /* by a placeholder for others that are not known */
	int64_t slots_kept;       /* of tenants that no witness names now */
	int64_t slots_ended;      /* of tenants that ended just now */
	bool is_claimed;          /* a claim gives it to one, as a fact says */
	int64_t again_in_ms;      /* a pending one is unresolved then; -1: none is pending */
};

/*
 * Finds them, and sets what the status has of tenants, by pod UID and container, with room for
 * N_WITNESSES witnesses each. tenant_count: -1: neither book has ever been read. The result lies in the
 * arena or is borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int tenants_find(const struct subject *subject, struct attribution_status *status,
			  struct tenants *ret_tenants, struct error *err);
