/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "kube/apiclient.h"
#include "kube/apiclient_shared.h"
#include "lib/h2_server.h"
#include "lib/kube_bytes.h"

#define MANY 90u
#define MAX (APICLIENT_SHARED_MAX + 1)

static struct error err;

struct node {
	struct world *world;
	char selector[40];
	struct resource resource;
	struct reflector *reflector;
	struct h2_stream *watch; /* at the server; NULL: none is open */
	unsigned n_lists, n_watches, n_objects, n_synced;
	bool is_followed;
};

struct world {
	struct loop *loop;
	struct h2_server *server;
	struct apiclient *client;
	struct node *nodes;
	unsigned n_nodes;
	struct h2_stream *held[MAX]; /* lists that are not answered yet */
	unsigned n_held, n_refused, n_told;
	bool holds_lists;
	unsigned n_throttles; /* so many lists are still answered with 429 */
	bool (*is_done)(struct world *world);
};

static struct world world;

static void look(struct world *w)
{
	if (w->is_done && w->is_done(w))
		loop_stop(w->loop);
}

/* Runs the loop until that is so. A test that never gets there runs into the time-out of ctest. */
static void run_until(bool (*is_done)(struct world *w))
{
	world.is_done = is_done;
	if (!is_done(&world))
		assert_int_equal(loop_run(world.loop, &err), 0);
	world.is_done = NULL;
}

/* What the reflectors tell. */

static void saw_begin(void *owner)
{
	(void)owner;
}

static void saw_end(void *owner)
{
	struct node *node = owner;

	node->n_synced++;
	look(node->world);
}

static int saw_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		      struct view document, struct error *object_err)
{
	struct node *node = owner;

	(void)change, (void)meta, (void)document, (void)object_err;
	node->n_objects++;
	look(node->world);
	return 0;
}

static void saw_followed(void *owner, bool is_followed)
{
	struct node *node = owner;

	node->is_followed = is_followed;
	look(node->world);
}

/* What the server is asked. */

static struct node *node_of(const char *path)
{
	const char *at = strstr(path, "nodeName%3Dn");

	assert_non_null(at);
	return &world.nodes[strtoul(at + strlen("nodeName%3Dn"), NULL, 10)];
}

static void answer_list(struct h2_stream *stream)
{
	static const struct kube_bytes_object pod = {"a", "b", "c", "5", NULL, false};
	static const struct kube_bytes_list list = {.version = "7", .objects = &pod, .n_objects = 1};
	struct sbuf body;

	sbuf_init(&body, 1 << 16);
	kube_bytes_list(&body, &world.nodes[0].resource, &list);
	h2_stream_head(stream, 200, "application/vnd.kubernetes.protobuf", 0);
	h2_stream_push(stream, sbuf_view(&body));
	h2_stream_end(stream);
	sbuf_deinit(&body);
}

static void refuse_list(struct h2_stream *stream)
{
	world.n_throttles--;
	world.n_refused++;
	h2_stream_head(stream, 429, "text/plain", 1);
	h2_stream_end(stream);
}

static void open_watch(struct node *node, struct h2_stream *stream)
{
	assert_null(node->watch);
	node->n_watches++;
	node->watch = stream;
	h2_stream_head(stream, 200, "application/vnd.kubernetes.protobuf;stream=watch", 0);
}

static void asked(void *owner, struct h2_stream *stream, const char *path)
{
	struct node *node = node_of(path);

	(void)owner;
	if (strstr(path, "watch=")) {
		assert_non_null(strstr(path, "resourceVersion=7"));
		assert_null(strstr(path, "sendInitialEvents"));
		open_watch(node, stream);
	} else {
		assert_non_null(strstr(path, "?resourceVersion=&")); /* the newest */
		node->n_lists++;
		if (world.holds_lists)
			world.held[world.n_held++] = stream;
		else if (world.n_throttles > 0)
			refuse_list(stream);
		else
			answer_list(stream);
	}
	look(&world);
}

static void gone(void *owner, struct h2_stream *stream)
{
	(void)owner;
	for (unsigned i = 0; i < world.n_nodes; i++)
		if (world.nodes[i].watch == stream)
			world.nodes[i].watch = NULL;
	for (unsigned i = 0; i < world.n_held; i++)
		if (world.held[i] == stream)
			world.held[i] = world.held[--world.n_held];
	look(&world);
}

