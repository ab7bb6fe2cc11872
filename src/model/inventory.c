/* SPDX-License-Identifier: Apache-2.0 */
#include "model/inventory.h"

#include <assert.h>
#include <stdlib.h>

#include "model/inventory_sets.h"

int inventory_new(uint64_t now_ms, struct inventory **ret_inventory, struct error *err)
{
	struct inventory *inventory = calloc(1, sizeof(*inventory));
	if (!inventory)
		return error_no_memory(err);
	node_state_set_init(&inventory->node_states);
	device_reporters_init(&inventory->reporters);
	pod_set_init(&inventory->pods, &inventory->node_states);
	pod_scope_init(&inventory->scope, &inventory->pods, &inventory->node_states);
	node_set_init(&inventory->nodes, &inventory->node_states);
	policy_set_init(&inventory->policies, &inventory->node_states);
	node_layouts_init(&inventory->node_layouts, &inventory->node_states);
	attribution_set_init(&inventory->attributions, &inventory->node_states, &inventory->reporters);
	resource_claim_set_init(&inventory->resource_claims, &inventory->pods);
	resource_slice_set_init(&inventory->resource_slices, &inventory->node_states);
	inventory->sets[INVENTORY_PODS] = &inventory->pods.records;
	inventory->sets[INVENTORY_NODES] = &inventory->nodes;
	inventory->sets[INVENTORY_POLICIES] = &inventory->policies.records;
	inventory->sets[INVENTORY_GPU_CLUSTERS] = &inventory->policies.gpu_clusters;
	inventory->sets[INVENTORY_ATTRIBUTIONS] = &inventory->attributions.records;
	inventory->sets[INVENTORY_RESOURCE_CLAIMS] = &inventory->resource_claims.records;
	inventory->sets[INVENTORY_RESOURCE_SLICES] = &inventory->resource_slices.records;
	inventory->started_at = now_ms;
	*ret_inventory = inventory;
	return 0;
}

void inventory_on_touch(struct inventory *inventory, node_state_touch_fn touch, void *owner)
{
	inventory->node_states.touch = touch;
	inventory->node_states.touch_owner = owner;
}

void inventory_on_boot(struct inventory *inventory, node_state_boot_fn boot, void *owner)
{
	inventory->node_states.boot = boot;
	inventory->node_states.boot_owner = owner;
}

void inventory_on_attribution(
	struct inventory *inventory,
	void (*changed)(void *owner, const struct attribution *before, const struct attribution *now), void *owner)
{
	attribution_set_listen(&inventory->attributions, changed, owner);
}

void inventory_off_attribution(struct inventory *inventory, const void *owner)
{
	attribution_set_leave(&inventory->attributions, owner);
}

void inventory_expect_attributions(
	struct inventory *inventory,
	bool (*expected)(void *owner, struct view node_name, const struct attribution *object), void *owner)
{
	inventory->attributions.expected = expected;
	inventory->attributions.expected_owner = owner;
}

/* One kind or all */

static bool is_initial(const struct inventory *inventory, enum inventory_kind kind)
{
	assert(kind < INVENTORY_N_KINDS);
	return !inventory->synced[kind];
}

static struct record_event event_of(const struct inventory *inventory, enum inventory_kind kind,
				    enum store_change change, uint64_t version)
{
	return (struct record_event){
		.change = change,
		.version = version,
		.is_initial = is_initial(inventory, kind),
	};
}

int inventory_put_pod(struct inventory *inventory, struct view node_name, const struct pod_fields *fields,
		      enum store_change change, uint64_t version, uint64_t now_ms, struct error *err)
{
	const struct record_event event = {
		.change = change,
		.version = version,
		.now_ms = now_ms,
		.is_initial = !pod_scope_knows(&inventory->scope,
					       node_state_find(&inventory->node_states, node_name)),
	};

	return pod_scope_put(&inventory->scope, node_name, fields, &event, err);
}

struct pod_scope *inventory_pod_scope(struct inventory *inventory)
{
	return &inventory->scope;
}

void inventory_set_pods_read(struct inventory *inventory)
{
	const bool is_news = !inventory->synced[INVENTORY_PODS];
	inventory->synced[INVENTORY_PODS] = true;
	if (is_news)
		node_state_touch_all(&inventory->node_states, false, true);
}

int inventory_put(struct inventory *inventory, enum inventory_kind kind, const void *fields,
		  enum store_change change, uint64_t version, struct error *err)
{
	struct record_event event = event_of(inventory, kind, change, version);
	assert(kind != INVENTORY_PODS && kind != INVENTORY_ATTRIBUTIONS);
	return record_set_put_copy(inventory->sets[kind], fields, &event, err);
}

int inventory_put_attribution(struct inventory *inventory, const struct attribution *attribution,
			      struct arena *take_arena, enum store_change change, uint64_t version,
			      struct error *err)
{
	struct record_event event = event_of(inventory, INVENTORY_ATTRIBUTIONS, change, version);
	return attribution_set_put(&inventory->attributions, attribution, take_arena, &event, err);
}

