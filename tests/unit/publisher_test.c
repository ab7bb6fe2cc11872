/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/find_attribution.h"
#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/publisher.h"
#include "schema/attribution_doc.h"

#include "lib/fake_apiclient.inc"
#include "lib/fake_boot_clock.inc"
#include "lib/fake_stopwatch.inc"

#define UUID "GPU-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define NAME "gpu-11ba558d-3437-2335-2fd8-a78c8502f87f"
#define OBJECT(version) OBJECT_OF(version, "\"nodeName\":\"gpu-a\"")
#define OBJECT_OF(version, status)                                                                   \
	"{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","    \
	"\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"u1\",\"resourceVersion\":\"" version \
	"\",\"generation\":1},\"spec\":{\"uuid\":\"" UUID "\"},"                          \
	"\"status\":{" status "}}"

/* Somebody deletes it, and a finalizer keeps it. */
#define DELETING                                                                            \
	"{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","      \
	"\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"u1\",\"resourceVersion\":\"8\","     \
	"\"generation\":2,\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"                   \
	"\"spec\":{\"uuid\":\"" UUID "\"},\"status\":{\"observedGeneration\":1,"              \
	"\"nodeName\":\"gpu-a\",\"device\":{\"index\":0,\"minor\":0},"                        \
	"\"slots\":{\"total\":0,\"allocated\":0},\"tenantCount\":0}}"

#define LIST_OF(items) \
	"{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{},\"items\":" items "}"
#define NO_NODE LIST_OF("null") /* as the API server writes an empty list */
#define UID(uid) LIST_OF("[{\"metadata\":{\"uid\":\"" uid "\"}}]")

struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct publisher *publisher;
	unsigned n_done;
	enum error_kind kind; /* of the last plan */
	bool created;
	uint32_t retry_after_ms;
	uint32_t may_write_ms;
	struct view node_name;
	unsigned n_changes; /* told in all */
	enum event_type last_change;
};

static void changed(void *owner, struct view node_name, const struct event_change *changes, size_t n)
{
	struct world *world = owner;

	assert_true(view_equal(node_name, world->node_name));
	assert_true(view_equal(changes[n - 1].regarding.name, VIEW(NAME)));
	world->n_changes += (unsigned)n;
	world->last_change = changes[n - 1].type;
}

static void plan_done(void *owner, struct view node_name, bool created, const struct error *error)
{
	struct world *world = owner;

	assert_true(view_equal(node_name, world->node_name));
	world->n_done++;
	world->kind = error ? error->kind : ERROR_NONE;
	world->retry_after_ms = error ? error->retry_after_ms : 0;
	world->created = created;
	loop_stop(world->loop);
}

static uint64_t may_write_until(void *owner, struct view node_name)
{
	(void)node_name;
	return fake_boot_ms + ((struct world *)owner)->may_write_ms;
}

static int make_publisher(struct world *world)
{
	struct error err;
	const struct publisher_config config = {
		.loop = world->loop, .inventory = world->inventory, .max_requests = 2,
		.may_write_until = may_write_until, .done = plan_done, .changed = changed, .owner = world,
	};

	return publisher_new(&config, &world->publisher, &err);
}

static int set_up(void **state)
{
	static struct world world;
	struct error err;

	fake_apiclient_reset();
	fake_stopwatch_step_us = 0;
	world = (struct world){.may_write_ms = UINT32_MAX, .node_name = VIEW("gpu-a")};
	if (loop_new(&world.loop, &err) < 0 || inventory_new(0, &world.inventory, &err) < 0)
		return -1;
	*state = &world;
	return make_publisher(&world);
}

/* A publisher that has written nothing lately: none of its writes is held. */
static void start_anew(struct world *world)
{
	publisher_free(world->publisher);
	assert_int_equal(make_publisher(world), 0);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	publisher_free(world->publisher);
	inventory_free(world->inventory);
	loop_free(world->loop);
	return 0;
}

/* Runs the loop until a plan is done. */
static void wait_done(struct world *world)
{
	struct error err;

	assert_int_equal(loop_run(world->loop, &err), 0);
}

static const struct attribution previous = {
	.name = VIEW_INIT(NAME), .uid = VIEW_INIT("u1"), .resource_version = VIEW_INIT("7"),
	.generation = 1, .uuid = VIEW_INIT(UUID),
};

static struct join_device device(enum join_action action, const struct attribution *object)
{
	return (struct join_device){
		.action = action, .name = VIEW(NAME), .uuid = VIEW(UUID), .previous = object,
		.status = {.node_name = VIEW("gpu-a")},
	};
}

static size_t apply(struct world *world, const struct join_device *devices, size_t n)
{
	struct error err;
	struct publisher_applied applied;

	assert_int_equal(publisher_apply(world->publisher, world->node_name, devices, n, &applied,
					 &err), 0);
	return applied.n_writes;
}

static void a_plan_without_changes_sends_nothing_and_is_done_at_once(void **state)
{
	struct world *world = *state;
	struct join_device keep = device(JOIN_KEEP, &previous);

	assert_int_equal(apply(world, &keep, 1), 0);
	assert_int_equal(n_fake_requests, 0);
	assert_int_equal(world->n_done, 0);
}

