/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/device_view.h"

#include <inttypes.h>

#include "kubectl/device_sections.h"
#include "kubectl/output.h"
#include "kubectl/json_output.h"
#include "kubectl/report_state.h"
#include "kubectl/words.h"
#include "schema/attribution_doc.h"
#include "wire/jmap_encode.h"
#include "wire/jout.h"

/* What follows "Label: ": begun with begin(), appended to output->line, ended with end(). */
static struct sbuf *begin(struct output *output, const char *label)
{
	sbuf_printf(&output->body, "%-*s", DEVICE_SECTIONS_LABEL, label);
	sbuf_clear(&output->line);
	return &output->line;
}

static void end(struct output *output)
{
	output_wrap(output, sbuf_view(&output->line), DEVICE_SECTIONS_LABEL, DEVICE_SECTIONS_LABEL,
		    &output->body);
	sbuf_append_char(&output->body, '\n');
}

/* The same of what no controller may keep up to date. */
static void end_statement(struct output *output)
{
	if (leader_is_missing(&output->leader))
		sbuf_append_char(&output->line, '*');
	end(output);
}

static void say(struct output *output, const char *label, struct view text)
{
	sbuf_append(begin(output, label), words_known(text));
	end(output);
}

static void say_number(struct output *output, const char *label, int64_t number, const char *unit)
{
	struct sbuf *line = begin(output, label);
	words_number(line, number);
	sbuf_append(line, view_from(unit));
	end(output);
}

static void say_state(struct output *output, const struct attribution *device)
{
	struct sbuf *line = begin(output, "Ready:");
	if (!report_state_of(&device->status).is_current) {
		report_state_note(device, output->now, line);
	} else if (leader_is_missing(&output->leader)) {
		sbuf_append(line, VIEW("NoLeader"));
		words_since(line, output->leader.ended_at, output->now);
		sbuf_append(line, VIEW(": no controller keeps this up to date"));
	} else {
		sbuf_append(line, VIEW("Current"));
	}
	end_statement(output);
}

static void say_hardware(struct output *output, const struct attribution_device *device)
{
	say(output, "Model:", device->model);
	say_number(output, "Index:", device->index, "");
	say_number(output, "Minor:", device->minor, "");
	say(output, "PCI:", device->pci_bus_id);
	say_number(output, "Memory:", device->memory_mib > 0 ? device->memory_mib : -1, " MiB");
	say(output, "Serial:", device->serial);
	say(output, "Driver:", device->driver_version);
	say(output, "CUDA:", device->cuda_version);
}

static void say_sharing(struct output *output, const struct attribution_status *status)
{
	struct sbuf *line = begin(output, "Mode:");
	sbuf_append(line, words_mode(status->sharing.mode));
	if (status->sharing.replicas > 1)
		sbuf_printf(line, ", %" PRId64 " replicas", status->sharing.replicas);
	end_statement(output);
	for (uint32_t i = 0; i < status->sharing.evidence.count; i++)
		say(output, i == 0 ? "  Evidence:" : "",
		    *ARRAY_AT(status->sharing.evidence, struct view, i));
	line = begin(output, "Slots:");
	words_share(line, status->slots.allocated, status->slots.total);
	sbuf_append(line, VIEW(" held"));
	end_statement(output);
}

/*
 * The driver repeats nothing: what it raised while nobody listened is in no list. The status tells of
 * the time until its report. A gap after that is told once it is over.
 */
static void say_events_known(struct output *output, const struct attribution_status *status)
{
	struct sbuf *line = begin(output, "  Errors:");
	if (status->health.events_since == 0) {
		sbuf_append(line, VIEW("not all may be known"));
		end(output);
		return;
	}
	sbuf_append(line, VIEW("all are known from "));
	words_instant(line, status->health.events_since, output->now);
	end(output);
	line = begin(output, "");
	sbuf_append(line, VIEW("until "));
	words_instant(line, status->report.observation_time, output->now);
	sbuf_append(line, VIEW(", the report of this status"));
	end(output);
}

static void say_health(struct output *output, const struct attribution_status *status)
{
	const struct attribution_health_state *health = &status->health;
	struct sbuf *line = begin(output, "Health:");
	sbuf_append(line, words_health(health->state));
	if (health->reasons.count > 0) {
		sbuf_append(line, VIEW(" ("));
		words_list(line, health->reasons);
		sbuf_append_char(line, ')');
	}
	end_statement(output);
	sbuf_append(begin(output, "  Recovery:"), words_recovery(health->recovery_action));
	end_statement(output);
	say_events_known(output, status);
}

/* By time or by MPS: what is measured then is the sum of all. */
static bool is_shared(const struct attribution_status *status)
{
	return (status->sharing.mode == ATTRIBUTION_MODE_TIME_SLICED ||
		status->sharing.mode == ATTRIBUTION_MODE_MPS) &&
	       status->tenant_count > 1;
}

static void say_activity(struct output *output, const struct attribution_status *status)
{
	const struct attribution_activity_state *activity = &status->activity;
	struct sbuf *line = begin(output, "Activity:");
	sbuf_append(line, words_activity(activity->state));
	if (activity->reason.len > 0)
		sbuf_printf(line, " (%.*s)", VIEW_ARG(activity->reason));
	/* It has been idle for longer than it has been called so. */
	words_since(line,
		    activity->idle_since > 0 ? activity->idle_since
					     : activity->last_transition_time,
		    output->now);
	if (is_shared(status))
		sbuf_printf(line,
			    "; utilisation belongs to the device, to none of its %" PRId64
			    " tenants",
			    status->tenant_count);
	else if (activity->last_transition_time > 0 && activity->scope == ATTRIBUTION_SCOPE_DEVICE)
		sbuf_append(line, VIEW(" (of the device, and of no single tenant)"));
	end_statement(output);
}

static void say_intent(struct output *output, const struct attribution_intent_state *intent)
{
	struct sbuf *line = begin(output, "Intent:");
	sbuf_append(line, words_intent(intent->state));
	if (intent->policy.len > 0) {
		sbuf_append(line, VIEW(", compared with ClusterPolicy "));
		sbuf_append(line, intent->policy);
	}
	end_statement(output);
}

void device_view(struct output *output, const struct attribution *device)
{
	const struct attribution_status *status = &device->status;
	say(output, "UUID:", device->uuid);
	say(output, "Name:", device->name);
	say(output, "Node:", status->node_name);
	say_state(output, device);
	say_hardware(output, &status->device);
	say_sharing(output, status);
	say_health(output, status);
	say_activity(output, status);
	say_intent(output, &status->intent);
	device_sections(output, status);
}

void device_view_json(struct output *output, const struct attribution *device)
{
	CLEANUP(sbuf_deinit) struct sbuf object;
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&object, OUTPUT_BYTES);
	sbuf_init(&json, OUTPUT_BYTES);
	jmap_encode(attribution_doc_rows(), device, &object);
	jout_init(&out, &json);
	json_output_begin(&out, output, "GPU");
	jout_key(&out, "summary");
	json_output_device(&out, device, true);
	jout_key(&out, "object");
	jout_raw(&out, sbuf_view(&object));
	jout_object_end(&out);
	if (object.failure)
		json.failure = object.failure;
	json_output_end(output, &json);
}
