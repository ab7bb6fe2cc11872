/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/publisher.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "schema/attribution_doc.h"
#include "wire/jout.h"
#include "wire/jwalk.h"

/*
 * A plan is one node's writes; each write is one request:
 *
 *	create:  POST the object; the answer is in the inventory when the plan is done, and the next
 *	         join of the node finds it there without a status and writes that
 *	update:  PUT the status
 *	delete:  GET the nodes of that name, and if there is none, DELETE, only the very object and
 *	         version that the join saw
 *
 * Of a node that is gone the watch tells, and of one that came back as well, but maybe later than
 * the server takes a DELETE: when it has been down, writes get through before the watches have
 * caught up. So it is asked, which it answers from what is so now.
 *
 * And, after a conflict, a second one: GET the object into the inventory; the plan then fails with
 * CONFLICT, for what to write must be computed anew. Bodies are encoded when the plan arrives, as
 * a join's result lives no longer.
 */

#define PATH "/apis/gpuattribution.dev/v1alpha1/gpuattributions"
#define NODES_PATH "/api/v1/nodes"
#define METADATA_ONLY "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
#define FIELD_MANAGER "?fieldManager=gpu-attribution-controller"

enum write_step {
	WRITE_CREATE,
	WRITE_UPDATE,
	WRITE_ASK_NODE, /* a deletion begins with it */
	WRITE_DELETE,
	WRITE_READ,
};

struct plan {
	struct sbuf node_name;
	size_t pending;
	bool created;
	struct error error; /* the worst so far */
	struct loop_timer *finish;
	struct publisher *publisher;
	struct list link;
};

struct write {
	struct plan *plan;
	enum write_step step;
	struct sbuf name;
	struct sbuf body;
	struct apiclient_request *request;
	struct list link;
};

struct publisher {
	struct publisher_config config;
	struct list plans;     /* struct plan */
	struct list waiting;   /* struct write */
	struct list under_way; /* struct write */
	bool pumping;
	struct publisher_counters counters;
};

static void write_free(struct write *write)
{
	if (!write)
		return;
	apiclient_cancel(write->request);
	sbuf_deinit(&write->name);
	sbuf_deinit(&write->body);
	free(write);
}

static void write_freep(struct write **write)
{
	write_free(*write);
}

static void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	sbuf_deinit(&plan->node_name);
	loop_timer_free(plan->finish);
	free(plan);
}

static void plan_freep(struct plan **plan)
{
	plan_free(*plan);
}

static struct write *first_write(struct list *writes)
{
	struct list *link = list_first(writes);

	return link ? CONTAINER_OF(link, struct write, link) : NULL;
}

static void free_all(struct list *writes)
{
	struct write *write;

	while ((write = first_write(writes))) {
		list_remove(&write->link);
		write_free(write);
	}
}

int publisher_new(const struct publisher_config *config, struct publisher **ret_publisher,
		  struct error *err)
{
	struct publisher *publisher = calloc(1, sizeof(*publisher));

	assert(config->max_requests > 0);
	if (!publisher)
		return error_no_memory(err);
	publisher->config = *config;
	list_init(&publisher->plans);
	list_init(&publisher->waiting);
	list_init(&publisher->under_way);
	*ret_publisher = publisher;
	return 0;
}

void publisher_free(struct publisher *publisher)
{
	struct list *link;

	if (!publisher)
		return;
	free_all(&publisher->waiting);
	free_all(&publisher->under_way);
	while ((link = list_first(&publisher->plans))) {
		list_remove(link);
		plan_free(CONTAINER_OF(link, struct plan, link));
	}
	free(publisher);
}

struct publisher_counters publisher_counters(const struct publisher *publisher)
{
	return publisher->counters;
}

/* Carrying out */

static void pump(struct publisher *publisher);

/* The caller is told from a timer, so never from inside publisher_apply(). */
static void finish_plan(void *owner)
{
	struct plan *plan = owner;
	struct publisher *publisher = plan->publisher;
	bool failed = plan->error.kind != ERROR_NONE;

	list_remove(&plan->link);
	publisher->config.done(publisher->config.owner, sbuf_view(&plan->node_name), plan->created,
			       failed ? &plan->error : NULL);
	plan_free(plan);
}