static void on_state(void *owner)
{
	(void)owner;
	world.n_told++;
	look(&world);
}

static void make_client(void)
{
	struct kubeconfig config = {0};

	arena_init(&config.arena, 1 << 16);
	assert_true(arena_copy(&config.arena, view_from(h2_server_url(world.server)), &config.server));
	assert_true(arena_copy(&config.arena, h2_server_ca(world.server), &config.ca_pem));
	config.token = VIEW("fixed");
	assert_int_equal(apiclient_new(world.loop, &config, "tester/1", &world.client, &err), 0);
	apiclient_on_state(world.client, on_state, NULL);
}

static void begin_world(unsigned max_streams, bool is_http1_only)
{
	const struct h2_server_config config = {.max_streams = max_streams,
						.is_http1_only = is_http1_only,
						.asked = asked,
						.gone = gone};

	world = (struct world){.nodes = calloc(MAX, sizeof(*world.nodes))};
	assert_non_null(world.nodes);
	assert_int_equal(loop_new(&world.loop, &err), 0);
	world.server = h2_server_new(world.loop, &config);
	make_client();
}

static void end_world(void)
{
	apiclient_free(world.client);
	h2_server_free(world.server);
	for (unsigned i = 0; i < world.n_nodes; i++)
		reflector_free(world.nodes[i].reflector);
	loop_free(world.loop);
	free(world.nodes);
}

static int run_one(void)
{
	struct node *node = &world.nodes[world.n_nodes];
	const struct reflector_config config = {.resource = &node->resource,
						.initial = REFLECTOR_LIST,
						.absent_retry_ms = 30000,
						.seed = world.n_nodes + 1};
	const struct reflector_sink sink = {.owner = node,
					    .replace_begin = saw_begin,
					    .replace_end = saw_end,
					    .object = saw_object,
					    .followed = saw_followed};

	node->world = &world;
	snprintf(node->selector, sizeof(node->selector), "spec.nodeName=n%u", world.n_nodes);
	node->resource = (struct resource){"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, node->selector};
	assert_int_equal(reflector_new(&config, &sink, &node->reflector, &err), 0);
	world.n_nodes++;
	return apiclient_run_shared(world.client, node->reflector, &err);
}

static void run_many(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(run_one(), 0);
}

static bool are_all_followed(struct world *w)
{
	for (unsigned i = 0; i < w->n_nodes; i++)
		if (!w->nodes[i].is_followed || !w->nodes[i].watch)
			return false;
	return true;
}

/* The promises */

TEST(many_watches_are_streams_of_few_connections)
{
	begin_world(250, false);
	run_many(MANY);
	run_until(are_all_followed);
	assert_true(h2_server_peak(world.server) <= APICLIENT_SHARED_STREAMS);
	/* And no more connections than that leads to, but for what begins while one is made. */
	assert_in_range(h2_server_connections(world.server), MANY / APICLIENT_SHARED_STREAMS + 1,
			MANY / APICLIENT_SHARED_STREAMS + APICLIENT_SHARED_AT_ONCE);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(world.nodes[i].n_lists, 1);
		assert_int_equal(world.nodes[i].n_watches, 1);
		assert_int_equal(world.nodes[i].n_objects, 1);
	}
	end_world();
}

TEST(thousands_of_watches_get_more_streams_and_not_more_connections)
{
	begin_world(250, false);
	run_many(20 * APICLIENT_SHARED_CONNECTIONS);
	run_until(are_all_followed);
	assert_in_range(h2_server_peak(world.server), APICLIENT_SHARED_STREAMS + 1, 20);
	assert_in_range(h2_server_connections(world.server), APICLIENT_SHARED_CONNECTIONS,
			APICLIENT_SHARED_CONNECTIONS + APICLIENT_SHARED_AT_ONCE);
	end_world();
}

TEST(with_few_descriptors_few_connections_have_all_streams)
{
	begin_world(250, false);
	apiclient_spread(world.client, 2);
	run_many(MANY);
	run_until(are_all_followed);
	assert_in_range(h2_server_peak(world.server), APICLIENT_SHARED_STREAMS + 1, MANY / 2);
	/* What begins while one is made may make some more. */
	assert_in_range(h2_server_connections(world.server), 2, 2 + APICLIENT_SHARED_AT_ONCE / 2);
	end_world();
}

