/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/publisher.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "base/sbuf.h"
#include "controller/question.h"
#include "controller/refusals.h"
#include "join/join.h"
#include "schema/attribution_doc.h"
#include "wire/jout.h"

/*
 * A plan is one node's writes; each write is one request:
 *
 *	create:  POST the object; the answer is in the inventory when the plan is done, and the next
 *	         join of the node finds it there without a status and writes that
 *	update:  PUT the status
 *	delete:  DELETE, only the very object and version that the join saw
 *
 * Before it, questions (controller/question.h) where a watch that is behind would make a write wrong:
 *
 *	delete:  is the node gone? Of one that came back the watch may tell later than the server takes
 *	         a DELETE: when it was down, writes get through before the watches have caught up. Or
 *	         it tells while the answer is under way.
 *	update:  of each tenant for whom a name speaks: has that very pod the name? Then it had
 *	         it when the List was read, for it had started before. Another of that name may have
 *	         come after it, of which no watch has told.
 *
 * If it is otherwise, the plan fails with CONFLICT, for what to write must be computed anew. And,
 * after a conflict of a write, another request: GET the object into the inventory; the plan fails
 * with CONFLICT as well. Bodies are encoded when the plan arrives, as a join's result lives no longer.
 */

#define PATH "/apis/gpuattribution.dev/v1alpha1/gpuattributions"
#define FIELD_MANAGER "?fieldManager=gpu-attribution-controller"

enum write_step {
	WRITE_ASK, /* the first question */
	WRITE_CREATE,
	WRITE_UPDATE,
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
	enum write_step wanted; /* when all questions are answered */
	struct list questions;  /* struct question */
	uint64_t node_changes;  /* as they were when the question of the node was */
	struct sbuf name;
	struct sbuf body;
	struct arena arena; /* of the next */
	struct event_change *changes; /* that the status brings */
	size_t n_changes;
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
	struct refusals refusals;
};

static struct question *first_question(const struct write *write)
{
	struct list *link = list_first(&write->questions);

	return link ? CONTAINER_OF(link, struct question, link) : NULL;
}

static void drop_question(struct write *write)
{
	struct question *question = first_question(write);

	list_remove(&question->link);
	question_free(question);
}

static void write_free(struct write *write)
{
	if (!write)
		return;
	while (first_question(write))
		drop_question(write);
	apiclient_cancel(write->request);
	sbuf_deinit(&write->name);
	sbuf_deinit(&write->body);
	arena_deinit(&write->arena);
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
	struct publisher_counters counters = publisher->counters;

	counters.dropped = publisher->refusals.n_dropped;
	return counters;
}