/* An object that the server refuses must not keep the others from being tried again. */
static bool is_worse(const struct error *a, const struct error *b)
{
	return b->kind == ERROR_NONE || (b->kind == ERROR_REJECTED && a->kind != ERROR_REJECTED);
}

/* The longest wait that the server asked for counts, whichever error is the one to tell. */
static void add_error(struct plan *plan, const struct error *error)
{
	uint32_t retry_after_ms = plan->error.retry_after_ms;

	if (is_worse(error, &plan->error))
		plan->error = *error;
	if (error->retry_after_ms > retry_after_ms)
		retry_after_ms = error->retry_after_ms;
	plan->error.retry_after_ms = retry_after_ms;
}

static void end_write(struct write *write, const struct error *error)
{
	struct plan *plan = write->plan;
	struct publisher *publisher = plan->publisher;

	if (error)
		add_error(plan, error);
	list_remove(&write->link);
	publisher->counters.under_way--;
	write_free(write);
	assert(plan->pending > 0);
	if (--plan->pending == 0)
		loop_timer_set(plan->finish, 0);
	pump(publisher);
}

/* The server's object becomes what the next join compares with. */
static int learn(struct publisher *publisher, struct view body, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct attribution object;
	uint64_t version = 0;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (attribution_doc_decode(body, &arena, &object, err) < 0)
		return -1;
	(void)view_parse_u64(object.resource_version, &version);
	return inventory_put_attribution(publisher->config.inventory, &object, &arena,
					 STORE_UPSERT, version, err);
}

static int send_write(struct write *write, struct error *err);

static void step_to(struct write *write, enum write_step step)
{
	struct error error = {0};

	write->step = step;
	if (send_write(write, &error) < 0)
		end_write(write, &error);
}

static void count_success(struct publisher *publisher, enum write_step step)
{
	switch (step) {
	case WRITE_CREATE:
		publisher->counters.created++;
		break;
	case WRITE_UPDATE:
		publisher->counters.updated++;
		break;
	case WRITE_DELETE:
		publisher->counters.deleted++;
		break;
	case WRITE_ASK_NODE:
	case WRITE_READ:
		break;
	}
}

static void forget(struct write *write)
{
	struct publisher *publisher = write->plan->publisher;

	inventory_remove(publisher->config.inventory, INVENTORY_ATTRIBUTIONS,
			 sbuf_view(&write->name), 0, loop_now_ms(publisher->config.loop));
}

static void succeed(struct write *write, struct view body)
{
	struct publisher *publisher = write->plan->publisher;
	struct error error = {0};

	count_success(publisher, write->step);
	write->plan->created |= write->step == WRITE_CREATE;
	/* Of a deletion the watch tells, with the version that the object then has. */
	if (write->step != WRITE_DELETE && learn(publisher, body, &error) == 0 &&
	    write->step == WRITE_READ)
		error_set(&error, ERROR_CONFLICT, 0, "object %.*s was changed",
			  VIEW_ARG(sbuf_view(&write->name)));
	end_write(write, error.kind == ERROR_NONE ? NULL : &error);
}

static void fail(struct write *write, const struct error *error)
{
	struct publisher *publisher = write->plan->publisher;

	if (error->kind == ERROR_CONFLICT && write->step != WRITE_READ) {
		publisher->counters.conflicts++;
		step_to(write, WRITE_READ);
		return;
	}
	if (error->kind == ERROR_NOT_FOUND) {
		/* Somebody deleted it: known now, and the next join creates it again. */
		forget(write);
		end_write(write, write->step == WRITE_DELETE ? NULL : error);
		return;
	}
	if (error->kind == ERROR_REJECTED)
		publisher->counters.rejected++;
	else
		publisher->counters.failed++;
	LOG_WARN("Write was not accepted", LOG_TEXT("object", sbuf_view(&write->name)),
		 LOG_TEXT("node", sbuf_view(&write->plan->node_name)), LOG_ERROR_FIELD(error));
	end_write(write, error);
}

