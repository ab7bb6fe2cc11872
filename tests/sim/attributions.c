/* SPDX-License-Identifier: Apache-2.0 */

/* Each write takes effect a moment after it was sent, also when its sender has died meanwhile. */

#include "sim/attributions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/apiserver.h"
#include "sim/check.h"
#include "sim/clockwork.h"
#include "sim/net.h"
#include "sim/oracle.h"
#include "wire/jwalk.h"

#define CAP (1u << 20)
#define MAX_OBJECTS 64
#define JSON "application/json"

struct object {
	bool exists;
	char name[64];
	char uid[WORLD_UID_SIZE];
	uint64_t version;
	unsigned labels;
	char *spec, *status;
};

struct write {
	struct fetch *fetch;
	char method[8];
	char *path, *body;
	uint64_t sent_at;
};

static const char default_status[] =
	"{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\",\"reason\":\"Pending\","
	"\"message\":\"Waiting for the controller\","
	"\"lastTransitionTime\":\"1970-01-01T00:00:00Z\"}]}";

static struct object objects[MAX_OBJECTS];
static unsigned n_objects;

static void take_effect(void *owner, uint64_t number);
static void free_write(void *owner);

void attributions_reset(void)
{
	clockwork_on_drop(take_effect, free_write);
}

void attributions_clear(void)
{
	for (unsigned i = 0; i < n_objects; i++) {
		free(objects[i].spec);
		free(objects[i].status);
	}
	memset(objects, 0, sizeof(objects));
	n_objects = 0;
}

static void object_text(const struct object *object, struct sbuf *out)
{
	sbuf_printf(out,
		    "{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","
		    "\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"generation\":1,"
		    "\"resourceVersion\":\"%" PRIu64 "\",\"labels\":{\"n\":\"%u\"}},"
		    "\"spec\":%s,\"status\":%s}",
		    object->name, object->uid, object->version, object->labels, object->spec,
		    object->status);
}

static void tell_object(struct object *object, const char *type)
{
	struct sbuf message;

	object->version = apiserver_next_version();
	sbuf_init(&message, CAP);
	object_text(object, &message);
	apiserver_log(APISERVER_ATTRIBUTIONS, type, &message);
}

static struct object *find_object(struct view name)
{
	for (unsigned i = 0; i < n_objects; i++)
		if (objects[i].exists && view_equal(view_from(objects[i].name), name))
			return &objects[i];
	return NULL;
}

static struct object *object_at(unsigned i)
{
	for (unsigned k = 0; k < n_objects; k++)
		if (objects[k].exists && i-- == 0)
			return &objects[k];
	return NULL;
}

static unsigned count_objects(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_objects; i++)
		n += objects[i].exists;
	return n;
}

bool attributions_edit(unsigned i)
{
	unsigned n = count_objects();
	struct object *object = n > 0 ? object_at(i % n) : NULL;

	if (!object)
		return false;
	object->labels++;
	tell_object(object, "MODIFIED");
	return true;
}

static void remove_object(struct object *object)
{
	object->exists = false;
	tell_object(object, "DELETED");
}

bool attributions_delete(unsigned i)
{
	unsigned n = count_objects();
	struct object *object = n > 0 ? object_at(i % n) : NULL;

	if (!object)
		return false;
	oracle_vanished(object->name);
	remove_object(object);
	return true;
}

/* Writes */

/* The raw value of a member, empty if there is none. */
static struct view member(struct view object, const char *key)
{
	struct view found = {0}, name, value;
	struct jwalk walk;

	jwalk_init(&walk, object);
	while (jwalk_next(&walk, &name, &value))
		if (view_equal(name, view_from(key)))
			found = value;
	return found;
}

static struct view text_member(struct view object, const char *key)
{
	struct view text = {0};

	(void)jwalk_text(member(object, key), &text);
	return text;
}

static char *copy(struct view bytes)
{
	char *text = malloc(bytes.len + 1);

	check(text);
	memcpy(text, bytes.ptr, bytes.len);
	text[bytes.len] = '\0';
	return text;
}

static void answer_write(const struct write *write, int status, const struct object *object)
{
	struct sbuf body;

	if (apiserver_is_spoilt(APISERVER_FORGETS)) {
		net_fail_in(write->fetch, world_between(1, 9000));
		return;
	}
	if (!object) {
		apiserver_refuse(write->fetch, APISERVER_ATTRIBUTIONS, status,
			      status == 409   ? "Conflict"
			      : status == 404 ? "NotFound"
					      : "BadRequest",
			      0);
		return;
	}
	sbuf_init(&body, CAP);
	object_text(object, &body);
	net_answer_in(write->fetch, world_between(1, 10), status, JSON, 0, sbuf_view(&body));
	sbuf_deinit(&body);
}

