/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "base/limits.h"
#include "controller/gather.h"
#include "controller/pod_watches.h"
#include "controller/watches.h"
#include "lib/kube_bytes.h"
#include "model/pod_scope.h"

#define FAKE_APICLIENT_MAX_REFLECTORS 512
#include "lib/fake_apiclient.inc"
#include "lib/fake_loop.inc"

#define MAX FAKE_APICLIENT_MAX_REFLECTORS
#define TYPE VIEW("application/vnd.kubernetes.protobuf")

static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};
static struct error err;

struct asked {
	char node[64];
	bool is_under_way, is_watch;
};

static struct world {
	struct loop *loop;
	struct inventory *inventory;
	struct pod_watches *watches;
	struct asked asked[MAX]; /* by the reflectors, in their order */
	bool are_nodes_known, is_whole_current, is_whole_running;
	unsigned n_wholes; /* how often the watch of the cluster was begun */
	char touched[4096];
	struct arena arena;
	struct sbuf body;
} world;

/* The owner */

static uint64_t answering_ms(void *owner)
{
	(void)owner;
	return fake_now_ms;
}

static void changed(void *owner)
{
	(void)owner;
}

static bool are_nodes_known(void *owner)
{
	(void)owner;
	return world.are_nodes_known;
}

static int start_whole(void *owner, struct error *start_err)
{
	(void)owner, (void)start_err;
	world.is_whole_running = true;
	world.n_wholes++;
	return 0;
}

static void stop_whole(void *owner)
{
	(void)owner;
	assert_true(world.is_whole_running);
	world.is_whole_running = false;
	world.is_whole_current = false;
}

static bool is_whole_current(void *owner)
{
	(void)owner;
	return world.is_whole_current;
}

static void on_touch(void *owner, struct view node_name, bool initial)
{
	size_t len = strlen(world.touched);

	(void)owner, (void)initial;
	snprintf(world.touched + len, sizeof(world.touched) - len, "%.*s ", VIEW_ARG(node_name));
}

static void begin(enum pod_selection_policy policy)
{
	const struct pod_watches_config config = {
		.host = {world.loop, NULL, world.inventory, answering_ms, changed, &world},
		.policy = policy,
		.threshold_percent = 50,
		.seed = 1,
		.are_nodes_known = are_nodes_known,
		.start_whole = start_whole,
		.stop_whole = stop_whole,
		.is_whole_current = is_whole_current,
	};

	assert_int_equal(pod_watches_new(&config, &world.watches, &err), 0);
}

static int set_up(void **state)
{
	(void)state;
	fake_apiclient_reset();
	world = (struct world){.are_nodes_known = true};
	sbuf_init(&world.body, 1 << 20);
	arena_init(&world.arena, 16 * LIMIT_MIB);
	if (loop_new(&world.loop, &err) < 0 || inventory_new(fake_now_ms, &world.inventory, &err) < 0)
		return -1;
	inventory_on_touch(world.inventory, on_touch, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pod_watches_free(world.watches);
	inventory_free(world.inventory);
	loop_free(world.loop);
	arena_deinit(&world.arena);
	sbuf_deinit(&world.body);
	return 0;
}

/* Nodes */

static bool knows_pods(const char *node)
{
	return pod_scope_knows(inventory_pod_scope(world.inventory),
			       inventory_node_state_find(world.inventory, view_from(node)));
}

static void put_node(const char *name, bool has_gpu)
{
	const struct node node = {.name = view_from(name),
				  .gpu_present = has_gpu ? VIEW("true") : (struct view){0}};

	assert_int_equal(inventory_put(world.inventory, INVENTORY_NODES, &node, STORE_UPSERT, 0, &err), 0);
}

/* So many, of which the first have GPUs: n0, n1, ... */
static void put_nodes(unsigned n, unsigned n_gpu)
{
	char name[16];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		put_node(name, i < n_gpu);
	}
}

/* An object that names the node, so that it is touched and wants joins. */
static void put_object(const char *node, const char *uuid)
{
	struct arena arena;
	const struct attribution attribution = {.name = view_from(uuid),
						.uuid = view_from(uuid),
						.status.node_name = view_from(node)};

	arena_init(&arena, LIMIT_MIB);
	assert_int_equal(inventory_put_attribution(world.inventory, &attribution, &arena, STORE_UPSERT,
						   0, &err),
			 0);
	arena_deinit(&arena);
}

