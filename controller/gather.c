/* SPDX-License-Identifier: Apache-2.0 */

/*
 * All that belongs to a node hangs on its node state, so this walks over lists. Only what other
 * nodes say of the same devices and pods is looked up by name.
 */

#include "controller/gather.h"

#include <assert.h>

#include "base/keyed.h"
#include "base/limits.h"
#include "controller/gather_claims.h"
#include "join/devices.h"
#include "model/attribution_set.h"
#include "model/device_reporters.h"
#include "model/pod_scope.h"
#include "model/pod_set.h"

struct gatherer {
	const struct inventory_parts *parts;
	struct node_state *node_state;
	uint64_t now_ms;
	struct arena *arena;
	struct error *err;
	struct join_input input; /* as far as it is gathered */
	struct join_previous *previous;
	size_t previous_cap;
	struct keyed previous_by_name;
	struct view *elsewhere; /* NULL: they are only counted */
	size_t n_elsewhere, elsewhere_cap;
};

static int64_t age_of(const struct gatherer *g, uint64_t since)
{
	assert(since <= g->now_ms);
	return (int64_t)(g->now_ms - since);
}

static size_t count_links(const struct list *head)
{
	size_t n = 0;
	for (const struct list *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

static const struct pod_record *pod_of(const struct list *link)
{
	return CONTAINER_OF(link, struct pod_record, base.link);
}

static const struct attribution_record *object_of(const struct list *link)
{
	return CONTAINER_OF(link, struct attribution_record, base.link);
}

/* The node's report; without one, an empty one. */
static const struct report *report_of(const struct gatherer *g)
{
	static const struct report nothing;
	return g->node_state->report ? g->node_state->report : &nothing;
}

/* Pods */

static int gather_pods(struct gatherer *g)
{
	const struct node_state *node_state = g->node_state;
	struct join_input *input = &g->input;
	size_t n = count_links(&node_state->pods);
	const struct pod **pods = arena_alloc(g->arena, n, sizeof(*pods));
	const struct pod **told_later = arena_alloc(g->arena, n, sizeof(*told_later));

	if (!pods || !told_later)
		return error_no_memory(g->err);
	input->pods = pods;
	input->told_later = told_later;
	for (const struct list *l = node_state->pods.next; l != &node_state->pods; l = l->next) {
		pods[input->n_pods++] = pod_of(l)->pod;
		if (pod_of(l)->start_told_at > node_state->listed_told_at)
			told_later[input->n_told_later++] = pod_of(l)->pod;
	}
	assert(input->n_pods == n && input->n_told_later <= n);
	return 0;
}

/*
 * Pods that are gone, and pods that are over. The UIDs are copies: the result of the join borrows
 * them, and inventory_node_state_keep_recall() changes the list while it reads the result.
 */
static int gather_ended(struct gatherer *g)
{
	const struct node_state *node_state = g->node_state;
	struct join_input *input = &g->input;
	struct view *uids = arena_alloc(g->arena, node_state->n_ended, sizeof(*uids));
	struct join_end *ends = arena_alloc(g->arena, node_state->n_ended + input->n_pods,
					    sizeof(*ends));

	if (!uids || !ends)
		return error_no_memory(g->err);
	input->ended = uids;
	input->ends = ends;
	for (const struct list *l = node_state->ended.next; l != &node_state->ended; l = l->next) {
		const struct node_state_ended *ended = CONTAINER_OF(l, struct node_state_ended,
								    link);
		struct view *uid = &uids[input->n_ended++];

		if (!arena_copy(g->arena, ended->uid, uid))
			return error_no_memory(g->err);
		ends[input->n_ends++] = (struct join_end){*uid, age_of(g, ended->since)};
	}
	assert(input->n_ended == node_state->n_ended);
	input->n_ended = view_sort(uids, input->n_ended);
	for (const struct list *l = node_state->pods.next; l != &node_state->pods; l = l->next)
		if (pod_of(l)->over_since > 0)
			ends[input->n_ends++] = (struct join_end){pod_uid(pod_of(l)->pod),
								  age_of(g, pod_of(l)->over_since)};
	assert(input->n_ends <= input->n_ended + input->n_pods);
	return 0;
}

/* A pod whose end nobody remembers ended before the first List of pods, at the latest. */
static int64_t ended_for(const struct gatherer *g)
{
	uint64_t known_at = pod_scope_known_at(g->parts->scope, g->node_state);
	int64_t age = age_of(g, known_at);
	return known_at > 0 && age <= NODE_STATE_ENDED_KEEP_MS ? age : -1;
}

static int gather_debounced(struct gatherer *g)
{
	const struct node_state *node_state = g->node_state;
	struct debounce_seen *debounced = arena_alloc(g->arena, node_state->n_debounced,
						      sizeof(*debounced));
	if (!debounced)
		return error_no_memory(g->err);
	for (size_t i = 0; i < node_state->n_debounced; i++) {
		debounced[i] = node_state->debounced[i];
		debounced[i].age_ms += age_of(g, node_state->debounced_at);
	}
	g->input.debounced = debounced;
	g->input.n_debounced = node_state->n_debounced;
	return 0;
}

/* Pods of other nodes */

static void note_named(struct gatherer *g, struct view uid)
{
	const struct node_state *other;
	if (!g->elsewhere) {
		g->elsewhere_cap++;
		return;
	}
	other = pod_set_node_state_of(g->parts->pods, uid);
	assert(g->n_elsewhere < g->elsewhere_cap);
	if (other && other != g->node_state)
		g->elsewhere[g->n_elsewhere++] = uid;
}

/* The pods that the report names by UID. */
static void note_reported(struct gatherer *g, const struct report *report)
{
	const struct report_checkpoint_entry *entries = report->checkpoint.entries.items;
	const struct report_device *devices = report->devices.items;

	for (uint32_t i = 0; i < report->checkpoint.entries.count; i++)
		note_named(g, entries[i].pod_uid);
	for (uint32_t i = 0; i < report->devices.count; i++) {
		const struct report_process *processes = devices[i].processes.items;

		for (uint32_t k = 0; k < devices[i].processes.count; k++)
			note_named(g, processes[k].pod_uid);
	}
}

/* The published tenants whose pod was not known. One with a name was a pod of this node. */
static void note_published(struct gatherer *g)
{
	const struct list *end = &g->node_state->attributions;

	for (const struct list *l = end->next; l != end; l = l->next) {
		const struct array *listed = &object_of(l)->attribution.status.tenants;
		const struct attribution_tenant *tenants = listed->items;

		for (uint32_t i = 0; i < listed->count; i++)
			if (tenants[i].pod_name.len == 0)
				note_named(g, tenants[i].pod_uid);
	}
}

/* Counts, and then collects: one pod can have many processes. */
static int gather_elsewhere(struct gatherer *g)
{
	note_reported(g, report_of(g));
	note_published(g);
	g->elsewhere = arena_alloc(g->arena, g->elsewhere_cap, sizeof(*g->elsewhere));
	if (!g->elsewhere)
		return error_no_memory(g->err);
	note_reported(g, report_of(g));
	note_published(g);
	g->input.elsewhere = g->elsewhere;
	g->input.n_elsewhere = view_sort(g->elsewhere, g->n_elsewhere);
	return 0;
}

/* No two pods have the same name. If the name is on another node, so is the pod that the List means. */
static int gather_foreign(struct gatherer *g)
{
	const struct array list = report_of(g)->pod_resources;
	const struct report_pod_resource *entries = list.items;
	bool *is_foreign = arena_alloc(g->arena, list.count, sizeof(*is_foreign));

	if (!is_foreign)
		return error_no_memory(g->err);
	g->input.is_foreign = is_foreign;
	for (uint32_t i = 0; i < list.count; i++) {
		const struct node_state *other = pod_set_node_state_of_name(
			g->parts->pods, entries[i].namespace, entries[i].name);

		is_foreign[i] = other && other != g->node_state;
	}
	return 0;
}

/* Published objects */

/*
 * Adds an object once. The report of the node that it names may still be on its way if none came since
 * the start.
 */
static void add_object(struct gatherer *g, const struct attribution_record *record)
{
	struct join_input *input = &g->input;
	const struct node_state *owner = record->base.node_state;
	const bool is_other = owner && owner != g->node_state;
	struct device_reporters_ages ages;

	if (keyed_find(&g->previous_by_name, KEYED_KEY(record->attribution.name)))
		return;
	assert(input->n_previous <= g->previous_cap);
	if (input->n_previous == g->previous_cap) {
		input->previous_left_out++;
		return;
	}
	ages = device_reporters_ages(g->parts->reporters, record->attribution.name, g->node_state,
				     g->now_ms);
	if (ages.youngest_ms < 0 && is_other && !owner->report)
		ages.youngest_ms = age_of(g, g->parts->started_at);
	keyed_add(&g->previous_by_name, KEYED_KEY(record->attribution.name), record);
	g->previous[input->n_previous++] = (struct join_previous){
		.object = &record->attribution,
		.claimed_age_ms = ages.youngest_ms,
		.claimed_for_ms = ages.held_ms,
		.is_named_elsewhere = is_other && !g->node_state->report &&
				      (!pod_scope_knows(g->parts->scope, owner) ||
				       attribution_set_is_named(owner, record->attribution.uuid)),
	};
}

static void add_device(void *gatherer, struct view uuid)
{
	struct gatherer *g = gatherer;
	char buffer[DEVICE_REPORTERS_NAME_SIZE];
	const struct attribution_record *record = attribution_set_find(
		g->parts->attributions, device_reporters_object_name(uuid, buffer));

	if (record)
		add_object(g, record);
}

/* After gather_grants(). */
static int gather_previous(struct gatherer *g)
{
	const struct list *objects = &g->node_state->attributions;
	const struct report *report = report_of(g);
	const struct report_device *devices = report->devices.items;

	g->previous_cap = count_links(objects) + 2 * LIMIT_REPORT_DEVICES;
	g->previous = arena_alloc(g->arena, g->previous_cap, sizeof(*g->previous));
	if (!g->previous)
		return error_no_memory(g->err);
	g->previous_by_name.arena = g->arena;
	g->input.previous = g->previous;
	for (const struct list *l = objects->next; l != objects; l = l->next)
		add_object(g, object_of(l));
	for (uint32_t i = 0; i < report->devices.count; i++)
		add_device(g, devices[i].uuid);
	if (report->sources.nvml.state != REPORT_SOURCE_OK)
		devices_name_all(&g->input, add_device, g);
	return arena_check(g->arena, g->err);
}

static int gather_contested(struct gatherer *g)
{
	const struct array listed = report_of(g)->devices;
	const struct report_device *devices = listed.items;
	struct view *uuids = arena_alloc(g->arena, listed.count, sizeof(*uuids));

	if (!uuids)
		return error_no_memory(g->err);
	g->input.contested = uuids;
	for (uint32_t i = 0; i < listed.count; i++) {
		char buffer[DEVICE_REPORTERS_NAME_SIZE];
		struct view name = device_reporters_object_name(devices[i].uuid, buffer);
		int64_t age = device_reporters_ages(g->parts->reporters, name, g->node_state,
						    g->now_ms)
				      .youngest_ms;

		if (age >= 0 && age < g->input.report_age_ms &&
		    !attribution_set_find(g->parts->attributions, name))
			uuids[g->input.n_contested++] = devices[i].uuid;
	}
	return 0;
}

/* The node itself */

/*
 * A node state exists, and so remembers when its Node went, only while something hangs on it. Where
 * a join asks for the first time since, the Node may have gone just before.
 */
static int64_t gone_for(const struct gatherer *g)
{
	const struct node_state *node_state = g->node_state;
	uint64_t since = g->parts->nodes_known_at;
	if (node_state->node || !g->parts->nodes_known)
		return 0;
	if (node_state->gone_at > since)
		since = node_state->gone_at;
	if (node_state->asked_at > since)
		since = node_state->asked_at;
	return age_of(g, since);
}

/* The Node named another boot after the report's boot had first reported: that one is newer. */
static bool is_of_former_boot(const struct node_state *node_state)
{
	return node_state->node && node_state->is_boot_news &&
	       report_boot_of(node_state->report, node_state->node->boot_id) == REPORT_BOOT_OTHER;
}

/* Of the pods, and of the nodes that they are on. */
static enum inventory_age age_of_pods(const struct inventory_parts *parts,
				      const struct node_state *node_state)
{
	enum inventory_age age = parts->pods_age;

	if (node_state)
		age = pod_scope_age(parts->scope, node_state, age);
	return age == INVENTORY_CURRENT && parts->nodes_age != INVENTORY_CURRENT ? INVENTORY_STALE
										 : age;
}

static int gather_grants(struct gatherer *g)
{
	return gather_claims(g->parts, g->node_state, g->arena, &g->input, g->err);
}

static int gather_node_state(struct gatherer *g)
{
	const struct node_state *node_state = g->node_state;
	struct join_input *input = &g->input;
	input->node = node_state->node;
	input->layouts = node_state->layouts;
	input->node_gone_for_ms = gone_for(g);
	input->report = node_state->report;
	input->report_age_ms = age_of(g, node_state->report ? node_state->report_at
							    : node_state->asked_at);
	if (node_state->report)
		input->report_held_ms = age_of(g, node_state->report_since);
	input->listed_at = node_state->listed_at;
	input->booted_after = node_state->booted_after;
	input->former_heard_at = node_state->former_heard_at;
	input->history = &node_state->history;
	input->is_of_former_boot = is_of_former_boot(node_state);
	input->settled_restart = node_state->settled_restart;
	input->offered_since = node_state->offered_since;
	input->ended_for_ms = ended_for(g);
	return 0;
}

int gather_node(const struct inventory_parts *parts, struct view node_name, uint64_t now_ms,
		struct arena *arena, struct join_input *ret_input, struct error *err)
{
	static int (*const steps[])(struct gatherer *) = {
		gather_node_state, gather_pods,      gather_ended,
		gather_debounced,  gather_elsewhere, gather_foreign,
		gather_grants,     gather_previous,  gather_contested,
	};
	struct gatherer gatherer = {
		.parts = parts,
		.node_state = node_state_find(parts->node_states, node_name),
		.now_ms = now_ms,
		.arena = arena,
		.err = err,
		.input =
			{
				.node_name = node_name,
				.intent = parts->intent,
				.grants_unknown = !parts->grants_known || parts->grants_partial,
				.grants_denied = !parts->grants_known,
				.ended_for_ms = -1,
			},
	};

	gatherer.input.pods_age = age_of_pods(parts, gatherer.node_state);
	if (gatherer.node_state && gatherer.node_state->asked_at == 0)
		gatherer.node_state->asked_at = now_ms;
	for (size_t i = 0; gatherer.node_state && i < ARRAY_SIZE(steps); i++)
		if (steps[i](&gatherer) < 0)
			return -1;
	*ret_input = gatherer.input;
	return 0;
}
