/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * books - the kubelet's device manager: what plugins offer, who was given what, the checkpoint on
 * disk, and what PodResources tells of both. Each node has its own.
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
void books_reset(void);
/* Frees the books of all nodes. */
void books_clear(void);
/* The kubelet starts: what it remembers is what the checkpoint says, and no plugin is known. */
void books_load(int node);
/* The checkpoint is removed. */
void books_wipe(int node);
/* The node's plugin registers, or tells a new list: what it offers follows from the world. */
void books_register(int node);
/* The kubelet counts all slots as taken, until it starts: https://github.com/kubernetes/kubernetes/issues/130145 */
void books_leak(int node);
bool books_is_leaking(int node);
bool books_was_leaking(int node); /* it ever was */
/* Since when what is on offer on the node is what it is. */
uint64_t books_offered_since(int node);
/* The plugin has gone: nothing of it is healthy. */
void books_unregister(int node);
/* Gives the pod's containers their devices; writes the checkpoint. False: there are too few. */
bool books_allocate(struct world_pod *pod);
/* The contents of the checkpoint, borrowed; false: there is none. */
bool books_file(int node, struct view *ret);
/* Messages of PodResources. is_ready: the kubelet has all its pods. */
void books_list(int node, bool is_ready, struct sbuf *out);
void books_allocatable(int node, struct sbuf *out);
/* The books have the pod's devices. */
bool books_has(const struct world_pod *pod);
/* The IDs on offer for the device, borrowed; at most max. */
int books_offered(int gpu, const char **ret_ids, int max);
/* The name of the resource that the node's plugin offers. */
const char *books_resource(int node);
