/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_doc_container - a pod's containers: what the spec says of each, and the status. Each decoder
 * is given one message; texts are borrowed from it. They fail with ERROR_REJECTED when it is
 * malformed; the fields then hold nothing to rely on.
 *
 * Threads: any.
 * Limits:  POD_MAX_CONTAINERS containers, POD_MAX_ALLOCATIONS devices; further ones are counted.
 */

#include "model/pod.h"

/*
 * Adds a Container, and its uses of claims; and notes in wants_gpu if it wants a GPU of the
 * kubelet's plugins. kind is POD_CONTAINER_INIT also for a sidecar; extended as in
 * pod_doc_claim_serves().
 */
MUST_USE int pod_doc_container_decode(struct view message, enum pod_container_kind kind,
				      struct view extended, struct pod_fields *fields,
				      struct error *err);
/* Adds an EphemeralContainer. */
MUST_USE int pod_doc_container_decode_ephemeral(struct view message, struct pod_fields *fields,
						struct error *err);
/*
 * Notes the ContainerStatus of one that was added, and adds the devices that it was given; clears
 * no_container_runs if it runs and is not ephemeral.
 */
MUST_USE int pod_doc_container_decode_status(struct view message, bool is_ephemeral,
					     struct pod_fields *fields, struct error *err);
