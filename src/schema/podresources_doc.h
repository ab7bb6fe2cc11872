/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * podresources_doc - the kubelet's PodResources v1 answers, reduced to what may concern a GPU.
 *
 * Devices come sorted and each once, one element a container and resource: the kubelet's own order
 * is random. Texts are copied, so that the answer need not be kept.
 *
 * Threads: any.
 * Limits:  those of schema/holder_list.h.
 */

#include "base/arena.h"
#include "base/array.h"

/*
 * Decodes a ListPodResourcesResponse into struct report_pod_resource. Unknown fields are skipped.
 * Fails with ERROR_REJECTED when the message is malformed or has a holder without a name, with
 * ERROR_LIMIT or ERROR_NO_MEMORY; *ret_pod_resources is then untouched.
 */
MUST_USE int podresources_doc_decode_list(struct view message, struct arena *arena,
					  struct array *ret_pod_resources, struct error *err);

/* The same for an AllocatableResourcesResponse and struct report_resource_devices. */
MUST_USE int podresources_doc_decode_allocatable(struct view message, struct arena *arena,
						 struct array *ret_allocatable, struct error *err);