static void a_status_is_put_with_the_version_that_it_replaces(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	assert_int_equal(apply(world, &write, 1), 1);
	assert_int_equal(n_fake_requests, 1);
	assert_string_equal(fake_requests[0].method, "PUT");
	assert_non_null(strstr(fake_requests[0].path, NAME "/status"));
	assert_non_null(strstr(fake_requests[0].body, "\"resourceVersion\":\"7\""));
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NONE);
	assert_int_equal(publisher_counters(world->publisher).updated, 1);
}

static void the_answer_is_in_the_inventory_before_the_plan_is_done(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	assert_int_equal(world->n_done, 0);
	const struct attribution *known = find_attribution(world->inventory, VIEW(NAME));
	assert_non_null(known);
	assert_true(view_equal(known->resource_version, VIEW("8")));
	wait_done(world);
}

static void count_touch(void *owner, struct view node_name, bool initial)
{
	(void)node_name, (void)initial;
	++*(unsigned *)owner;
}

static void hear_watch(struct world *world, const char *text, uint64_t version)
{
	struct attribution object;
	struct arena arena;
	struct error err;

	arena_init(&arena, LIMIT_OBJECT_BYTES);
	assert_int_equal(attribution_doc_decode(view_from(text), &arena, &object, &err), 0);
	assert_int_equal(inventory_put_attribution(world->inventory, &object, &arena, STORE_UPSERT,
						   version, &err), 0);
	arena_deinit(&arena);
}

#define STATUS_OF(version, index)                                                         \
	OBJECT_OF(version, "\"observedGeneration\":1,\"nodeName\":\"gpu-a\",\"device\":{\"index\":" index \
			   ",\"minor\":0},\"slots\":{\"total\":0,\"allocated\":0},\"tenantCount\":0")