static bool allows(const char *node)
{
	return pod_watches_allow(world.watches, view_from(node));
}

static void advance(uint64_t ms)
{
	fake_loop_advance(world.loop, ms);
}

/* The API server */

/* Which node a request is for. */
static void read_path(struct asked *asked, const struct reflector_request *request)
{
	const char *at = strstr(request->path, "fieldSelector=spec.nodeName%3D");

	assert_non_null(at);
	assert_null(strstr(request->path, "resourceVersion=0"));
	assert_null(strstr(request->path, "sendInitialEvents"));
	snprintf(asked->node, sizeof(asked->node), "%s",
		 at + strlen("fieldSelector=spec.nodeName%3D"));
	asked->is_watch = request->is_watch;
	asked->is_under_way = true;
}

static void take_requests(void)
{
	struct reflector_request request;

	for (unsigned i = 0; i < n_fake_reflectors; i++) {
		if (!fake_reflectors[i]) {
			world.asked[i] = (struct asked){0};
			continue;
		}
		if (!world.asked[i].is_under_way &&
		    reflector_next(fake_reflectors[i], fake_now_ms, &request) == REFLECTOR_REQUEST)
			read_path(&world.asked[i], &request);
	}
}

/* The reflector of the node; MAX: there is none. */
static unsigned index_of(const char *node)
{
	take_requests();
	for (unsigned i = 0; i < n_fake_reflectors; i++)
		if (fake_reflectors[i] && strcmp(world.asked[i].node, node) == 0)
			return i;
	return MAX;
}

static bool is_watched(const char *node)
{
	return index_of(node) != MAX;
}

static void answer(unsigned i, int status, bool is_end)
{
	assert_true(i < MAX && world.asked[i].is_under_way);
	reflector_answered(fake_reflectors[i], status, 0, TYPE, fake_now_ms);
	assert_int_equal(reflector_feed(fake_reflectors[i], sbuf_view(&world.body), fake_now_ms, &err),
			 0);
	sbuf_clear(&world.body);
	if (!is_end)
		return;
	world.asked[i].is_under_way = false;
	reflector_ended(fake_reflectors[i], NULL, fake_now_ms);
}

static void list_empty(const char *node, const char *version)
{
	const struct kube_bytes_list list = {.version = version};

	kube_bytes_list(&world.body, &pods, &list);
	assert_false(world.asked[index_of(node)].is_watch);
	answer(index_of(node), 200, true);
}

static void open_watch(const char *node)
{
	assert_true(world.asked[index_of(node)].is_watch);
	answer(index_of(node), 200, false);
}

static void end_watch(const char *node)
{
	unsigned i = index_of(node);

	world.asked[i].is_under_way = false;
	reflector_ended(fake_reflectors[i], NULL, fake_now_ms);
}

/* The list and the watch of a node that has no pods, which has caught up. */
static void read_node(const char *node)
{
	list_empty(node, "100");
	open_watch(node);
	advance(REFLECTOR_CATCH_UP_MS);
}

static void cut_off(const char *node)
{
	unsigned i = index_of(node);
	struct error error;

	error_set(&error, ERROR_RETRY, 0, "connection refused");
	world.asked[i].is_under_way = false;
	reflector_ended(fake_reflectors[i], &error, fake_now_ms);
}

static void tell_pod(const char *watched, const char *type, const char *name, const char *node,
		     const char *version)
{
	const struct kube_bytes_object object = {"s", name, name, version, NULL, false};
	struct sbuf message, spec, envelope;

	sbuf_init(&message, 4096);
	sbuf_init(&spec, 4096);
	sbuf_init(&envelope, 4096);
	kube_bytes_object(&message, &pods, &object);
	kube_bytes_field(&spec, 10, view_from(node));
	kube_bytes_field(&message, 2, sbuf_view(&spec));
	kube_bytes_envelope(&envelope, "v1", "Pod", sbuf_view(&message));
	kube_bytes_event_of(&world.body, RESOURCE_PROTOBUF, type, sbuf_view(&envelope));
	assert_int_equal(reflector_feed(fake_reflectors[index_of(watched)], sbuf_view(&world.body),
					fake_now_ms, &err),
			 0);
	sbuf_clear(&world.body);
	sbuf_deinit(&message);
	sbuf_deinit(&spec);
	sbuf_deinit(&envelope);
}

