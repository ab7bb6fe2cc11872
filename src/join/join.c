/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One join reads the input: devices, facts, slots. Then, for each device, it decides whether this node
 * may speak for it. It makes the status (join/stages.h), and decides whether to write it.
 */

#include "join/join.h"

#include <assert.h>

#include "base/again.h"
#include "base/limits.h"
#include "join/stages.h"
#include "join/witnesses.h"
#include "model/device_reporters.h"

struct joiner {
	const struct join_input *input;
	struct devices devices;
	struct stages_node node;
	struct join_result *result;
	size_t n_objects;  /* that the node has, or will have by this result */
	unsigned hides, tells; /* types of drift, by any of the node's devices (assess/drift.h) */
};

static void look_again_in(struct joiner *joiner, int64_t ms)
{
	joiner->result->again_in_ms = again_sooner(joiner->result->again_in_ms, ms);
}

/* How long it still takes until that another node names the device counts; 0: it does. */
static int64_t duplicate_in(const struct joiner *joiner, const struct device *device)
{
	const struct join_limits *limits = joiner->input->limits;
	if (device->published && device->published->ready == REASON_DUPLICATE_UUID)
		return 0;
	assert(device->object);
	return limits->disagreement_ms > device->object->claimed_for_ms
		       ? limits->disagreement_ms - device->object->claimed_for_ms
		       : 0;
}

/* May this node speak for the device? */

static bool is_contested(const struct joiner *joiner, const struct device *device)
{
	const struct join_input *input = joiner->input;
	for (size_t i = 0; i < input->n_contested; i++)
		if (view_equal_ignoring_case(input->contested[i], device->uuid))
			return true;
	return false;
}

/*
 * An object that is not there yet, or has no node, belongs to the node that reported the device last.
 * Otherwise two nodes would go on creating it in turn.
 */
static bool may_begin(const struct joiner *joiner, const struct device *device)
{
	const struct join_previous *previous = device->object;
	if (!input_is_heard(joiner->input) && !input_is_agentless(joiner->input))
		return false;
	if (!previous)
		return !is_contested(joiner, device);
	return previous->claimed_age_ms < 0 || previous->claimed_age_ms >= joiner->input->report_age_ms;
}

/* Only what the API server says put the object where it is. */
static bool is_of_no_agent(const struct device *device)
{
	return device->is_taken && device->previous->is_agentless;
}

static bool may_write(const struct joiner *joiner, const struct device *device)
{
	if (device->is_taken)
		return !device->is_elsewhere;
	if (!device->is_ours && !may_begin(joiner, device))
		return false;
	/* The other node is about to take it: it lists it, this one does not. */
	return device->reported || !devices_is_claimed_elsewhere(joiner->input, device);
}

/*
 * The driver may list the device again, which may then be this node's. A clock that was set back tells no
 * age: then nothing waits.
 */
static bool may_be_listed_again(const struct joiner *joiner, const struct report_event *event)
{
	const int64_t age = joiner->input->report->observed_at - event->time +
			    joiner->input->report_held_ms;
	return age >= 0 && age < joiner->input->limits->report_stale_ms;
}

/*
 * What happened to a device of which another node may speak stands in no status yet: the device may be
 * about to become this node's, or to stay so. Nor does what happened lately to one that is not listed.
 */
static int64_t find_events_until(const struct joiner *joiner)
{
	const struct report *report = joiner->input->report;
	const struct array events = report ? report->events : (struct array){0};
	int64_t until = 0;
	ARRAY_EACH(const struct report_event, event, events) {
		const struct device *device = devices_find(&joiner->devices, event->uuid).device;

		if (device ? !may_write(joiner, device) : may_be_listed_again(joiner, event))
			break;
		until = event->sequence;
	}
	return until;
}

/* One report can name other devices each time: somewhere there must be an end. */
static bool is_refused(struct joiner *joiner, const struct device *device)
{
	if (device->object || joiner->n_objects++ < LIMIT_NODE_OBJECTS)
		return false;
	joiner->result->refused.devices++;
	return true;
}

/* The object as it is, if there is one. */
static struct join_device begin(const struct device *device)
{
	const struct attribution *object = device->object ? device->object->object : NULL;
	struct join_device joined = {.action = JOIN_KEEP, .uuid = device->uuid, .previous = object};
	if (object) {
		joined.name = object->name;
		joined.status = object->status;
	}
	return joined;
}

static void add_result(struct joiner *joiner, struct join_device joined)
{
	assert(joiner->result->n_devices < joiner->devices.n_devices); /* each once */
	joiner->result->devices[joiner->result->n_devices++] = joined;
}

