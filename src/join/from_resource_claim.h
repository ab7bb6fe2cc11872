/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * from_resource_claim - the witness ResourceClaim: which container has which device by way of
 * dynamic resource allocation.
 *
 * A ResourceSlice has the UUID of the device that a claim names. A boot may number the devices anew,
 * and no slice says of which boot it is. So slices count only while they agree with what NVML says in
 * the present boot. Else the witness is silent: its tenants stay, and it makes no new ones. A tenant
 * whose device NVML has numbered anew is Unconfirmed then. The witness is silent about a single pod
 * while not all is known of that pod's claims.
 *
 * Threads: any; pure.
 */

#include "join/facts.h"

/*
 * Indexes the grants of the facts' input, whose devices are known. What it makes lies in arena. Fails with
 * ERROR_NO_MEMORY.
 */
MUST_USE int from_resource_claim_open(struct facts *facts, struct arena *arena, struct error *err);
/*
 * Adds the facts: what claims give, and what was published by a claim of pods about which the witness
 * is silent. The source is judged, and the devices and pods are known.
 */
void from_resource_claim_read(struct facts_draft *draft);
/* What the witness says of a published tenant on its device, from "no" to "yes". */
enum resource_claim_word {
	RESOURCE_CLAIM_MOVED,    /* no claim gives its container the device now: slices place grants */
				 /* of it elsewhere, or the witness is COMPLETE */
	RESOURCE_CLAIM_NO_WORD,  /* nothing: no claim gave it the device, or only facts can tell */
	RESOURCE_CLAIM_DOUBTFUL, /* a claim gave it the device, and may do so still, or not */
	RESOURCE_CLAIM_STAYS,    /* a claim gave it the device, and nothing says that it does not now */
	RESOURCE_CLAIM_GIVES,    /* a claim does, as slices tell */
};
/*
 * Claims of the pod that are not here are the caller's to ask for. What a device plugin gave does not
 * move with claims.
 */
enum resource_claim_word from_resource_claim_hear(const struct facts *facts, const struct device *device,
						  const struct previous_tenant *tenant);
/*
 * True when the witness is silent about the pod (NULL: an unknown one): it may have devices by claims
 * that are no facts.
 */
bool from_resource_claim_is_unheard(const struct facts *facts, const struct pod *pod);
/* True when slices describe the device; while they cannot be read, when they did. */
bool from_resource_claim_is_described(const struct facts *facts, const struct device *device);
/*
 * True when a claim that a pod of the node uses has the device, and is not reserved for a pod. Who has
 * the device is then not known.
 */
bool from_resource_claim_is_nameless(const struct facts *facts, const struct device *device);
/* True when a pod of the node has a device by a claim, or may have one, and which one is not known. */
bool from_resource_claim_is_unread(const struct facts *facts);
