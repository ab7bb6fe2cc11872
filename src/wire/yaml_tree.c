/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libyaml's events are read one by one, so nothing is built that was not counted before. Its own loader
 * builds a document of any size. What an alias names is shared. It counts as often as it is named, for who
 * walks the tree meets it so often.
 */

#include "wire/yaml_tree.h"

#include <yaml.h>

#include "base/limits.h"

#define MAX_TAGS 16u

/* A node with a name, "&name". */
struct anchor {
	struct view name;
	const struct yaml_tree *node; /* the last one of that name */
	bool is_whole;                /* all of the node was read */
};

struct reader {
	yaml_parser_t parser;
	struct arena *arena;
	unsigned n_nodes;
	unsigned depth;
	struct anchor anchors[LIMIT_YAML_ANCHORS];
	size_t n_anchors;
	struct error *err;
};

static int refuse(struct reader *reader, enum error_kind kind, yaml_mark_t mark, const char *what)
{
	return error_set(reader->err, kind, 0, "line %zu, column %zu: %s", mark.line + 1,
			 mark.column + 1, what);
}

/* The next event, which the caller deletes; -1: there is nothing to delete. */
static int next_event(struct reader *reader, yaml_event_t *ret_event)
{
	yaml_parser_t *parser = &reader->parser;

	if (yaml_parser_parse(parser, ret_event))
		return 0;
	if (parser->error == YAML_MEMORY_ERROR)
		return error_no_memory(reader->err);
	/* A byte that is no text has no mark of its own. */
	return refuse(reader, ERROR_REJECTED,
		      parser->error == YAML_READER_ERROR ? parser->mark : parser->problem_mark,
		      parser->problem ? parser->problem : "not YAML");
}

static struct view scalar_of(const yaml_event_t *event)
{
	return (struct view){(const char *)event->data.scalar.value, event->data.scalar.length};
}

static bool is_plain(const yaml_event_t *event)
{
	return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool has_tag(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.tag != NULL;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.tag != NULL;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.tag != NULL;
	default:
		return false;
	}
}

static struct view name_of(const yaml_char_t *anchor)
{
	return anchor ? view_from((const char *)anchor) : (struct view){0};
}

/* Of what the event begins; empty: it has none. */
static struct view anchor_of(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return name_of(event->data.scalar.anchor);
	case YAML_SEQUENCE_START_EVENT:
		return name_of(event->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT:
		return name_of(event->data.mapping_start.anchor);
	default:
		return (struct view){0};
	}
}

static int copy(struct reader *reader, struct view text, struct view *ret)
{
	return arena_copy(reader->arena, text, ret) ? 0 : error_no_memory(reader->err);
}

/* What an event begins, and counts, before anything of it is kept. */
static int admit(struct reader *reader, const yaml_event_t *event)
{
	if (has_tag(event))
		return refuse(reader, ERROR_LIMIT, event->start_mark, "a tag is not understood");
	if (++reader->n_nodes > LIMIT_YAML_NODES)
		return refuse(reader, ERROR_LIMIT, event->start_mark, "too many values");
	return 0;
}

/* Anchors and aliases */

static struct anchor *find_anchor(struct reader *reader, struct view name)
{
	for (size_t i = 0; i < reader->n_anchors; i++)
		if (view_equal(reader->anchors[i].name, name))
			return &reader->anchors[i];
	return NULL;
}

/* The name, if it has one, is that of the node from now on. */
static int note_anchor(struct reader *reader, const yaml_event_t *event,
		       const struct yaml_tree *node)
{
	const struct view name = anchor_of(event);
	struct anchor *anchor;

	if (name.len == 0)
		return 0;
	anchor = find_anchor(reader, name);
	if (!anchor) {
		if (reader->n_anchors == LIMIT_YAML_ANCHORS)
			return refuse(reader, ERROR_LIMIT, event->start_mark, "too many anchors");
		anchor = &reader->anchors[reader->n_anchors];
		if (copy(reader, name, &anchor->name) < 0)
			return -1;
		reader->n_anchors++;
	}
	anchor->node = node;
	anchor->is_whole = event->type == YAML_SCALAR_EVENT;
	return 0;
}

/* All of the node was read. A node within it may have taken its name. */
static void close_anchor(struct reader *reader, const struct yaml_tree *node)
{
	for (size_t i = 0; i < reader->n_anchors; i++)
		if (reader->anchors[i].node == node)
			reader->anchors[i].is_whole = true;
}

/* What the alias names; NULL: readers in Go refuse it too. */
static const struct yaml_tree *find_named(struct reader *reader, const yaml_event_t *event)
{
	const struct anchor *anchor = find_anchor(reader, name_of(event->data.alias.anchor));

	if (anchor && anchor->is_whole)
		return anchor->node;
	(void)refuse(reader, ERROR_REJECTED, event->start_mark,
		     anchor ? "an anchor that contains itself" : "an alias of no anchor");
	return NULL;
}