/* What the GPU operator has, which tells what is intended. */
static bool is_of_operator(enum inventory_kind kind)
{
	return kind == INVENTORY_POLICIES || kind == INVENTORY_GPU_CLUSTERS;
}

/* Says what is known of the ConfigMaps; `is_news`: since the last time. */
static void tell_configs(struct inventory *inventory, bool is_news)
{
	if (!is_news)
		return;
	config_set_tell(&inventory->configs, &inventory->policies.intent);
	node_state_touch_all(&inventory->node_states, false, true);
}

int inventory_put_plugin_configs(struct inventory *inventory, const struct plugin_configs *configs,
				 struct error *err)
{
	bool is_news;
	if (config_set_put_plugin(&inventory->configs, configs, &is_news, err) < 0)
		return -1;
	tell_configs(inventory, is_news);
	return 0;
}

int inventory_put_mig_configs(struct inventory *inventory, const struct mig_configs *configs,
			      struct error *err)
{
	bool is_news;
	if (config_set_put_mig(&inventory->configs, configs, &is_news, err) < 0)
		return -1;
	tell_configs(inventory, is_news);
	return 0;
}

void inventory_set_config_state(struct inventory *inventory, enum intent_config config,
				enum intent_config_state state, enum intent_config_why why)
{
	tell_configs(inventory, config_set_state(&inventory->configs, config, state, why));
}

struct record_set *inventory_node_layouts(struct inventory *inventory)
{
	return &inventory->node_layouts;
}

/* That something goes is news also before the first state is complete, but for the operator's. */
static void remove_entry(struct inventory *inventory, enum inventory_kind kind,
			 struct store_entry *entry, uint64_t now_ms)
{
	const struct record_event event = {
		.change = STORE_DELETE,
		.now_ms = now_ms,
		.is_initial = is_of_operator(kind) && is_initial(inventory, kind),
	};

	assert(entry);
	record_set_remove(inventory->sets[kind], CONTAINER_OF(entry, struct record, entry), &event);
}

bool inventory_wants(struct inventory *inventory, enum inventory_kind kind, struct view key,
		     enum store_change change, uint64_t version)
{
	assert(kind < INVENTORY_N_KINDS && change != STORE_DELETE);
	if (kind == INVENTORY_PODS)
		return inventory_wants_node_pod(inventory, (struct view){0}, key, change, version);
	struct store *store = &inventory->sets[kind]->store;
	struct store_entry *entry = store_find(store, key);
	bool newer;

	if (!entry)
		return true;
	newer = version == 0 ||
		(change == STORE_LISTED ? version != entry->version : version > entry->version);
	if (newer)
		store_note(store, entry);
	else
		(void)store_judge(store, key, change, version, &entry); /* it is there: noted */
	return newer;
}

bool inventory_wants_node_pod(struct inventory *inventory, struct view node_name, struct view key,
			      enum store_change change, uint64_t version)
{
	const struct pod_scope_word word = {node_name, key, change, version};
	return pod_scope_wants(&inventory->scope, &word);
}

void inventory_remove(struct inventory *inventory, enum inventory_kind kind, struct view key,
		      uint64_t version, uint64_t now_ms)
{
	struct store_entry *entry;
	assert(kind < INVENTORY_N_KINDS);
	if (store_judge(&inventory->sets[kind]->store, key, STORE_DELETE, version, &entry) != STORE_REMOVE)
		return;
	if (kind == INVENTORY_PODS)
		pod_scope_note_removal(&inventory->scope, CONTAINER_OF(entry, struct record, entry), version);
	remove_entry(inventory, kind, entry, now_ms);
}

void inventory_begin_replace(struct inventory *inventory, enum inventory_kind kind)
{
	assert(kind < INVENTORY_N_KINDS);
	if (kind == INVENTORY_PODS)
		pod_scope_begin_list(&inventory->scope);
	else
		store_begin_replace(&inventory->sets[kind]->store);
}

static bool is_known(const struct inventory *inventory, enum inventory_kind kind)
{
	return inventory->synced[kind] && inventory->ages[kind] == INVENTORY_CURRENT;
}

/* Whether what the operator has is known. Returns whether that is news. */
static bool judge_intent(struct inventory *inventory)
{
	const enum inventory_age age = inventory->ages[INVENTORY_POLICIES];
	struct intent *intent = &inventory->policies.intent;
	const struct intent before = *intent;
	intent->is_unserved = age == INVENTORY_UNSERVED;
	intent->is_stale = age == INVENTORY_STALE;
	intent->known = is_known(inventory, INVENTORY_POLICIES);
	intent->are_gpu_clusters_unread = !is_known(inventory, INVENTORY_GPU_CLUSTERS);
	return intent->known != before.known || intent->is_unserved != before.is_unserved ||
	       intent->is_stale != before.is_stale ||
	       intent->are_gpu_clusters_unread != before.are_gpu_clusters_unread;
}

