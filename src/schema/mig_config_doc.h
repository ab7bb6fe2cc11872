/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * mig_config_doc - the layouts of MIG devices that mig-parted knows, in YAML or JSON, as mig-parted
 * reads them (version v1). Members that are not known here are passed over.
 *
 * Threads: any; pure.
 * Limits:  those of wire/yaml_tree.h, LIMIT_CONFIG_KEYS layouts, and LIMIT_MIG_PARTS.
 */

#include "base/arena.h"
#include "intent/mig_config.h"

/* The key of the ConfigMap in which the text is. */
#define MIG_CONFIG_DOC_KEY VIEW("config.yaml")

/*
 * Decodes the text into the layouts and the error of *ret_configs; all lies in arena. What mig-parted
 * refuses, and what is not read here, is said in the error, with line and column; there are then no
 * layouts. Fails with ERROR_NO_MEMORY only.
 */
MUST_USE int mig_config_doc_decode(struct view text, struct arena *arena,
				   struct mig_configs *ret_configs, struct error *err);
