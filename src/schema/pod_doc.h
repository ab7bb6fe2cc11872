/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pod_doc - a join/v1 Pod in Kubernetes' protobuf encoding, reduced to what model/pod.h keeps.
 *
 * Threads: any.
 * Limits:  POD_MAX_CONTAINERS containers, POD_MAX_ALLOCATIONS devices and POD_MAX_CLAIMS uses of
 *          claims; further ones are counted. Ephemeral containers are kept last, and have the room
 *          that the others leave.
 */

#include "model/pod.h"

/*
 * Decodes one Pod message (without the envelope of a single object). All texts are borrowed from
 * it. For a pod that wants no GPU no containers are given. Unknown fields are skipped. Fails with
 * ERROR_REJECTED when the message is malformed or names no pod.
 *
 * *ret_fields is large and filled in place, because a hundred thousand pods are decoded one by one.
 * After a failure its contents are undefined.
 */
MUST_USE int pod_doc_decode(struct view message, struct pod_fields *ret_fields, struct error *err);
