/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each message is walked once; what is not needed (images, addresses, managed fields) is skipped by
 * its length.
 *
 * Field numbers: k8s.io/api/core/v1/generated.proto and
 * k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "schema/node_doc.h"

#include "schema/map_entry.h"
#include "wire/pbscan.h"

enum { NODE_METADATA = 1, NODE_STATUS = 3 };
enum { METADATA_NAME = 1, METADATA_UID = 5, METADATA_LABELS = 11 };
enum { STATUS_NODE_INFO = 7 };
enum { INFO_BOOT_ID = 3 };

static int decode_label(struct view message, struct node *node, struct error *err)
{
	struct map_entry label;

	if (map_entry_decode(message, &label, err) != 0)
		return -1;
	if (view_equal(label.key, VIEW("nvidia.com/gpu.sharing-strategy")))
		node->sharing_strategy = label.value;
	return 0;
}

static int decode_metadata(struct view message, struct node *node, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == METADATA_NAME)
			node->name = field.bytes;
		else if (field.number == METADATA_UID)
			node->uid = field.bytes;
		else if (field.number == METADATA_LABELS &&
			 decode_label(field.bytes, node, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "metadata", err);
}

static int decode_info(struct view message, struct node *node, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == INFO_BOOT_ID && field.wire == PBSCAN_BYTES)
			node->boot_id = field.bytes;
	}
	return pbscan_check(&scan, "nodeInfo", err);
}

static int decode_status(struct view message, struct node *node, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.number == STATUS_NODE_INFO && field.wire == PBSCAN_BYTES &&
		    decode_info(field.bytes, node, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "status", err);
}

static int decode_node(struct view message, struct node *node, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == NODE_METADATA && decode_metadata(field.bytes, node, err) != 0)
			return -1;
		if (field.number == NODE_STATUS && decode_status(field.bytes, node, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "node", err);
}

int node_doc_decode(struct view message, struct node *ret_node, struct error *err)
{
	struct node node = {0};

	if (decode_node(message, &node, err) != 0)
		return -1;
	if (node.name.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "node: no name");
	*ret_node = node;
	return 0;
}
