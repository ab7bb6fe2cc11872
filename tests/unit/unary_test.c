/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/unary.h"
#include "lib/fake_kubelet.h"
#include "lib/own_folder.h"
#include "lib/script_server.h"
#include "wire/grpcmsg.h"

#define SOCKET_PATH "unary_test.sock"
#define METHOD "/v1.PodResourcesLister/List"

static struct error err;

/* A call and what came of it. */
struct caller {
	struct loop *loop;
	struct fetcher *fetcher;
	struct unary *call;
	unsigned n_done;
	bool failed;
	struct error error;
	struct sbuf reply;
};

static void saw_done(void *owner, struct view reply, const struct error *error)
{
	struct caller *caller = owner;
	caller->n_done++;
	caller->failed = error != NULL;
	caller->call = NULL;
	if (error)
		caller->error = *error;
	else
		sbuf_append(&caller->reply, reply);
	loop_stop(caller->loop);
}

static void setup(struct caller *caller)
{
	*caller = (struct caller){0};
	sbuf_init(&caller->reply, 1 << 20);
	assert_int_equal(loop_new(&caller->loop, &err), 0);
	assert_int_equal(fetcher_new(caller->loop, &caller->fetcher, &err), 0);
}

static void teardown(struct caller *caller)
{
	unary_cancel(caller->call);
	fetcher_free(caller->fetcher);
	loop_free(caller->loop);
	sbuf_deinit(&caller->reply);
}

static void call(struct caller *caller, uint32_t timeout_ms)
{
	const struct unary_request request = {
		.socket = SOCKET_PATH,
		.method = METHOD,
		.max_reply = 200000,
		.timeout_ms = timeout_ms,
	};
	assert_int_equal(unary_start(caller->fetcher, &request, saw_done, caller, &caller->call,
				     &err), 0);
	assert_int_equal(loop_run(caller->loop, &err), 0);
	assert_int_equal(caller->n_done, 1);
}

/* Plays one answer to one call; what the client sent goes to received, which may be NULL. */
static void play(struct caller *caller, const struct script_answer *answer, uint32_t timeout_ms,
		 struct sbuf *received)
{
	const struct script_server_config config = {
		.unix_path = SOCKET_PATH, .http2 = true, .answers = answer, .n_answers = 1};
	struct script_server *server = script_server_new(caller->loop, &config);
	call(caller, timeout_ms);
	if (received)
		sbuf_append(received, (struct view){script_server_received(server), 256});
	script_server_free(server);
}

/* Plays bytes and keeps the connection open, as a real server does. */
static void play_bytes(struct caller *caller, struct view bytes)
{
	play(caller, &(struct script_answer){.bytes = bytes}, 5000, NULL);
}

/* Plays bytes and then closes; the SETTINGS frame comes first, so that it can be acknowledged. */
static void play_and_close(struct caller *caller, struct view bytes)
{
	const size_t settings = bytes.len > 9 ? 9 : 0;
	const struct script_answer answer = {
		.bytes = {bytes.ptr, settings},
		.later = view_from_offset(bytes, settings),
		.close = true,
	};
	play(caller, &answer, 5000, NULL);
}

static void play_answer(struct caller *caller, const struct fake_kubelet_answer *answer)
{
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 1 << 20);
	fake_kubelet_write(answer, &bytes);
	if (answer->cut)
		play_and_close(caller, sbuf_view(&bytes));
	else
		play_bytes(caller, sbuf_view(&bytes));
}

static void a_reply_over_many_frames_arrives_whole(void **state)
{
	(void)state;
	struct caller caller;
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	static char message[100000];
	memset(message, 'm', sizeof(message));
	sbuf_init(&bytes, 1 << 20);
	fake_kubelet_write_message((struct view){message, sizeof(message)}, &bytes);
	setup(&caller);
	play_bytes(&caller, sbuf_view(&bytes));
	assert_false(caller.failed);
	assert_true(view_equal(sbuf_view(&caller.reply), (struct view){message, sizeof(message)}));
	teardown(&caller);
}

static void an_empty_reply_is_a_success(void **state)
{
	(void)state;
	struct caller caller;
	setup(&caller);
	play_answer(&caller, &(struct fake_kubelet_answer){.body = VIEW("\0\0\0\0\0"),
							   .grpc_status = "0"});
	assert_false(caller.failed);
	assert_int_equal(caller.reply.len, 0);
	teardown(&caller);
}

