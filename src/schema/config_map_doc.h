/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * config_map_doc - a v1 ConfigMap in Kubernetes' protobuf encoding.
 *
 * Threads: any; pure.
 * Limits:  LIMIT_CONFIG_KEYS.
 */

#include "base/arena.h"
#include "base/array.h"

/* A key and its text. A pod sees binary data as files too, so these are among them. */
struct config_map_entry {
	struct view key;
	struct view text;
};

struct config_map {
	struct view namespace;
	struct view name;
	struct array entries; /* struct config_map_entry, by key */
};

/*
 * Decodes one ConfigMap message (without the envelope of a single object). Texts are borrowed from
 * it; the array lies in arena. Fails with ERROR_REJECTED when it is malformed or has no name, with
 * ERROR_LIMIT when it has more keys than the limit, or with ERROR_NO_MEMORY; *ret_map is then untouched.
 */
MUST_USE int config_map_doc_decode(struct view message, struct arena *arena,
				   struct config_map *ret_map, struct error *err);
/* The text of that key; false: there is no such key. */
bool config_map_doc_text(const struct config_map *map, struct view key, struct view *ret_text);
