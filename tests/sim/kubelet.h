/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * kubelet - one on each node. It sees pods, admits them, runs their containers, ends them, and
 * tells the API server. It answers PodResources calls. It restarts, hangs and loses its state. The
 * node's device plugin is here as far as the kubelet knows it.
 *
 * Threads: the program's only one.
 */

#include "base/view.h"
#include "sim/world.h"

enum kubelet_file { KUBELET_FILE_THERE, KUBELET_FILE_ABSENT, KUBELET_FILE_UNREADABLE };

/* Begins with no kubelet running. */
void kubelet_reset(void);
/* Frees what the kubelets hold. */
void kubelet_clear(void);
/* The node's kubelet starts, and soon after it knows its pods and the plugin. */
void kubelet_start(int node, uint64_t sources_ms, uint64_t plugin_ms);
/* The node's kubelet stops. Does nothing while it is down. */
void kubelet_stop(int node);
/* It is down for a while; is_wiped: and its checkpoint is gone then. */
void kubelet_restart(int node, uint64_t down_ms, uint64_t sources_ms, bool is_wiped);
/* PodResources calls up to then are not answered; or are refused for their rate. */
void kubelet_hang(int node, uint64_t until);
void kubelet_throttle(int node, uint64_t until);
/* The checkpoint cannot be read up to then. */
void kubelet_damage(int node, uint64_t until);
/* The mirror of this static pod was deleted: the kubelet makes another. */
void kubelet_miss_mirror(struct world_pod *pod);
/* Something about the pod has changed: the kubelet will look at it. */
void kubelet_see(struct world_pod *pod);
/* The main containers of a pod that runs die, and run again after ms. */
void kubelet_restart_container(struct world_pod *pod, uint64_t ms);
/* The plugin goes, comes back, or has other devices than before. */
void kubelet_lose_plugin(int node);
void kubelet_return_plugin(int node);
void kubelet_update_plugin(int node);
/* The node's agent starts: it has been told of nothing yet. */
void kubelet_met_agent(int node);
/*
 * Neither its last List nor its last look at the checkpoint told that agent anything, or neither did when
 * it took the sample that it has reported last.
 */
bool kubelet_withholds_records(int node);
/* What the node's agent finds. */
enum kubelet_file kubelet_checkpoint(int node, struct view *ret);
/* False: there is no socket. made_at is by the node's wall clock. */
bool kubelet_socket(int node, uint64_t *ret_inode, int64_t *ret_made_at);
