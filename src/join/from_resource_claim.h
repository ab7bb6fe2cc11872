/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * from_resource_claim - the witness ResourceClaim: which container has which device by way of
 * dynamic resource allocation.
 *
 * A claim names a device as its driver does ("gpu-<minor>"), and a ResourceSlice has the UUID of that
 * name. A boot may number the devices anew, and no slice says of which boot it is. So slices count
 * only while they agree with what NVML says in the present boot. Otherwise the witness makes no new
 * tenant, and Attributed is Unknown (ClaimsUnknown). The tenants that it made stay as published,
 * unless the slices that there are name another device for their grant.
 *
 * Threads: any; pure.
 */

#include "join/debounce.h"
#include "join/facts.h"

/*
 * What the claims of the node are worth. ABSENT: no slice describes the node, and no pod of it uses a
 * claim. UNREADABLE: the right to read them is missing, or they were never read. PARTIAL: slices are
 * incomplete or all gone, or nothing bears out that they are of this boot. COMPLETE: else, but for the
 * pods in input->lacking.
 */
struct source_claims from_resource_claim_judge(const struct join_input *input,
					const struct devices *devices);
/* Adds the facts. facts->claims is set, and the devices are known. */
void from_resource_claim_read(struct facts_draft *draft);
/*
 * True when the numbers that NVML gives devices in this boot may be published. While it is not known
 * what the names in claims mean now, those by which tenants were found stay.
 */
bool from_resource_claim_may_renumber(const struct facts *facts);
/* The minor number in the driver's name of a device, or of a part of one; -1: there is none. */
int64_t from_resource_claim_minor(struct view name);
/* True when that pod may have devices by claims that are no facts. */
bool from_resource_claim_is_unheard(const struct facts *facts, struct view pod_uid);
/*
 * True when a claim gave the published tenant the device, and neither says that the container has
 * it, nor that it has another instead.
 */
bool from_resource_claim_is_silent(const struct facts *facts, size_t device,
				   const struct previous_tenant *previous);
/*
 * The next published tenant, from *index on, about which the claims are silent, which no witness
 * names on the device, and whose pod is not over; NULL: there is none. Steps *index.
 */
const struct attribution_tenant *from_resource_claim_next_kept(const struct facts *facts,
							       size_t device, uint32_t *index);
/* True when slices describe the device, or a claim gives it to somebody. */
bool from_resource_claim_has(const struct facts *facts, size_t device);
/* As above; or slices described it when they could be read. */
bool from_resource_claim_hands_out(const struct facts *facts, size_t device);
/*
 * True when a claim that a pod of the node uses has the device, and is reserved for something that
 * is not a pod: nobody can tell who has the device.
 */
bool from_resource_claim_is_nameless(const struct join_input *input, const struct device *device);
/*
 * True when a pod of the node has a device by a claim, or may have one, and which one is not known.
 * To be asked once a join.
 */
bool from_resource_claim_is_unread(const struct facts *facts, struct debounce *doubts);
