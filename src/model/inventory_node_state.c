/* SPDX-License-Identifier: Apache-2.0 */
#include "model/inventory_node_state.h"

#include <assert.h>

#include "model/inventory_sets.h"

/* The objects of devices that a report names, or no longer names, may change hands. */
static void touch_holders(const struct inventory *inventory, const struct node_state *node_state,
			  const struct report *report)
{
	const struct array devices = report ? report->devices : (struct array){0};
	ARRAY_EACH(const struct report_device, device, devices) {
		char buffer[DEVICE_REPORTERS_NAME_SIZE];
		const struct attribution_record *record = attribution_set_find(
			&inventory->attributions, device_reporters_object_name(device->uuid, buffer));

		if (record && record->base.node_state != node_state)
			node_state_touch(&inventory->node_states, record->base.node_state, false);
	}
}

/* The other nodes that report devices whose objects are this one's wait for what it says. */
static void touch_rivals(const struct inventory *inventory, const struct node_state *node_state)
{
	for (struct list *l = node_state->attributions.next; l != &node_state->attributions; l = l->next) {
		struct view name = CONTAINER_OF(l, struct attribution_record, base.link)->attribution.name;
		const struct node_state *rival;

		for (unsigned i = 0; (rival = device_reporters_node_state(&inventory->reporters, name, i)); i++)
			if (rival != node_state)
				node_state_touch(&inventory->node_states, rival, false);
	}
}

int inventory_node_state_put_report(struct inventory *inventory, const struct report *report,
				    node_state_release_fn release, void *owner, uint64_t now_ms, struct error *err)
{
	struct node_state *node_state = node_state_ensure(&inventory->node_states, report->node, err);
	assert(release);
	if (!node_state)
		return -1;
	if (device_reporters_add(&inventory->reporters, node_state, report, now_ms, err) < 0) {
		device_reporters_drop(&inventory->reporters, node_state, report, node_state->report);
		node_state_release(&inventory->node_states, node_state);
		return -1;
	}
	device_reporters_drop(&inventory->reporters, node_state, node_state->report, report);
	touch_holders(inventory, node_state, node_state->report);
	touch_holders(inventory, node_state, report);
	touch_rivals(inventory, node_state);
	node_state_take_report(node_state, report, release, owner, now_ms);
	node_state_touch(&inventory->node_states, node_state, false);
	return 0;
}

struct node_state_refusals inventory_node_state_note_refusals(struct inventory *inventory,
							      struct view node_name,
							      struct node_state_refusals refused)
{
	struct node_state *node_state = node_state_find(&inventory->node_states, node_name);
	return node_state ? node_state_note_refusals(node_state, refused) : refused;
}

bool inventory_node_state_refresh_report(struct inventory *inventory, struct view node_name,
					 int64_t listed_at, uint64_t stale_ms, uint64_t now_ms)
{
	struct node_state *node_state = node_state_find(&inventory->node_states, node_name);
	bool was_stale;
	if (!node_state || !node_state->report)
		return false;
	assert(node_state->report_at <= now_ms);
	was_stale = now_ms - node_state->report_at >= stale_ms;
	node_state->report_at = now_ms;
	node_state_note_listed(node_state, listed_at, now_ms);
	if (was_stale)
		touch_holders(inventory, node_state, node_state->report);
	if (was_stale || node_state->awaits_hearing)
		node_state_touch(&inventory->node_states, node_state, false);
	return true;
}

void inventory_node_state_put_figures(struct inventory *inventory, struct view node_name,
				      const struct report *of, struct figures *take_figures)
{
	struct node_state *node_state = node_state_find(&inventory->node_states, node_name);
	if (!node_state || node_state->report != of) {
		figures_free(take_figures);
		return;
	}
	if (node_state_take_figures(node_state, take_figures))
		node_state_touch(&inventory->node_states, node_state, false);
}

const struct node_state *inventory_node_state_find(const struct inventory *inventory, struct view node_name)
{
	return node_state_find(&inventory->node_states, node_name);
}

static void forget_report(struct inventory *inventory, struct node_state *node_state)
{
	device_reporters_drop(&inventory->reporters, node_state, node_state->report, NULL);
	node_state_release_report(node_state);
	boot_history_forget(&node_state->history);
	node_state->booted_after = 0;
	node_state_release(&inventory->node_states, node_state);
}

void inventory_node_state_forget_report(struct inventory *inventory, struct view node_name)
{
	struct node_state *node_state = node_state_find(&inventory->node_states, node_name);
	if (node_state)
		forget_report(inventory, node_state);
}

void inventory_node_state_forget_all(struct inventory *inventory)
{
	struct node_state *node_state = node_state_next(&inventory->node_states, NULL);
	while (node_state) {
		struct node_state *next = node_state_next(&inventory->node_states, node_state);

		forget_report(inventory, node_state);
		node_state = next;
	}
}

int inventory_node_state_keep_recall(struct inventory *inventory, struct view node_name,
				     const struct recall *recall, uint64_t now_ms, struct error *err)
{
	struct node_state *node_state = node_state_find(&inventory->node_states, node_name);
	if (!node_state)
		return 0;
	assert(recall->ended || recall->n_ended == 0);
	node_state->awaits_hearing = recall->is_hearing_awaited;
	if (node_state_replace_debounced(node_state, recall->debounced, recall->n_debounced, now_ms, err) < 0)
		return -1;
	node_state->settled_restart = recall->settled_restart;
	node_state->offered_since = recall->offered_since;
	for (size_t i = 0; i < recall->n_ended; i++)
		if (node_state_remember_ended(node_state, recall->ended[i], 0, now_ms, err) < 0)
			return -1;
	node_state_forget_ended(node_state, now_ms);
	return 0;
}