/* The watch tells of a write before its answer comes, or after. */
static void what_was_written_touches_its_node_only_where_the_server_has_something_else(void **state)
{
	struct world *world = *state;
	static const char sent[] = STATUS_OF("8", "0");
	static const char other[] = STATUS_OF("9", "1");
	static const struct {
		const char *watch, *answer, *later;
		unsigned n_touches;
	} rows[] = {
		{sent, sent, NULL, 0},
		{NULL, sent, sent, 0},
		{NULL, OBJECT("8"), NULL, 0}, /* an older definition: it counts as what was sent */
		{OBJECT("8"), OBJECT("8"), NULL, 1},
		{DELETING, sent, NULL, 1},
		{other, sent, NULL, 1},
		{NULL, sent, other, 1},
		{sent, sent, other, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct join_device write = device(JOIN_WRITE, &previous);
		unsigned n_touches = 0;

		write.status.observed_generation = 1;
		hear_watch(world, OBJECT("7"), 0);
		start_anew(world);
		fake_apiclient_reset();
		inventory_on_touch(world->inventory, count_touch, &n_touches);
		apply(world, &write, 1);
		if (rows[i].watch)
			hear_watch(world, rows[i].watch, rows[i].watch == other ? 9 : 8);
		fake_apiclient_answer(0, rows[i].answer);
		wait_done(world);
		if (rows[i].later)
			hear_watch(world, rows[i].later, rows[i].later == other ? 9 : 8);
		assert_int_equal(n_touches > 0, rows[i].n_touches);
		inventory_on_touch(world->inventory, NULL, NULL);
	}
}

/* An older CustomResourceDefinition prunes what it does not know, without an error. */
static void a_field_that_the_server_drops_is_said_and_not_written_again(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	write.status.report_state = ATTRIBUTION_REPORT_CURRENT;
	apply(world, &write, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NONE);
	assert_int_equal(publisher_counters(world->publisher).dropped, 1);
	assert_non_null(strstr(publisher_trouble(world->publisher), "status.reportState"));
	/* The next join compares with what was sent. */
	const struct attribution *known = find_attribution(world->inventory, VIEW(NAME));
	assert_int_equal(known->status.report_state, ATTRIBUTION_REPORT_CURRENT);
	assert_true(view_equal(known->resource_version, VIEW("8")));
	/* The same version once more: the write changed nothing, or the watch was faster. */
	write.status.report_state = ATTRIBUTION_REPORT_STALE;
	apply(world, &write, 1);
	fake_apiclient_answer(1, OBJECT("8"));
	wait_done(world);
	known = find_attribution(world->inventory, VIEW(NAME));
	assert_int_equal(known->status.report_state, ATTRIBUTION_REPORT_STALE);
	assert_int_equal(publisher_counters(world->publisher).dropped, 2);
}

static void a_status_that_is_taken_whole_is_no_trouble(void **state)
{
	struct world *world = *state;
	struct join_device whole = device(JOIN_WRITE, &previous);

	whole.status.device = (struct attribution_device){.index = -1, .minor = -1};
	whole.status.slots = (struct attribution_slots){.total = -1, .allocated = -1};
	whole.status.tenant_count = -1;
	apply(world, &whole, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	assert_string_equal(publisher_trouble(world->publisher), "");
	assert_int_equal(publisher_counters(world->publisher).dropped, 0);
}

/* A status by which the device has become ill, as the join makes it. */
static struct join_device ill_device(void)
{
	static struct view reason = VIEW_INIT("XID79");
	struct join_device write = device(JOIN_WRITE, &previous);

	write.status.device = (struct attribution_device){.index = -1, .minor = -1};
	write.status.slots = (struct attribution_slots){.total = -1, .allocated = -1};
	write.status.tenant_count = -1;
	write.status.health.state = ATTRIBUTION_HEALTH_UNHEALTHY;
	write.status.health.reasons = array_of(&reason, 1);
	return write;
}

#define ILL_OBJECT                                                                        \
	"{\"apiVersion\":\"gpuattribution.dev/v1alpha1\",\"kind\":\"GPUAttribution\","    \
	"\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"u1\",\"resourceVersion\":\"8\"," \
	"\"generation\":1},\"spec\":{\"uuid\":\"" UUID "\"},\"status\":{\"nodeName\":"      \
	"\"gpu-a\",\"health\":{\"state\":\"Unhealthy\",\"reasons\":[\"XID79\"]}}}"

static void what_is_new_in_a_status_is_told_once_the_server_has_taken_it(void **state)
{
	struct world *world = *state;
	struct join_device write = ill_device();

	apply(world, &write, 1);
	assert_int_equal(world->n_changes, 0);
	/* Even if the watch was faster than the answer. */
	struct arena arena;
	struct error err;
	struct attribution newer = previous;
	newer.status = write.status;
	newer.resource_version = VIEW("8");
	arena_init(&arena, LIMIT_KIB);
	assert_int_equal(inventory_put_attribution(world->inventory, &newer, &arena, STORE_UPSERT, 8,
						   &err), 0);
	arena_deinit(&arena);
	fake_apiclient_answer(0, ILL_OBJECT);
	wait_done(world);
	assert_string_equal(publisher_trouble(world->publisher), "");
	assert_int_equal(world->n_changes, 1);
	assert_int_equal(world->last_change, EVENT_GPU_UNHEALTHY);
}

static void what_the_server_has_not_taken_or_kept_is_not_told(void **state)
{
	static const enum error_kind kinds[] = {ERROR_REJECTED, ERROR_RETRY, ERROR_DENIED,
						ERROR_NOT_FOUND};
	struct world *world = *state;
	struct join_device write = ill_device();

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		apply(world, &write, 1);
		fake_apiclient_fail(i, kinds[i]);
		wait_done(world);
	}
	apply(world, &write, 1);
	fake_apiclient_fail(n_fake_requests - 1, ERROR_CONFLICT);
	fake_apiclient_answer(n_fake_requests - 1, ILL_OBJECT); /* as it is read then */
	wait_done(world);
	start_anew(world);
	apply(world, &write, 1);
	fake_apiclient_answer(n_fake_requests - 1, OBJECT("9")); /* without its health */
	wait_done(world);
	assert_int_equal(publisher_counters(world->publisher).dropped, 1);
	assert_int_equal(world->n_changes, 0);
}

static void what_a_watch_tells_late_does_not_undo_an_answer(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct error err;

	arena_init(&arena, LIMIT_KIB);
	apply(world, &write, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	assert_int_equal(inventory_put_attribution(world->inventory, &previous, &arena,
						   STORE_UPSERT, 7, &err), 0);
	const struct attribution *known = find_attribution(world->inventory, VIEW(NAME));
	assert_true(view_equal(known->resource_version, VIEW("8")));
}

static void a_new_device_is_posted_without_a_status(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, NULL);

	apply(world, &write, 1);
	assert_string_equal(fake_requests[0].method, "POST");
	assert_non_null(strstr(fake_requests[0].body, "\"uuid\":\"" UUID "\""));
	assert_null(strstr(fake_requests[0].body, "nodeName"));
	fake_apiclient_answer(0, OBJECT("1"));
	wait_done(world);
	assert_int_equal(publisher_counters(world->publisher).created, 1);
	assert_non_null(find_attribution(world->inventory, VIEW(NAME)));
}

static void a_conflict_reads_the_object_and_asks_for_a_new_plan(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	fake_apiclient_fail(0, ERROR_CONFLICT);
	assert_int_equal(n_fake_requests, 2);
	assert_string_equal(fake_requests[1].method, "GET");
	fake_apiclient_answer(1, OBJECT("9"));
	wait_done(world);
	assert_int_equal(world->kind, ERROR_CONFLICT);
	assert_int_equal(publisher_counters(world->publisher).updated, 0);
	const struct attribution *known = find_attribution(world->inventory, VIEW(NAME));
	assert_true(view_equal(known->resource_version, VIEW("9")));
}

static void a_deletion_names_the_very_object_and_version(void **state)
{
	struct world *world = *state;
	struct join_device gone = device(JOIN_DELETE, &previous);

	apply(world, &gone, 1);
	fake_apiclient_answer(0, NO_NODE);
	assert_string_equal(fake_requests[1].method, "DELETE");
	assert_non_null(strstr(fake_requests[1].path, "/gpuattributions/" NAME));
	assert_non_null(strstr(fake_requests[1].body, "\"uid\":\"u1\""));
	assert_non_null(strstr(fake_requests[1].body, "\"resourceVersion\":\"7\""));
	fake_apiclient_fail(1, ERROR_NOT_FOUND);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NONE);
}

