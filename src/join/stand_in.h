/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * stand_in - who is on a device when what the kubelet says names a stand-in: HAMi's plugin gives
 * other devices than its IDs name, and says which in an annotation of the pod; KAI has a pod of its
 * own hold a device for all pods of a group. Whoever may edit a pod may write such texts: they make
 * a tenant, but do not confirm it, and only of a pod to which the kubelet gave IDs of HAMi's, or of
 * a group for which KAI holds a device.
 *
 * Sources: HAMi's annotation hami.io/vgpu-devices-allocated ("UUID,type,memory,cores:" a device,
 * ";" behind each container's part); KAI's labels runai-gpu-group, of who shares several devices
 * runai-gpu-group/GROUP, and annotations run.ai/reserve_for_gpu_index and
 * gpu-fraction-container-name.
 *
 * HAMi's parts, by release (pkg/scheduler/score.go, pkg/device/devices.go: Resourcereqs):
 *
 *	before 2.7.0	one for each main container; empty ones may be missing, or elsewhere (its
 *			issue 991, pull request 1299)
 *	2.7.0 .. 2.8.3	one for each main container
 *	2.9.0		one for each init container, sidecars among them, then for the main ones (1650)
 *	2.10.0		the same, and the empty ones are missing where devices are registered by the
 *			name of their model, as NVIDIA's are (issue 2899)
 *
 * Threads: any.
 */

#include "join/ledger.h"

/* How many owners, and device IDs, stand_in_resolve() notes at most. */
size_t stand_in_count(const struct node_pods *node_pods);
/*
 * Notes in the ledger who the real holders are. All other witnesses must have been noted before. A
 * reservation is marked as a stand-in, and as resolved if it has sharers.
 */
void stand_in_resolve(struct ledger *ledger);
