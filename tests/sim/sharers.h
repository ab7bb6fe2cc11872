/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sharers - pods that others stand in for. HAMi's scheduler chooses a container's devices and writes
 * them on the pod; the IDs that the kubelet then gives from HAMi's plugin only count. KAI has a pod
 * of its own hold a whole device, and pods of its group use it without asking the kubelet at all.
 *
 * And forged marks: a pod that says by these annotations and labels that it is where it is not.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>

#include "sim/world.h"

enum sharers_forgery {
	SHARERS_HAMI_HERE, /* HAMi's annotation with a device of the node, which is not HAMi's */
	SHARERS_HAMI_ELSEWHERE, /* with one of another node */
	SHARERS_HAMI_NOWHERE,   /* with one that does not exist */
	SHARERS_GROUP,          /* in a group whose device is another node's, or nobody's */
	SHARERS_RESERVATION, /* looks like a reservation, and is in nobody's namespace but its own */
	SHARERS_N_FORGERIES,
};

/* Chooses the devices of a pod on a node of HAMi's. False: there are too few. */
bool sharers_choose(struct world_pod *pod);
/* Puts the forged marks on the pod. False: there is nothing to forge. */
bool sharers_forge(struct world_pod *pod, enum sharers_forgery forgery);
/* Somebody edits the annotation of a pod of HAMi's: to a device that the node has not now. */
void sharers_spoil(struct world_pod *pod);
/*
 * Somebody wrote on the pod that it has this device, which was another node's. Once that is in the
 * pod's node it is what HAMi writes, to the letter, and nobody can tell that it is not so.
 */
bool sharers_is_said_on(const struct world_pod *pod, int gpu);
/* The pod is of a group for which a device of this node is, or once was, reserved. */
bool sharers_is_on(const struct world_pod *pod, int gpu);
bool sharers_was_on(const struct world_pod *pod, int gpu, uint64_t sent_at);
/* The reservation that holds the device of the pod's group on its node, or NULL. */
const struct world_pod *sharers_reservation(const struct world_pod *pod);
/* Some pod of the reservation's group is on its node, as far as the API server knows. */
bool sharers_has_any(const struct world_pod *reservation);
/* The reservation of that group, wherever it is; NULL: there is none that the API server has. */
struct world_pod *sharers_find(int group);