static void whatever_conflicts_the_object_is_read_anew(void **state)
{
	struct world *world = *state;
	const struct {
		struct join_device device;
		bool has_question;
	} rows[] = {
		{device(JOIN_WRITE, NULL), false},
		{device(JOIN_WRITE, &previous), false},
		{device(JOIN_DELETE, &previous), true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned n = rows[i].has_question;

		fake_apiclient_reset();
		apply(world, &rows[i].device, 1);
		if (rows[i].has_question)
			fake_apiclient_answer(0, NO_NODE);
		fake_apiclient_fail(n, ERROR_CONFLICT);
		assert_string_equal(fake_requests[n + 1].method, "GET");
		assert_non_null(strstr(fake_requests[n + 1].path, "/gpuattributions/" NAME));
		fake_apiclient_answer(n + 1, OBJECT("9"));
		wait_done(world);
		assert_int_equal(world->kind, ERROR_CONFLICT);
	}
	assert_int_equal(publisher_counters(world->publisher).conflicts, ARRAY_SIZE(rows));
}

/* The watch may not have told yet that it came back. */
static void nothing_is_deleted_of_a_node_that_the_server_has(void **state)
{
	struct world *world = *state;
	struct join_device gone = device(JOIN_DELETE, &previous);

	apply(world, &gone, 1);
	assert_string_equal(fake_requests[0].method, "GET");
	assert_string_equal(fake_requests[0].path,
			    "/api/v1/nodes?fieldSelector=metadata.name%3Dgpu-a");
	assert_string_equal(fake_requests[0].body, "");
	fake_apiclient_answer(0, UID("n1"));
	wait_done(world);
	assert_int_equal(world->kind, ERROR_CONFLICT);
	assert_int_equal(n_fake_requests, 1);
	assert_int_equal(publisher_counters(world->publisher).deleted, 0);
}

/* The server was asked before it came back, and a watch told of it before the answer was here. */
static void nothing_is_deleted_of_a_node_that_a_watch_has_told_of_since(void **state)
{
	struct world *world = *state;
	struct attribution object = previous;
	struct join_device gone = device(JOIN_DELETE, &object);
	CLEANUP(arena_deinit) struct arena arena = {0};
	struct node node = {.name = VIEW("gpu-a")};
	uint64_t version = 1;
	struct error err;

	arena_init(&arena, LIMIT_KIB);
	object.status.node_name = node.name;
	assert_int_equal(inventory_put_attribution(world->inventory, &object, &arena, STORE_UPSERT,
						   7, &err),
			 0);
	for (unsigned is_gone_again = 0; is_gone_again < 2; is_gone_again++) {
		fake_apiclient_reset();
		apply(world, &gone, 1);
		assert_int_equal(inventory_put(world->inventory, INVENTORY_NODES, &node, STORE_UPSERT,
						    version++, &err),
				 0);
		if (is_gone_again)
			inventory_remove(world->inventory, INVENTORY_NODES, node.name, version++,
					 1000);
		fake_apiclient_answer(0, NO_NODE);
		wait_done(world);
		assert_int_equal(world->kind, ERROR_CONFLICT);
		assert_int_equal(n_fake_requests, 1);
		inventory_remove(world->inventory, INVENTORY_NODES, node.name, version++, 1000);
	}
}

static void nothing_is_deleted_while_the_server_does_not_say_whether_the_node_is_there(void **state)
{
	static const enum error_kind kinds[] = {ERROR_RETRY, ERROR_DENIED, ERROR_THROTTLED};
	struct world *world = *state;
	struct join_device gone = device(JOIN_DELETE, &previous);

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		apply(world, &gone, 1);
		fake_apiclient_fail(i, kinds[i]);
		wait_done(world);
		assert_int_equal(world->kind, kinds[i]);
		assert_int_equal(n_fake_requests, i + 1);
	}
}

static void an_answer_that_is_no_list_of_nodes_deletes_nothing(void **state)
{
	static const char *const answers[] = {"", "{}", "[]", "{\"items\":null}", LIST_OF("["),
					      LIST_OF("{}"), "{\"kind\":\"Status\"}"};
	struct world *world = *state;
	struct join_device gone = device(JOIN_DELETE, &previous);

	for (unsigned i = 0; i < ARRAY_SIZE(answers); i++) {
		apply(world, &gone, 1);
		fake_apiclient_answer(i, answers[i]);
		wait_done(world);
		assert_int_not_equal(world->kind, ERROR_NONE);
		assert_int_equal(n_fake_requests, i + 1);
	}
}

#define TEXTS(...) {(void *)(uintptr_t)(const struct view[]){__VA_ARGS__}, \
	sizeof((struct view[]){__VA_ARGS__}) / sizeof(struct view), true}
#define LIST VIEW_INIT("PodResources")
#define BOOK VIEW_INIT("Checkpoint")
#define STATUS VIEW_INIT("PodStatus")
#define HAMI VIEW_INIT("HAMi")
#define POD(name, uid) \
	.pod_namespace = VIEW_INIT("ml"), .pod_name = VIEW_INIT(name), .pod_uid = VIEW_INIT(uid)

