/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * from_hami - the facts that HAMi's annotation hami.io/vgpu-devices-allocated states. HAMi's plugin
 * gives other devices than its IDs name: such an ID is a placeholder, and the annotation says which
 * devices it stands for ("UUID,type,memory,cores:" a device, ";" behind each container's part).
 * Whoever may edit a pod may write it, so it makes a tenant only where the kubelet gave an ID of
 * HAMi's, and does not confirm one.
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

#include "join/facts.h"

/* Replaces the facts about HAMi's IDs by those that the annotations state. The witnesses that name
 * IDs must have been read. */
void from_hami_read(struct facts_draft *draft);