/* Counts what is in the node once more, as deep as it lies here. NULL: nothing is over a limit. */
static const char *count_again(struct reader *reader, const struct yaml_tree *node, unsigned depth)
{
	const char *excess = NULL;

	if (node->kind != YAML_TREE_SCALAR && depth >= LIMIT_YAML_DEPTH)
		return "an alias nests too deep";
	for (const struct yaml_tree *child = node->first; child && !excess; child = child->next)
		excess = ++reader->n_nodes > LIMIT_YAML_NODES
				 ? "aliases stand for too many values"
				 : count_again(reader, child, depth + 1);
	return excess;
}

/* A node of its own, with the same children. */
static int read_alias(struct reader *reader, const yaml_event_t *event, struct yaml_tree *node)
{
	const struct yaml_tree *named = find_named(reader, event);
	const char *excess;

	if (!named)
		return -1;
	excess = count_again(reader, named, reader->depth);
	if (excess)
		return refuse(reader, ERROR_LIMIT, event->start_mark, excess);
	node->kind = named->kind;
	node->is_plain = named->is_plain;
	node->text = named->text;
	node->first = named->first;
	return 0;
}

/* Nodes */

static int read_children(struct reader *reader, struct yaml_tree *parent);

static int read_list_or_map(struct reader *reader, const yaml_event_t *event,
			    struct yaml_tree *node)
{
	node->kind = event->type == YAML_MAPPING_START_EVENT ? YAML_TREE_MAP : YAML_TREE_LIST;
	if (reader->depth == LIMIT_YAML_DEPTH)
		return refuse(reader, ERROR_LIMIT, event->start_mark, "nested too deep");
	if (note_anchor(reader, event, node) < 0 || read_children(reader, node) < 0)
		return -1;
	if (anchor_of(event).len > 0)
		close_anchor(reader, node);
	return 0;
}

/* The node that the event begins; the event stays the caller's. */
static int read_node(struct reader *reader, const yaml_event_t *event,
		     struct yaml_tree **ret_node)
{
	struct yaml_tree *node;

	if (admit(reader, event) < 0)
		return -1;
	node = arena_alloc(reader->arena, 1, sizeof(*node));
	if (!node)
		return error_no_memory(reader->err);
	node->line = (uint32_t)event->start_mark.line + 1;
	node->column = (uint32_t)event->start_mark.column + 1;
	*ret_node = node;
	if (event->type == YAML_ALIAS_EVENT)
		return read_alias(reader, event, node);
	if (event->type != YAML_SCALAR_EVENT)
		return read_list_or_map(reader, event, node);
	node->is_plain = is_plain(event);
	return copy(reader, scalar_of(event), &node->text) < 0 ? -1
							       : note_anchor(reader, event, node);
}

/* The event is of a key: keeps its text. */
static int read_key(struct reader *reader, const yaml_event_t *event, struct view *ret_key)
{
	struct yaml_tree *key;

	if (event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT)
		return refuse(reader, ERROR_LIMIT, event->start_mark, "a key that is no text");
	if (read_node(reader, event, &key) < 0)
		return -1;
	if (key->kind != YAML_TREE_SCALAR)
		return refuse(reader, ERROR_LIMIT, event->start_mark, "a key that is no text");
	if (key->is_plain && view_equal(key->text, VIEW("<<")))
		return refuse(reader, ERROR_LIMIT, event->start_mark, "a merged key");
	*ret_key = key->text;
	return 0;
}

/* The node of the next event. */
static int read_next(struct reader *reader, struct yaml_tree **ret_node)
{
	yaml_event_t event;
	int result;

	if (next_event(reader, &event) < 0)
		return -1;
	result = read_node(reader, &event, ret_node);
	yaml_event_delete(&event);
	return result;
}

/* The member whose key the event is, or the element that it begins. */
static int read_child(struct reader *reader, enum yaml_tree_kind kind, const yaml_event_t *event,
		      struct yaml_tree **ret_node)
{
	struct view key;

	if (kind == YAML_TREE_LIST)
		return read_node(reader, event, ret_node);
	if (read_key(reader, event, &key) < 0 || read_next(reader, ret_node) < 0)
		return -1;
	(*ret_node)->key = key;
	return 0;
}

static int read_children(struct reader *reader, struct yaml_tree *parent)
{
	struct yaml_tree **link = &parent->first;
	yaml_event_t event;
	bool is_end = false;
	int result = 0;

	reader->depth++;
	while (result == 0 && !is_end) {
		if (next_event(reader, &event) < 0)
			return -1;
		is_end = event.type == YAML_MAPPING_END_EVENT ||
			 event.type == YAML_SEQUENCE_END_EVENT;
		if (!is_end && (result = read_child(reader, parent->kind, &event, link)) == 0)
			link = &(*link)->next;
		yaml_event_delete(&event);
	}
	reader->depth--;
	return result;
}

/*
 * What stands before the first node tells nothing. An end of the stream: there is no document. What
 * stands behind the document is not looked at, nor is it by readers in Go.
 */
