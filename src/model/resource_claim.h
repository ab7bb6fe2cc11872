/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * resource_claim - what a ResourceClaim says of GPUs: which devices it was given, and which pods
 * may use them. A claim without a GPU keeps its name only, and whether it is allocated.
 *
 * Being deleted changes nothing: a finalizer keeps a claim for as long as it is reserved.
 *
 * Threads: the loop thread; immutable once made.
 */

#include "model/pod_set.h"

/* A device that the claim was given; only those of drivers of GPUs. */
struct resource_claim_result {
	struct view request; /* that it answers: "main", or "main/sub" for one of alternatives */
	struct view driver;  /* these three name the device */
	struct view pool;
	struct view device;
	struct view share_id; /* of a device that is handed out several times; else empty */
	bool is_admin;        /* adminAccess: it watches, it does not use */
};

/* Four times what the API server of Kubernetes 1.36 allows. */
#define RESOURCE_CLAIM_MAX_RESULTS 128u
#define RESOURCE_CLAIM_MAX_CONSUMERS 1024u

struct resource_claim {
	struct view key;        /* "namespace/name" */
	struct array results;   /* struct resource_claim_result */
	struct array consumers; /* struct view, UIDs of pods. Empty without results */
	bool has_other_consumers; /* it is reserved for a PodGroup, not for a pod. The same */
	bool is_allocated; /* it was given what it asks for: by a driver of GPUs or another */
};

/* What a decoder found; all borrowed from the document. */
struct resource_claim_fields {
	struct view namespace;
	struct view name;
	struct resource_claim claim; /* without key; its arrays are the first of those here */
	struct resource_claim_result results[RESOURCE_CLAIM_MAX_RESULTS];
	struct view consumers[RESOURCE_CLAIM_MAX_CONSUMERS];
};

/*
 * Copies fields into one new block, the caller's to free(). Fails with ERROR_NO_MEMORY, or
 * ERROR_LIMIT when a text is longer than Kubernetes allows.
 */
MUST_USE int resource_claim_new(const struct resource_claim_fields *fields,
				struct resource_claim **ret_claim, struct error *err);
/* True when the pod of that UID may use the claim. */
bool resource_claim_is_reserved_for(const struct resource_claim *claim, struct view pod_uid);

/*
 * The ResourceClaims that the API server has. A claim belongs to no node: it matters to the nodes of the
 * pods that it is, and was, reserved for. These are touched. A new one touches those that lack a claim.
 */
struct resource_claim_set {
	struct record_set records; /* by "namespace/name" */
	const struct pod_set *pods;
	size_t n_otherwise; /* claims of GPUs that are reserved for PodGroups: not attributed */
};

/* Without any. pods is borrowed and must outlive the set. */
void resource_claim_set_init(struct resource_claim_set *set, const struct pod_set *pods);
/* The claim of that key, or NULL; borrowed until the next change. */
const struct resource_claim *resource_claim_set_find(const struct resource_claim_set *set, struct view key);
