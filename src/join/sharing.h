/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sharing - how one device is divided among containers, concluded from what was seen on it: the
 * form of its device IDs, MIG mode, what allocation responses carried, compute mode, processes, and
 * whether claims give it to several pods or in shares.
 * The node's label decides nothing: it corroborates, or a line says that it contradicts.
 *
 * Threads: any.
 */

#include "join/slots.h"
#include "join/tenants.h"

/* As many lines as a conclusion can have. */
#define SHARING_MAX_LINES 6u

struct sharing {
	int mode;
	int64_t replicas; /* 0: not known */
	enum evidence lines[SHARING_MAX_LINES];
	uint32_t n_lines;
	unsigned evidence; /* the lines as bits */
	const struct array *kept; /* the published texts of the evidence, when they stay as they */
				  /* are: then there are no lines. Or NULL */
};

/*
 * Concludes how the device is shared, which has those tenants now. When no device ID is known and
 * sources failed, that is what was published. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int sharing_conclude(const struct subject *subject, const struct tenants *tenants,
			      struct sharing *ret_sharing, struct error *err);
/* Puts it into texts, which are static or those that were published. Fails with ERROR_NO_MEMORY. */
MUST_USE int sharing_write(const struct sharing *sharing, struct arena *arena,
			   struct attribution_sharing *ret_sharing, struct error *err);
/* True when a conclusion with that evidence was drawn without any device ID. */
bool sharing_is_without_ids(unsigned evidence);
