/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stage - what each stage of the join of one device is given.
 *
 * Threads: any.
 */

#include "join/debounce.h"
#include "join/facts.h"

struct stage {
	const struct facts *facts; /* of the node */
	size_t device;             /* the index in its devices */
	bool is_awaited; /* an agent has spoken of the device, and not since the start: what only a */
			 /* report can tell is as published */
	struct debounce *debounce;
	struct arena *arena; /* results lie in it */
};
