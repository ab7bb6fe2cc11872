/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource_claim_doc - a resource.k8s.io/v1 ResourceClaim in Kubernetes' protobuf encoding, reduced
 * to what model/resource_claim.h keeps.
 *
 * Threads: any.
 * Limits:  RESOURCE_CLAIM_MAX_RESULTS results of drivers of GPUs, RESOURCE_CLAIM_MAX_CONSUMERS
 *          pods.
 */

#include "model/resource_claim.h"

/*
 * Decodes one ResourceClaim message (without the envelope of a single object). All texts are
 * borrowed from it. Results of other drivers, and unknown fields, are skipped.
 *
 * Fails with ERROR_REJECTED when the message is malformed or names no claim. Fails with ERROR_LIMIT
 * when it has more than is kept, because a part of a claim would pass for all of it. *ret_fields is
 * large and filled in place; after a failure its contents are undefined.
 */
MUST_USE int resource_claim_doc_decode(struct view message,
				       struct resource_claim_fields *ret_fields, struct error *err);
