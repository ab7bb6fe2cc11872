/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * device_manager - the kubelet's device manager: what plugins offer, who was given what, the
 * checkpoint on disk, and what PodResources tells of both. Each node has its own.
 *
 * It does as the kubelet does:
 * - Devices of pods that ended are freed at the next allocation or List, not before.
 * - The checkpoint is written on an allocation and when a plugin's list changes, not when a pod
 *   ends.
 * - A failed admission leaves what its first containers were given.
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>

#include "base/sbuf.h"
#include "sim/world.h"

/* Begins with no plugin, allocation or checkpoint on any node. */
void device_manager_reset(void);
/* Frees the records of all nodes. */
void device_manager_clear(void);
/* The kubelet starts: what it remembers is what the checkpoint says, and no plugin is known. */
void device_manager_load(int node);
/* The checkpoint is removed. */
void device_manager_wipe(int node);
/* The node's plugin registers, or tells a new list: what it offers follows from the world. */
void device_manager_register(int node);
/* The kubelet counts all slots as taken, until it starts: https://github.com/kubernetes/kubernetes/issues/130145 */
void device_manager_leak(int node);
bool device_manager_is_leaking(int node);
bool device_manager_was_leaking(int node); /* it ever was */
/* Since when what is on offer on the node is what it is. */
uint64_t device_manager_offered_since(int node);
/* The plugin has gone: nothing of it is healthy. */
void device_manager_unregister(int node);
/* Gives the pod's containers their devices; writes the checkpoint. False: there are too few. */
bool device_manager_allocate(struct world_pod *pod);
/* The contents of the checkpoint, borrowed; false: there is none. */
bool device_manager_file(int node, struct view *ret);
/* Messages of PodResources. is_ready: the kubelet has all its pods. */
void device_manager_list(int node, bool is_ready, struct sbuf *out);
void device_manager_allocatable(int node, struct sbuf *out);
/* The records have the pod's devices. */
bool device_manager_has(const struct world_pod *pod);
/* The IDs on offer for the device, borrowed; at most max. */
int device_manager_offered(int gpu, const char **ret_ids, int max);
/* The name of the resource that the node's plugin offers. */
const char *device_manager_resource(int node);
