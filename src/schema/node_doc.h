/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * node_doc - a join/v1 Node in Kubernetes' protobuf encoding, reduced to what model/node.h keeps.
 *
 * Threads: any.
 */

#include "base/error.h"
#include "model/node.h"

/*
 * Decodes one Node message (without the envelope of a single object). All texts are borrowed from
 * it. Unknown fields are skipped. Fails with ERROR_REJECTED when what is read of the message is
 * malformed or names no node; *ret_node is then untouched.
 */
MUST_USE int node_doc_decode(struct view message, struct node *ret_node, struct error *err);
