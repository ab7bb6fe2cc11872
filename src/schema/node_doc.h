/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_doc - a join/v1 Node in Kubernetes' protobuf encoding, reduced to what model/node.h keeps.
 *
 * Threads: any.
 * Limits:  NODE_MAX_LABELS labels and NODE_MAX_RESOURCES resources of the NVIDIA stack; what a
 *          node has beyond that is left out.
 */

#include "model/node.h"

/*
 * Decodes one Node message (without the envelope of a single object). All texts are borrowed from
 * it. A resource whose amount is no whole number is left out. Unknown fields are skipped. Fails
 * with ERROR_REJECTED when the message is malformed or names no node; *ret_fields is then
 * untouched.
 */
MUST_USE int node_doc_decode(struct view message, struct node_fields *ret_fields,
			     struct error *err);
