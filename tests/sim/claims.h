/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * claims - dynamic resource allocation. A node's driver publishes its devices in ResourceSlices.
 * The scheduler allocates ResourceClaims from these and reserves them for pods. When a pod is over
 * its reservation goes, and with the last reservation the allocation.
 *
 * A claim gives names of devices. The driver decides what a name means when the kubelet prepares
 * the claim. So after a boot that renumbers devices a name may mean another device.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sim/world.h"

/* The node's driver, if it has one, publishes what there is: its second slice so much later. */
void claims_publish(int node, uint64_t second_ms);
/* The driver goes, and its slices with it; or the second of these only. */
void claims_take_away(int node, bool all);
/* The numbers of the node's devices change, and with them what claims mean; it must be off. */
void claims_renumber(int node);
/* Finds the pod a claim, of a shape by `code`. False: no device is free. */
bool claims_bind(struct world_pod *pod, int code);
/* The API server's object of the pod has changed. */
void claims_see(struct world_pod *pod);
/* Somebody removes the pod's claim, finalizers and all; or takes back what it was given. */
void claims_delete(struct world_pod *pod);
void claims_deallocate(struct world_pod *pod);
/* The API server has a claim that is reserved for the pod. */
bool claims_has(const struct world_pod *pod);
/* By its claim the pod has devices, and its kubelet has not taken it over yet. */
bool claims_awaits_kubelet(const struct world_pod *pod);
/*
 * All that the pod's claim gives is there, or it has none. Otherwise the driver does not prepare
 * the claim, and the kubelet does not start the pod but asks again.
 */
bool claims_can_prepare(const struct world_pod *pod);