static bool has_event(struct world *w)
{
	return w->nodes[3].n_objects == 2;
}

TEST(an_event_on_a_stream_is_its_reflectors)
{
	static const struct kube_bytes_object pod = {"a", "b", "c", "9", NULL, false};
	struct sbuf event;

	begin_world(250, false);
	run_many(5);
	run_until(are_all_followed);
	sbuf_init(&event, 1 << 16);
	kube_bytes_event(&event, &world.nodes[3].resource, "MODIFIED", &pod);
	h2_stream_push(world.nodes[3].watch, sbuf_view(&event));
	run_until(has_event);
	assert_int_equal(world.nodes[2].n_objects, 1);
	sbuf_deinit(&event);
	end_world();
}

TEST(no_connection_has_more_streams_than_the_server_allows)
{
	begin_world(10, false);
	run_many(35);
	run_until(are_all_followed);
	assert_true(h2_server_peak(world.server) <= 10);
	assert_true(h2_server_connections(world.server) >= 4);
	/* And no more connections than that leads to, but for what begins while one is made. */
	assert_true(h2_server_connections(world.server) <= 8);
	end_world();
}

static unsigned count_lists(const struct world *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_nodes; i++)
		n += w->nodes[i].n_lists;
	return n;
}

static unsigned count_watches(const struct world *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_nodes; i++)
		n += w->nodes[i].n_watches;
	return n;
}

static bool are_sixteen_held(struct world *w)
{
	return w->n_held == APICLIENT_SHARED_AT_ONCE;
}

static bool is_one_more_held(struct world *w)
{
	return are_sixteen_held(w) && count_watches(w) == 1;
}

TEST(sixteen_lists_are_under_way_at_a_time)
{
	begin_world(250, false);
	world.holds_lists = true;
	run_many(40);
	run_until(are_sixteen_held);
	assert_int_equal(count_lists(&world), APICLIENT_SHARED_AT_ONCE);
	/* Its watch begins with the same pass, and only then the next list does. */
	answer_list(world.held[0]);
	world.held[0] = world.held[--world.n_held];
	run_until(is_one_more_held);
	assert_int_equal(count_lists(&world), APICLIENT_SHARED_AT_ONCE + 1);
	end_world();
}

static bool is_told(struct world *w)
{
	return w->n_told > 0 && !apiclient_may_share(w->client);
}

TEST(a_server_that_speaks_http_1_only_is_told_and_asked_no_more)
{
	begin_world(250, true);
	run_many(40);
	assert_true(apiclient_may_share(world.client));
	run_until(is_told);
	assert_true(h2_server_connections(world.server) <= APICLIENT_SHARED_AT_ONCE + 1);
	end_world();
}

static bool are_told_to_go(struct world *w)
{
	return w->nodes[w->n_nodes - 1].watch != NULL && w->nodes[w->n_nodes - 1].is_followed;
}

TEST(after_goaway_streams_go_on_and_new_ones_get_another_connection)
{
	begin_world(250, false);
	run_many(5);
	run_until(are_all_followed);
	h2_server_go_away(world.server);
	run_many(5);
	run_until(are_told_to_go);
	run_until(are_all_followed);
	/* What begins at the same time as the new connection may make one of its own. */
	assert_true(h2_server_connections(world.server) >= 2);
	assert_true(h2_server_connections(world.server) <= 1 + APICLIENT_SHARED_AT_ONCE);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(world.nodes[i].n_watches, 1);
		assert_int_equal(reflector_counters(world.nodes[i].reflector).failures, 0);
	}
	end_world();
}

static bool have_watched_twice(struct world *w)
{
	for (unsigned i = 0; i < 5; i++)
		if (w->nodes[i].n_watches < 2)
			return false;
	return are_all_followed(w);
}

TEST(watches_that_end_after_goaway_begin_anew_on_another_connection)
{
	begin_world(250, false);
	run_many(5);
	run_until(are_all_followed);
	h2_server_go_away(world.server);
	for (unsigned i = 0; i < 5; i++) {
		h2_stream_end(world.nodes[i].watch);
		world.nodes[i].watch = NULL;
	}
	run_until(have_watched_twice);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(world.nodes[i].n_lists, 1);
	end_world();
}

