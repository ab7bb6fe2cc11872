/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * intents - what is intended of a node now, by the world alone (sim/policies.h).
 *
 * Threads: the program's only one.
 */

#include <stdbool.h>

#include "sim/policies.h"

enum intents_want {
	INTENTS_UNKNOWN, /* the API server has no such node */
	INTENTS_WANTED,
	INTENTS_OFF,
	INTENTS_NOT_HERE,
};

/* What the knob of the ClusterPolicy that counts says; 0: nothing is written there. */
int intents_written(enum policies_knob knob);
/* Whether the operator shall run it on the node. */
enum intents_want intents_want(int node, enum policies_operand operand);
/* The pod of it on the node. */
enum policies_pod intents_pod(int node, enum policies_operand operand);

/* The key that the plugin shall use; POLICIES_NO_KEY: none, and its own defaults do. */
enum policies_key intents_key(int node);
/* The text of that key. */
enum policies_text intents_text(int node);
/* The plugin shall use a ConfigMap on the node, and that cannot be read. */
bool intents_is_config_denied(int node);

enum intents_layout {
	INTENTS_NO_LAYOUT,      /* none that is compared */
	INTENTS_UNREAD_LAYOUT,  /* it cannot be told */
	INTENTS_MISSING_LAYOUT, /* there is none of that name, or no such ConfigMap */
	INTENTS_LAYOUT,
};

/* The layout that a label of the node names. *ret_n, with INTENTS_LAYOUT: MIG devices; -1: MIG off. */
enum intents_layout intents_layout(int node, int *ret_n);
/* The MIG manager shall make a layout on the node, and that cannot be told. */
bool intents_is_layout_unread(int node);

enum intents_config {
	INTENTS_NO_CONFIG,     /* none is asked for, or it is none that a plugin could use */
	INTENTS_UNREAD_CONFIG, /* it cannot be told */
	INTENTS_CONFIG,
};

/* What the plugin shall do on the node; *ret_sharing with INTENTS_CONFIG. */
enum intents_config intents_config(int node, struct policies_sharing *ret_sharing);
