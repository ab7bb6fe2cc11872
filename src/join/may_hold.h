/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * may_hold - whether a pod that is no known tenant of a device may hold a unit of it all the same.
 *
 * Not every holder is known: a source cannot be read, or does not tell the holder or the device; a
 * claim is not here, or not allocated; HAMi has not written its annotation yet. A process of such a
 * pod does not show that it uses what it was not given.
 *
 * Threads: any; pure.
 */

#include "join/facts.h"

struct candidate {
	struct view pod_uid;                   /* empty: no pod */
	const struct pod *pod;                 /* NULL: the API server does not know it */
	const struct pod_container *container; /* NULL: it may be any of the pod's */
};

/* False for an ephemeral container: it gets no device of a plugin, and no claim. */
bool may_hold_any(const struct candidate *candidate);
/*
 * True when the candidate may hold a unit of a device of which it is no tenant. n_nameless units of
 * that device have a holder that could not be told. False for no pod, and without may_hold_any().
 */
bool may_hold_unit(const struct candidate *candidate, const struct facts *facts,
		   int64_t n_nameless);
