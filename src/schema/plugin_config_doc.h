/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * plugin_config_doc - a configuration of NVIDIA's device plugin, in YAML or JSON, as the plugin reads
 * it (version v1).
 *
 * Threads: any; pure.
 * Limits:  those of wire/yaml_tree.h, and LIMIT_CONFIG_RESOURCES.
 */

#include "base/arena.h"
#include "intent/plugin_config.h"

/*
 * Decodes the text of the ConfigMap's key `name`; all lies in arena. The configuration says in `error` what
 * the plugin refuses, and in `unsupported` what is not read here, each with line and column. Its other
 * members are then empty, but for the name. Fails with ERROR_NO_MEMORY only.
 */
MUST_USE int plugin_config_doc_decode(struct view name, struct view text, struct arena *arena,
				      struct plugin_config *ret_config, struct error *err);