/* The watch of the whole cluster */

static void put_whole(const char *name, const char *node, uint64_t version)
{
	const struct pod_fields fields = {.namespace = VIEW("s"),
					  .name = view_from(name),
					  .uid = view_from(name),
					  .node = view_from(node),
					  .state.wants_gpu = true};

	assert_int_equal(inventory_put_pod(world.inventory, (struct view){0}, &fields, STORE_LISTED, version,
					   fake_now_ms, &err),
			 0);
}

static void list_whole(uint64_t version, const char *name, const char *node)
{
	inventory_begin_replace(world.inventory, INVENTORY_PODS);
	if (name)
		put_whole(name, node, version);
	inventory_end_list(world.inventory, INVENTORY_PODS, version, fake_now_ms);
	world.is_whole_current = true;
}

static struct join_input gather(const char *node)
{
	const struct inventory_parts parts = inventory_parts(world.inventory);
	struct join_input input;

	arena_reset(&world.arena);
	assert_int_equal(gather_node(&parts, view_from(node), fake_now_ms, &world.arena, &input, &err),
			 0);
	return input;
}

/* The promises */

TEST(where_the_operator_wants_the_cluster_that_begins_at_once)
{
	world.are_nodes_known = false;
	begin(POD_SELECTION_ALWAYS_CLUSTER);
	assert_true(world.is_whole_running);
	assert_true(allows("anything"));
	advance(60000);
	assert_int_equal(n_fake_reflectors, 0);
}

TEST(nothing_begins_before_the_nodes_are_known)
{
	world.are_nodes_known = false;
	put_nodes(200, 10);
	begin(POD_SELECTION_AUTO);
	advance(60000);
	assert_false(world.is_whole_running);
	assert_int_equal(n_fake_reflectors, 0);
	world.are_nodes_known = true;
	advance(1000);
	assert_int_equal(n_fake_reflectors, 10);
	assert_false(world.is_whole_running);
}

TEST(a_small_cluster_is_read_whole)
{
	put_nodes(99, 3);
	begin(POD_SELECTION_AUTO);
	advance(1000);
	assert_true(world.is_whole_running);
	assert_int_equal(n_fake_reflectors, 0);
	list_whole(50, "p", "n5");
	assert_true(allows("n1"));
	assert_false(pod_watches_are_by_node(world.watches));
}

TEST(each_node_that_shows_a_gpu_has_a_watch_and_no_other)
{
	put_nodes(3, 2);
	put_object("named-by-an-object", "gpu-1");
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	assert_true(is_watched("n0"));
	assert_true(is_watched("n1"));
	assert_true(is_watched("named-by-an-object"));
	assert_false(is_watched("n2"));
	assert_int_equal(pod_watches_state(world.watches).n_watches, 3);
}

TEST(what_cannot_be_a_nodes_name_is_not_asked_for_and_has_no_pods)
{
	put_object("a,metadata.name=b", "gpu-1");
	put_object("A", "gpu-2");
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(5000);
	assert_int_equal(n_fake_reflectors, 0);
	assert_true(allows("a,metadata.name=b"));
	assert_true(allows("A"));
}

TEST(a_node_is_read_before_anything_is_said_of_it)
{
	put_nodes(1, 1);
	put_object("n0", "gpu-1");
	begin(POD_SELECTION_ALWAYS_NODE);
	assert_false(allows("n0"));
	advance(0);
	list_empty("n0", "100");
	assert_true(knows_pods("n0"));
	assert_false(allows("n0")); /* its watch is not open */
	open_watch("n0");
	assert_false(allows("n0")); /* it has not caught up */
	world.touched[0] = '\0';
	advance(REFLECTOR_CATCH_UP_MS);
	assert_true(allows("n0"));
	assert_non_null(strstr(world.touched, "n0 "));
}

