/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policy_doc - the GPU operator's ClusterPolicy (nvidia.com/v1) and GPUCluster (nvidia.com/v1alpha1)
 * from JSON, reduced to what intent/policy.h keeps.
 *
 * Threads: any.
 * Limits:  LIMIT_POLICY_VARIABLES, LIMIT_POLICY_ARGUMENTS, LIMIT_POLICY_CONDITIONS, and those of texts: a
 *          policy with more is unreadable.
 */

#include "base/arena.h"
#include "intent/policy.h"

/*
 * Decodes one ClusterPolicy as the API server sends it; texts lie in arena. Where its metadata can be
 * read and its spec or status cannot, the policy says why in `unreadable`. Fails with ERROR_REJECTED,
 * ERROR_LIMIT or ERROR_NO_MEMORY; *ret_policy is then untouched.
 */
MUST_USE int policy_doc_decode(struct view json, struct arena *arena, struct policy *ret_policy,
			       struct error *err);
/* The same of a GPUCluster, of which nothing but its metadata is read. */
MUST_USE int policy_doc_decode_gpu_cluster(struct view json, struct arena *arena,
					   struct gpu_cluster *ret_cluster, struct error *err);