/* What others claim may be left to this node when they have become silent. */
static void watch_others(struct joiner *joiner, const struct device *device)
{
	int64_t stale = joiner->input->limits->report_stale_ms;
	if (devices_is_claimed_elsewhere(joiner->input, device)) {
		look_again_in(joiner, stale - device->object->claimed_age_ms);
		if (duplicate_in(joiner, device) > 0)
			look_again_in(joiner, duplicate_in(joiner, device));
	} else if (input_is_agentless(joiner->input) && is_of_no_agent(device)) {
		look_again_in(joiner, stale); /* nobody tells when the other node lets go of it */
	}
}

/* The List says what the checkpoint, which was read before it, does not; or that one is not good. */
static bool is_by_names(const struct facts *facts, size_t device)
{
	size_t n;
	const struct fact *items = facts_of(facts, device, &n);
	for (size_t i = 0; i < n; i++)
		if ((items[i].witnesses & (WITNESS_POD_RESOURCES | WITNESS_CHECKPOINT)) ==
		    WITNESS_POD_RESOURCES)
			return true;
	return facts->source.pod_resources != SOURCE_ABSENT && !source_is_good(facts->source.checkpoint);
}

bool join_is_by_name(const struct join_device *device, const struct attribution_tenant *tenant)
{
	unsigned witnesses = wording_witnesses_of(tenant->witnesses);
	bool is_listed = (witnesses & WITNESS_POD_RESOURCES) &&
			 (device->is_by_names || !(witnesses & WITNESS_CHECKPOINT));
	/* HAMi's annotation counts while the container holds an ID of HAMi's, as the List may tell. */
	return is_listed || ((witnesses & WITNESS_HAMI) && device->is_by_names);
}

static int join_one(struct joiner *joiner, size_t index, struct error *err)
{
	const struct join_input *input = joiner->input;
	const struct device *device = &joiner->devices.devices[index];
	struct join_device joined = begin(device);
	const bool is_duplicate = devices_is_claimed_elsewhere(input, device) && duplicate_in(joiner, device) == 0;
	char name[DEVICE_REPORTERS_NAME_SIZE];
	struct attribution_status status;
	struct subject made;
	assert(index < joiner->devices.n_devices);
	watch_others(joiner, device);
	if (!may_write(joiner, device)) {
		if (joined.previous)
			add_result(joiner, joined);
		return 0;
	}
	if (is_refused(joiner, device))
		return 0;
	if (stages_run(&joiner->node, index, is_duplicate, &status, &made, err) < 0 ||
	    (!joined.previous && arena_keep(joiner->node.arena, device_reporters_object_name(device->uuid, name),
			&joined.name, err) < 0))
		return -1;
	joiner->hides |= made.intent.hides;
	joiner->tells |= made.intent.tells;
	joiner->result->refused.entries += made.entries_refused;
	look_again_in(joiner, made.again_in_ms);
	if (!joined.previous || !input->is_same || !input->is_same(&joined.status, &status))
		joined.action = JOIN_WRITE;
	joined.status = status;
	joined.pods_age = input->pods_age;
	joined.is_by_names = is_by_names(&joiner->node.facts, index);
	add_result(joiner, joined);
	return 0;
}

/* The node */

static bool has_outstayed(const struct join_input *input)
{
	return !input->node && input->node_gone_for_ms >= input->limits->node_gone_ms;
}

static void bury(struct joiner *joiner)
{
	joiner->result->is_buried = true;
	for (size_t i = 0; i < joiner->devices.n_devices; i++) {
		const struct device *device = &joiner->devices.devices[i];
		struct join_device joined = begin(device);
		if (!joined.previous)
			continue;
		watch_others(joiner, device);
		if (!devices_is_claimed_elsewhere(joiner->input, device) && device->is_ours &&
		    !joined.previous->deleting)
			joined.action = JOIN_DELETE;
		add_result(joiner, joined);
	}
}

/* A device gets an object, or is adopted, or taken, when it is clear that there is no agent. */
static bool is_one_unborn(const struct joiner *joiner)
{
	for (size_t i = 0; i < joiner->devices.n_devices; i++) {
		const struct device *device = &joiner->devices.devices[i];
		if (!device->is_ours && (!device->is_taken || is_of_no_agent(device)))
			return true;
	}
	return false;
}

static void watch_the_time(struct joiner *joiner)
{
	const struct join_input *input = joiner->input;
	/* A node without devices that is gone is waited for as well: its report is to be buried. */
	if (joiner->devices.n_devices == 0 && (input->node || !input->report))
		return;
	if (input_is_fresh(input))
		look_again_in(joiner, input->limits->report_stale_ms - input->report_age_ms);
	if (!input->report && !input_is_agentless(input) &&
	    (is_one_unborn(joiner) || joiner->node.facts.source.resource_claim == SOURCE_PARTIAL))
		look_again_in(joiner, input->limits->agentless_ms - input->report_age_ms);
	if (!input->node && !has_outstayed(input))
		look_again_in(joiner, input->limits->node_gone_ms - input->node_gone_for_ms);
	look_again_in(joiner, joiner->node.facts.source.settles_in_ms);
}

