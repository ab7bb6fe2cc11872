/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * candidate - the container of a pod that a process is in, as far as it is known; and whether that may
 * hold a unit of a device all the same, if it is no known tenant of it.
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

/* The container of the pod that the process is in; NULL: no pod, or its status does not tell. */
const struct pod_container *candidate_container(const struct pod *pod,
						const struct report_process *process);
/*
 * True when the process may be in another container of its pod than the one of that name:
 * - in an ephemeral one that is not kept;
 * - in an ephemeral one that was added since: the named one runs, and has another ID;
 * - in one that has begun since: it is not shown to run; or, before the named one has begun, it is
 *   an init container's next attempt.
 * False when the process' container is known, or its pod is not.
 */
bool candidate_may_be_elsewhere(const struct candidate *candidate,
				const struct report_process *process, struct view container);
/* False for an ephemeral container: it gets no device of a plugin, and no claim. */
bool candidate_can_hold(const struct candidate *candidate);
/*
 * True when the candidate may hold a unit of a device of which it is no tenant. n_nameless units of
 * that device have a holder that could not be told. False for no pod, and if it cannot hold any.
 */
bool candidate_may_hold(const struct candidate *candidate, const struct facts *facts,
			int64_t n_nameless);
