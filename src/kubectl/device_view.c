/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/device_view.h"

#include <inttypes.h>

#include "kubectl/device_sections.h"
#include "kubectl/page.h"
#include "kubectl/printable.h"
#include "kubectl/record.h"
#include "kubectl/standing.h"
#include "kubectl/words.h"
#include "schema/attribution_doc.h"
#include "wire/jindent.h"
#include "wire/jmap.h"
#include "wire/jout.h"

/* What follows "Label: ": begun with begin(), appended to page->line, ended with end(). */
static struct sbuf *begin(struct page *page, const char *label)
{
	sbuf_printf(&page->body, "%-*s", DEVICE_SECTIONS_LABEL, label);
	sbuf_clear(&page->line);
	return &page->line;
}

static void end(struct page *page)
{
	printable_append(&page->body, sbuf_view(&page->line));
	sbuf_append_char(&page->body, '\n');
}

static void say(struct page *page, const char *label, struct view text)
{
	sbuf_append(begin(page, label), words_known(text));
	end(page);
}

static void say_number(struct page *page, const char *label, int64_t number, const char *unit)
{
	struct sbuf *line = begin(page, label);
	words_number(line, number);
	sbuf_append(line, view_from(unit));
	end(page);
}

static void say_standing(struct page *page, const struct attribution *device)
{
	struct sbuf *line = begin(page, "Status:");
	if (standing_of(&device->status).is_current)
		sbuf_append(line, VIEW("Current"));
	else
		standing_note(device, page->now, line);
	end(page);
}

static void say_hardware(struct page *page, const struct attribution_device *device)
{
	say(page, "Model:", device->model);
	say_number(page, "Index:", device->index, "");
	say_number(page, "Minor:", device->minor, "");
	say(page, "PCI:", device->pci_bus_id);
	say_number(page, "Memory:", device->memory_mib > 0 ? device->memory_mib : -1, " MiB");
	say(page, "Serial:", device->serial);
	say(page, "Driver:", device->driver_version);
	say(page, "CUDA:", device->cuda_version);
}

static void say_sharing(struct page *page, const struct attribution_status *status)
{
	struct sbuf *line = begin(page, "Mode:");
	sbuf_append(line, words_mode(status->sharing.mode));
	if (status->sharing.replicas > 1)
		sbuf_printf(line, ", %" PRId64 " replicas", status->sharing.replicas);
	end(page);
	for (uint32_t i = 0; i < status->sharing.evidence.count; i++)
		say(page, i == 0 ? "  Evidence:" : "",
		    *ARRAY_AT(status->sharing.evidence, struct view, i));
	line = begin(page, "Slots:");
	words_share(line, status->slots.allocated, status->slots.total);
	sbuf_append(line, VIEW(" held"));
	end(page);
}

static void say_health(struct page *page, const struct attribution_health_state *health)
{
	struct sbuf *line = begin(page, "Health:");
	sbuf_append(line, words_health(health->state));
	if (health->reasons.count > 0) {
		sbuf_append(line, VIEW(" ("));
		words_list(line, health->reasons);
		sbuf_append_char(line, ')');
	}
	end(page);
	say(page, "  Recovery:", words_recovery(health->recovery_action));
}

/* By time or by MPS: what is measured then is the sum of all. */
static bool is_shared(const struct attribution_status *status)
{
	return (status->sharing.mode == ATTRIBUTION_MODE_TIME_SLICED ||
		status->sharing.mode == ATTRIBUTION_MODE_MPS) &&
	       status->tenant_count > 1;
}

static void say_activity(struct page *page, const struct attribution_status *status)
{
	const struct attribution_activity_state *activity = &status->activity;
	struct sbuf *line = begin(page, "Activity:");
	sbuf_append(line, words_activity(activity->state));
	if (activity->last_transition_time > 0) {
		sbuf_append(line, VIEW(" for "));
		words_age(line, activity->last_transition_time, page->now);
	}
	if (is_shared(status))
		sbuf_printf(line,
			    "; utilisation belongs to the device, to none of its %" PRId64
			    " tenants",
			    status->tenant_count);
	else if (activity->last_transition_time > 0 && activity->scope == ATTRIBUTION_SCOPE_DEVICE)
		sbuf_append(line, VIEW(" (of the device, and of no single tenant)"));
	end(page);
}

static void say_intent(struct page *page, const struct attribution_intent_state *intent)
{
	struct sbuf *line = begin(page, "Intent:");
	sbuf_append(line, words_intent(intent->state));
	if (intent->policy.len > 0) {
		sbuf_append(line, VIEW(", compared with ClusterPolicy "));
		sbuf_append(line, intent->policy);
	}
	end(page);
}

void device_view(struct page *page, const struct attribution *device)
{
	const struct attribution_status *status = &device->status;
	say(page, "UUID:", device->uuid);
	say(page, "Name:", device->name);
	say(page, "Node:", status->node_name);
	say_standing(page, device);
	say_hardware(page, &status->device);
	say_sharing(page, status);
	say_health(page, &status->health);
	say_activity(page, status);
	say_intent(page, &status->intent);
	device_sections(page, status);
}

void device_view_json(struct page *page, const struct attribution *device)
{
	CLEANUP(sbuf_deinit) struct sbuf object;
	CLEANUP(sbuf_deinit) struct sbuf json;
	struct jout out;
	sbuf_init(&object, PAGE_BYTES);
	sbuf_init(&json, PAGE_BYTES);
	jmap_encode(attribution_doc_rows(), device, &object);
	jout_init(&out, &json);
	record_begin(&out, "GPU");
	jout_key(&out, "summary");
	record_device(&out, device, true);
	jout_key(&out, "object");
	jout_raw(&out, sbuf_view(&object));
	jout_object_end(&out);
	if (json.failure || object.failure)
		page->body.failure = json.failure ? json.failure : object.failure;
	jindent(sbuf_view(&json), &page->body);
}