TEST(lists_that_are_refused_for_load_come_when_the_server_said_and_others_go_on)
{
	begin_world(250, false);
	world.n_throttles = 10;
	run_many(30);
	run_until(are_all_followed);
	assert_int_equal(world.n_refused, 10);
	end_world();
}

TEST(after_a_cut_all_begin_anew_and_few_at_a_time)
{
	begin_world(250, false);
	run_many(MANY);
	run_until(are_all_followed);
	h2_server_cut(world.server);
	run_until(are_all_followed);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(world.nodes[i].n_lists, 1);
	end_world();
}

static bool is_first_gone(struct world *w)
{
	return !w->nodes[0].watch;
}

TEST(one_that_is_stopped_ends_its_stream_alone)
{
	static const struct kube_bytes_object pod = {"a", "b", "c", "9", NULL, false};
	struct sbuf event;

	begin_world(250, false);
	run_many(5);
	run_until(are_all_followed);
	sbuf_init(&event, 1 << 16);
	kube_bytes_event(&event, &world.nodes[1].resource, "MODIFIED", &pod);
	apiclient_stop(world.client, world.nodes[0].reflector);
	apiclient_stop(world.client, world.nodes[0].reflector); /* is not run any more */
	apiclient_nudge(world.client, world.nodes[0].reflector);
	/* libcurl sends the end of a stream with whatever it sends or takes next. */
	h2_stream_push(world.nodes[1].watch, sbuf_view(&event));
	run_until(is_first_gone);
	for (unsigned i = 1; i < 5; i++)
		assert_non_null(world.nodes[i].watch);
	sbuf_deinit(&event);
	end_world();
}

/* Those that were not stopped, which had asked for nothing then. */
static bool are_four_followed(struct world *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_nodes; i++)
		n += w->nodes[i].is_followed;
	return n == 4;
}

TEST(those_that_are_stopped_make_room_for_those_that_wait)
{
	begin_world(250, false);
	world.holds_lists = true;
	run_many(APICLIENT_SHARED_AT_ONCE + 4);
	run_until(are_sixteen_held);
	world.holds_lists = false;
	for (unsigned i = 0; i < world.n_nodes; i++)
		if (world.nodes[i].n_lists > 0)
			apiclient_stop(world.client, world.nodes[i].reflector);
	run_until(are_four_followed);
	end_world();
}

TEST(beyond_the_limit_one_is_refused_and_counted)
{
	begin_world(250, false);
	run_many(APICLIENT_SHARED_MAX);
	assert_int_equal(run_one(), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(apiclient_counters(world.client).shared_over, 1);
	apiclient_stop(world.client, world.nodes[17].reflector);
	assert_int_equal(apiclient_run_shared(world.client, world.nodes[17].reflector, &err), 0);
	end_world();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(many_watches_are_streams_of_few_connections),
	cmocka_unit_test(thousands_of_watches_get_more_streams_and_not_more_connections),
	cmocka_unit_test(with_few_descriptors_few_connections_have_all_streams),
	cmocka_unit_test(an_event_on_a_stream_is_its_reflectors),
	cmocka_unit_test(no_connection_has_more_streams_than_the_server_allows),
	cmocka_unit_test(sixteen_lists_are_under_way_at_a_time),
	cmocka_unit_test(a_server_that_speaks_http_1_only_is_told_and_asked_no_more),
	cmocka_unit_test(after_goaway_streams_go_on_and_new_ones_get_another_connection),
	cmocka_unit_test(watches_that_end_after_goaway_begin_anew_on_another_connection),
	cmocka_unit_test(lists_that_are_refused_for_load_come_when_the_server_said_and_others_go_on),
	cmocka_unit_test(after_a_cut_all_begin_anew_and_few_at_a_time),
	cmocka_unit_test(one_that_is_stopped_ends_its_stream_alone),
	cmocka_unit_test(those_that_are_stopped_make_room_for_those_that_wait),
	cmocka_unit_test(beyond_the_limit_one_is_refused_and_counted),
};
TEST_MAIN(tests)
