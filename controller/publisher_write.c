/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The write is one request:
 *
 *	create:  POST the object. The answer is in the inventory when the plan is done. The node's next
 *	         join finds it there without a status, and writes that.
 *	update:  PUT the status.
 *	delete:  DELETE, only the very object and version that the join saw.
 *
 * Before it, questions (controller/question.h) where a watch that is behind would make it wrong:
 *
 *	delete:  is the node gone? Of one that came back the watch may tell later than the server takes
 *	         a DELETE: when it was down, writes get through before the watches have caught up. Or
 *	         it tells while the answer is under way.
 *	update:  of each tenant for whom a name speaks: has that very pod the name? Then it had
 *	         it when the List was read, for it had started before. Another of that name may have
 *	         come after it, of which no watch has told.
 *
 * Bodies are encoded when the plan arrives, as a join's result lives no longer.
 */

#include "controller/publisher_write.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/log.h"
#include "schema/attribution_doc.h"
#include "wire/jout.h"

#define PATH "/apis/gpuattribution.dev/v1alpha1/gpuattributions"
#define FIELD_MANAGER "?fieldManager=gpu-attribution-controller"

struct question *publisher_write_question(const struct publisher_write *write)
{
	struct list *link = list_first(&write->questions);

	return link ? CONTAINER_OF(link, struct question, link) : NULL;
}

void publisher_write_drop_question(struct publisher_write *write)
{
	struct question *question = publisher_write_question(write);

	assert(question);
	list_remove(&question->link);
	question_free(question);
}

void publisher_write_free(struct publisher_write *write)
{
	if (!write)
		return;
	while (publisher_write_question(write))
		publisher_write_drop_question(write);
	apiclient_cancel(write->request);
	sbuf_deinit(&write->name);
	sbuf_deinit(&write->body);
	arena_deinit(&write->arena);
	arena_deinit(&write->sent_arena);
	free(write);
}

static void write_freep(struct publisher_write **write)
{
	publisher_write_free(*write);
}

enum publisher_write_step publisher_write_next_step(const struct publisher_write *write)
{
	return publisher_write_question(write) ? PUBLISHER_WRITE_ASK : write->wanted;
}

static uint64_t count_node_changes(const struct inventory *inventory, struct view node_name)
{
	const struct node_state *node_state = inventory_node_state_find(inventory, node_name);

	return node_state ? node_state->node_changes : 0;
}

bool publisher_write_is_overtaken(const struct publisher_write *write,
				  const struct inventory *inventory, struct view node_name)
{
	return write->wanted == PUBLISHER_WRITE_DELETE &&
	       count_node_changes(inventory, node_name) != write->node_changes;
}

int publisher_write_sent(struct publisher_write *write, const struct attribution **ret_sent,
			 struct error *err)
{
	assert(write->wanted == PUBLISHER_WRITE_UPDATE);
	if (!write->sent) {
		struct attribution *sent = arena_alloc(&write->sent_arena, 1, sizeof(*sent));

		if (!sent)
			return error_no_memory(err);
		if (attribution_doc_decode(sbuf_view(&write->body), &write->sent_arena, sent, err) < 0)
			return -1;
		write->sent = sent;
	}
	*ret_sent = write->sent;
	return 0;
}

static const struct {
	const char *method;
	const char *suffix; /* behind the object's path */
} steps[] = {
	[PUBLISHER_WRITE_ASK] = {"GET", ""},
	[PUBLISHER_WRITE_CREATE] = {"POST", FIELD_MANAGER},
	[PUBLISHER_WRITE_UPDATE] = {"PUT", "/status" FIELD_MANAGER},
	[PUBLISHER_WRITE_DELETE] = {"DELETE", ""},
	[PUBLISHER_WRITE_READ] = {"GET", ""},
};

static void make_path(const struct publisher_write *write, struct sbuf *path)
{
	sbuf_init(path, LIMIT_URL);
	if (write->step == PUBLISHER_WRITE_ASK) {
		sbuf_append(path, sbuf_view(&publisher_write_question(write)->path));
		return;
	}
	sbuf_append(path, VIEW(PATH));
	if (write->step != PUBLISHER_WRITE_CREATE)
		sbuf_printf(path, "/%.*s", VIEW_ARG(sbuf_view(&write->name)));
	sbuf_append(path, view_from(steps[write->step].suffix));
}

int publisher_write_make_call(const struct publisher_write *write, struct sbuf *path,
			      struct apiclient_call *ret_call, struct error *err)
{
	struct apiclient_call call = {
		.method = steps[write->step].method,
		.content_type = "application/json",
	};

	make_path(write, path);
	call.path = sbuf_text(path);
	if (write->step == PUBLISHER_WRITE_ASK)
		call.accept = QUESTION_ACCEPT;
	else if (write->step != PUBLISHER_WRITE_READ)
		call.body = sbuf_view(&write->body);
	if (sbuf_check(path, "path", err) < 0)
		return -1;
	*ret_call = call;
	return 0;
}

