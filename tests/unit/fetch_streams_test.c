/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many answers on one connection, as the watches of nodes have them: what the server has sent is handed on
 * without waiting for more. libcurl 7.88 leaves bytes in its buffers where a stream gets more at a time
 * than its buffer holds.
 */

#include "lib/test_main.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/prng.h"
#include "io/fetch.h"
#include "lib/h2_server.h"

enum { STREAMS = 8, ROUNDS = 300, MOST_AT_ONCE = 40000, PATIENCE_MS = 2000 };

static struct error err;
static const char letters[MOST_AT_ONCE];

struct world;

/* A request, the server's side of it, and how many bytes of its answer have been sent and come. */
struct stream {
	struct world *world;
	struct fetch *fetch;
	struct h2_stream *answer;
	size_t sent, come;
	struct stream *ends; /* which one, maybe itself, it ends at the next bytes that come */
};

struct world {
	struct loop *loop;
	struct loop_timer *patience;
	struct fetcher *fetcher;
	struct h2_server *server;
	struct stream streams[STREAMS];
	unsigned n_wanted, n_asked; /* requests, and those that the server has got */
	size_t n_at_once; /* bytes that come with the head of an answer, and some on each other stream */
	bool has_waited;
};

static bool is_all_there(const struct world *world)
{
	for (int i = 0; i < STREAMS; i++) {
		if (world->streams[i].come != world->streams[i].sent)
			return false;
	}
	return world->n_asked == world->n_wanted;
}

static void stop_if_all_there(struct world *world)
{
	if (is_all_there(world))
		loop_stop(world->loop);
}

static void push(struct stream *stream, size_t n)
{
	stream->sent += n;
	h2_stream_push(stream->answer, (struct view){letters, n});
}

static void asked(void *owner, struct h2_stream *answer, const char *path)
{
	struct world *world = owner;
	struct stream *stream = &world->streams[strtoul(path + 1, NULL, 10)];
	stream->answer = answer;
	h2_stream_head(answer, 200, "application/json", 0);
	world->n_asked++;
	for (int i = 0; i < STREAMS && world->n_at_once > 0; i++)
		push(&world->streams[i], &world->streams[i] == stream ? world->n_at_once : 100);
	stop_if_all_there(world);
}

static void forget(void *owner, struct h2_stream *answer)
{
	(void)owner, (void)answer;
}

static int saw_body(void *owner, struct view bytes, struct error *body_err)
{
	struct stream *stream = owner;
	(void)body_err;
	stream->come += bytes.len;
	if (stream->ends) {
		fetch_cancel(TAKE(stream->ends->fetch));
		stream->ends->come = stream->ends->sent;
		stream->ends = NULL;
	}
	stop_if_all_there(stream->world);
	return 0;
}

static void saw_done(void *owner, const struct fetch_result *result)
{
	(void)owner, (void)result;
	fail_msg("no answer ends");
}

static void lose_patience(void *owner)
{
	struct world *world = owner;
	world->has_waited = true;
	loop_stop(world->loop);
}

/* Until all that was sent has come. */
static void run(struct world *world)
{
	loop_timer_set(world->patience, PATIENCE_MS);
	assert_int_equal(loop_run(world->loop, &err), 0);
	for (int i = 0; i < STREAMS; i++)
		assert_int_equal(world->streams[i].come, world->streams[i].sent);
	assert_false(world->has_waited);
}

static void ask(struct world *world, int i)
{
	const struct fetch_handler handler = {
		.owner = &world->streams[i], .body = saw_body, .done = saw_done};
	char url[96];
	snprintf(url, sizeof(url), "%s/%d", h2_server_url(world->server), i);
	const struct fetch_request request = {
		.method = "GET", .url = url, .protocol = FETCH_HTTP2, .ca_pem = h2_server_ca(world->server)};
	world->streams[i] = (struct stream){.world = world};
	world->n_wanted++;
	assert_int_equal(fetch_start(world->fetcher, &request, &handler, &world->streams[i].fetch, &err), 0);
}

static void set_up(struct world *world)
{
	const struct h2_server_config config = {
		.max_streams = STREAMS, .owner = world, .asked = asked, .gone = forget};
	*world = (struct world){0};
	assert_int_equal(loop_new(&world->loop, &err), 0);
	assert_int_equal(loop_timer_new(world->loop, lose_patience, world, &world->patience, &err), 0);
	assert_int_equal(fetcher_new(world->loop, &world->fetcher, &err), 0);
	world->server = h2_server_new(world->loop, &config);
	for (int i = 0; i < STREAMS; i++)
		ask(world, i);
	run(world);
}

static void tear_down(struct world *world)
{
	for (int i = 0; i < STREAMS; i++)
		fetch_cancel(world->streams[i].fetch);
	fetcher_free(world->fetcher);
	h2_server_free(world->server);
	loop_timer_free(world->patience);
	loop_free(world->loop);
}

TEST(what_was_sent_on_any_streams_of_a_connection_comes_before_anything_else_is_sent)
{
	struct world world;
	struct prng prng;
	prng_init(&prng, 1);
	set_up(&world);
	for (int round = 0; round < ROUNDS; round++) {
		for (uint64_t n = prng_between(&prng, 1, 4); n > 0; n--)
			push(&world.streams[prng_between(&prng, 0, STREAMS - 1)],
			     prng_between(&prng, 1, round % 2 ? MOST_AT_ONCE : 3000));
		run(&world);
	}
	assert_int_equal(h2_server_connections(world.server), 1);
	tear_down(&world);
}

TEST(a_request_that_ends_while_its_bytes_come_holds_back_no_other)
{
	struct world world;
	struct prng prng;
	prng_init(&prng, 2);
	set_up(&world);
	for (int round = 0; round < ROUNDS; round++) {
		const int ending = (int)prng_between(&prng, 0, STREAMS - 1);
		const uint64_t most = round % 2 ? MOST_AT_ONCE : 1000;
		const size_t n = round % 2 ? MOST_AT_ONCE : prng_between(&prng, 16000, 24000);
		world.streams[prng_between(&prng, 0, STREAMS - 1)].ends = &world.streams[ending];
		for (int i = 0; i < STREAMS; i++)
			push(&world.streams[i], i == ending ? n : prng_between(&prng, 1, most));
		run(&world);
		world.n_at_once = prng_between(&prng, 16000, 24000);
		ask(&world, ending);
		run(&world);
	}
	tear_down(&world);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_was_sent_on_any_streams_of_a_connection_comes_before_anything_else_is_sent),
	cmocka_unit_test(a_request_that_ends_while_its_bytes_come_holds_back_no_other),
};
TEST_MAIN(tests)
