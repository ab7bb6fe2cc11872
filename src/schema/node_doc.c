/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is not needed (images, addresses, managed fields) is skipped by its length. Metadata and status
 * are walked twice: how many entries there are is to be known before they are kept.
 *
 * Field numbers: k8s.io/api/core/v1/generated.proto and
 * k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "schema/node_doc.h"

#include <stdlib.h>

#include "base/limits.h"
#include "schema/gpu_resource.h"
#include "schema/map_entry.h"
#include "schema/quantity.h"
#include "wire/pbscan.h"

enum { NODE_METADATA = 1, NODE_STATUS = 3 };
enum { METADATA_NAME = 1, METADATA_UID = 5, METADATA_LABELS = 11 };
enum { STATUS_ALLOCATABLE = 2, STATUS_NODE_INFO = 7 };
enum { INFO_BOOT_ID = 3 };

static const struct {
	struct view key; /* behind "nvidia.com/" */
	size_t offset;   /* in struct node */
} labels[] = {
	{VIEW_INIT("gpu.sharing-strategy"), offsetof(struct node, sharing_strategy)},
	{VIEW_INIT("gpu.present"), offsetof(struct node, gpu_present)},
	{VIEW_INIT("gpu.count"), offsetof(struct node, gpu_count)},
	{VIEW_INIT("gpu.product"), offsetof(struct node, gpu_product)},
	{VIEW_INIT("gpu.replicas"), offsetof(struct node, gpu_replicas)},
	{VIEW_INIT("mig.capable"), offsetof(struct node, mig_capable)},
	{VIEW_INIT("mig.strategy"), offsetof(struct node, mig_strategy)},
	{VIEW_INIT("mig.config"), offsetof(struct node, mig_config)},
	{VIEW_INIT("mig.config.state"), offsetof(struct node, mig_config_state)},
	{VIEW_INIT("device-plugin.config"), offsetof(struct node, plugin_config)},
	{VIEW_INIT("gpu-driver-upgrade-state"), offsetof(struct node, driver_upgrade)},
	{VIEW_INIT("gpu.workload.config"), offsetof(struct node, workload_config)},
};

/* What is being read: the node, and where its arrays lie. */
struct reading {
	struct arena *arena;
	struct node node;
};

/* An array of as many elements as the message has fields of that number, up to `limit`. */
static int make_array(struct view message, uint32_t number, size_t size, uint32_t limit,
		      struct arena *arena, struct array *ret_array, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;
	uint32_t n = 0;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field))
		n += field.number == number && n < limit;
	ret_array->items = arena_alloc(arena, n, size);
	ret_array->count = 0;
	ret_array->present = true;
	return ret_array->items ? 0 : error_no_memory(err);
}

/* The operator writes some twenty. Further ones are not looked at. */
static void add_deploy(struct view operand, struct view value, struct node *node)
{
	if (node->deploys.count < LIMIT_NODE_DEPLOYS)
		*ARRAY_AT(node->deploys, struct node_deploy, node->deploys.count++) =
			(struct node_deploy){operand, value};
}

/* The key is behind the domain. There are as many as profiles; further ones are not looked at. */
static void add_mig_count(struct view key, struct view value, struct node *node)
{
	static const struct view prefix = VIEW_INIT("mig-"), suffix = VIEW_INIT(".count");

	if (!view_starts_with(key, prefix) || !view_ends_with(key, suffix) ||
	    key.len <= prefix.len + suffix.len ||
	    node->mig_counts.count == LIMIT_NODE_MIG_COUNTS)
		return;
	key = view_from_offset(key, prefix.len);
	key.len -= suffix.len;
	*ARRAY_AT(node->mig_counts, struct node_mig_count, node->mig_counts.count++) =
		(struct node_mig_count){key, value};
}

