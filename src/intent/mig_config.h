/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * mig_config - the layouts of MIG devices that mig-parted knows, as one ConfigMap has them in its key
 * "config.yaml".
 *
 * Threads: any; immutable once made.
 */

#include "base/array.h"
#include "base/compact.h"
#include "base/view.h"

/* So many MIG devices of one profile. */
struct mig_config_count {
	struct view profile; /* "1g.10gb" */
	int64_t count;
};

/* What one part of a layout says of the devices that it is for. */
struct mig_config_part {
	bool is_for_all;      /* devices: all */
	struct array indices; /* int64_t; else of these */
	struct array filters; /* struct view, device-filter: "0x20B010DE", a PCI device ID; empty: no filter */
	bool is_enabled;      /* mig-enabled */
	struct array counts;  /* struct mig_config_count */
};

struct mig_config {
	struct view name;
	struct array parts; /* struct mig_config_part; a later one overrides an earlier one */
};

struct mig_configs {
	struct view name;    /* the ConfigMap */
	struct view namespace;
	struct view error;   /* why it cannot be read, with line and column; else empty */
	struct array layouts; /* struct mig_config, by name */
};

extern const struct compact_row mig_config_rows[]; /* of a struct mig_configs */

/*
 * A MIG manager that makes its layouts itself, of what the node's devices can do, tells them in a ConfigMap of
 * this component and of that name.
 */
#define MIG_CONFIG_COMPONENT_LABEL "app.kubernetes.io/component"
#define MIG_CONFIG_COMPONENT "nvidia-mig-manager"
#define MIG_CONFIG_SUFFIX "-mig-config"

/* The node whose MIG manager made the layouts, by the ConfigMap's name; empty: it is no such name. */
struct view mig_config_node(const struct mig_configs *configs);
/* The layout of that name, or NULL. */
const struct mig_config *mig_config_find(const struct mig_configs *configs, struct view name);
/*
 * What the layout says of the device of that index and PCI device ID ("0x20B010DE"; empty: not known): its
 * last part that is for it; NULL: none is. *ret_is_uncertain: that part may or may not be for it, for it has
 * filters, and none of them is known to let it through.
 */
const struct mig_config_part *mig_config_part_of(const struct mig_config *layout, int64_t index,
						 struct view pci_device_id, bool *ret_is_uncertain);
