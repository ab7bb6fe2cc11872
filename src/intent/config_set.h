/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * config_set - the two ConfigMaps that the ClusterPolicy names, as last read, and what is known of them
 * now. Of the device plugin's it remembers what each key meant before: the plugin goes on with what it
 * has read until a label of its node changes. A text that the plugin refuses, or that is not read here,
 * is not remembered.
 *
 * What was put counts while the state is THERE. Under other states it is remembered, for the ConfigMap
 * may come back.
 *
 * Threads: the loop thread.
 * Limits:  LIMIT_CONFIG_FORMER former configurations of each key, for LIMIT_CONFIG_KEYS keys.
 */

#include "intent/policy.h"

/* Zeroed: the policy names none. */
struct config_set {
	void *blocks[INTENT_N_CONFIGS]; /* struct plugin_configs and mig_configs, owned; NULL: none was put, */
					/* as of NODE_LAYOUTS, which are in model/node_layouts.h */
	enum intent_config_state states[INTENT_N_CONFIGS];
	enum intent_config_why whys[INTENT_N_CONFIGS]; /* of states that are UNREADABLE */
};

/* Frees what was put; the set is zeroed then. */
void config_set_deinit(struct config_set *set);
/*
 * The device plugin's ConfigMap is there, and says that; copies it. Its `former` is not looked at. A
 * ConfigMap of another name or namespace has nothing of the one before. *ret_is_news: something
 * changed, if only the state. Fails with ERROR_NO_MEMORY; all is then as before.
 */
MUST_USE int config_set_put_plugin(struct config_set *set, const struct plugin_configs *configs,
				   bool *ret_is_news, struct error *err);
/* The same of mig-parted's ConfigMap, of which nothing is kept from before. */
MUST_USE int config_set_put_mig(struct config_set *set, const struct mig_configs *configs,
				bool *ret_is_news, struct error *err);
/*
 * Changes the state; NONE forgets what was put, THERE needs it (but for NODE_LAYOUTS), UNREADABLE has a
 * reason. Is that news?
 */
bool config_set_state(struct config_set *set, enum intent_config config, enum intent_config_state state,
		      enum intent_config_why why);
/* Fills in what the intent says of ConfigMaps, borrowed until the next change. */
void config_set_tell(const struct config_set *set, struct intent *intent);