TEST(a_node_that_a_join_asks_for_is_read_without_a_sign)
{
	put_nodes(1, 1);
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	assert_false(allows("other"));
	advance(0);
	assert_true(is_watched("other"));
	read_node("other");
	assert_true(allows("other"));
}

TEST(pods_count_as_read_when_those_of_all_nodes_are_here)
{
	put_nodes(2, 2);
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	list_empty("n0", "100");
	advance(1000);
	assert_false(inventory_is_synced(world.inventory, INVENTORY_PODS));
	list_empty("n1", "101");
	advance(0);
	assert_true(inventory_is_synced(world.inventory, INVENTORY_PODS));
}

TEST(one_node_that_cannot_be_read_holds_up_the_others_for_ten_seconds)
{
	put_nodes(2, 2);
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	cut_off("n1");
	advance(9000);
	assert_false(inventory_is_synced(world.inventory, INVENTORY_PODS));
	advance(2000);
	assert_true(inventory_is_synced(world.inventory, INVENTORY_PODS));
	assert_true(allows("n0"));
	assert_false(allows("n1"));
	assert_non_null(strstr(pod_watches_state(world.watches).trouble, "of 1 nodes, as n1: "));
}

TEST(where_no_node_has_a_gpu_pods_count_as_read)
{
	put_nodes(2, 0);
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	assert_true(inventory_is_synced(world.inventory, INVENTORY_PODS));
	assert_false(world.is_whole_running);
}

TEST(a_watch_that_is_away_makes_its_own_node_old_and_no_other)
{
	put_nodes(2, 2);
	put_object("n0", "gpu-1");
	put_object("n1", "gpu-2");
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	read_node("n1");
	advance(20000);
	end_watch("n0");
	assert_false(allows("n0"));
	assert_true(allows("n1"));
	cut_off("n0");
	advance(WATCHES_WAIT_MS - 1);
	assert_int_equal(gather("n0").pods_age, INVENTORY_CURRENT);
	assert_false(allows("n0"));
	advance(1);
	assert_int_equal(gather("n0").pods_age, INVENTORY_STALE);
	assert_int_equal(gather("n1").pods_age, INVENTORY_CURRENT);
	assert_true(allows("n0"));
	assert_int_equal(pod_watches_state(world.watches).n_given_up, 1);
	advance(30000);
	open_watch("n0");
	advance(WATCHES_STEADY_MS);
	assert_int_equal(gather("n0").pods_age, INVENTORY_CURRENT);
	assert_true(allows("n0"));
}

TEST(a_watch_that_begins_anew_makes_no_node_old)
{
	put_nodes(1, 1);
	put_object("n0", "gpu-1");
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	for (unsigned i = 0; i < 5; i++) {
		char version[16];

		advance(400000);
		snprintf(version, sizeof(version), "%u", 200 + i);
		tell_pod("n0", "MODIFIED", "p", "n0", version); /* the watch is alive */
		world.touched[0] = '\0';
		end_watch("n0");
		assert_false(allows("n0"));
		open_watch("n0");
		advance(REFLECTOR_CATCH_UP_MS);
		assert_true(allows("n0"));
		assert_string_equal(world.touched, "n0 "); /* for it was asked for */
	}
}

TEST(pods_come_and_go_by_the_watch_of_their_node)
{
	put_nodes(1, 1);
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	tell_pod("n0", "ADDED", "p", "n0", "101");
	assert_int_equal(gather("n0").n_pods, 1);
	tell_pod("n0", "ADDED", "q", "another-node", "102");
	assert_int_equal(inventory_count(world.inventory, INVENTORY_PODS), 1);
	assert_int_equal(pod_watches_state(world.watches).counters.objects_refused, 1);
	tell_pod("n0", "DELETED", "p", "n0", "103");
	assert_int_equal(gather("n0").n_pods, 0);
}

TEST(a_node_that_has_lost_its_signs_for_long_is_not_looked_at_any_more)
{
	put_nodes(2, 2);
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	read_node("n1");
	tell_pod("n1", "ADDED", "p", "n1", "101");
	put_node("n1", false);
	advance(POD_SELECTION_KEEP_MS - 1000);
	assert_true(is_watched("n1"));
	assert_int_equal(inventory_count(world.inventory, INVENTORY_PODS), 1);
	advance(3000);
	assert_false(is_watched("n1"));
	assert_int_equal(inventory_count(world.inventory, INVENTORY_PODS), 0);
	assert_false(knows_pods("n1"));
	assert_int_equal(inventory_node_state_find(world.inventory, VIEW("n1"))->n_ended, 0);
}