/* By one of these, of NVIDIA's devices on the PCI bus, the operator knows the nodes that it labels. */
static bool is_of_found_gpu(const struct map_entry *label)
{
	static const struct view keys[] = {
		VIEW_INIT("feature.node.kubernetes.io/pci-10de.present"),
		VIEW_INIT("feature.node.kubernetes.io/pci-0302_10de.present"),
		VIEW_INIT("feature.node.kubernetes.io/pci-0300_10de.present"),
	};

	return view_is_among(label->key, keys, ARRAY_SIZE(keys)) &&
	       view_equal(label->value, VIEW("true"));
}

static int decode_label(struct view message, struct node *node, struct error *err)
{
	static const struct view domain = VIEW_INIT("nvidia.com/"),
				 deploy = VIEW_INIT("gpu.deploy.");
	struct map_entry label;
	struct view key;

	if (map_entry_decode(message, &label, err) != 0)
		return -1;
	node->is_found_by_nfd |= is_of_found_gpu(&label);
	if (!view_starts_with(label.key, domain))
		return 0;
	key = view_from_offset(label.key, domain.len);
	add_mig_count(key, label.value, node);
	if (view_starts_with(key, deploy))
		add_deploy(view_from_offset(key, deploy.len), label.value, node);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (view_equal(key, labels[i].key))
			*(struct view *)(void *)((char *)node + labels[i].offset) = label.value;
	return 0;
}

static int decode_metadata(struct view message, struct reading *reading, struct error *err)
{
	struct node *node = &reading->node;
	struct pbscan scan;
	struct pbscan_field field;

	if (make_array(message, METADATA_LABELS, sizeof(struct node_deploy), LIMIT_NODE_DEPLOYS,
		       reading->arena, &node->deploys, err) < 0 ||
	    make_array(message, METADATA_LABELS, sizeof(struct node_mig_count),
		       LIMIT_NODE_MIG_COUNTS, reading->arena, &node->mig_counts, err) < 0)
		return -1;
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
	qsort(node->deploys.items, node->deploys.count, sizeof(struct node_deploy), view_order);
	qsort(node->mig_counts.items, node->mig_counts.count, sizeof(struct node_mig_count),
	      view_order);
	return pbscan_check(&scan, "metadata", err);
}

/* An amount of no known form is none that a rule could use. */
static int decode_allocatable(struct view message, struct node *node, struct error *err)
{
	struct map_entry entry;
	int64_t count;

	if (map_entry_decode(message, &entry, err) != 0)
		return -1;
	if (!gpu_resource_is_known(entry.key) || node->allocatable.count == LIMIT_NODE_RESOURCES)
		return 0;
	if (map_entry_decode_quantity(message, &entry, err) != 0)
		return -1;
	if (quantity_parse(entry.value, &count))
		*ARRAY_AT(node->allocatable, struct node_resource, node->allocatable.count++) =
			(struct node_resource){entry.key, count};
	return 0;
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

static int decode_status(struct view message, struct reading *reading, struct error *err)
{
	struct node *node = &reading->node;
	struct pbscan scan;
	struct pbscan_field field;

	if (make_array(message, STATUS_ALLOCATABLE, sizeof(struct node_resource),
		       LIMIT_NODE_RESOURCES, reading->arena, &node->allocatable, err) < 0)
		return -1;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == STATUS_NODE_INFO && decode_info(field.bytes, node, err) != 0)
			return -1;
		if (field.number == STATUS_ALLOCATABLE &&
		    decode_allocatable(field.bytes, node, err) != 0)
			return -1;
	}
	qsort(node->allocatable.items, node->allocatable.count, sizeof(struct node_resource),
	      view_order);
	return pbscan_check(&scan, "status", err);
}

static int decode_node(struct view message, struct reading *reading, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == NODE_METADATA &&
		    decode_metadata(field.bytes, reading, err) != 0)
			return -1;
		if (field.number == NODE_STATUS && decode_status(field.bytes, reading, err) != 0)
			return -1;
	}
	return pbscan_check(&scan, "node", err);
}

int node_doc_decode(struct view message, struct arena *arena, struct node *ret_node,
		    struct error *err)
{
	struct reading reading = {.arena = arena};

	if (decode_node(message, &reading, err) != 0)
		return -1;
	if (reading.node.name.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "node: no name");
	*ret_node = reading.node;
	return 0;
}
