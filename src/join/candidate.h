/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * candidate - a pod that is no tenant of a device by what is known, and may be one all the same.
 *
 * Who holds each slot is not always known: a book cannot be read, or names a holder that cannot be
 * told, or not which device; a claim is not here or not allocated yet; HAMi has chosen, and has not
 * said what. A process of such a pod is no proof that it uses what it was not given.
 *
 * Threads: any; pure.
 */

#include "join/facts.h"

struct candidate {
	struct view pod_uid;                   /* empty: no pod */
	const struct pod *pod;                 /* NULL: the API server does not know it */
	const struct pod_container *container; /* NULL: it may be any of the pod's */
};

/* False of an ephemeral container: no plugin gives it a device, nor has it a claim. */
bool candidate_can_hold(const struct candidate *candidate);
/*
 * True when the candidate, which is no tenant of a device, may hold a slot of it. slots_nameless is
 * how many of the device's are held by somebody who could not be told. False of no pod, and of what
 * can hold none.
 */
bool candidate_may_hold(const struct candidate *candidate, const struct facts *facts,
			int64_t slots_nameless);
