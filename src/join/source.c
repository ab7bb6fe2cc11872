/* SPDX-License-Identifier: Apache-2.0 */
#include "join/source.h"

#include <assert.h>

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

struct source source_judge(const struct node_pods *node_pods)
{
	const struct join_input *input = node_pods->input;
	const struct report *report = input->report;
	const bool is_frozen = input->pods_age != INVENTORY_CURRENT;
	struct source source = {
		.settled_restart = is_frozen ? input->settled_restart : 0,
		.settles_in_ms = -1,
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