/* What the list, as of that version, did not contain. */
static void sweep(struct inventory *inventory, enum inventory_kind kind, uint64_t version, uint64_t now_ms)
{
	struct store_entry *entry;
	while ((entry = store_sweep(&inventory->sets[kind]->store)))
		if (kind != INVENTORY_PODS ||
		    !pod_scope_spares(CONTAINER_OF(entry, struct record, entry), version))
			remove_entry(inventory, kind, entry, now_ms);
}

void inventory_end_list(struct inventory *inventory, enum inventory_kind kind, uint64_t version,
			uint64_t now_ms)
{
	bool first = is_initial(inventory, kind), was_absent = inventory->absent[kind];
	assert(now_ms >= inventory->started_at);
	sweep(inventory, kind, version, now_ms);
	inventory->synced[kind] = true;
	inventory->absent[kind] = false;
	(void)judge_intent(inventory);
	if (first)
		inventory->synced_at[kind] = now_ms;
	if (kind == INVENTORY_PODS)
		first |= pod_scope_end_list(&inventory->scope, now_ms);
	/* What is known to be absent from now on may change every node's result. */
	if (first || was_absent)
		node_state_touch_all(&inventory->node_states, false, true);
}

void inventory_set_absent(struct inventory *inventory, enum inventory_kind kind)
{
	inventory_begin_replace(inventory, kind);
	inventory_end_list(inventory, kind, 0, inventory->started_at);
	inventory->absent[kind] = true;
	node_state_touch_all(&inventory->node_states, false, true);
}

void inventory_set_age(struct inventory *inventory, enum inventory_kind kind, enum inventory_age age)
{
	assert(kind < INVENTORY_N_KINDS && age <= INVENTORY_UNSERVED);
	if (inventory->ages[kind] == age)
		return;
	inventory->ages[kind] = age;
	if (judge_intent(inventory) || (!is_of_operator(kind) && kind != INVENTORY_ATTRIBUTIONS))
		node_state_touch_all(&inventory->node_states, false, true);
}

bool inventory_is_synced(const struct inventory *inventory, enum inventory_kind kind)
{
	assert(kind < INVENTORY_N_KINDS);
	return inventory->synced[kind];
}

size_t inventory_count(const struct inventory *inventory, enum inventory_kind kind)
{
	assert(kind < INVENTORY_N_KINDS);
	return inventory->sets[kind]->store.table.count;
}

struct inventory_unused inventory_unused(const struct inventory *inventory)
{
	return (struct inventory_unused){
		.resource_claims = inventory->resource_claims.n_otherwise,
		.resource_slices = inventory->resource_slices.n_unplaced,
		.of_pods = inventory->pods.n_left_out,
	};
}

const struct attribution *inventory_find_attribution(const struct inventory *inventory, struct view name)
{
	const struct attribution_record *record = attribution_set_find(&inventory->attributions, name);
	return record ? &record->attribution : NULL;
}

const struct attribution *inventory_next_attribution(const struct inventory *inventory,
						     const struct attribution *attribution)
{
	const struct attribution_record *last =
		attribution ? CONTAINER_OF(attribution, struct attribution_record, attribution) : NULL;
	const struct record *next = record_set_next(&inventory->attributions.records,
						    last ? &last->base : NULL);
	return next ? &CONTAINER_OF(next, struct attribution_record, base)->attribution : NULL;
}

/* What a join is made from */

struct inventory_parts inventory_parts(struct inventory *inventory)
{
	return (struct inventory_parts){
		.node_states = &inventory->node_states,
		.reporters = &inventory->reporters,
		.pods = &inventory->pods,
		.attributions = &inventory->attributions,
		.resource_claims = &inventory->resource_claims,
		.intent = &inventory->policies.intent,
		.grants_known = is_known(inventory, INVENTORY_RESOURCE_CLAIMS) &&
				is_known(inventory, INVENTORY_RESOURCE_SLICES),
		.grants_partial = inventory->absent[INVENTORY_RESOURCE_CLAIMS] !=
				  inventory->absent[INVENTORY_RESOURCE_SLICES],
		.pods_age = inventory->ages[INVENTORY_PODS],
		.nodes_age = inventory->ages[INVENTORY_NODES],
		.nodes_known = inventory->synced[INVENTORY_NODES],
		.nodes_known_at = inventory->synced_at[INVENTORY_NODES],
		.scope = &inventory->scope,
		.started_at = inventory->started_at,
	};
}

/* The end */

void inventory_free(struct inventory *inventory)
{
	if (!inventory)
		return;
	inventory->node_states.touch = NULL;
	pod_scope_deinit(&inventory->scope);
	inventory_node_state_forget_all(inventory);
	for (unsigned i = 0; i < INVENTORY_N_KINDS; i++)
		record_set_deinit(inventory->sets[i]);
	pod_set_deinit(&inventory->pods);
	config_set_deinit(&inventory->configs);
	record_set_deinit(&inventory->node_layouts);
	device_reporters_deinit(&inventory->reporters);
	node_state_set_deinit(&inventory->node_states);
	free(inventory);
}