/* A cluster of 100 nodes that is read whole, with a pod on n0 and one on n60. */
static void begin_whole(unsigned n_gpu)
{
	put_nodes(100, n_gpu);
	begin(POD_SELECTION_AUTO);
	advance(0);
	assert_true(world.is_whole_running);
	inventory_begin_replace(world.inventory, INVENTORY_PODS);
	put_whole("p", "n0", 50);
	put_whole("q", "n60", 51);
	inventory_end_list(world.inventory, INVENTORY_PODS, 60, fake_now_ms);
	world.is_whole_current = true;
}

static void read_all(unsigned n)
{
	char name[16];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		list_empty(name, i == 0 ? "49" : "100"); /* so that the pod of n0 is newer than it */
		open_watch(name);
	}
	advance(REFLECTOR_CATCH_UP_MS);
}

TEST(the_cluster_is_read_until_each_node_is)
{
	begin_whole(60);
	for (unsigned i = 20; i < 60; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		put_node(name, false);
	}
	advance(POD_SELECTION_KEEP_MS + POD_SELECTION_SETTLE_MS + 2000);
	assert_true(world.is_whole_running);
	assert_int_equal(pod_watches_state(world.watches).n_watches, 20);
	read_all(19);
	advance(1000);
	assert_true(world.is_whole_running);
	assert_true(allows("n19"));
	list_empty("n19", "100");
	open_watch("n19");
	advance(1000);
	assert_false(world.is_whole_running);
	/* The pod that the node's list, which is older, did not have is there; the other is not looked at. */
	assert_int_equal(gather("n0").n_pods, 1);
	assert_int_equal(gather("n60").n_pods, 0);
	assert_int_equal(inventory_node_state_find(world.inventory, VIEW("n60"))->n_ended, 0);
	assert_true(pod_watches_are_by_node(world.watches));
	assert_true(inventory_is_synced(world.inventory, INVENTORY_PODS));
}

TEST(nodes_are_read_until_the_cluster_is)
{
	put_nodes(1, 1);
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	tell_pod("n0", "ADDED", "p", "n0", "101");
	fake_apiclient_is_http1 = true;
	advance(1000);
	assert_true(world.is_whole_running);
	assert_true(is_watched("n0"));
	assert_true(allows("n0"));
	list_whole(90, NULL, NULL); /* older than the pod */
	world.is_whole_current = false;
	advance(1000);
	assert_true(is_watched("n0"));
	world.is_whole_current = true;
	advance(1000);
	assert_false(is_watched("n0"));
	assert_int_equal(gather("n0").n_pods, 1);
	assert_int_equal(inventory_node_state_find(world.inventory, VIEW("n0"))->n_ended, 0);
	assert_false(pod_watches_are_by_node(world.watches));
	assert_int_equal(world.n_wholes, 1);
}

/* Reads n0 by its own watch, then the cluster, whose watch is away for long, then n0 again. */
static void read_again_by_node(void)
{
	put_nodes(1, 1);
	put_object("n0", "gpu-1");
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	fake_apiclient_is_http1 = true;
	advance(1000);
	list_whole(110, NULL, NULL);
	advance(1000);
	assert_false(is_watched("n0"));
	world.is_whole_current = false;
	inventory_set_age(world.inventory, INVENTORY_PODS, INVENTORY_STALE);
	fake_apiclient_is_http1 = false;
	advance(POD_SELECTION_SETTLE_MS + 1000);
	assert_true(is_watched("n0"));
}

TEST(what_a_node_told_in_an_earlier_form_is_not_current)
{
	read_again_by_node();
	assert_int_equal(gather("n0").pods_age, INVENTORY_STALE);
	assert_true(allows("n0")); /* to say so */
}

