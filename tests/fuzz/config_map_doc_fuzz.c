/* SPDX-License-Identifier: Apache-2.0 */

/* Whatever is accepted as a ConfigMap has a name, and each of its keys is found. */

#include <assert.h>

#include "base/limits.h"
#include "schema/config_map_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct view message = {(const char *)data, size}, text;
	struct config_map map;
	struct error err;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (config_map_doc_decode(message, &arena, &map, &err) != 0)
		return 0;
	assert(map.name.len > 0 && map.entries.count <= LIMIT_CONFIG_KEYS);
	for (uint32_t i = 0; i < map.entries.count; i++)
		assert(config_map_doc_text(
			&map, ARRAY_AT(map.entries, struct config_map_entry, i)->key, &text));
	return 0;
}