/* For b's container y a UID speaks as well, but maybe of other slots. */
static const struct attribution_tenant tenants[] = {
	{POD("a", "uid-0"), .witnesses = TEXTS(LIST)},
	{POD("b", "uid-1"), .container = VIEW_INIT("x"), .witnesses = TEXTS(STATUS)},
	{POD("b", "uid-1"), .container = VIEW_INIT("y"), .witnesses = TEXTS(LIST, STATUS)},
	{POD("b", "uid-1"), .container = VIEW_INIT("z"), .witnesses = TEXTS(LIST)},
	{POD("c", "uid-2"), .witnesses = TEXTS(BOOK, LIST)},
	{POD("d", "uid-3"), .witnesses = TEXTS(STATUS)},
	{POD("e", "uid-4"), .witnesses = TEXTS(HAMI)},
	{.pod_namespace = VIEW_INIT("ml"), .pod_name = VIEW_INIT("f"), .witnesses = TEXTS(LIST)},
	{.witnesses = TEXTS(LIST)},
};

static struct join_device with_tenants(void)
{
	struct join_device write = device(JOIN_WRITE, &previous);

	write.status.tenants = (struct array){(void *)(uintptr_t)tenants, ARRAY_SIZE(tenants), true};
	return write;
}

static void of_each_tenant_for_whom_a_name_speaks_the_server_is_asked_first(void **state)
{
	struct world *world = *state;
	struct join_device write = with_tenants();

	apply(world, &write, 1);
	assert_string_equal(fake_requests[0].method, "GET");
	assert_string_equal(fake_requests[0].path,
			    "/api/v1/namespaces/ml/pods?fieldSelector=metadata.name%3Da");
	assert_string_equal(fake_requests[0].body, "");
	fake_apiclient_answer(0, UID("uid-0"));
	assert_string_equal(fake_requests[1].path,
			    "/api/v1/namespaces/ml/pods?fieldSelector=metadata.name%3Db");
	fake_apiclient_answer(1, UID("uid-1"));
	assert_int_equal(n_fake_requests, 3);
	assert_string_equal(fake_requests[2].method, "PUT");
	fake_apiclient_answer(2, OBJECT("8"));
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NONE);
}

static void without_a_good_checkpoint_all_whom_the_list_or_hami_names_are_asked_for(void **state)
{
	struct world *world = *state;
	struct join_device write = with_tenants();

	write.is_by_names = true;
	apply(world, &write, 1);
	fake_apiclient_answer(0, UID("uid-0"));
	fake_apiclient_answer(1, UID("uid-1"));
	assert_string_equal(fake_requests[2].path,
			    "/api/v1/namespaces/ml/pods?fieldSelector=metadata.name%3Dc");
	fake_apiclient_answer(2, UID("uid-2"));
	assert_string_equal(fake_requests[3].path,
			    "/api/v1/namespaces/ml/pods?fieldSelector=metadata.name%3De");
	fake_apiclient_answer(3, UID("uid-4"));
	assert_string_equal(fake_requests[4].method, "PUT");
}

static void while_what_is_known_of_pods_is_old_nobody_is_asked_for(void **state)
{
	static const enum inventory_age ages[] = {INVENTORY_STALE, INVENTORY_DENIED};
	struct world *world = *state;
	struct join_device write = with_tenants();

	for (unsigned i = 0; i < ARRAY_SIZE(ages); i++) {
		fake_apiclient_reset();
		write.pods_age = ages[i];
		apply(world, &write, 1);
		assert_string_equal(fake_requests[0].method, "PUT");
		fake_apiclient_answer(0, OBJECT("8"));
		wait_done(world);
	}
}

/* The watch has told of the pod before it only. */
static void a_name_that_another_pod_has_by_now_is_not_published(void **state)
{
	static const char *const answers[] = {UID("uid-9"), LIST_OF("[]"), LIST_OF("null")};
	struct world *world = *state;
	struct join_device write = with_tenants();

	for (unsigned i = 0; i < ARRAY_SIZE(answers); i++) {
		apply(world, &write, 1);
		fake_apiclient_answer(i, answers[i]);
		wait_done(world);
		assert_int_equal(world->kind, ERROR_CONFLICT);
		assert_int_equal(n_fake_requests, i + 1);
	}
}

static void a_question_that_is_not_found_forgets_no_object(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	write = with_tenants();
	apply(world, &write, 1);
	fake_apiclient_fail(1, ERROR_NOT_FOUND);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NOT_FOUND);
	assert_non_null(find_attribution(world->inventory, VIEW(NAME)));
}

/* A status may have anything as its node's name; a request must not. */
static void of_a_name_that_no_node_can_have_nobody_is_asked(void **state)
{
	struct world *world = *state;
	struct join_device gone = device(JOIN_DELETE, &previous);

	world->node_name = VIEW("gpu-a,b");
	apply(world, &gone, 1);
	assert_string_equal(fake_requests[0].method, "DELETE");
	fake_apiclient_answer(0, "{}");
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NONE);
}

static void an_object_that_somebody_deleted_is_forgotten(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	apply(world, &write, 1);
	fake_apiclient_fail(1, ERROR_NOT_FOUND);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NOT_FOUND);
	assert_null(find_attribution(world->inventory, VIEW(NAME)));
}

static void no_more_requests_are_under_way_than_allowed(void **state)
{
	struct world *world = *state;
	struct join_device write[5];

	for (unsigned i = 0; i < 5; i++)
		write[i] = device(JOIN_WRITE, &previous);
	assert_int_equal(apply(world, write, 5), 5);
	assert_int_equal(n_fake_requests, 2);
	for (unsigned i = 0; i < 5; i++)
		fake_apiclient_answer(i, OBJECT("8"));
	assert_int_equal(n_fake_requests, 5);
	wait_done(world);
	assert_int_equal(world->n_done, 1);
}

