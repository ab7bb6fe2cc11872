/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node.h"

#include <assert.h>
#include <stdlib.h>

#include "model/compact.h"

/* Sorting makes two nodes with the same facts equal whatever order the server wrote them in. */

static const struct compact_row label_rows[] = {
	COMPACT_TEXT_ROW(node_label, key),
	COMPACT_TEXT_ROW(node_label, value),
	{0},
};

static const struct compact_row resource_rows[] = {
	COMPACT_TEXT_ROW(node_resource, name),
	COMPACT_PLAIN_ROW(node_resource, capacity),
	COMPACT_PLAIN_ROW(node_resource, allocatable),
	{0},
};

static const struct compact_row node_rows[] = {
	COMPACT_TEXT_ROW(node, name),
	COMPACT_TEXT_ROW(node, uid),
	COMPACT_TEXT_ROW(node, boot_id),
	COMPACT_TEXT_ROW(node, kubelet_version),
	COMPACT_PLAIN_ROW(node, ready),
	COMPACT_ARRAY_ROW(node, labels, struct node_label, label_rows),
	COMPACT_ARRAY_ROW(node, resources, struct node_resource, resource_rows),
	{0},
};

static int compare_labels(const void *a, const void *b)
{
	return view_compare(((const struct node_label *)a)->key, ((const struct node_label *)b)->key);
}

static int compare_resources(const void *a, const void *b)
{
	return view_compare(((const struct node_resource *)a)->name,
			    ((const struct node_resource *)b)->name);
}

int node_new(const struct node_fields *fields, struct node **ret_node, struct error *err)
{
	const struct node node = {
		.name = fields->name,
		.uid = fields->uid,
		.boot_id = fields->boot_id,
		.kubelet_version = fields->kubelet_version,
		.ready = fields->ready,
		.labels = {(void *)(uintptr_t)fields->labels, fields->n_labels, true},
		.resources = {(void *)(uintptr_t)fields->resources, fields->n_resources, true},
	};
	struct node *copy;
	void *block;

	assert(fields->n_labels <= NODE_MAX_LABELS && fields->n_resources <= NODE_MAX_RESOURCES);
	if (compact_new(node_rows, &node, sizeof(node), &block, err) < 0)
		return -1;
	copy = block;
	qsort(copy->labels.items, copy->labels.count, sizeof(struct node_label), compare_labels);
	qsort(copy->resources.items, copy->resources.count, sizeof(struct node_resource),
	      compare_resources);
	*ret_node = copy;
	return 0;
}

bool node_label(const struct node *node, struct view key, struct view *ret_value)
{
	for (uint32_t i = 0; i < node->labels.count; i++) {
		const struct node_label *label = ARRAY_AT(node->labels, struct node_label, i);

		if (view_equal(label->key, key)) {
			*ret_value = label->value;
			return true;
		}
	}
	return false;
}

bool node_equal(const struct node *a, const struct node *b)
{
	return compact_equal(node_rows, a, b);
}
