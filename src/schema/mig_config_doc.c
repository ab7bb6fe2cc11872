/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	version: v1
 *	mig-configs:
 *	  all-1g.10gb:                      a layout
 *	  - device-filter: "0x233010DE"     a part; the filter may be a list, empty, or absent
 *	    devices: all                    or a list of indices
 *	    mig-enabled: true
 *	    mig-devices: {"1g.10gb": 7}
 *
 * A step returns 0 to go on, 1 when it has said why the document is of no use, or -1.
 */

#include "schema/mig_config_doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/sbuf.h"
#include "wire/yaml_tree.h"

struct reader {
	struct arena *arena; /* of what is kept */
	struct view *ret_error;
	struct error *err;
};

typedef int (*read_fn)(struct reader *reader, const struct yaml_tree *node, void *ret);

static int keep(struct reader *reader, struct view text, struct view *ret)
{
	return arena_copy(reader->arena, text, ret) ? 0 : error_no_memory(reader->err);
}

PRINTF_LIKE(3, 4)
static int refuse(struct reader *reader, const struct yaml_tree *where, const char *format, ...)
{
	CLEANUP(sbuf_deinit) struct sbuf text;
	va_list args;
	char what[160];

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	sbuf_init(&text, LIMIT_KIB);
	sbuf_printf(&text, "line %u, column %u: %s", where->line, where->column, what);
	if (sbuf_check(&text, "reason", reader->err) < 0)
		return -1;
	return keep(reader, sbuf_view(&text), reader->ret_error) < 0 ? -1 : 1;
}

/* What read() makes of each child, in their order, in an array of elements of that size. */
static int read_array(struct reader *reader, const struct yaml_tree *parent, uint32_t limit,
		      size_t size, read_fn read, struct array *ret_array)
{
	uint32_t n = 0;
	char *items;

	for (const struct yaml_tree *child = parent->first; child; child = child->next)
		if (++n > limit)
			return refuse(reader, child, "there are more than %u", limit);
	items = arena_alloc(reader->arena, n, size);
	if (!items)
		return error_no_memory(reader->err);
	*ret_array = array_of(items, n);
	for (const struct yaml_tree *child = parent->first; child; child = child->next) {
		int stop = read(reader, child, items);

		if (stop != 0)
			return stop;
		items += size;
	}
	return 0;
}

static int read_index(struct reader *reader, const struct yaml_tree *node, void *ret)
{
	int64_t *index = ret;

	if (!yaml_tree_i64(node, index) || *index < 0 || *index > LIMIT_NUMBER_INDEX)
		return refuse(reader, node, "this is no index of a device");
	return 0;
}

static int read_filter(struct reader *reader, const struct yaml_tree *node, void *ret)
{
	if (node->kind != YAML_TREE_SCALAR || node->text.len > LIMIT_TEXT_PCI)
		return refuse(reader, node, "this is no filter of devices");
	return keep(reader, node->text, ret);
}

static int read_count(struct reader *reader, const struct yaml_tree *node, void *ret)
{
	struct mig_config_count *count = ret;

	if (node->key.len == 0 || node->key.len > LIMIT_TEXT_PROFILE)
		return refuse(reader, node, "this is no MIG profile");
	if (!yaml_tree_i64(node, &count->count) || count->count < 0 ||
	    count->count > LIMIT_REPORT_PARTITIONS)
		return refuse(reader, node, "this is no number of MIG devices");
	return keep(reader, node->key, &count->profile);
}

static int read_devices(struct reader *reader, const struct yaml_tree *node,
			struct mig_config_part *part)
{
	if (node->kind == YAML_TREE_LIST)
		return read_array(reader, node, LIMIT_MIG_PARTS, sizeof(int64_t), read_index,
				  &part->indices);
	part->is_for_all = node->kind == YAML_TREE_SCALAR && view_equal(node->text, VIEW("all"));
	return part->is_for_all ? 0 : refuse(reader, node, "devices is neither all nor a list");
}

static bool is_empty_text(const struct yaml_tree *node)
{
	return node->kind == YAML_TREE_SCALAR && node->text.len == 0;
}

static int read_filters(struct reader *reader, const struct yaml_tree *node,
			struct mig_config_part *part)
{
	struct yaml_tree only;

	if (!node || yaml_tree_is_null(node) || is_empty_text(node))
		return 0;
	if (node->kind == YAML_TREE_MAP)
		return refuse(reader, node, "device-filter is neither a string nor a list");
	only = *node;
	only.next = NULL;
	return read_array(reader,
			  node->kind == YAML_TREE_LIST ? node
						       : &(struct yaml_tree){.first = &only},
			  LIMIT_MIG_PARTS, sizeof(struct view), read_filter, &part->filters);
}