/* The others come first in the next plan, so that none waits for ever. */
static void a_plan_takes_in_no_further_write_after_two_milliseconds(void **state)
{
	static const struct view names[] = {VIEW_INIT("gpu-0"), VIEW_INIT("gpu-1"), VIEW_INIT("gpu-2"),
					    VIEW_INIT("gpu-3")};
	struct world *world = *state;
	struct join_device write[ARRAY_SIZE(names)];
	struct publisher_applied applied;
	struct error err;

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		write[i] = device(JOIN_WRITE, &previous);
		write[i].name = names[i];
	}
	fake_stopwatch_step_us = PUBLISHER_TURN_US / 2;
	assert_int_equal(publisher_apply(world->publisher, world->node_name, write, ARRAY_SIZE(write),
					 &applied, &err), 0);
	assert_int_equal(applied.n_writes, 2);
	assert_int_equal(applied.n_left, 2);
	assert_int_equal(applied.n_held, 0);
	assert_true(applied.due_at <= loop_now_ms(world->loop));
	assert_non_null(strstr(fake_requests[0].path, "gpu-0/status"));
	assert_int_equal(publisher_counters(world->publisher).held_now.objects, 0);
	fake_apiclient_answer(0, OBJECT("8"));
	fake_apiclient_answer(1, OBJECT("8"));
	wait_done(world);
	assert_int_equal(apply(world, write, ARRAY_SIZE(write)), 2);
	assert_non_null(strstr(fake_requests[2].path, "gpu-2/status"));
	assert_non_null(strstr(fake_requests[3].path, "gpu-3/status"));
}

static void a_write_that_takes_longer_than_a_plan_may_is_taken_in_alone(void **state)
{
	struct world *world = *state;
	struct join_device write[3];

	for (unsigned i = 0; i < ARRAY_SIZE(write); i++)
		write[i] = device(JOIN_WRITE, &previous);
	fake_stopwatch_step_us = 2 * PUBLISHER_TURN_US;
	assert_int_equal(apply(world, write, ARRAY_SIZE(write)), 1);
}

static void one_refused_object_does_not_hide_that_another_must_be_tried_again(void **state)
{
	struct world *world = *state;
	struct join_device write[2] = {device(JOIN_WRITE, &previous), device(JOIN_WRITE, &previous)};

	apply(world, write, 2);
	fake_apiclient_fail(0, ERROR_REJECTED);
	fake_apiclient_fail(1, ERROR_RETRY);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_RETRY);
	assert_int_equal(publisher_counters(world->publisher).rejected, 1);
	assert_string_not_equal(publisher_trouble(world->publisher), "");
}

/* A right that is taken away and given back. */
static void that_a_status_may_not_be_written_is_said_until_one_is_taken(void **state)
{
	struct world *world = *state;
	struct join_device write[2] = {device(JOIN_WRITE, &previous), device(JOIN_WRITE, &previous)};
	struct error refused;

	error_set(&refused, ERROR_DENIED, 0, "PUT " NAME "/status: HTTP 403 forbidden");
	apply(world, write, 2);
	fake_apiclient_refuse(0, 403, &refused, "");
	fake_apiclient_fail(1, ERROR_RETRY); /* which tells nothing of the right */
	wait_done(world);
	assert_string_equal(publisher_trouble(world->publisher), refused.text);
	apply(world, write, 1);
	fake_apiclient_answer(2, OBJECT("8"));
	wait_done(world);
	assert_null(strstr(publisher_trouble(world->publisher), "403"));
	/* That one status is refused for what it says is still so when another is taken. */
	error_set(&refused, ERROR_REJECTED, 0, "PUT " NAME "/status: HTTP 422 invalid");
	apply(world, write, 1);
	fake_apiclient_refuse(3, 422, &refused, "");
	wait_done(world);
	apply(world, write, 1);
	fake_apiclient_answer(4, OBJECT("9"));
	wait_done(world);
	assert_string_equal(publisher_trouble(world->publisher), refused.text);
}

static void expect_refused(struct world *world)
{
	struct publisher_counters counters;

	wait_done(world);
	counters = publisher_counters(world->publisher);
	/* What it rests on is to be looked at again; nobody has refused or failed. */
	assert_int_equal(world->kind, ERROR_CONFLICT);
	assert_false(world->created);
	assert_int_equal(counters.failed, 0);
	assert_int_equal(counters.rejected, 0);
	assert_int_equal(counters.waiting, 0);
	assert_int_equal(counters.under_way, 0);
}

static void nothing_is_sent_while_writing_is_not_allowed(void **state)
{
	struct world *world = *state;
	const struct join_device devices[] = {
		device(JOIN_WRITE, &previous), device(JOIN_WRITE, NULL),
		device(JOIN_DELETE, &previous), with_tenants(),
	};

	world->may_write_ms = 0;
	apply(world, devices, ARRAY_SIZE(devices));
	assert_int_equal(n_fake_requests, 0);
	expect_refused(world);
	assert_int_equal(world->n_done, 1);
	assert_int_equal(publisher_counters(world->publisher).conflicts, 0);
	world->may_write_ms = UINT32_MAX;
	apply(world, devices, 1);
	assert_int_equal(n_fake_requests, 1);
}

