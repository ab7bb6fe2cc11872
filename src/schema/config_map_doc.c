/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Field numbers: k8s.io/api/core/v1/generated.proto and
 * k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
 */

#include "schema/config_map_doc.h"

#include <stdlib.h>

#include "base/limits.h"
#include "schema/map_entry.h"
#include "wire/pbscan.h"

enum { MAP_METADATA = 1, MAP_DATA = 2, MAP_BINARY_DATA = 3 };
enum { METADATA_NAME = 1, METADATA_NAMESPACE = 3 };

static bool is_entry(const struct pbscan_field *field)
{
	return field->wire == PBSCAN_BYTES &&
	       (field->number == MAP_DATA || field->number == MAP_BINARY_DATA);
}

static int make_room(struct view message, struct arena *arena, struct config_map *map,
		     struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;
	uint32_t n = 0;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field))
		n += is_entry(&field);
	if (pbscan_check(&scan, "ConfigMap", err) != 0)
		return -1;
	if (n > LIMIT_CONFIG_KEYS)
		return error_set(err, ERROR_LIMIT, 0, "ConfigMap: more than %u keys",
				 LIMIT_CONFIG_KEYS);
	map->entries = array_of(arena_alloc(arena, n, sizeof(struct config_map_entry)), 0);
	return map->entries.items ? 0 : error_no_memory(err);
}

static int decode_metadata(struct view message, struct config_map *map, struct error *err)
{
	struct pbscan scan;
	struct pbscan_field field;

	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (field.wire != PBSCAN_BYTES)
			continue;
		if (field.number == METADATA_NAME)
			map->name = field.bytes;
		else if (field.number == METADATA_NAMESPACE)
			map->namespace = field.bytes;
	}
	return pbscan_check(&scan, "metadata", err);
}

static int decode_entry(struct view message, struct config_map *map, struct error *err)
{
	struct map_entry entry;

	if (map_entry_decode(message, &entry, err) != 0)
		return -1;
	*ARRAY_AT(map->entries, struct config_map_entry, map->entries.count++) =
		(struct config_map_entry){entry.key, entry.value};
	return 0;
}

int config_map_doc_decode(struct view message, struct arena *arena, struct config_map *ret_map,
			  struct error *err)
{
	struct config_map map = {0};
	struct pbscan scan;
	struct pbscan_field field;

	if (make_room(message, arena, &map, err) < 0)
		return -1;
	pbscan_init(&scan, message);
	while (pbscan_next(&scan, &field)) {
		if (is_entry(&field) && decode_entry(field.bytes, &map, err) < 0)
			return -1;
		if (field.number == MAP_METADATA && field.wire == PBSCAN_BYTES &&
		    decode_metadata(field.bytes, &map, err) < 0)
			return -1;
	}
	if (map.name.len == 0)
		return error_set(err, ERROR_REJECTED, 0, "ConfigMap: no name");
	qsort(map.entries.items, map.entries.count, sizeof(struct config_map_entry), view_order);
	*ret_map = map;
	return 0;
}

bool config_map_doc_text(const struct config_map *map, struct view key, struct view *ret_text)
{
	for (uint32_t i = 0; i < map->entries.count; i++) {
		const struct config_map_entry *entry =
			ARRAY_AT(map->entries, struct config_map_entry, i);

		if (view_equal(entry->key, key)) {
			*ret_text = entry->text;
			return true;
		}
	}
	return false;
}