static int read_document(struct reader *reader, struct yaml_tree **ret_root)
{
	yaml_event_t event;
	bool is_prelude;
	int result = 0;

	do {
		if (next_event(reader, &event) < 0)
			return -1;
		is_prelude = event.type == YAML_STREAM_START_EVENT ||
			     event.type == YAML_DOCUMENT_START_EVENT;
		if (!is_prelude && event.type != YAML_STREAM_END_EVENT)
			result = read_node(reader, &event, ret_root);
		yaml_event_delete(&event);
	} while (is_prelude);
	return result;
}

/*
 * libyaml compares each tag that is declared with all before it. No tag is understood here, so hardly any
 * is needed.
 */
static bool has_many_tags(struct view text)
{
	unsigned n = 0;
	struct view left;

	while (n <= MAX_TAGS && view_cut(text, VIEW("%TAG"), &left, &text))
		n++;
	return n > MAX_TAGS;
}

int yaml_tree_parse(struct view text, struct arena *arena, const struct yaml_tree **ret_root,
		    struct error *err)
{
	static const struct view byte_order_mark = VIEW_INIT("\xef\xbb\xbf");
	struct reader reader = {.arena = arena, .err = err};
	struct yaml_tree *root = NULL;
	int result;

	if (text.len > LIMIT_YAML_BYTES)
		return error_set(err, ERROR_LIMIT, 0, "line 1, column 1: more than %u bytes",
				 LIMIT_YAML_BYTES);
	if (has_many_tags(text))
		return error_set(err, ERROR_LIMIT, 0, "line 1, column 1: too many tags");
	if (!yaml_parser_initialize(&reader.parser))
		return error_no_memory(err);
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	if (view_starts_with(text, byte_order_mark))
		text = view_from_offset(text, byte_order_mark.len);
	yaml_parser_set_input_string(&reader.parser,
				     (const unsigned char *)(text.ptr ? text.ptr : ""), text.len);
	result = read_document(&reader, &root);
	yaml_parser_delete(&reader.parser);
	if (result == 0)
		*ret_root = root;
	return result;
}

const struct yaml_tree *yaml_tree_member(const struct yaml_tree *map, struct view key)
{
	const struct yaml_tree *found = NULL;

	if (!map || map->kind != YAML_TREE_MAP)
		return NULL;
	for (const struct yaml_tree *member = map->first; member; member = member->next)
		if (view_equal(member->key, key))
			found = member;
	return found;
}

const struct yaml_tree *yaml_tree_member_ignoring_case(const struct yaml_tree *map,
						       struct view key)
{
	const struct yaml_tree *found = yaml_tree_member(map, key);

	if (found || !map || map->kind != YAML_TREE_MAP)
		return found;
	for (const struct yaml_tree *member = map->first; member; member = member->next)
		if (view_equal_ignoring_case(member->key, key))
			found = member;
	return found;
}

static bool is_plain_scalar(const struct yaml_tree *node)
{
	return node->kind == YAML_TREE_SCALAR && node->is_plain;
}

bool yaml_tree_is_null(const struct yaml_tree *node)
{
	static const struct view words[] = {VIEW_INIT(""), VIEW_INIT("~"), VIEW_INIT("null"),
					    VIEW_INIT("Null"), VIEW_INIT("NULL")};

	return !node || (is_plain_scalar(node) &&
			 view_is_among(node->text, words, ARRAY_SIZE(words)));
}

bool yaml_tree_bool(const struct yaml_tree *node, bool *ret)
{
	static const struct view words[][2] = {
		{VIEW_INIT("false"), VIEW_INIT("true")}, {VIEW_INIT("False"), VIEW_INIT("True")},
		{VIEW_INIT("FALSE"), VIEW_INIT("TRUE")}, {VIEW_INIT("no"), VIEW_INIT("yes")},
		{VIEW_INIT("No"), VIEW_INIT("Yes")},     {VIEW_INIT("NO"), VIEW_INIT("YES")},
		{VIEW_INIT("off"), VIEW_INIT("on")},     {VIEW_INIT("Off"), VIEW_INIT("On")},
		{VIEW_INIT("OFF"), VIEW_INIT("ON")},     {VIEW_INIT("n"), VIEW_INIT("y")},
		{VIEW_INIT("N"), VIEW_INIT("Y")},
	};

	if (!is_plain_scalar(node))
		return false;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(words); i++)
		if (view_equal(node->text, words[i / 2][i % 2])) {
			*ret = i % 2;
			return true;
		}
	return false;
}

bool yaml_tree_i64(const struct yaml_tree *node, int64_t *ret)
{
	struct view digits;

	if (!is_plain_scalar(node) || node->text.len == 0)
		return false;
	digits = view_from_offset(node->text, node->text.ptr[0] == '-');
	if (digits.len > 1 && digits.ptr[0] == '0')
		return false;
	return view_parse_i64(node->text, ret);
}
