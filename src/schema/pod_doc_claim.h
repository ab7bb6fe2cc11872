/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_doc_claim - which ResourceClaims a pod's containers use. Each decoder is given one message of
 * the pod's spec or status; texts are borrowed from it. They fail with ERROR_REJECTED when it is
 * malformed; the fields then hold nothing to rely on.
 *
 * Threads: any.
 * Limits:  POD_MAX_CLAIMS uses; further ones are counted.
 */

#include "model/pod.h"

/* Which of the pod's uses of claims are known to be of which object. Zero at first. */
struct pod_doc_claim_resolved {
	bool is_done[POD_MAX_CLAIMS];
};

/*
 * Adds the use that a container's resources name (ResourceClaim of join/v1). Its `claim` is what
 * the pod calls it, and its container the caller's to set.
 */
MUST_USE int pod_doc_claim_decode_use(struct view message, struct pod_fields *fields,
				      struct error *err);
/*
 * Of the claim that the scheduler made for extended resources (PodExtendedResourceClaimStatus;
 * empty: none): it serves that resource of that container, and the kubelet's plugin does not. Here
 * the message is not checked, pod_doc_claim_decode_extended() does that.
 */
bool pod_doc_claim_serves(struct view extended, struct view container, struct view resource);
/*
 * Gives the uses of a claim the object that a PodResourceClaim names: one that was there before.
 * A use keeps the first object that it is given.
 */
MUST_USE int pod_doc_claim_decode(struct view message, struct pod_fields *fields,
				  struct pod_doc_claim_resolved *resolved, struct error *err);
/* The same for a PodResourceClaimStatus, which names an object made from a template. */
MUST_USE int pod_doc_claim_decode_status(struct view message, struct pod_fields *fields,
					 struct pod_doc_claim_resolved *resolved,
					 struct error *err);
/* Adds the uses of that claim for extended resources, resolved if it names its object. */
MUST_USE int pod_doc_claim_decode_extended(struct view message, struct pod_fields *fields,
					   struct pod_doc_claim_resolved *resolved,
					   struct error *err);
/* Drops the uses that have no object: they give nothing yet. */
void pod_doc_claim_drop_unresolved(struct pod_fields *fields,
				   const struct pod_doc_claim_resolved *resolved);