/* How many nodes a list has: none, or some. Fails when it is no list. */
static int read_nodes(struct view list, bool *ret_any, struct error *err)
{
	struct view key, value, items = {0};
	struct jwalk walk;

	jwalk_init(&walk, list);
	while (jwalk_next(&walk, &key, &value)) {
		if (view_equal(key, VIEW("items")))
			items = value;
	}
	if (jwalk_check(&walk, "list of nodes", err) < 0)
		return -1;
	if (items.len < 2 || items.ptr[0] != '[')
		return error_set(err, ERROR_RETRY, 0, "list of nodes without items");
	*ret_any = view_trim((struct view){items.ptr + 1, items.len - 2}).len > 0;
	return 0;
}

static void hear_of_node(struct write *write, struct view body)
{
	struct error error = {0};
	bool is_there;

	if (read_nodes(body, &is_there, &error) < 0) {
		fail(write, &error);
		return;
	}
	if (!is_there) {
		step_to(write, WRITE_DELETE);
		return;
	}
	error_set(&error, ERROR_CONFLICT, 0, "node %.*s is there",
		  VIEW_ARG(sbuf_view(&write->plan->node_name)));
	end_write(write, &error);
}

static void answered(void *owner, int status, struct view body, const struct error *error)
{
	struct write *write = owner;

	(void)status;
	write->request = NULL;
	if (error)
		fail(write, error);
	else if (write->step == WRITE_ASK_NODE)
		hear_of_node(write, body);
	else
		succeed(write, body);
}

static const struct {
	const char *method;
	const char *suffix; /* behind the object's path */
} steps[] = {
	[WRITE_CREATE] = {"POST", FIELD_MANAGER},
	[WRITE_UPDATE] = {"PUT", "/status" FIELD_MANAGER},
	[WRITE_ASK_NODE] = {"GET", ""},
	[WRITE_DELETE] = {"DELETE", ""},
	[WRITE_READ] = {"GET", ""},
};

static void make_path(const struct write *write, struct sbuf *path)
{
	sbuf_init(path, LIMIT_URL);
	if (write->step == WRITE_ASK_NODE) {
		sbuf_printf(path, NODES_PATH "?fieldSelector=metadata.name%%3D%.*s",
			    VIEW_ARG(sbuf_view(&write->plan->node_name)));
		return;
	}
	sbuf_append(path, VIEW(PATH));
	if (write->step != WRITE_CREATE)
		sbuf_printf(path, "/%.*s", VIEW_ARG(sbuf_view(&write->name)));
	sbuf_append(path, view_from(steps[write->step].suffix));
}

static int send_write(struct write *write, struct error *err)
{
	CLEANUP(sbuf_deinit) struct sbuf path = {0};
	struct publisher *publisher = write->plan->publisher;
	struct apiclient_call call = {
		.method = steps[write->step].method,
		.content_type = "application/json",
	};

	if (publisher->config.may_write && !publisher->config.may_write(publisher->config.owner))
		return error_set(err, ERROR_RETRY, 0, "not leading");
	make_path(write, &path);
	call.path = sbuf_text(&path);
	if (write->step == WRITE_ASK_NODE)
		call.accept = METADATA_ONLY;
	else if (write->step != WRITE_READ)
		call.body = sbuf_view(&write->body);
	if (sbuf_check(&path, "path", err) < 0)
		return -1;
	return apiclient_send(publisher->config.client, &call, answered, write, &write->request,
			      err);
}

/*
 * Sends what waits, as far as requests may be under way. A request that fails at once ends its
 * write, which pumps again: that inner call leaves the work to the outer one.
 */