static int join_each(struct joiner *joiner, struct error *err)
{
	for (size_t i = 0; i < joiner->devices.n_devices; i++)
		if (join_one(joiner, i, err) < 0)
			return -1;
	return 0;
}

/* If one device tells a drift whose cause another one has, all begin anew without what is explained. */
static int join_devices(struct joiner *joiner, struct error *err)
{
	for (size_t i = 0; i < joiner->devices.n_devices; i++)
		joiner->n_objects += joiner->devices.devices[i].is_ours;
	const struct join_result nothing = *joiner->result;
	const size_t n_objects = joiner->n_objects;
	if (join_each(joiner, err) < 0)
		return -1;
	if (joiner->hides & joiner->tells) {
		joiner->node.intent.hidden = joiner->hides; /* without one, what it hid may come */
		*joiner->result = nothing;
		joiner->n_objects = n_objects;
		debounce_begin_anew(joiner->node.debounce);
		if (join_each(joiner, err) < 0)
			return -1;
	}
	watch_the_time(joiner);
	return 0;
}

static int read_input(struct joiner *joiner, struct error *err)
{
	const struct join_input *input = joiner->input;
	struct stages_node *node = &joiner->node;
	const struct debounce_round round = {
		.before = input->debounced,
		.n_before = input->n_debounced,
		.n_subjects = DEBOUNCE_MAX,
		.is_silent = input->report && !input_is_fresh(input),
		.report_age_ms = input->report_age_ms,
	};

	if (devices_make(input, node->arena, &joiner->devices, err) < 0 ||
	    witnesses_read(input, &joiner->devices, node->arena, &node->facts, err) < 0 ||
	    slots_collect(&node->facts, node->arena, &node->slots, err) < 0 ||
	    unplaced_gather(&node->facts, node->arena, &node->unplaced, err) < 0 ||
	    debounce_open(&round, node->arena, &node->debounce, err) < 0)
		return -1;
	node->intent = compare_node(&node->facts, &node->slots);
	return ARENA_NEW(joiner->result->devices, joiner->node.arena, joiner->devices.n_devices)
		       ? 0 : error_no_memory(err);
}

/*
 * Before the first join since the start the slots may have been others. While pods are not current, pods may
 * come and go that nobody sees: what is known begins anew after that.
 */
static int64_t find_offered_since(const struct joiner *joiner)
{
	const struct join_input *input = joiner->input;
	if (input->pods_age != INVENTORY_CURRENT)
		return 0;
	for (size_t i = 0; i < joiner->result->n_devices; i++) {
		const struct join_device *device = &joiner->result->devices[i];
		if (device->previous && device->previous->status.slots.total != device->status.slots.total)
			return input->now_wall_ms;
	}
	return input->offered_since != 0 ? input->offered_since : input->now_wall_ms;
}

/* While what is known of pods is old nothing is looked at: what was seen before keeps its age. */
static void set_debounced(struct joiner *joiner)
{
	const struct debounce_result debounced = debounce_close(joiner->node.debounce);
	const bool is_frozen = joiner->node.facts.is_frozen;
	struct recall *recall = &joiner->result->recall;
	recall->debounced = is_frozen ? joiner->input->debounced : debounced.seen;
	recall->n_debounced = is_frozen ? joiner->input->n_debounced : debounced.n_seen;
	recall->is_hearing_awaited = debounced.is_hearing_awaited || joiner->node.facts.awaits_list;
	joiner->result->refused.debounced = debounced.n_left_out;
	look_again_in(joiner, debounced.again_in_ms);
}

int join_node(const struct join_input *input, struct arena *arena, struct join_result *ret_result,
	      struct error *err)
{
	struct join_result result = {.again_in_ms = -1};
	struct joiner joiner = {
		.input = input,
		.node = {.arena = arena},
		.result = &result,
	};

	assert(input->limits && input->report_age_ms >= 0);
	if (read_input(&joiner, err) < 0)
		return -1;
	result.recall.ended = joiner.node.facts.ended;
	result.recall.n_ended = joiner.node.facts.n_ended;
	result.recall.settled_restart = joiner.node.facts.source.settled_restart;
	result.refused = (struct node_state_refusals){
		.entries = joiner.node.facts.entries_refused,
		.ids = joiner.node.facts.ids_unknown + joiner.node.slots.ids_unknown,
		.devices = input->slice_devices_left_out,
		.objects = input->previous_left_out,
	};
	/* Where an agent still reports there is a node, whatever became of its Node. */
	if (has_outstayed(input) && !input_is_heard(input))
		bury(&joiner);
	else if (join_devices(&joiner, err) < 0)
		return -1;
	result.events_until = find_events_until(&joiner);
	result.recall.offered_since = find_offered_since(&joiner);
	set_debounced(&joiner);
	*ret_result = result;
	return 0;
}