const char *publisher_trouble(const struct publisher *publisher)
{
	return refusals_trouble(&publisher->refusals, loop_now_ms(publisher->config.loop));
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

/* True in *ret_dropped when the status that was sent holds more than the server's answer. */
static int compare_with_sent(struct write *write, const struct attribution *answer,
			     bool *ret_dropped, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct publisher *publisher = write->plan->publisher;
	struct attribution sent;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	if (attribution_doc_decode(sbuf_view(&write->body), &arena, &sent, err) < 0)
		return -1;
	*ret_dropped = refusals_note_kept(&publisher->refusals, &sent.status, &answer->status,
					  loop_now_ms(publisher->config.loop));
	return 0;
}

/*
 * The server's object becomes what the next join compares with. Where the server dropped a field of a
 * status that is what was sent, or the next join would write it again, and each one after it.
 */
static int learn(struct write *write, struct view body, struct error *err)
{
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct publisher *publisher = write->plan->publisher;
	struct attribution object, sent;
	uint64_t version = 0;
	bool is_dropped = false;

	arena_init(&arena, 2 * LIMIT_OBJECT_BYTES);
	if (attribution_doc_decode(body, &arena, &object, err) < 0 ||
	    (write->step == WRITE_UPDATE &&
	     compare_with_sent(write, &object, &is_dropped, err) < 0))
		return -1;
	if (is_dropped) {
		if (attribution_doc_decode(sbuf_view(&write->body), &arena, &sent, err) < 0)
			return -1;
		object.status = sent.status;
	}
	(void)view_parse_u64(object.resource_version, &version);
	return inventory_put_attribution(publisher->config.inventory, &object, &arena,
					 is_dropped ? STORE_ANSWER : STORE_UPSERT, version, err);
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
	case WRITE_ASK:
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

/*
 * Only of what the server keeps: what it dropped is written again after a restart, and would be told
 * once more.
 */
static void tell_changes(const struct write *write, uint64_t n_dropped_before)
{
	const struct publisher *publisher = write->plan->publisher;

	if (write->step == WRITE_UPDATE && write->n_changes > 0 &&
	    publisher->refusals.n_dropped == n_dropped_before)
		publisher->config.changed(publisher->config.owner,
					  sbuf_view(&write->plan->node_name), write->changes,
					  write->n_changes);
}

static void succeed(struct write *write, struct view body)
{
	struct publisher *publisher = write->plan->publisher;
	const uint64_t n_dropped = publisher->refusals.n_dropped;
	struct error error = {0};

	count_success(publisher, write->step);
	write->plan->created |= write->step == WRITE_CREATE;
	/* Of a deletion the watch tells, with the version that the object then has. */
	if (write->step != WRITE_DELETE && learn(write, body, &error) == 0 &&
	    write->step == WRITE_READ)
		error_set(&error, ERROR_CONFLICT, 0, "object %.*s was changed",
			  VIEW_ARG(sbuf_view(&write->name)));
	tell_changes(write, n_dropped);
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
	if (error->kind == ERROR_NOT_FOUND && write->step != WRITE_ASK) {
		/* Somebody deleted it: known now, and the next join creates it again. */
		forget(write);
		end_write(write, write->step == WRITE_DELETE ? NULL : error);
		return;
	}
	if (error->kind == ERROR_REJECTED) {
		publisher->counters.rejected++;
		refusals_note_refused(&publisher->refusals, error,
				      loop_now_ms(publisher->config.loop));
	} else {
		publisher->counters.failed++;
	}
	LOG_WARN("GPUAttribution write failed", LOG_TEXT("object", sbuf_view(&write->name)),
		 LOG_TEXT("node", sbuf_view(&write->plan->node_name)), LOG_ERROR_FIELD(error));
	end_write(write, error);
}

static enum write_step next_step(const struct write *write)
{
	return first_question(write) ? WRITE_ASK : write->wanted;
}

/* It is not as the first question has it. */
static void contradict(struct write *write)
{
	struct error error = {0};

	error_set(&error, ERROR_CONFLICT, 0, "%s: not what the watches told when it was asked",
		  sbuf_text(&first_question(write)->path));
	end_write(write, &error);
}

static uint64_t count_node_changes(const struct write *write)
{
	const struct place *place = inventory_find_place(write->plan->publisher->config.inventory,
							 sbuf_view(&write->plan->node_name));

	return place ? place->node_changes : 0;
}

/* The node whose object is to be deleted, since it was asked for; it may be gone again. */
static bool has_come_back(const struct write *write)
{
	return write->wanted == WRITE_DELETE &&
	       count_node_changes(write) != write->node_changes;
}

static void hear(struct write *write, struct view body)
{
	struct error error = {0};
	bool is_so;

	if (question_hear(first_question(write), body, &is_so, &error) < 0) {
		fail(write, &error);
		return;
	}
	if (!is_so || has_come_back(write)) {
		contradict(write);
		return;
	}
	drop_question(write);
	step_to(write, next_step(write));
}

static void answered(void *owner, int status, struct view body, const struct error *error)
{
	struct write *write = owner;

	(void)status;
	write->request = NULL;
	if (error)
		fail(write, error);
	else if (write->step == WRITE_ASK)
		hear(write, body);
	else
		succeed(write, body);
}

static const struct {
	const char *method;
	const char *suffix; /* behind the object's path */
} steps[] = {
	[WRITE_ASK] = {"GET", ""},
	[WRITE_CREATE] = {"POST", FIELD_MANAGER},
	[WRITE_UPDATE] = {"PUT", "/status" FIELD_MANAGER},
	[WRITE_DELETE] = {"DELETE", ""},
	[WRITE_READ] = {"GET", ""},
};

static void make_path(const struct write *write, struct sbuf *path)
{
	sbuf_init(path, LIMIT_URL);
	if (write->step == WRITE_ASK) {
		sbuf_append(path, sbuf_view(&first_question(write)->path));
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
		return error_set(err, ERROR_CONFLICT, 0,
				 "a watch is away or has not caught up: what the write rests on may have changed");
	make_path(write, &path);
	call.path = sbuf_text(&path);
	if (write->step == WRITE_ASK)
		call.accept = QUESTION_ACCEPT;
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
		step_to(write, next_step(write));
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

static bool is_doubtful(const struct join_device *device, const struct attribution_tenant *tenant)
{
	return join_is_by_name(device, tenant) && tenant->pod_uid.len > 0 &&
	       question_is_name(tenant->pod_namespace) && question_is_name(tenant->pod_name);
}

static bool is_asked_for(const struct join_device *device, uint32_t n, struct view uid)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(device->status.tenants, struct attribution_tenant, i);
		if (is_doubtful(device, tenant) && view_equal(tenant->pod_uid, uid))
			return true;
	}
	return false;
}

/* While what is known of pods is old the holders are those that are published. */
static int ask_for_pods(struct write *write, const struct join_device *device, struct error *err)
{
	for (uint32_t i = 0;
	     i < device->status.tenants.count && device->pods_age == JOIN_PODS_CURRENT; i++) {
		const struct attribution_tenant *tenant =
			ARRAY_AT(device->status.tenants, struct attribution_tenant, i);
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
static int ask_for_node(struct write *write, struct error *err)
{
	struct view node_name = sbuf_view(&write->plan->node_name);
	struct question *question;

	write->node_changes = count_node_changes(write);
	if (!question_is_name(node_name))
		return 0;
	if (question_no_node(node_name, &question, err) < 0)
		return -1;
	list_append(&write->questions, &question->link);
	return 0;
}

static int ask(struct write *write, const struct join_device *device, struct error *err)
{
	if (write->wanted == WRITE_DELETE)
		return ask_for_node(write, err);
	if (write->wanted != WRITE_UPDATE)
		return 0;
	return ask_for_pods(write, device, err);
}

static enum write_step encode(const struct join_device *device, struct sbuf *buf)
{
	const struct attribution object = {.name = device->name, .uuid = device->uuid};

	if (device->action == JOIN_DELETE) {
		encode_delete(device->previous, buf);
		return WRITE_DELETE;
	}
	if (device->previous) {
		attribution_doc_encode_status(device->previous, &device->status, buf);
		return WRITE_UPDATE;
	}
	attribution_doc_encode_new(&object, buf);
	return WRITE_CREATE;
}

/* Without memory for it nothing is told; that is no reason not to write. */
static void note_changes(struct write *write, const struct join_device *device,
			 const struct event_changes_node *of_node)
{
	struct error error = {0};

	arena_init(&write->arena, LIMIT_MIB);
	if (write->plan->publisher->config.changed &&
	    event_changes_of_device(device, of_node, &write->arena, &write->changes,
				    &write->n_changes, &error) < 0)
		LOG_WARN("Change of a GPUAttribution not told", LOG_TEXT("object", device->name),
			 LOG_ERROR_FIELD(&error));
}

static int write_new(struct plan *plan, const struct join_device *device,
		     const struct event_changes_node *of_node, struct write **ret_write,
		     struct error *err)
{
	CLEANUP(write_freep) struct write *write = calloc(1, sizeof(*write));

	if (!write)
		return error_no_memory(err);
	write->plan = plan;
	list_init(&write->questions);
	copy_text(&write->name, device->name);
	sbuf_init(&write->body, LIMIT_OBJECT_BYTES);
	write->wanted = encode(device, &write->body);
	note_changes(write, device, of_node);
	if (sbuf_check(&write->name, "name", err) < 0 ||
	    sbuf_check(&write->body, "body", err) < 0 || ask(write, device, err) < 0)
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
	const struct event_changes_node of_node = event_changes_of_node(devices, n_devices);

	for (size_t i = 0; i < n_devices; i++) {
		struct write *write = NULL;

		if (devices[i].action == JOIN_KEEP)
			continue;
		if (write_new(plan, &devices[i], &of_node, &write, err) < 0)
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
