/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * policy_doc - the GPU operator's ClusterPolicy (nvidia.com/v1) from JSON, reduced to what
 * model/policy.h keeps.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "model/policy.h"

/*
 * Decodes one object as the API server sends it; texts lie in arena. Fails with ERROR_REJECTED, ERROR_LIMIT or
 * ERROR_NO_MEMORY; *ret_policy is then untouched.
 */
MUST_USE int policy_doc_decode(struct view json, struct arena *arena, struct policy *ret_policy,
			       struct error *err);
