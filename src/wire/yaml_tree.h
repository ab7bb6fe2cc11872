/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * yaml_tree - one document in YAML 1.1, or in JSON, as a tree of nodes in an arena.
 *
 * The first document of the text is read, as other readers do that expect one. Aliases are followed; what
 * they name counts towards the limits as often as it is named. Readers in Go may accept what is over a
 * limit here, merged keys ("<<"), keys that are no text, and explicit tags. What else is refused here,
 * they refuse too.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_YAML_BYTES, LIMIT_YAML_DEPTH, LIMIT_YAML_NODES, LIMIT_YAML_ANCHORS, and the arena's.
 */

#include <stdint.h>

#include "base/arena.h"

enum yaml_tree_kind {
	YAML_TREE_SCALAR,
	YAML_TREE_LIST,
	YAML_TREE_MAP,
};

struct yaml_tree {
	enum yaml_tree_kind kind;
	bool is_plain;            /* a scalar without quotes: its text decides on its type */
	uint32_t line, column;    /* where it begins, counted from 1 */
	struct view key;          /* of a member of a mapping */
	struct view text;         /* of a scalar */
	struct yaml_tree *first;  /* of a list or mapping: its first element or member, or NULL */
	struct yaml_tree *next;   /* behind it in the same list or mapping, or NULL */
};

/*
 * Reads the document; all of it lies in arena. *ret_root is NULL where there is none (an empty text).
 * Fails with
 * - ERROR_REJECTED: it is not YAML, or an alias names no anchor, or one that it lies in;
 * - ERROR_LIMIT: it may be YAML, and is more than is read here (see above);
 * - ERROR_NO_MEMORY.
 * The text of the first two begins with the line and column, as "line 3, column 7: ...".
 */
MUST_USE int yaml_tree_parse(struct view text, struct arena *arena,
			     const struct yaml_tree **ret_root, struct error *err);

/* The member of that key, the last if there are several; NULL: none, or no mapping. Accepts NULL. */
const struct yaml_tree *yaml_tree_member(const struct yaml_tree *map, struct view key);
/* The same where ASCII letters may be of either case; one of the same letters goes before. */
const struct yaml_tree *yaml_tree_member_ignoring_case(const struct yaml_tree *map,
						       struct view key);
/* True when there is nothing: NULL, or a plain scalar that YAML reads as null. */
bool yaml_tree_is_null(const struct yaml_tree *node);
/* Reads a truth value as YAML 1.1 has them ("true", "Yes", "off"). False: it is none. */
bool yaml_tree_bool(const struct yaml_tree *node, bool *ret);
/* Reads a decimal number. False: it is none, or is out of bounds, or begins with 0 (octal). */
bool yaml_tree_i64(const struct yaml_tree *node, int64_t *ret);
