/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_doc_metadata - what a pod's metadata says of it: who it is, whose, and what HAMi, KAI and the
 * kubelet wrote on it.
 *
 * Threads: any.
 */

#include "model/pod.h"

/*
 * Decodes the ObjectMeta of a Pod into fields, which are zero before; texts are borrowed from it.
 * wants_gpu is then whether the pod shares a GPU by way of KAI. Fails with ERROR_REJECTED; the
 * fields then hold nothing to rely on.
 */
MUST_USE int pod_doc_metadata_decode(struct view message, struct pod_fields *fields,
				     struct error *err);
/*
 * Drops what the spec does not support. The pod is the GPU operator's only if `account` is the
 * operator's service account. What HAMi wrote counts only if wants_gpu is set by now.
 */
void pod_doc_metadata_bear_out(struct pod_fields *fields, struct view account);
