/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_doc - a join/v1 Node in Kubernetes' protobuf encoding, reduced to what model/node.h keeps.
 *
 * Threads: any.
 * Limits:  LIMIT_NODE_DEPLOYS and LIMIT_NODE_MIG_COUNTS labels, LIMIT_NODE_RESOURCES resources; further
 *          ones are left out.
 */

#include "base/arena.h"
#include "model/node.h"

/*
 * Decodes one Node message (without the envelope of a single object). All texts are borrowed from
 * it; arrays lie in arena. Unknown fields are skipped. Fails with ERROR_NO_MEMORY, or with
 * ERROR_REJECTED when what is read of the message is malformed or names no node; *ret_node is then
 * untouched.
 */
MUST_USE int node_doc_decode(struct view message, struct arena *arena, struct node *ret_node,
			     struct error *err);
