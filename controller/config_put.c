/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config_put.h"

#include "base/limits.h"
#include "schema/config_map_doc.h"
#include "schema/mig_config_doc.h"
#include "schema/plugin_config_doc.h"

static int put_plugin(struct inventory *inventory, const struct config_map *map, struct arena *arena,
		      struct error *err)
{
	struct plugin_configs configs = {.namespace = map->namespace, .name = map->name};
	struct plugin_config *items =
		arena_alloc(arena, map->entries.count, sizeof(struct plugin_config));
	uint32_t n = 0;

	if (!items)
		return error_no_memory(err);
	for (uint32_t i = 0; i < map->entries.count; i++) {
		const struct config_map_entry *entry =
			ARRAY_AT(map->entries, struct config_map_entry, i);

		/* A pod does not see what begins so as a file of the ConfigMap. */
		if (view_starts_with(entry->key, VIEW("..")))
			continue;
		if (plugin_config_doc_decode(entry->key, entry->text, arena, &items[n++], err) < 0)
			return -1;
	}
	configs.configs = array_of(items, n);
	return inventory_put_plugin_configs(inventory, &configs, err);
}

/* *ret_configs lies in the arena or is borrowed from the map. */
static int read_layouts(const struct config_map *map, struct arena *arena,
			struct mig_configs *ret_configs, struct error *err)
{
	struct view text;

	*ret_configs = (struct mig_configs){.name = map->name, .namespace = map->namespace};
	if (config_map_doc_text(map, MIG_CONFIG_DOC_KEY, &text))
		return mig_config_doc_decode(text, arena, ret_configs, err);
	ret_configs->error = VIEW("there is no key config.yaml");
	return 0;
}

static int put_mig(struct inventory *inventory, const struct config_map *map, struct arena *arena,
		   struct error *err)
{
	struct mig_configs configs;

	if (read_layouts(map, arena, &configs, err) < 0)
		return -1;
	return inventory_put_mig_configs(inventory, &configs, err);
}

int config_put(struct inventory *inventory, enum intent_config config, struct view document,
	       struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct config_map map;

	arena_init(&arena, LIMIT_CONFIG_ARENA);
	if (config_map_doc_decode(document, &arena, &map, err) < 0)
		return -1;
	return config == INTENT_PLUGIN_CONFIG ? put_plugin(inventory, &map, &arena, err)
					      : put_mig(inventory, &map, &arena, err);
}

/* What cannot be decoded is known to be there. */
static int read_node_layouts(const struct object_meta *meta, struct view document,
			     struct arena *arena, struct mig_configs *ret_configs, struct error *err)
{
	struct config_map map;
	int failed = config_map_doc_decode(document, arena, &map, err);

	if (!failed)
		failed = read_layouts(&map, arena, ret_configs, err);
	if (!failed || (err->kind != ERROR_REJECTED && err->kind != ERROR_LIMIT))
		return failed;
	*ret_configs = (struct mig_configs){
		.name = meta->name, .namespace = meta->namespace,
		.error = err->kind == ERROR_LIMIT ? VIEW("it is too large") : VIEW("it is malformed"),
	};
	return 0;
}

int config_put_node_layouts(struct record_set *layouts, const struct object_meta *meta,
			    struct view document, enum store_change change, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct mig_configs configs;

	arena_init(&arena, LIMIT_CONFIG_ARENA);
	if (read_node_layouts(meta, document, &arena, &configs, err) < 0)
		return -1;
	return record_set_put_copy(layouts, &configs,
				   &(struct record_event){.change = change, .version = meta->version}, err);
}
