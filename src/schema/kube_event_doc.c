/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/kube_event_doc.h"

#include <stdio.h>

#include "wire/jout.h"
#include "wire/rfc3339.h"

#define API_VERSION "events.k8s.io/v1"

/* metav1.MicroTime is read with six digits behind the point, no fewer. */
static void write_time(struct jout *out, const char *key, int64_t ms)
{
	char millis[RFC3339_SIZE], micros[RFC3339_SIZE + 4];
	struct view text;

	rfc3339_millis(ms, millis);
	text = view_from(millis);
	snprintf(micros, sizeof(micros), "%.*s000Z", (int)(text.len - 1), text.ptr);
	jout_member_text(out, key, view_from(micros));
}

static void write_text(struct jout *out, const char *key, struct view text)
{
	if (text.len > 0)
		jout_member_text(out, key, text);
}

static void write_object(struct jout *out, const char *key, const struct kube_event_object *object)
{
	if (object->kind.len == 0)
		return;
	jout_key(out, key);
	jout_object(out);
	write_text(out, "apiVersion", object->api_version);
	write_text(out, "kind", object->kind);
	write_text(out, "namespace", object->namespace);
	write_text(out, "name", object->name);
	write_text(out, "uid", object->uid);
	jout_object_end(out);
}

static void write_series(struct jout *out, const struct kube_event *event)
{
	jout_key(out, "series");
	jout_object(out);
	jout_key(out, "count");
	jout_i64(out, event->count);
	write_time(out, "lastObservedTime", event->last_observed_time);
	jout_object_end(out);
}

static void write_metadata(struct jout *out, const struct kube_event *event)
{
	jout_key(out, "metadata");
	jout_object(out);
	jout_member_text(out, "name", event->name);
	jout_member_text(out, "namespace", event->namespace);
	jout_object_end(out);
}

void kube_event_doc_encode(const struct kube_event *event, struct sbuf *buf)
{
	struct jout out;

	jout_init(&out, buf);
	jout_object(&out);
	jout_member_text(&out, "apiVersion", VIEW(API_VERSION));
	jout_member_text(&out, "kind", VIEW("Event"));
	write_metadata(&out, event);
	write_time(&out, "eventTime", event->event_time);
	jout_member_text(&out, "reportingController", VIEW(KUBE_EVENT_DOC_REPORTER));
	jout_member_text(&out, "reportingInstance", event->reporting_instance);
	jout_member_text(&out, "type", event->is_warning ? VIEW("Warning") : VIEW("Normal"));
	jout_member_text(&out, "reason", event->reason);
	jout_member_text(&out, "action", event->action);
	jout_member_text(&out, "note", event->note);
	write_object(&out, "regarding", &event->regarding);
	write_object(&out, "related", &event->related);
	if (event->count > 1)
		write_series(&out, event);
	jout_object_end(&out);
}

void kube_event_doc_encode_series(const struct kube_event *event, struct sbuf *buf)
{
	struct jout out;

	jout_init(&out, buf);
	jout_object(&out);
	write_series(&out, event);
	jout_object_end(&out);
}
