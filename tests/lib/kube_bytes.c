/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/kube_bytes.h"

#define CAP (64u << 20)

static void varint(struct sbuf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		sbuf_append_char(out, (char)(value | 0x80));
	sbuf_append_char(out, (char)value);
}

void kube_bytes_field(struct sbuf *out, uint32_t number, struct view bytes)
{
	varint(out, (uint64_t)number << 3 | 2);
	varint(out, bytes.len);
	sbuf_append(out, bytes);
}

void kube_bytes_number(struct sbuf *out, uint32_t number, uint64_t value)
{
	varint(out, (uint64_t)number << 3);
	varint(out, value);
}

/* Appends `from` as a field and frees it. */
static void close_field(struct sbuf *out, uint32_t number, struct sbuf *from)
{
	kube_bytes_field(out, number, sbuf_view(from));
	sbuf_deinit(from);
}

static void api_version_of(const struct resource *resource, struct sbuf *out)
{
	if (resource->group[0])
		sbuf_printf(out, "%s/", resource->group);
	sbuf_printf(out, "%s", resource->version);
}

void kube_bytes_envelope(struct sbuf *out, const char *api_version, const char *kind,
			 struct view message)
{
	struct sbuf type;
	sbuf_init(&type, CAP);
	kube_bytes_field(&type, 1, view_from(api_version));
	kube_bytes_field(&type, 2, view_from(kind));
	sbuf_append(out, VIEW("k8s\0"));
	close_field(out, 1, &type);
	kube_bytes_field(out, 2, message);
	kube_bytes_field(out, 3, VIEW(""));
	kube_bytes_field(out, 4, VIEW(""));
}

static void envelope_of(struct sbuf *out, const struct resource *resource, const char *kind,
			struct sbuf *message)
{
	struct sbuf api_version;
	sbuf_init(&api_version, CAP);
	api_version_of(resource, &api_version);
	kube_bytes_envelope(out, sbuf_text(&api_version), kind, sbuf_view(message));
	sbuf_deinit(&api_version);
	sbuf_deinit(message);
}

static void protobuf_object(struct sbuf *out, const struct kube_bytes_object *object)
{
	struct sbuf meta, entry;
	sbuf_init(&meta, CAP);
	sbuf_init(&entry, CAP);
	kube_bytes_field(&meta, 1, view_from(object->name));
	kube_bytes_field(&meta, 2, VIEW(""));
	kube_bytes_field(&meta, 3, view_from(object->namespace));
	kube_bytes_field(&meta, 5, view_from(object->uid));
	kube_bytes_field(&meta, 6, view_from(object->version));
	kube_bytes_number(&meta, 7, 0);
	if (object->initial_events_end) {
		kube_bytes_field(&entry, 1, VIEW("k8s.io/initial-events-end"));
		kube_bytes_field(&entry, 2, VIEW("true"));
		close_field(&meta, 12, &entry);
	}
	close_field(out, 1, &meta);
	if (object->payload)
		kube_bytes_field(out, 2, view_from(object->payload));
}

static void json_object(struct sbuf *out, const struct resource *resource,
			const struct kube_bytes_object *object)
{
	sbuf_printf(out, "{\"apiVersion\":\"");
	api_version_of(resource, out);
	sbuf_printf(out, "\",\"kind\":\"%s\",\"metadata\":{", resource->kind);
	if (object->initial_events_end)
		sbuf_printf(out, "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"},");
	if (object->name)
		sbuf_printf(out, "\"name\":\"%s\",", object->name);
	if (object->namespace)
		sbuf_printf(out, "\"namespace\":\"%s\",", object->namespace);
	sbuf_printf(out, "\"resourceVersion\":\"%s\"", object->version);
	if (object->uid)
		sbuf_printf(out, ",\"uid\":\"%s\"", object->uid);
	sbuf_printf(out, "}");
	if (object->payload)
		sbuf_printf(out, ",\"spec\":{\"text\":\"%s\"}", object->payload);
	sbuf_printf(out, "}");
}

void kube_bytes_object(struct sbuf *out, const struct resource *resource,
		       const struct kube_bytes_object *object)
{
	if (resource->encoding == RESOURCE_PROTOBUF)
		protobuf_object(out, object);
	else
		json_object(out, resource, object);
}

static void protobuf_list(struct sbuf *out, const struct resource *resource,
			  const struct kube_bytes_list *list, const char *kind)
{
	struct sbuf message, part;
	sbuf_init(&message, CAP);
	sbuf_init(&part, CAP);
	kube_bytes_field(&part, 1, VIEW(""));
	kube_bytes_field(&part, 2, view_from(list->version));
	kube_bytes_field(&part, 3, view_from(list->continue_token));
	close_field(&message, 1, &part);
	for (size_t i = 0; i < list->n_objects; i++) {
		kube_bytes_object(&part, resource, &list->objects[i]);
		close_field(&message, 2, &part);
	}
	envelope_of(out, resource, kind, &message);
}