static void create_object(const struct write *write, struct view body)
{
	struct view name = text_member(member(body, "metadata"), "name");
	struct object *object = find_object(name);

	if (object || n_objects == MAX_OBJECTS) {
		check(object);
		answer_write(write, 409, NULL);
		return;
	}
	object = &objects[n_objects++];
	*object = (struct object){.exists = true};
	snprintf(object->name, sizeof(object->name), "%.*s", VIEW_ARG(name));
	world_new_uuid(object->uid);
	object->spec = copy(member(body, "spec"));
	object->status = copy(view_from(default_status));
	tell_object(object, "ADDED");
	oracle_created(object->name);
	answer_write(write, 201, object);
}

static void update_object(const struct write *write, struct view name, struct view body)
{
	struct object *object = find_object(name);
	struct view meta = member(body, "metadata");
	uint64_t seen = 0;

	if (!object) {
		answer_write(write, 404, NULL);
		return;
	}
	if (!view_parse_u64(text_member(meta, "resourceVersion"), &seen) ||
	    seen != object->version ||
	    !view_equal(text_member(meta, "uid"), view_from(object->uid))) {
		answer_write(write, 409, NULL);
		return;
	}
	free(object->status);
	object->status = copy(member(body, "status"));
	tell_object(object, "MODIFIED");
	oracle_wrote(object->name, body, write->sent_at);
	answer_write(write, 200, object);
}

static void delete_object(const struct write *write, struct view name, struct view body)
{
	struct object *object = find_object(name);
	struct view meta = member(body, "preconditions");
	uint64_t seen = 0;

	if (!object) {
		answer_write(write, 404, NULL);
		return;
	}
	if (!view_parse_u64(text_member(meta, "resourceVersion"), &seen) ||
	    seen != object->version) {
		answer_write(write, 409, NULL);
		return;
	}
	oracle_deleted(object->name, write->sent_at);
	remove_object(object);
	answer_write(write, 200, object);
}

static void carry_out(struct write *write)
{
	struct view name = view_from(write->path);
	struct view body = view_from(write->body), rest;

	view_cut(name, VIEW("?"), &name, &rest);
	if (view_starts_with(name, VIEW("/")))
		name = view_from_offset(name, 1);
	view_cut(name, VIEW("/"), &name, &rest);
	if (strcmp(write->method, "POST") == 0)
		create_object(write, body);
	else if (strcmp(write->method, "PUT") == 0)
		update_object(write, name, body);
	else if (strcmp(write->method, "DELETE") == 0)
		delete_object(write, name, body);
	else
		answer_write(write, find_object(name) ? 200 : 404, find_object(name));
}

static void free_write(void *owner)
{
	struct write *write = owner;

	free(write->path);
	free(write->body);
	free(write);
}

static void take_effect(void *owner, uint64_t number)
{
	struct write *write = owner;

	(void)number;
	carry_out(write);
	free_write(write);
}

void attributions_serve(struct fetch *fetch, const char *path)
{
	struct write *write = calloc(1, sizeof(*write));

	check(write);
	write->fetch = fetch;
	snprintf(write->method, sizeof(write->method), "%s", fetch->method);
	write->path = copy(view_from(path));
	write->body = copy((struct view){fetch->body, fetch->body_len});
	write->sent_at = fetch->sent_at;
	if (fetch->method[0] != 'G')
		oracle_sent(write->sent_at);
	clockwork_in(world_between(1, 12), take_effect, write, 0);
}

void attributions_review(struct fetch *fetch)
{
	struct view body = {fetch->body, fetch->body_len};
	struct view token = text_member(member(body, "spec"), "token");
	char text[512];

	/* The signature says whose token it is. */
	view_cut(token, VIEW("."), &token, &token);
	view_cut(token, VIEW("."), &token, &token);
	bool is_agent = view_starts_with(token, VIEW("agent-"));
	bool is_other = view_starts_with(token, VIEW("other-"));
	int node = is_agent ? token.ptr[6] - '0' : 0;

	if (is_agent || is_other)
		snprintf(text, sizeof(text),
			 "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"user\":{"
			 "\"username\":\"system:serviceaccount:gpu-attribution:%s\",\"extra\":{"
			 "\"authentication.kubernetes.io/node-name\":[\"%.15s\"]}},"
			 "\"audiences\":[\"gpuattribution.dev\"]}}",
			 is_agent ? "gpu-attribution-agent" : "other", world.nodes[node].name);
	else
		snprintf(text, sizeof(text),
			 "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":false}}");
	net_answer_in(fetch, world_between(1, 10), 201, JSON, 0, view_from(text));
}

void attributions_list(struct sbuf *message)
{
	bool any = false;

	for (unsigned i = 0; i < n_objects; i++) {
		if (!objects[i].exists)
			continue;
		if (any)
			sbuf_append_char(message, ',');
		object_text(&objects[i], message);
		any = true;
	}
}