static void pump(struct publisher *publisher)
{
	struct write *write;

	if (publisher->pumping)
		return;
	publisher->pumping = true;
	while (publisher->counters.under_way < publisher->config.max_requests &&
	       (write = first_write(&publisher->waiting))) {
		list_remove(&write->link);
		publisher->counters.waiting--;
		list_append(&publisher->under_way, &write->link);
		publisher->counters.under_way++;
		step_to(write, write->step);
	}
	publisher->pumping = false;
}

/* Plans */

static void copy_text(struct sbuf *buf, struct view text)
{
	sbuf_init(buf, LIMIT_URL);
	sbuf_append(buf, text);
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

/* What a Node can be called; whoever may write statuses may have put anything there. */
static bool is_node_name(struct view name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' &&
		    (c != '.' || i == 0))
			return false;
	}
	return name.len > 0;
}

static enum write_step encode(const struct join_device *device, struct view node_name,
			      struct sbuf *buf)
{
	const struct attribution object = {.name = device->name, .uuid = device->uuid};

	if (device->action == JOIN_DELETE) {
		encode_delete(device->previous, buf);
		return is_node_name(node_name) ? WRITE_ASK_NODE : WRITE_DELETE;
	}
	if (device->previous) {
		attribution_doc_encode_status(device->previous, &device->status, buf);
		return WRITE_UPDATE;
	}
	attribution_doc_encode_new(&object, buf);
	return WRITE_CREATE;
}

static int write_new(struct plan *plan, const struct join_device *device,
		     struct write **ret_write, struct error *err)
{
	CLEANUP(write_freep) struct write *write = calloc(1, sizeof(*write));

	if (!write)
		return error_no_memory(err);
	write->plan = plan;
	copy_text(&write->name, device->name);
	sbuf_init(&write->body, LIMIT_OBJECT_BYTES);
	write->step = encode(device, sbuf_view(&plan->node_name), &write->body);
	if (sbuf_check(&write->name, "name", err) < 0 || sbuf_check(&write->body, "body", err) < 0)
		return -1;
	*ret_write = TAKE(write);
	return 0;
}

static int plan_new(struct publisher *publisher, struct view node_name, struct plan **ret_plan,
		    struct error *err)
{
	CLEANUP(plan_freep) struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return error_no_memory(err);
	plan->publisher = publisher;
	copy_text(&plan->node_name, node_name);
	if (sbuf_check(&plan->node_name, "node name", err) < 0 ||
	    loop_timer_new(publisher->config.loop, finish_plan, plan, &plan->finish, err) < 0)
		return -1;
	*ret_plan = TAKE(plan);
	return 0;
}

static size_t count_actions(const struct join_device *devices, size_t n_devices)
{
	size_t n = 0;

	for (size_t i = 0; i < n_devices; i++)
		n += devices[i].action != JOIN_KEEP;
	return n;
}

static int collect(struct plan *plan, const struct join_device *devices, size_t n_devices,
		   struct list *writes, struct error *err)
{
	for (size_t i = 0; i < n_devices; i++) {
		struct write *write = NULL;

		if (devices[i].action == JOIN_KEEP)
			continue;
		if (write_new(plan, &devices[i], &write, err) < 0)
			return -1;
		list_append(writes, &write->link);
		plan->pending++;
	}
	return 0;
}

int publisher_apply(struct publisher *publisher, struct view node_name,
		    const struct join_device *devices, size_t n_devices, size_t *ret_writes,
		    struct error *err)
{
	CLEANUP(plan_freep) struct plan *plan = NULL;
	size_t n_writes = count_actions(devices, n_devices);
	struct list writes;

	if (n_writes == 0) {
		*ret_writes = 0;
		return 0;
	}
	list_init(&writes);
	if (plan_new(publisher, node_name, &plan, err) < 0)
		return -1;
	if (collect(plan, devices, n_devices, &writes, err) < 0) {
		free_all(&writes);
		return -1;
	}
	publisher->counters.waiting += plan->pending;
	list_append(&publisher->plans, &plan->link);
	list_append_all(&publisher->waiting, &writes);
	plan = NULL;
	*ret_writes = n_writes;
	pump(publisher);
	return 0;
}
