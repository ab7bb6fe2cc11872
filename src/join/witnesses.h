/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * witnesses - asks all witnesses, and judges their sources.
 *
 * Threads: any; pure.
 */

#include "join/facts.h"

/*
 * Reads what all witnesses say. While what is known of pods is old there are no facts, and no source
 * can be read. Published tenants then stay until their pods are over, or claims place them elsewhere.
 * The result lies in arena and borrows from input and devices. Fails with ERROR_NO_MEMORY.
 */
MUST_USE int witnesses_read(const struct join_input *input, const struct devices *devices,
			    struct arena *arena, struct facts *ret_facts, struct error *err);