static void a_write_that_waited_is_not_sent_when_writing_is_not_allowed_by_then(void **state)
{
	struct world *world = *state;
	struct join_device write[4];

	for (unsigned i = 0; i < 4; i++)
		write[i] = device(JOIN_WRITE, &previous);
	apply(world, write, 4);
	assert_int_equal(n_fake_requests, 2);
	world->may_write_ms = 0;
	fake_apiclient_answer(0, OBJECT("8"));
	fake_apiclient_answer(1, OBJECT("9"));
	assert_int_equal(n_fake_requests, 2);
	expect_refused(world);
	assert_int_equal(publisher_counters(world->publisher).updated, 2);
	assert_int_equal(publisher_counters(world->publisher).conflicts, 0);
}

static void what_was_asked_for_is_not_written_when_writing_is_not_allowed_by_then(void **state)
{
	struct world *world = *state;
	const struct {
		struct join_device device;
		const char *answer;
	} rows[] = {
		{device(JOIN_DELETE, &previous), NO_NODE},
		{with_tenants(), UID("uid-0")}, /* and there is another question */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		world->may_write_ms = UINT32_MAX;
		apply(world, &rows[i].device, 1);
		assert_string_equal(fake_requests[i].method, "GET");
		world->may_write_ms = 0;
		fake_apiclient_answer(i, rows[i].answer);
		assert_int_equal(n_fake_requests, i + 1);
		expect_refused(world);
	}
	assert_int_equal(publisher_counters(world->publisher).deleted, 0);
}

/* The questions before a write and the read after a conflict as well. */
static void no_request_is_under_way_for_longer_than_writing_is_allowed(void **state)
{
	struct world *world = *state;
	const struct {
		uint32_t may_write_ms, timeout_ms;
		bool is_aside; /* who had no time tells nothing of the server */
	} rows[] = {
		{UINT32_MAX, 10000, false}, {10001, 10000, false}, {10000, 10000, false},
		{3999, 3999, false},        {1000, 1000, false},   {999, 999, true},
		{1, 1, true},
	};
	const struct join_device devices[] = {
		device(JOIN_WRITE, &previous), device(JOIN_WRITE, NULL),
		device(JOIN_DELETE, &previous), with_tenants(),
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		for (unsigned j = 0; j < ARRAY_SIZE(devices); j++) {
			fake_apiclient_reset();
			world->may_write_ms = rows[i].may_write_ms;
			apply(world, &devices[j], 1);
			assert_int_equal(fake_requests[0].timeout_ms, rows[i].timeout_ms);
			assert_int_equal(fake_requests[0].send_before,
					 fake_boot_ms + rows[i].may_write_ms);
			assert_int_equal(fake_requests[0].is_aside, rows[i].is_aside);
			fake_apiclient_fail(0, ERROR_CONFLICT);
			assert_string_equal(fake_requests[1].method, "GET");
			assert_int_equal(fake_requests[1].timeout_ms, rows[i].timeout_ms);
			assert_int_equal(fake_requests[1].send_before,
					 fake_boot_ms + rows[i].may_write_ms);
			fake_apiclient_fail(1, ERROR_RETRY);
			wait_done(world);
		}
	}
}

static void after_a_conflict_nothing_is_read_while_writing_is_not_allowed(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	world->may_write_ms = 0;
	fake_apiclient_fail(0, ERROR_CONFLICT);
	assert_int_equal(n_fake_requests, 1);
	expect_refused(world);
	assert_int_equal(publisher_counters(world->publisher).conflicts, 1);
}

static void an_end_in_the_middle_cancels_what_is_under_way(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	assert_true(fake_requests[0].open);
	publisher_free(world->publisher);
	world->publisher = NULL;
	assert_false(fake_requests[0].open);
}

static void a_plan_that_made_an_object_says_so_and_another_does_not(void **state)
{
	struct world *world = *state;
	struct join_device create = device(JOIN_WRITE, NULL), update = device(JOIN_WRITE, &previous);

	apply(world, &create, 1);
	fake_apiclient_answer(0, OBJECT("1"));
	wait_done(world);
	assert_true(world->created);
	apply(world, &update, 1);
	fake_apiclient_answer(1, OBJECT("2"));
	wait_done(world);
	assert_false(world->created);
	apply(world, &create, 1);
	fake_apiclient_fail(2, ERROR_RETRY);
	wait_done(world);
	assert_false(world->created);
}

static void an_object_that_was_made_is_told_whatever_ends_after_it(void **state)
{
	struct world *world = *state;
	struct join_device both[2] = {device(JOIN_WRITE, NULL), device(JOIN_WRITE, &previous)};

	apply(world, both, 2);
	fake_apiclient_answer(0, OBJECT("1"));
	fake_apiclient_answer(1, OBJECT("8"));
	wait_done(world);
	assert_true(world->created);
}

static void an_object_that_is_deleted_stays_known_until_the_watch_says_so(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous), gone = device(JOIN_DELETE, &previous);

	apply(world, &write, 1);
	fake_apiclient_answer(0, OBJECT("8"));
	wait_done(world);
	apply(world, &gone, 1);
	fake_apiclient_answer(1, NO_NODE);
	fake_apiclient_answer(2, "{}");
	wait_done(world);
	assert_int_equal(world->kind, ERROR_NONE);
	assert_int_equal(publisher_counters(world->publisher).deleted, 1);
	assert_non_null(find_attribution(world->inventory, VIEW(NAME)));
}

