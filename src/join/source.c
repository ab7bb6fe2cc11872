/* SPDX-License-Identifier: Apache-2.0 */
#include "join/source.h"

#include <assert.h>

/* The kubelet */

static enum source_state judge(const struct report_source *source, bool present)
{
	if (!present)
		return SOURCE_ABSENT;
	return source->state == REPORT_SOURCE_OK ? SOURCE_COMPLETE : SOURCE_UNREADABLE;
}

/*
 * How long Lists may still be short; 0 or less: they may not. The node's clock counts from the
 * kubelet's start to the report, the controller's from the report's arrival on.
 */
static int64_t settles_in(const struct join_input *input)
{
	const struct report *report = input->report;
	int64_t since = report->observed_at - report->kubelet_restarted_at;
	assert(input->report_held_ms >= 0);

	if (report->kubelet_restarted_at == 0 || since <= -input->limits->settling_ms)
		return 0;
	return input->limits->settling_ms - (since + input->report_held_ms);
}

/*
 * The kubelet's restart since which a List was complete. Such a List was the kubelet's whole
 * memory: a later one that lacks a pod (one that was just bound, say) is not short.
 */
static int64_t find_settled_restart(const struct join_input *input, bool is_list_complete)
{
	const struct report *report = input->report;
	int64_t restart = report->kubelet_restarted_at;
	if (is_list_complete && report->sources.pod_resources.observed_at >= restart)
		return restart;
	return input->settled_restart == restart ? restart : 0;
}

/* ResourceClaims */

/* NVML gives the device of a slice another number, or the number to another device. */
static bool is_any_contradicted(const struct join_input *input)
{
	const struct array nvml = input->report ? input->report->devices : (struct array){0};
	for (size_t i = 0; i < input->n_slice_devices; i++) {
		const struct slice_device *slice = &input->slice_devices[i];
		ARRAY_EACH(const struct report_device, device, nvml) {
			bool is_same = view_equal_ignoring_case(device->uuid, slice->uuid);
			if (slice->minor >= 0 && device->minor >= 0 &&
			    is_same != (device->minor == slice->minor))
				return true;
		}
	}
	return false;
}

/* Not one is there: that the driver withdrew all devices is less likely than that it starts. */
static bool are_slices_gone(const struct join_input *input)
{
	bool is_placed = input->n_slice_devices > 0;
	for (size_t i = 0; i < input->n_grants; i++)
		is_placed |= input->grants[i].uuid.len > 0;
	return !is_placed;
}

/* None has reported for long, or none had when the node was published. */
static bool has_no_agent(const struct join_input *input, const struct devices *devices)
{
	bool is_agentless = input_is_agentless(input);
	for (size_t i = 0; i < devices->n_devices; i++) {
		const struct previous *published = devices->devices[i].published;
		is_agentless |= published && published->is_agentless;
	}
	return !input->report && is_agentless;
}

/*
 * ABSENT: no slice describes the node, and no pod of it uses a claim. UNREADABLE: the right to read them
 * is missing, or they were never read. PARTIAL: slices are incomplete or all gone, or nothing bears out
 * that they are of this boot.
 */
static enum source_state judge_claims(const struct join_input *input, const struct devices *devices)
{
	const bool hears_nvml = input_is_heard(input) && !input->is_of_former_boot;
	if (input->grants_denied)
		return SOURCE_UNREADABLE;
	if (input->grants_unknown)
		return SOURCE_PARTIAL;
	if (input->n_grants + input->n_slice_devices + input->n_lacking == 0)
		return SOURCE_ABSENT;
	if (is_any_contradicted(input) || are_slices_gone(input) ||
	    (!hears_nvml && !has_no_agent(input, devices)))
		return SOURCE_PARTIAL;
	return SOURCE_COMPLETE;
}

/* All */

struct source source_judge(const struct node_pods *node_pods, const struct devices *devices)
{
	const struct join_input *input = node_pods->input;
	const struct report *report = input->report;
	const bool is_frozen = input->pods_age != INVENTORY_CURRENT;
	struct source source = {
		.settled_restart = is_frozen ? input->settled_restart : 0,
		.settles_in_ms = -1,
		.pod_status = is_frozen ? SOURCE_UNREADABLE : SOURCE_PARTIAL,
		.kai = is_frozen ? SOURCE_UNREADABLE : SOURCE_PARTIAL,
		.hami = is_frozen ? SOURCE_UNREADABLE : SOURCE_COMPLETE,
		.resource_claim = judge_claims(input, devices),
	};

	if (!report || is_frozen)
		return source;
	int64_t settles_in_ms = settles_in(input);
	source.checkpoint = judge(&report->sources.checkpoint, report->checkpoint.present);
	source.pod_resources = judge(&report->sources.pod_resources, report->pod_resources.present);
	source.is_list_complete = source.pod_resources == SOURCE_COMPLETE && node_pods_is_listed(node_pods);
	source.settled_restart = find_settled_restart(input, source.is_list_complete);
	source.is_settling = settles_in_ms > 0 && !source.is_list_complete && source.settled_restart == 0;
	if (source.is_settling)
		source.settles_in_ms = settles_in_ms;
	if (source.is_settling && source.pod_resources == SOURCE_COMPLETE)
		source.pod_resources = SOURCE_PARTIAL;
	assert(source.is_settling == (source.settles_in_ms > 0));
	return source;
}

bool source_is_good(enum source_state state)
{
	return state == SOURCE_PARTIAL || state == SOURCE_COMPLETE;
}

bool source_is_any_good(const struct source *source)
{
	return source_is_good(source->pod_resources) || source_is_good(source->checkpoint);
}