static void broken_answers_say_what_is_wrong(void **state)
{
	(void)state;
	static const struct {
		struct fake_kubelet_answer answer;
		enum error_kind kind;
		const char *text; /* part of it */
	} rows[] = {
		{{.trailers_only = true, .grpc_status = "8", .grpc_message = "rejected by%20limit"},
		 ERROR_THROTTLED, "RESOURCE_EXHAUSTED: rejected by limit"},
		{{.trailers_only = true, .grpc_status = "12", .grpc_message = "unknown service"},
		 ERROR_REJECTED, "UNIMPLEMENTED: unknown service"},
		{{.body = VIEW_INIT("\0\0\0\0\1x"), .grpc_status = "2", .grpc_message = "late"},
		 ERROR_RETRY, "UNKNOWN: late"},
		{{.body = VIEW_INIT("\0\0\0\0\1x")}, ERROR_RETRY, "no gRPC status"},
		{{.body = VIEW_INIT("\0\0\0\0\2x"), .grpc_status = "0"}, ERROR_REJECTED, "cut"},
		{{.body = VIEW_INIT("\0\0\0"), .grpc_status = "0"}, ERROR_REJECTED, "prefix"},
		{{.body = VIEW_INIT(""), .grpc_status = "0"}, ERROR_REJECTED, "no gRPC message"},
		{{.body = VIEW_INIT("\0\0\0\0\1xx"), .grpc_status = "0"}, ERROR_REJECTED,
		 "more than one"},
		{{.body = VIEW_INIT("\1\0\0\0\1x"), .grpc_status = "0"}, ERROR_REJECTED, "flags"},
		{{.body = VIEW_INIT("<html>nothing here</html>"), .grpc_status = "0"},
		 ERROR_REJECTED, "flags"},
		{{.body = VIEW_INIT("\0\1\0\0\0"), .grpc_status = "0"}, ERROR_LIMIT, "200000"},
		{{.http_status = 415, .grpc_status = "3"}, ERROR_REJECTED, "HTTP status 415"},
		{{.content_type = "text/html", .body = VIEW_INIT("hello"), .grpc_status = "0"},
		 ERROR_REJECTED, ""},
		{{.body = VIEW_INIT("\0\0\0\0\1x"), .cut = true}, ERROR_RETRY, ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct caller caller;
		setup(&caller);
		play_answer(&caller, &rows[i].answer);
		assert_true(caller.failed);
		assert_non_null(strstr(caller.error.text, rows[i].text));
		assert_int_equal(caller.error.kind, rows[i].kind);
		assert_int_equal(caller.reply.len, 0);
		teardown(&caller);
	}
}

static void an_answer_that_is_cut_at_any_byte_fails_and_never_succeeds(void **state)
{
	(void)state;
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	sbuf_init(&bytes, 1 << 20);
	fake_kubelet_write_message(VIEW("hello"), &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		struct caller caller;
		setup(&caller);
		play_and_close(&caller, (struct view){bytes.ptr, len});
		assert_true(caller.failed);
		teardown(&caller);
	}
}

static void what_is_not_http2_fails(void **state)
{
	(void)state;
	struct caller caller;
	setup(&caller);
	play_and_close(&caller, VIEW("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
	assert_true(caller.failed);
	assert_int_equal(caller.error.kind, ERROR_RETRY);
	teardown(&caller);
}

static void a_server_that_hangs_is_given_up(void **state)
{
	(void)state;
	struct caller caller;
	setup(&caller);
	play(&caller, &(struct script_answer){.bytes = VIEW("")}, 100, NULL);
	assert_true(caller.failed);
	assert_int_equal(caller.error.kind, ERROR_RETRY);
	assert_string_equal(caller.error.text, "no answer within 100 ms");
	teardown(&caller);
}

static void a_missing_socket_fails_at_once(void **state)
{
	(void)state;
	struct caller caller;
	unlink(SOCKET_PATH);
	setup(&caller);
	call(&caller, 5000);
	assert_true(caller.failed);
	assert_int_equal(caller.error.kind, ERROR_RETRY);
	assert_string_equal(caller.error.text, "no process listens on the socket");
	teardown(&caller);
}

static void a_socket_that_may_not_be_opened_is_said(void **state)
{
	(void)state;
	const struct script_server_config config = {.unix_path = SOCKET_PATH, .http2 = true};
	const uid_t user = geteuid();
	struct caller caller;
	setup(&caller);
	struct script_server *server = script_server_new(caller.loop, &config);
	assert_int_equal(chmod(SOCKET_PATH, 0), 0);
	if (user == 0)
		assert_int_equal(seteuid(65534), 0); /* root may open any */
	call(&caller, 5000);
	if (user == 0)
		assert_int_equal(seteuid(user), 0);
	assert_true(caller.failed);
	assert_int_equal(caller.error.kind, ERROR_RETRY);
	assert_string_equal(caller.error.text, "the socket may not be opened");
	script_server_free(server);
	teardown(&caller);
}

static void the_request_is_what_a_grpc_server_demands(void **state)
{
	(void)state;
	struct caller caller;
	CLEANUP(sbuf_deinit) struct sbuf bytes;
	CLEANUP(sbuf_deinit) struct sbuf received;
	sbuf_init(&bytes, 1000);
	sbuf_init(&received, 1000);
	fake_kubelet_write_message(VIEW(""), &bytes);
	setup(&caller);
	play(&caller, &(struct script_answer){.bytes = sbuf_view(&bytes)}, 5000, &received);
	struct view before, after;
	assert_true(view_starts_with(sbuf_view(&received),
				     VIEW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")));
	/* The DATA frame with the empty message ends the stream. */
	assert_true(view_cut(sbuf_view(&received), VIEW("\0\0\5\0\1\0\0\0\1\0\0\0\0\0"), &before,
			     &after));
	teardown(&caller);
}

static void a_cancelled_call_does_not_call_back(void **state)
{
	(void)state;
	struct caller caller;
	setup(&caller);
	const struct unary_request request = {
		.socket = SOCKET_PATH, .method = METHOD, .max_reply = 1, .timeout_ms = 1000};
	assert_int_equal(unary_start(caller.fetcher, &request, saw_done, &caller, &caller.call,
				     &err), 0);
	teardown(&caller);
	assert_int_equal(caller.n_done, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_reply_over_many_frames_arrives_whole),
	cmocka_unit_test(an_empty_reply_is_a_success),
	cmocka_unit_test(broken_answers_say_what_is_wrong),
	cmocka_unit_test(an_answer_that_is_cut_at_any_byte_fails_and_never_succeeds),
	cmocka_unit_test(what_is_not_http2_fails),
	cmocka_unit_test(a_server_that_hangs_is_given_up),
	cmocka_unit_test(a_missing_socket_fails_at_once),
	cmocka_unit_test(a_socket_that_may_not_be_opened_is_said),
	cmocka_unit_test(the_request_is_what_a_grpc_server_demands),
	cmocka_unit_test(a_cancelled_call_does_not_call_back),
};
TEST_MAIN_WITH(tests, own_folder_enter, own_folder_leave)
