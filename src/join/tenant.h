/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tenant - the tenants of one device: who holds slots of it now, whose tenancy is carried over
 * because nothing has shown that it ended, and who left.
 *
 * Threads: any.
 * Limits:  LIMIT_TENANTS are listed and the rest counted; LIMIT_RECENT_TENANTS are remembered.
 */

#include "join/facts.h"

struct tenants {
	struct array listed; /* struct attribution_tenant, by pod UID, container */
	struct array recent; /* struct attribution_past_tenant, newest first */
	int64_t count;       /* without system pods; -1: neither book has ever been read */
	int64_t left_out;    /* of the list */
	struct view summary;
	int64_t slots_unresolved; /* held by those that are unresolved, of which: */
	int64_t slots_pending;    /* not for long yet */
	int64_t slots_nameless;   /* by nobody with a UID */
	int64_t slots_stand_in;   /* by a stand-in for others that are not known */
	int64_t slots_kept;       /* of tenants that are carried over: no book names them now */
	int64_t slots_ended;      /* of tenants that ended just now */
	int64_t again_in_ms;      /* a pending one is unresolved then; -1: none is pending */
};

/*
 * Resolves the tenants of the device at that index of the devices. The result lies in arena or is
 * borrowed from what is given. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int tenant_resolve(const struct facts *facts, size_t device, struct arena *arena,
			    struct tenants *ret_tenants, struct error *err);
