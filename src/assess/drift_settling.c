/* SPDX-License-Identifier: Apache-2.0 */
#include "assess/drift_settling.h"

#include <assert.h>

#include "assess/drift_hash.h"
#include "base/again.h"

static const struct {
	struct view word;
	int64_t limit_ms; /* 0: it ends by itself, and no label tells of it */
	struct view text;
	struct view label;
} kinds[] = {
#define KIND(name, word, limit_s, text, label) \
	{VIEW_INIT(word), INT64_C(1000) * limit_s, VIEW_INIT(text), VIEW_INIT(label)},
	DRIFT_SETTLING_TABLE(KIND)
};

struct view drift_settling_word(enum drift_settling kind)
{
	assert((unsigned)kind < N_DRIFT_SETTLING);
	return kinds[kind].word;
}

enum drift_settling drift_settling_of(struct view word)
{
	int kind = 0;

	while (kind < N_DRIFT_SETTLING && !view_equal(kinds[kind].word, word))
		kind++;
	return (enum drift_settling)kind;
}

struct view drift_settling_text(enum drift_settling kind)
{
	assert((unsigned)kind < N_DRIFT_SETTLING);
	return kinds[kind].text;
}

static unsigned find(const struct drift_node *node)
{
	/* A node for which one is required waits for its turn: nothing is done to it. */
	static const struct view no_work[] = {VIEW_INIT(""), VIEW_INIT("upgrade-required"),
					      VIEW_INIT("upgrade-done"),
					      VIEW_INIT("upgrade-failed")};
	static const struct view changing[] = {VIEW_INIT("pending"), VIEW_INIT("rebooting")};
	unsigned found = node->is_settling ? DRIFT_SETTLING_BIT(KUBELET_SETTLING) : 0;
	const struct node *labels = node->node;

	if (!labels)
		return found;
	if (view_is_among(labels->mig_config_state, changing, ARRAY_SIZE(changing)))
		found |= DRIFT_SETTLING_BIT(MIG_RECONFIGURATION);
	if (!view_is_among(labels->driver_upgrade, no_work, ARRAY_SIZE(no_work)))
		found |= DRIFT_SETTLING_BIT(DRIVER_UPGRADE);
	for (uint32_t i = 0; i < labels->deploys.count; i++)
		if (view_starts_with(ARRAY_AT(labels->deploys, struct node_deploy, i)->value,
				     VIEW("paused-")))
			found |= DRIFT_SETTLING_BIT(OPERANDS_PAUSED);
	return found;
}

static int64_t limit_of(const struct drift_node *node, int kind)
{
	const uint32_t percent = node->hold_off_percent;

	return percent == 0 ? kinds[kind].limit_ms : kinds[kind].limit_ms * percent / 100;
}

/* Of an upgrade each step has the limit to itself, for the first ones may wait for days. */
static uint32_t step_of(const struct drift_node *node, int kind)
{
	return kind == DRIFT_SETTLING_DRIVER_UPGRADE ? drift_hash(0, node->node->driver_upgrade) : 0;
}

/* Since when its label has told of that step, as published; 0: not yet. Versions before told no step. */
static int64_t published_since(const struct drift_previous *previous, int kind, uint32_t step)
{
	return previous->work_steps[kind] == 0 || previous->work_steps[kind] == step
		       ? previous->work_since[kind]
		       : 0;
}

/* A time that lies ahead is of a clock that was set back. */
static void date(struct drift_settling_state *state, int kind, const struct drift_node *node,
		 const struct drift_previous *previous)
{
	const int64_t now = node->now_wall_ms;
	const uint32_t step = step_of(node, kind);
	const int64_t published = published_since(previous, kind, step);
	const int64_t since = published == 0 || published > now ? now : published;
	const int64_t left = since + limit_of(node, kind) - now;

	assert(kinds[kind].limit_ms > 0 && state->now & 1u << kind);
	state->since[kind] = since;
	state->steps[kind] = step;
	if (left > 0) {
		state->again_in_ms = again_sooner(state->again_in_ms, left);
		return;
	}
	state->now &= ~(1u << kind);
	state->expired |= 1u << kind;
}

struct drift_settling_state drift_settling_look(const struct drift_node *node,
						const struct drift_device *device)
{
	struct drift_settling_state state = {.now = find(node), .again_in_ms = -1};

	for (int kind = 0; kind < N_DRIFT_SETTLING; kind++) {
		if (kinds[kind].limit_ms == 0)
			continue;
		if (state.now & 1u << kind)
			date(&state, kind, node, device->previous);
		else if (device->previous->work_since[kind] != 0 && node->node)
			state.over |= 1u << kind;
	}
	return state;
}

uint32_t drift_settling_list(const struct drift_settling_state *state,
			     const struct drift_device *device, bool is_waited_for,
			     struct attribution_pending_drift *list)
{
	uint32_t n = 0;

	for (int kind = 0; kind < N_DRIFT_SETTLING; kind++) {
		if (state->since[kind] != 0 &&
		    (is_waited_for || device->previous->work_since[kind] != 0))
			list[n++] = (struct attribution_pending_drift){
				kinds[kind].word, state->since[kind], state->steps[kind]};
	}
	return n;
}

void drift_settling_say_expired(const struct drift_settling_state *state, struct sbuf *message)
{
	for (int kind = 0; kind < N_DRIFT_SETTLING; kind++)
		if (state->expired & 1u << kind)
			sbuf_printf(message,
				    " (label %.*s has told of work for too long: it does not count "
				    "any more)",
				    VIEW_ARG(kinds[kind].label));
}
