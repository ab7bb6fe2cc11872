/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/marked_body.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "lib/kube_bytes.h"

#define CAP (16u * LIMIT_MIB)

/* Texts of an object, which kube_bytes borrows. */
struct texts {
	char name[MARKED_BODY_TEXT], uid[MARKED_BODY_TEXT], version[MARKED_BODY_TEXT],
		payload[MARKED_BODY_TEXT];
};

void marked_body_init(struct marked_body *body, const struct resource *resource, bool is_opaque)
{
	body->resource = resource;
	body->is_opaque = is_opaque;
	body->n_marks = 0;
	sbuf_init(&body->bytes, CAP);
}

void marked_body_deinit(struct marked_body *body)
{
	sbuf_deinit(&body->bytes);
}

void marked_body_clear(struct marked_body *body)
{
	body->n_marks = 0;
	sbuf_clear(&body->bytes);
}

bool marked_body_has_room(const struct marked_body *body)
{
	return body->n_marks + OBJECT_HISTORY_NAMES <= MARKED_BODY_MARKS;
}

const char *marked_body_version(const struct marked_body *body, uint64_t version,
				char text[MARKED_BODY_TEXT])
{
	snprintf(text, MARKED_BODY_TEXT, "%s%llu", body->is_opaque ? "v" : "",
		 (unsigned long long)version);
	return text;
}

const char *marked_body_payload(unsigned serial, char text[MARKED_BODY_TEXT])
{
	snprintf(text, MARKED_BODY_TEXT, "contents-%u.", serial);
	return text;
}

static void mark(struct marked_body *body, size_t end, enum marked_body_part part,
		 const struct object_history_change *change)
{
	assert(body->n_marks < MARKED_BODY_MARKS && body->bytes.failure == ERROR_NONE);
	body->marks[body->n_marks++] = (struct marked_body_mark){end, part, *change};
}

static void mark_end(struct marked_body *body, enum marked_body_part part)
{
	mark(body, body->bytes.len, part, &(struct object_history_change){0});
}

static struct kube_bytes_object write_object(const struct marked_body *body, unsigned name,
					     const struct object_state *state, struct texts *texts)
{
	snprintf(texts->name, sizeof(texts->name), "object-%u", name);
	snprintf(texts->uid, sizeof(texts->uid), "uid-%u", state->born);
	return (struct kube_bytes_object){
		.namespace = "ns",
		.name = texts->name,
		.uid = texts->uid,
		.version = marked_body_version(body, state->version, texts->version),
		.payload = marked_body_payload(state->serial, texts->payload),
	};
}

/* Lists. */

static size_t find_end(const struct marked_body *body, size_t from, const struct kube_bytes_object *object)
{
	struct sbuf bytes;
	sbuf_init(&bytes, LIMIT_MIB);
	kube_bytes_object(&bytes, body->resource, object);
	const char *found = memmem(body->bytes.ptr + from, body->bytes.len - from, bytes.ptr, bytes.len);
	assert(found);
	size_t end = (size_t)(found - body->bytes.ptr) + bytes.len;
	sbuf_deinit(&bytes);
	return end;
}

/* In protobuf a list says before its objects what they are. */
static void mark_objects(struct marked_body *body, const struct marked_body_list *list,
			 const struct kube_bytes_object *objects, const unsigned *names, size_t n)
{
	bool fails = list->is_of_others && body->resource->encoding == RESOURCE_PROTOBUF;
	size_t end = 0;
	for (size_t i = 0; i < n; i++) {
		const struct object_history_change change = {OBJECT_HISTORY_ADDED, names[i], false,
							     list->objects[names[i]]};
		end = find_end(body, end, &objects[i]);
		mark(body, end, fails ? MARKED_BODY_FAULT : MARKED_BODY_OBJECT, &change);
	}
}

void marked_body_list(struct marked_body *body, const struct marked_body_list *list)
{
	struct texts texts[OBJECT_HISTORY_NAMES];
	struct kube_bytes_object objects[OBJECT_HISTORY_NAMES];
	unsigned names[OBJECT_HISTORY_NAMES], n = 0, seen = 0;
	char version[MARKED_BODY_TEXT];
	assert(body->n_marks == 0 && body->bytes.len == 0);
	for (unsigned name = 0; name < OBJECT_HISTORY_NAMES && n < list->n; name++) {
		if (list->objects[name].serial == 0 || seen++ < list->first)
			continue;
		names[n] = name;
		objects[n] = write_object(body, name, &list->objects[name], &texts[n]);
		n++;
	}
	const struct kube_bytes_list bytes = {
		.version = marked_body_version(body, list->version, version),
		.continue_token = list->continue_token,
		.kind = list->is_of_others ? "OtherList" : NULL,
		.objects = objects,
		.n_objects = n,
	};
	kube_bytes_list(&body->bytes, body->resource, &bytes);
	mark_objects(body, list, objects, names, n);
}

/* Watches. */

void marked_body_event(struct marked_body *body, const struct object_history_change *change)
{
	static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
	struct texts texts;
	const struct kube_bytes_object object =
		write_object(body, change->name, &change->state, &texts);
	kube_bytes_event(&body->bytes, body->resource, types[change->type], &object);
	mark(body, body->bytes.len, MARKED_BODY_OBJECT, change);
}

void marked_body_bookmark(struct marked_body *body, uint64_t version, bool is_initial_end)
{
	char text[MARKED_BODY_TEXT];
	const struct kube_bytes_object object = {
		.version = marked_body_version(body, version, text),
		.initial_events_end = is_initial_end,
	};
	const struct object_history_change change = {.state.version = version};
	kube_bytes_event(&body->bytes, body->resource, "BOOKMARK", &object);
	mark(body, body->bytes.len, is_initial_end ? MARKED_BODY_INITIAL_END : MARKED_BODY_BOOKMARK,
	     &change);
}

void marked_body_useless(struct marked_body *body, unsigned kind)
{
	struct kube_bytes_object object = {"ns", "object-0", "uid-0", "12", "never", false};
	struct resource others = *body->resource;
	others.kind = "Other";
	switch (kind % 5) {
	case 0:
		kube_bytes_event(&body->bytes, body->resource, "LATER", &object);
		break;
	case 1:
		kube_bytes_event(&body->bytes, &others, "ADDED", &object);
		break;
	case 2:
		kube_bytes_event_of(&body->bytes, body->resource->encoding, "DELETED", VIEW("nonsense"));
		break;
	case 3:
		object.version = ""; /* it has none */
		kube_bytes_event(&body->bytes, body->resource, "MODIFIED", &object);
		break;
	default:
		kube_bytes_event(&body->bytes, &others, "BOOKMARK", &object);
	}
	mark_end(body, MARKED_BODY_USELESS);
}

void marked_body_error(struct marked_body *body, int code, int retry_after_s)
{
	const struct kube_bytes_status status = {
		.code = code, .reason = "Told", .message = "told", .retry_after_s = retry_after_s};
	struct sbuf object;
	sbuf_init(&object, LIMIT_MIB);
	kube_bytes_status(&object, body->resource->encoding, &status);
	kube_bytes_event_of(&body->bytes, body->resource->encoding, "ERROR", sbuf_view(&object));
	sbuf_deinit(&object);
	mark_end(body, MARKED_BODY_FAULT);
}

void marked_body_broken(struct marked_body *body)
{
	if (body->resource->encoding == RESOURCE_JSON) {
		marked_body_error(body, 500, 0);
		return;
	}
	sbuf_append(&body->bytes, VIEW("\xff\xff\xff\xff"));
	mark_end(body, MARKED_BODY_FAULT);
}
