/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * One block: the struct, the two sorted arrays, then all text. Sorting makes two nodes with the
 * same facts equal whatever order the server wrote them in.
 */

static size_t text_size(const struct node_fields *fields)
{
	size_t size = fields->name.len + fields->uid.len + fields->boot_id.len +
		      fields->kubelet_version.len;

	for (uint32_t i = 0; i < fields->n_labels; i++)
		size += fields->labels[i].key.len + fields->labels[i].value.len;
	for (uint32_t i = 0; i < fields->n_resources; i++)
		size += fields->resources[i].name.len;
	return size;
}

static struct view put(char **text, struct view v)
{
	struct view copy = {*text, v.len};

	if (v.len > 0)
		memcpy(*text, v.ptr, v.len);
	*text += v.len;
	return copy;
}

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
	size_t labels_size = fields->n_labels * sizeof(struct node_label);
	size_t resources_size = fields->n_resources * sizeof(struct node_resource);
	struct node *node;
	struct node_label *labels;
	struct node_resource *resources;
	char *text;

	assert(fields->n_labels <= NODE_MAX_LABELS && fields->n_resources <= NODE_MAX_RESOURCES);
	node = malloc(sizeof(*node) + labels_size + resources_size + text_size(fields));
	if (!node)
		return error_no_memory(err);
	labels = (struct node_label *)(void *)(node + 1);
	resources = (struct node_resource *)(void *)(labels + fields->n_labels);
	text = (char *)(resources + fields->n_resources);
	for (uint32_t i = 0; i < fields->n_labels; i++) {
		labels[i].key = put(&text, fields->labels[i].key);
		labels[i].value = put(&text, fields->labels[i].value);
	}
	for (uint32_t i = 0; i < fields->n_resources; i++) {
		resources[i] = fields->resources[i];
		resources[i].name = put(&text, fields->resources[i].name);
	}
	qsort(labels, fields->n_labels, sizeof(*labels), compare_labels);
	qsort(resources, fields->n_resources, sizeof(*resources), compare_resources);
	*node = (struct node){
		.name = put(&text, fields->name),
		.uid = put(&text, fields->uid),
		.boot_id = put(&text, fields->boot_id),
		.kubelet_version = put(&text, fields->kubelet_version),
		.ready = fields->ready,
		.labels = {.items = labels, .count = fields->n_labels, .present = true},
		.resources = {.items = resources, .count = fields->n_resources, .present = true},
	};
	assert(text == (char *)(resources + fields->n_resources) + text_size(fields));
	*ret_node = node;
	return 0;
}

void node_free(struct node *node)
{
	free(node);
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

static bool labels_equal(const struct array a, const struct array b)
{
	if (a.count != b.count)
		return false;
	for (uint32_t i = 0; i < a.count; i++) {
		const struct node_label *x = ARRAY_AT(a, struct node_label, i);
		const struct node_label *y = ARRAY_AT(b, struct node_label, i);

		if (!view_equal(x->key, y->key) || !view_equal(x->value, y->value))
			return false;
	}
	return true;
}

static bool resources_equal(const struct array a, const struct array b)
{
	if (a.count != b.count)
		return false;
	for (uint32_t i = 0; i < a.count; i++) {
		const struct node_resource *x = ARRAY_AT(a, struct node_resource, i);
		const struct node_resource *y = ARRAY_AT(b, struct node_resource, i);

		if (!view_equal(x->name, y->name) || x->capacity != y->capacity ||
		    x->allocatable != y->allocatable)
			return false;
	}
	return true;
}

bool node_equal(const struct node *a, const struct node *b)
{
	return view_equal(a->name, b->name) && view_equal(a->uid, b->uid) &&
	       view_equal(a->boot_id, b->boot_id) &&
	       view_equal(a->kubelet_version, b->kubelet_version) && a->ready == b->ready &&
	       labels_equal(a->labels, b->labels) && resources_equal(a->resources, b->resources);
}