TEST(a_node_whose_watch_is_not_open_is_no_newer_than_the_cluster)
{
	read_again_by_node();
	list_empty("n0", "120");
	assert_int_equal(gather("n0").pods_age, INVENTORY_STALE);
	open_watch("n0");
	world.touched[0] = '\0';
	advance(WATCHES_STEADY_MS);
	assert_int_equal(gather("n0").pods_age, INVENTORY_CURRENT);
	assert_non_null(strstr(world.touched, "n0 "));
}

TEST(a_node_waits_for_its_own_watch_while_that_of_the_cluster_is_away)
{
	put_nodes(2, 2);
	put_object("n0", "gpu-1");
	begin(POD_SELECTION_ALWAYS_NODE);
	advance(0);
	read_node("n0");
	fake_apiclient_is_http1 = true; /* the change-over does not end: */
	advance(1000);
	list_whole(110, NULL, NULL);
	world.is_whole_current = false;
	inventory_set_age(world.inventory, INVENTORY_PODS, INVENTORY_STALE);
	advance(1000);
	assert_true(allows("n0"));
	end_watch("n0");
	assert_int_equal(gather("n0").pods_age, INVENTORY_CURRENT);
	assert_false(allows("n0"));
}

TEST(a_server_without_http_2_is_read_whole_from_the_beginning)
{
	put_nodes(200, 10);
	fake_apiclient_is_http1 = true;
	begin(POD_SELECTION_AUTO);
	advance(1000);
	assert_true(world.is_whole_running);
	assert_int_equal(n_fake_reflectors, 0);
}

TEST(a_node_whose_list_is_under_way_does_not_end_the_watch_of_the_cluster)
{
	begin_whole(60);
	for (unsigned i = 1; i < 60; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		put_node(name, false);
	}
	advance(POD_SELECTION_KEEP_MS + POD_SELECTION_SETTLE_MS + 2000);
	list_empty("n0", "100");
	advance(60000);
	assert_true(world.is_whole_running); /* its watch was never open */
	open_watch("n0");
	advance(WATCHES_STEADY_MS + 1000); /* it had been given up */
	assert_false(world.is_whole_running);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_set_up(where_the_operator_wants_the_cluster_that_begins_at_once),
	cmocka_unit_test_set_up(nothing_begins_before_the_nodes_are_known),
	cmocka_unit_test_set_up(a_small_cluster_is_read_whole),
	cmocka_unit_test_set_up(each_node_that_shows_a_gpu_has_a_watch_and_no_other),
	cmocka_unit_test_set_up(what_cannot_be_a_nodes_name_is_not_asked_for_and_has_no_pods),
	cmocka_unit_test_set_up(a_node_is_read_before_anything_is_said_of_it),
	cmocka_unit_test_set_up(a_node_that_a_join_asks_for_is_read_without_a_sign),
	cmocka_unit_test_set_up(pods_count_as_read_when_those_of_all_nodes_are_here),
	cmocka_unit_test_set_up(one_node_that_cannot_be_read_holds_up_the_others_for_ten_seconds),
	cmocka_unit_test_set_up(where_no_node_has_a_gpu_pods_count_as_read),
	cmocka_unit_test_set_up(a_watch_that_is_away_makes_its_own_node_old_and_no_other),
	cmocka_unit_test_set_up(a_watch_that_begins_anew_makes_no_node_old),
	cmocka_unit_test_set_up(pods_come_and_go_by_the_watch_of_their_node),
	cmocka_unit_test_set_up(a_node_that_has_lost_its_signs_for_long_is_not_looked_at_any_more),
	cmocka_unit_test_set_up(the_cluster_is_read_until_each_node_is),
	cmocka_unit_test_set_up(nodes_are_read_until_the_cluster_is),
	cmocka_unit_test_set_up(what_a_node_told_in_an_earlier_form_is_not_current),
	cmocka_unit_test_set_up(a_node_whose_watch_is_not_open_is_no_newer_than_the_cluster),
	cmocka_unit_test_set_up(a_node_waits_for_its_own_watch_while_that_of_the_cluster_is_away),
	cmocka_unit_test_set_up(a_server_without_http_2_is_read_whole_from_the_beginning),
	cmocka_unit_test_set_up(a_node_whose_list_is_under_way_does_not_end_the_watch_of_the_cluster),
};
TEST_MAIN(tests)