/* Deletes only what the join saw: https://kubernetes.io/docs/reference/using-api/ (Preconditions) */
static void encode_delete(const struct attribution *object, struct sbuf *buf)
{
	struct jout out;

	jout_init(&out, buf);
	jout_object(&out);
	jout_member_text(&out, "kind", VIEW("DeleteOptions"));
	jout_member_text(&out, "apiVersion", VIEW("v1"));
	jout_key(&out, "preconditions");
	jout_object(&out);
	jout_member_text(&out, "uid", object->uid);
	jout_member_text(&out, "resourceVersion", object->resource_version);
	jout_object_end(&out);
	jout_object_end(&out);
}

static bool is_doubtful(const struct join_device *device, const struct attribution_tenant *tenant)
{
	return join_is_by_name(device, tenant) && tenant->pod_uid.len > 0 &&
	       question_is_name(tenant->pod_namespace) && question_is_name(tenant->pod_name);
}

static bool is_asked_for(const struct join_device *device, uint32_t n, struct view uid)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct attribution_tenant *tenant = ARRAY_AT(device->status.tenants,
								   struct attribution_tenant, i);
		if (view_equal(tenant->pod_uid, uid) && is_doubtful(device, tenant))
			return true;
	}
	return false;
}

/* While what is known of pods is old the holders are those that are published. */
static int ask_for_pods(struct publisher_write *write, const struct join_device *device,
			struct error *err)
{
	for (uint32_t i = 0;
	     i < device->status.tenants.count && device->pods_age == INVENTORY_CURRENT; i++) {
		const struct attribution_tenant *tenant = ARRAY_AT(device->status.tenants,
								   struct attribution_tenant, i);
		struct question *question;

		if (!is_doubtful(device, tenant) || is_asked_for(device, i, tenant->pod_uid))
			continue;
		if (question_pod(tenant->pod_namespace, tenant->pod_name, tenant->pod_uid,
				 &question, err) < 0)
			return -1;
		list_append(&write->questions, &question->link);
	}
	return 0;
}

/* Whoever may write statuses may have put anything there as the node's name. */
static int ask_for_node(struct publisher_write *write, const struct publisher_write_node *node,
			struct error *err)
{
	struct question *question;

	write->node_changes = count_node_changes(node->inventory, node->name);
	if (!question_is_name(node->name))
		return 0;
	if (question_no_node(node->name, &question, err) < 0)
		return -1;
	list_append(&write->questions, &question->link);
	return 0;
}

static int ask(struct publisher_write *write, const struct join_device *device,
	       const struct publisher_write_node *node, struct error *err)
{
	if (write->wanted == PUBLISHER_WRITE_DELETE)
		return ask_for_node(write, node, err);
	if (write->wanted != PUBLISHER_WRITE_UPDATE)
		return 0;
	return ask_for_pods(write, device, err);
}

static enum publisher_write_step encode(const struct join_device *device, struct sbuf *buf)
{
	const struct attribution object = {.name = device->name, .uuid = device->uuid};

	if (device->action == JOIN_DELETE) {
		encode_delete(device->previous, buf);
		return PUBLISHER_WRITE_DELETE;
	}
	if (device->previous) {
		attribution_doc_encode_status(device->previous, &device->status, buf);
		return PUBLISHER_WRITE_UPDATE;
	}
	attribution_doc_encode_new(&object, buf);
	return PUBLISHER_WRITE_CREATE;
}

/* Without memory for it nothing is told; that is no reason not to write. */
static void note_changes(struct publisher_write *write, const struct join_device *device,
			 const struct event_change_node *of_node)
{
	struct error error = {0};

	arena_init(&write->arena, LIMIT_MIB);
	if (of_node && event_changes_of_device(device, of_node, &write->arena, &write->changes,
					       &write->n_changes, &error) < 0)
		LOG_WARN("Change of a GPUAttribution not told", LOG_TEXT("object", device->name),
			 LOG_ERROR_FIELD(&error));
}

int publisher_write_new(const struct publisher_write_node *node, const struct join_device *device,
			struct publisher_write **ret_write, struct error *err)
{
	CLEANUP(write_freep) struct publisher_write *write = calloc(1, sizeof(*write));

	if (!write)
		return error_no_memory(err);
	list_init(&write->link);
	list_init(&write->questions);
	sbuf_init(&write->name, LIMIT_URL);
	sbuf_append(&write->name, device->name);
	sbuf_init(&write->body, LIMIT_OBJECT_BYTES);
	arena_init(&write->sent_arena, LIMIT_OBJECT_BYTES);
	write->wanted = encode(device, &write->body);
	note_changes(write, device, node->changes);
	if (sbuf_check(&write->name, "name", err) < 0 ||
	    sbuf_check(&write->body, "body", err) < 0 || ask(write, device, node, err) < 0)
		return -1;
	*ret_write = TAKE(write);
	return 0;
}