static int read_counts(struct reader *reader, const struct yaml_tree *node,
		       struct mig_config_part *part)
{
	if (!node || yaml_tree_is_null(node))
		return 0;
	if (node->kind != YAML_TREE_MAP)
		return refuse(reader, node, "mig-devices is not a mapping");
	return read_array(reader, node, LIMIT_MIG_PARTS, sizeof(struct mig_config_count),
			  read_count, &part->counts);
}

static int read_part(struct reader *reader, const struct yaml_tree *node, void *ret)
{
	const struct yaml_tree *devices = yaml_tree_member(node, VIEW("devices")),
			       *enabled = yaml_tree_member(node, VIEW("mig-enabled")),
			       *counts = yaml_tree_member(node, VIEW("mig-devices"));
	struct mig_config_part *part = ret;
	int stop;

	if (node->kind != YAML_TREE_MAP)
		return refuse(reader, node, "a part of a layout is not a mapping");
	if (!devices || !enabled)
		return refuse(reader, node, "%s is missing", devices ? "mig-enabled" : "devices");
	if (!yaml_tree_bool(enabled, &part->is_enabled))
		return refuse(reader, enabled, "mig-enabled is neither true nor false");
	if (part->is_enabled && yaml_tree_is_null(counts))
		return refuse(reader, node, "mig-devices is missing");
	if (!part->is_enabled && counts && counts->first)
		return refuse(reader, counts, "there are mig-devices, and mig-enabled is false");
	stop = read_devices(reader, devices, part);
	if (stop == 0)
		stop = read_filters(reader, yaml_tree_member(node, VIEW("device-filter")), part);
	return stop == 0 ? read_counts(reader, counts, part) : stop;
}

static int read_layout(struct reader *reader, const struct yaml_tree *node, void *ret)
{
	struct mig_config *layout = ret;

	if (node->key.len > LIMIT_TEXT_NAME)
		return refuse(reader, node, "the name of a layout is longer than %u bytes",
			      LIMIT_TEXT_NAME);
	if (node->kind != YAML_TREE_LIST || !node->first)
		return refuse(reader, node, "a layout is not a list of parts");
	if (keep(reader, node->key, &layout->name) < 0)
		return -1;
	return read_array(reader, node, LIMIT_MIG_PARTS, sizeof(struct mig_config_part), read_part,
			  &layout->parts);
}

static int read_root(struct reader *reader, const struct yaml_tree *root,
		     struct array *ret_layouts)
{
	static const struct yaml_tree nothing = {.line = 1, .column = 1};
	const struct yaml_tree *version = yaml_tree_member(root, VIEW("version")),
			       *layouts = yaml_tree_member(root, VIEW("mig-configs"));

	if (!root || root->kind != YAML_TREE_MAP)
		return refuse(reader, root ? root : &nothing, "the document is not a mapping");
	if (!version || version->kind != YAML_TREE_SCALAR ||
	    !view_equal(version->text, VIEW("v1")))
		return refuse(reader, version ? version : root, "the version is not v1");
	if (!layouts || layouts->kind != YAML_TREE_MAP || !layouts->first)
		return refuse(reader, layouts ? layouts : root, "mig-configs has no layouts");
	return read_array(reader, layouts, LIMIT_CONFIG_KEYS, sizeof(struct mig_config),
			  read_layout, ret_layouts);
}

int mig_config_doc_decode(struct view text, struct arena *arena, struct mig_configs *ret_configs,
			  struct error *err)
{
	CLEANUP(arena_deinit) struct arena scratch = {0};
	struct reader reader = {arena, &ret_configs->error, err};
	struct array layouts = {0};
	const struct yaml_tree *root;
	struct error why;
	int stop;

	arena_init(&scratch, LIMIT_YAML_ARENA);
	ret_configs->error = (struct view){0};
	ret_configs->layouts = (struct array){0};
	if (yaml_tree_parse(text, &scratch, &root, &why) == 0) {
		stop = read_root(&reader, root, &layouts);
	} else if (why.kind == ERROR_NO_MEMORY) {
		*err = why;
		stop = -1;
	} else {
		stop = keep(&reader, view_from(why.text), &ret_configs->error) < 0 ? -1 : 1;
	}
	if (stop != 0)
		return stop < 0 ? -1 : 0;
	if (layouts.count > 0)
		qsort(layouts.items, layouts.count, sizeof(struct mig_config), view_order);
	ret_configs->layouts = layouts;
	return 0;
}