static void the_longest_wait_that_the_server_asked_for_is_passed_on(void **state)
{
	struct world *world = *state;
	struct join_device write[2] = {device(JOIN_WRITE, &previous), device(JOIN_WRITE, &previous)};
	const struct error busy = {.kind = ERROR_THROTTLED, .retry_after_ms = 7000};

	apply(world, write, 2);
	fake_apiclient_fail(0, ERROR_RETRY);
	fake_requests[1].answer(fake_requests[1].owner, 429, (struct view){0}, &busy);
	wait_done(world);
	assert_int_equal(world->kind, ERROR_RETRY);
	assert_int_equal(world->retry_after_ms, 7000);
}

static void an_answer_that_is_no_object_of_ours_fails_the_plan(void **state)
{
	struct world *world = *state;
	struct join_device write = device(JOIN_WRITE, &previous);

	apply(world, &write, 1);
	fake_apiclient_answer(0, "<html>");
	wait_done(world);
	assert_int_equal(world->kind, ERROR_REJECTED);
}

static void without_memory_nothing_is_started_and_the_output_is_untouched(void **state)
{
	struct world *world = *state;
	struct join_device write[2] = {with_tenants(), device(JOIN_WRITE, NULL)};
	bool failed = true;

	for (unsigned k = 1; failed; k++) {
		struct publisher_applied applied = {.n_writes = 77};
		struct error err = {0};

		fake_apiclient_reset();
		world->n_done = 0;
		failing_malloc_at(k);
		int result = publisher_apply(world->publisher, VIEW("gpu-a"), write, 2, &applied,
					     &err);
		failed = failing_malloc_off();
		assert_int_equal(applied.n_writes, result < 0 ? 77 : 2);
		assert_int_equal(err.kind, result < 0 ? ERROR_NO_MEMORY : ERROR_NONE);
		for (unsigned i = 0; i < n_fake_requests; i++)
			fake_apiclient_fail(i, ERROR_RETRY);
		if (result == 0)
			wait_done(world);
		assert_int_equal(world->n_done, result < 0 ? 0 : 1);
		assert_int_equal(publisher_counters(world->publisher).waiting, 0);
		assert_int_equal(publisher_counters(world->publisher).under_way, 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(
		a_plan_without_changes_sends_nothing_and_is_done_at_once, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_status_is_put_with_the_version_that_it_replaces, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_answer_is_in_the_inventory_before_the_plan_is_done, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_written_touches_its_node_only_where_the_server_has_something_else, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		a_field_that_the_server_drops_is_said_and_not_written_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_status_that_is_taken_whole_is_no_trouble, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_is_new_in_a_status_is_told_once_the_server_has_taken_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_the_server_has_not_taken_or_kept_is_not_told, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		what_a_watch_tells_late_does_not_undo_an_answer, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_new_device_is_posted_without_a_status, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_conflict_reads_the_object_and_asks_for_a_new_plan, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_deletion_names_the_very_object_and_version, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		whatever_conflicts_the_object_is_read_anew, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		nothing_is_deleted_of_a_node_that_the_server_has, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		nothing_is_deleted_of_a_node_that_a_watch_has_told_of_since, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		nothing_is_deleted_while_the_server_does_not_say_whether_the_node_is_there, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		an_answer_that_is_no_list_of_nodes_deletes_nothing, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		of_each_tenant_for_whom_a_name_speaks_the_server_is_asked_first, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_a_good_checkpoint_all_whom_the_list_or_hami_names_are_asked_for, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		while_what_is_known_of_pods_is_old_nobody_is_asked_for, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_name_that_another_pod_has_by_now_is_not_published, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_question_that_is_not_found_forgets_no_object, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		of_a_name_that_no_node_can_have_nobody_is_asked, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_that_somebody_deleted_is_forgotten, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		no_more_requests_are_under_way_than_allowed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_plan_takes_in_no_further_write_after_two_milliseconds, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_write_that_takes_longer_than_a_plan_may_is_taken_in_alone, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		one_refused_object_does_not_hide_that_another_must_be_tried_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		that_a_status_may_not_be_written_is_said_until_one_is_taken, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		nothing_is_sent_while_writing_is_not_allowed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_write_that_waited_is_not_sent_when_writing_is_not_allowed_by_then, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		what_was_asked_for_is_not_written_when_writing_is_not_allowed_by_then, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		no_request_is_under_way_for_longer_than_writing_is_allowed, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		after_a_conflict_nothing_is_read_while_writing_is_not_allowed, set_up,
		tear_down),
	cmocka_unit_test_setup_teardown(
		an_end_in_the_middle_cancels_what_is_under_way, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_plan_that_made_an_object_says_so_and_another_does_not, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_that_was_made_is_told_whatever_ends_after_it, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_object_that_is_deleted_stays_known_until_the_watch_says_so, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		the_longest_wait_that_the_server_asked_for_is_passed_on, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		an_answer_that_is_no_object_of_ours_fails_the_plan, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		without_memory_nothing_is_started_and_the_output_is_untouched, set_up, tear_down),
};

TEST_MAIN(tests)