static void json_list(struct sbuf *out, const struct resource *resource,
		      const struct kube_bytes_list *list, const char *kind)
{
	sbuf_printf(out, "{\"apiVersion\":\"");
	api_version_of(resource, out);
	sbuf_printf(out, "\",\"items\":[");
	for (size_t i = 0; i < list->n_objects; i++) {
		sbuf_printf(out, i ? "," : "");
		kube_bytes_object(out, resource, &list->objects[i]);
	}
	sbuf_printf(out, "],\"kind\":\"%s\",\"metadata\":{\"continue\":\"%s\","
			 "\"resourceVersion\":\"%s\"}}\n",
		    kind, list->continue_token ? list->continue_token : "", list->version);
}

void kube_bytes_list(struct sbuf *out, const struct resource *resource,
		     const struct kube_bytes_list *list)
{
	struct sbuf kind;
	sbuf_init(&kind, CAP);
	if (list->kind)
		sbuf_printf(&kind, "%s", list->kind);
	else
		sbuf_printf(&kind, "%sList", resource->kind);
	if (resource->encoding == RESOURCE_PROTOBUF)
		protobuf_list(out, resource, list, sbuf_text(&kind));
	else
		json_list(out, resource, list, sbuf_text(&kind));
	sbuf_deinit(&kind);
}

void kube_bytes_event_of(struct sbuf *out, enum resource_encoding encoding, const char *type,
			 struct view object)
{
	struct sbuf event, extension;
	if (encoding == RESOURCE_JSON) {
		sbuf_printf(out, "{\"type\":\"%s\",\"object\":", type);
		sbuf_append(out, object);
		sbuf_printf(out, "}\n");
		return;
	}
	sbuf_init(&event, CAP);
	sbuf_init(&extension, CAP);
	kube_bytes_field(&extension, 1, object);
	kube_bytes_field(&event, 1, view_from(type));
	close_field(&event, 2, &extension);
	for (int shift = 24; shift >= 0; shift -= 8)
		sbuf_append_char(out, (char)(event.len >> shift));
	sbuf_append(out, sbuf_view(&event));
	sbuf_deinit(&event);
}

void kube_bytes_event(struct sbuf *out, const struct resource *resource, const char *type,
		      const struct kube_bytes_object *object)
{
	struct sbuf message, raw;
	sbuf_init(&message, CAP);
	sbuf_init(&raw, CAP);
	kube_bytes_object(&message, resource, object);
	if (resource->encoding == RESOURCE_PROTOBUF)
		envelope_of(&raw, resource, resource->kind, &message);
	else
		raw = message;
	kube_bytes_event_of(out, resource->encoding, type, sbuf_view(&raw));
	sbuf_deinit(&raw);
}

static void protobuf_status(struct sbuf *out, const struct kube_bytes_status *status)
{
	struct sbuf message, details, cause;
	sbuf_init(&message, CAP);
	sbuf_init(&details, CAP);
	sbuf_init(&cause, CAP);
	kube_bytes_field(&message, 1, VIEW(""));
	kube_bytes_field(&message, 2, VIEW("Failure"));
	kube_bytes_field(&message, 3, view_from(status->message));
	kube_bytes_field(&message, 4, view_from(status->reason));
	if (status->cause_reason) {
		kube_bytes_field(&cause, 1, view_from(status->cause_reason));
		kube_bytes_field(&cause, 2, view_from(status->cause_message));
		if (status->cause_field)
			kube_bytes_field(&cause, 3, view_from(status->cause_field));
		close_field(&details, 4, &cause);
	}
	kube_bytes_number(&details, 5, (uint64_t)status->retry_after_s);
	close_field(&message, 5, &details);
	kube_bytes_number(&message, 6, (uint64_t)status->code);
	kube_bytes_envelope(out, "v1", "Status", sbuf_view(&message));
	sbuf_deinit(&message);
}

static void json_status(struct sbuf *out, const struct kube_bytes_status *status)
{
	sbuf_printf(out,
		    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
		    "\"status\":\"Failure\",\"message\":\"%s\",\"reason\":\"%s\",\"details\":{",
		    status->message, status->reason);
	if (status->cause_reason)
		sbuf_printf(out, "\"causes\":[{\"reason\":\"%s\",\"message\":\"%s\",\"field\":\"%s\"}],",
			    status->cause_reason, status->cause_message,
			    status->cause_field ? status->cause_field : "");
	sbuf_printf(out, "\"retryAfterSeconds\":%d},\"code\":%d}", status->retry_after_s,
		    status->code);
}

void kube_bytes_status(struct sbuf *out, enum resource_encoding encoding,
		       const struct kube_bytes_status *status)
{
	if (encoding == RESOURCE_PROTOBUF)
		protobuf_status(out, status);
	else
		json_status(out, status);
}
