/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/event_drifts.h"

#include "assess/drift.h"
#include "assess/drift_settling.h"
#include "join/wording.h"

/* Of a row with a word that this release does not know nothing is told. */
static unsigned bit_of(const struct attribution_drift *drift)
{
	const enum drift_type type = drift_type_of(drift->type);

	return type < N_DRIFT_TYPES ? 1u << type : 0;
}

static unsigned bits_of(const struct attribution_status *status)
{
	unsigned bits = 0;

	for (uint32_t i = 0; i < status->intent.drifts.count; i++)
		bits |= bit_of(ARRAY_AT(status->intent.drifts, struct attribution_drift, i));
	return bits;
}

static unsigned bits_of_node(void)
{
	unsigned bits = 0;

	for (int type = 0; type < N_DRIFT_TYPES; type++)
		if (drift_is_of_node((enum drift_type)type))
			bits |= 1u << type;
	return bits;
}

/* What is found, or pending. */
static unsigned there_in(const struct attribution_status *status)
{
	const struct array pending = status->intent.pending;
	unsigned bits = bits_of(status);

	for (uint32_t i = 0; i < pending.count; i++) {
		const enum drift_type type = drift_type_of(
			ARRAY_AT(pending, struct attribution_pending_drift, i)->type);

		bits |= type < N_DRIFT_TYPES ? 1u << type : 0;
	}
	return bits;
}

static unsigned hidden_by(unsigned bits)
{
	unsigned hidden = 0;

	for (int type = 0; type < N_DRIFT_TYPES; type++)
		if (bits & 1u << type)
			hidden |= drift_hides((enum drift_type)type);
	return hidden;
}

/* What may be there: it is, or is hidden by what is, so that it is not looked at. */
static unsigned possible_in(const struct attribution_status *status)
{
	return there_in(status) | hidden_by(there_in(status));
}

/* Then all that differs is pending. During work it need not be. */
static bool is_held_off(const struct attribution_status *status)
{
	const struct condition *in_sync =
		attribution_find_condition(status, wording_condition(CONDITION_IN_SYNC));

	return status->intent.state == ATTRIBUTION_INTENT_SETTLING && in_sync &&
	       view_equal(in_sync->reason, drift_settling_word(DRIFT_SETTLING_HOLD_OFF));
}

/* Whether a drift that is not in the status is not there: not if that cannot be told now. */
static bool is_intent_known(const struct attribution_status *status)
{
	return status->intent.state == ATTRIBUTION_INTENT_IN_SYNC ||
	       status->intent.state == ATTRIBUTION_INTENT_DRIFTED ||
	       status->intent.state == ATTRIBUTION_INTENT_UNMANAGED || is_held_off(status);
}

static unsigned resolved_by(const struct attribution_status *before,
			    const struct attribution_status *after)
{
	return is_intent_known(after) ? bits_of(before) & ~possible_in(after) : 0;
}

/* What a drift of the node hides, and what one device hides of the node's drifts, is looked at on none. */
struct event_change_node event_drifts_of_node(const struct join_device *devices, size_t n)
{
	unsigned before = 0, after = 0, possible = 0, resolved = 0, hidden = 0;

	for (size_t i = 0; i < n; i++) {
		const struct attribution *previous = devices[i].previous;

		if (devices[i].action == JOIN_DELETE)
			continue;
		possible |= possible_in(&devices[i].status);
		hidden |= hidden_by(there_in(&devices[i].status) & bits_of_node());
		if (!previous)
			continue;
		after |= bits_of(&devices[i].status);
		if (!view_equal(previous->status.node_name, devices[i].status.node_name))
			continue;
		before |= bits_of(&previous->status);
		resolved |= resolved_by(&previous->status, &devices[i].status);
	}
	return (struct event_change_node){
		.found = after & ~before & bits_of_node(),
		.resolved = resolved & ~possible & bits_of_node(),
		.hidden = hidden,
	};
}

static struct kube_event_object node_of(const struct event_finder *finder)
{
	return (struct kube_event_object){
		.api_version = VIEW("v1"), .kind = VIEW("Node"),
		.name = finder->after->node_name, .uid = finder->after->node_uid};
}

static void note_drift(struct event_note *note, const struct attribution_drift *drift,
		       enum event_type told_as)
{
	event_note_next(note);
	event_note_add(note, drift->type);
	if (told_as == EVENT_DRIFT_RESOLVED) {
		event_note_add(note, VIEW(" is found no more"));
		return;
	}
	event_note_add(note, VIEW(": intended: "));
	event_note_add(note, drift->intended);
	event_note_add(note, VIEW("; observed: "));
	event_note_add(note, drift->observed);
	event_note_add(note, VIEW("; to do: "));
	event_note_add(note, drift->message);
}

/* Tells of those rows of the status that are among `bits`. */
static void tell_drifts(struct event_finder *finder, enum event_type type,
			const struct attribution_status *status, unsigned bits,
			const struct kube_event_object *regarding)
{
	int worst = ATTRIBUTION_SEVERITY_UNSET;
	uint64_t topic = bits;
	struct event_change change;
	int64_t when = 0;

	if (bits == 0)
		return;
	for (uint32_t i = 0; i < status->intent.drifts.count; i++) {
		const struct attribution_drift *drift =
			ARRAY_AT(status->intent.drifts, struct attribution_drift, i);

		if (!(bit_of(drift) & bits))
			continue;
		note_drift(&finder->note, drift, type);
		if (type == EVENT_UNALLOCATED_USE) /* it names who uses the device */
			topic = event_note_hash_text(topic, drift->observed);
		worst = drift->severity > worst ? drift->severity : worst;
		when = drift->start_time > when ? drift->start_time : when;
	}
	change = event_finder_make(type, regarding, topic, when);
	change.gravity = worst;
	if (type == EVENT_DRIFT_FOUND)
		change.is_warning = worst > ATTRIBUTION_SEVERITY_INFO;
	event_finder_add(finder, change);
}

void event_drifts_compare(struct event_finder *finder)
{
	const unsigned of_node = bits_of_node(), unallocated = DRIFT_BIT(UNALLOCATED_USE);
	const unsigned found = bits_of(finder->after) & ~bits_of(finder->before);
	const unsigned resolved = resolved_by(finder->before, finder->after) & ~finder->node->hidden;
	const struct kube_event_object object = event_finder_object(finder), node = node_of(finder);

	tell_drifts(finder, EVENT_UNALLOCATED_USE, finder->after, found & unallocated, &object);
	tell_drifts(finder, EVENT_DRIFT_FOUND, finder->after, found & ~of_node & ~unallocated,
		    &object);
	tell_drifts(finder, EVENT_DRIFT_RESOLVED, finder->before, resolved & ~of_node, &object);
	tell_drifts(finder, EVENT_DRIFT_FOUND, finder->after, found & finder->node->found, &node);
	tell_drifts(finder, EVENT_DRIFT_RESOLVED, finder->before,
		    bits_of(finder->before) & finder->node->resolved, &node);
}
