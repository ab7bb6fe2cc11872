/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * claimant - whom claims gave a device by what was published: where claims or slices do not tell
 * it now, nothing says that it has ended.
 *
 * A claim names a device as its driver does, and only a slice tells which one that is. Slices go
 * while their driver or the kubelet restarts, and the driver withdraws a device that is ill, while
 * the pods that were given it run on.
 *
 * Threads: any; pure.
 */

#include "join/debounce.h"
#include "join/facts.h"

/* True when it is a claim, by its witnesses, that gave the tenant the device. */
bool claimant_is_one(const struct attribution_tenant *tenant);
/* True when that pod may have more claims than are known: that one is not here means nothing. */
bool claimant_is_unheard(const struct join_input *input, struct view pod_uid);
/* The number of the device that NVIDIA's driver calls so, or a part of it; -1: none. */
int64_t claimant_minor(struct view name);
/* True when what NVML said of the node's devices, it said lately and in this boot. */
bool claimant_hears_nvml(const struct join_input *input);
/*
 * The device's number as it is told now: by NVML, if lately and in this boot, or else by slices; -1:
 * by neither, or NVML gives the one in the slices to another device.
 */
int64_t claimant_number(const struct join_input *input, const struct device *device);
/*
 * False when NVML lately, in the boot that the Node names, gave the device another number than the
 * grant's name says, and none of the container's grants says that one; or gave it none, and that
 * number to a device on which the container was not by a claim, or all of the container's to others:
 * the slice by which it is there is of a former boot.
 */
bool claimant_is_borne_out(const struct facts *facts, const struct grant *grant,
			   const struct device *device);
/*
 * True when the device, which was published with that tenant by a claim, has a number that no device
 * of the container's was published with, or has lost its own to a device that is not the container's:
 * another is now what the claim gave.
 */
bool claimant_is_displaced(const struct facts *facts, const struct device *device,
			   const struct attribution_tenant *tenant);
/*
 * Where a grant is that no slice places: the device on which a claim, by what was published, had
 * its container, with more slots than have been noted. Of a partition, *ret_partition is its UUID,
 * or empty. NULL: on none, also not on one that the slices call by another name, or that does not
 * bear the grant out. The facts are still being read, and in no order.
 */
const struct device *claimant_seat(const struct facts *facts,
					  const struct grant *grant,
					  struct view *ret_partition);
/*
 * The next tenant, from *index of those that were published of the device on, to which an unheard
 * claim gave it, and which no witness names there now; NULL: there is none. Steps *index.
 */
const struct attribution_tenant *claimant_next_kept(const struct facts *facts, size_t device,
						    uint32_t *index);
/*
 * True of a container, whose claim is not here, that was a tenant by what was published, and stays
 * one nowhere: it has a device, and nothing tells which.
 */
bool claimant_is_lost(const struct facts *facts, struct view pod_uid, struct view container);
/*
 * True when the device is given by a claim that is reserved for what is no pod, and a pod of the node
 * names it: who has the device is not told. While claims and slices cannot be read it is as it was
 * published.
 */
bool claimant_is_nameless(const struct join_input *input, const struct device *device);
/*
 * True when claims or slices cannot be read, or are not all there, and nobody can tell where a pod of
 * the node has a device that a claim gives it, or whether one does: it may be any. To be asked once a
 * join.
 */
bool claimant_is_unread(const struct facts *facts, struct debounce *doubts);
/* True when the device is handed out by claims: slices describe it, or did, or a claim has it. */
bool claimant_is_sliced(const struct facts *facts, size_t device);
