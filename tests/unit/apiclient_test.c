/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "kube/apiclient.h"
#include "lib/kube_bytes.h"
#include "lib/script_server.h"

static struct error err;
static const struct resource pods = {"", "v1", "pods", "Pod", RESOURCE_PROTOBUF, NULL};

struct world {
	struct loop *loop;
	struct script_server *server;
	struct apiclient *client;
	struct reflector *reflector;
	struct sbuf journal;
	const char *stop_at; /* the loop stops when the journal ends in this */
	char folder[32];
	char token_path[64];
};

static void note(struct world *world, const char *text, struct view detail)
{
	sbuf_printf(&world->journal, "%s%.*s;", text, VIEW_ARG(detail));
	if (world->stop_at && strstr(sbuf_text(&world->journal), world->stop_at))
		loop_stop(world->loop);
}

static void saw_begin(void *owner)
{
	note(owner, "[", VIEW(""));
}

static void saw_end(void *owner)
{
	note(owner, "]", VIEW(""));
}

static int saw_object(void *owner, enum reflector_change change, const struct object_meta *meta,
		      struct view document, struct error *object_err)
{
	static const char *const names[] = {"listed ", "upsert ", "delete "};
	(void)document;
	(void)object_err;
	note(owner, names[change], meta->name);
	return 0;
}

static void saw_answer(void *owner, int status, struct view body, const struct error *error)
{
	struct world *world = owner;
	sbuf_printf(&world->journal, "%d %.*s %s%s", status, body.len > 40 ? 40 : (int)body.len,
		    body.ptr ? body.ptr : "", error ? error_kind_name(error->kind) : "good",
		    error ? ": " : "");
	note(world, error ? error->text : "", VIEW(""));
	loop_stop(world->loop);
}

static void write_token(struct world *world, const char *token)
{
	FILE *file = fopen(world->token_path, "w");
	assert_non_null(file);
	fputs(token, file);
	fclose(file);
}

static struct kubeconfig config_of(const char *server, const char *token_path)
{
	struct kubeconfig config = {0};
	arena_init(&config.arena, 4096);
	assert_true(arena_copy(&config.arena, view_from(server), &config.server));
	if (token_path)
		assert_true(arena_copy(&config.arena, view_from(token_path), &config.token_file));
	else
		config.token = VIEW("fixed");
	return config;
}

static void begin_world(struct world *world, const struct script_answer *answers, size_t n_answers,
			bool token_from_file)
{
	const struct script_server_config script = {NULL, false, answers, n_answers};
	*world = (struct world){0};
	sbuf_init(&world->journal, 1 << 20);
	strcpy(world->folder, "/tmp/apiclient_test.XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	snprintf(world->token_path, sizeof(world->token_path), "%s/token", world->folder);
	write_token(world, "one\n");
	assert_int_equal(loop_new(&world->loop, &err), 0);
	world->server = script_server_new(world->loop, &script);
	struct kubeconfig config = config_of(script_server_url(world->server),
					     token_from_file ? world->token_path : NULL);
	assert_int_equal(apiclient_new(world->loop, &config, "tester/1", &world->client, &err), 0);
}

static void end_world(struct world *world)
{
	apiclient_free(world->client);
	reflector_free(world->reflector);
	script_server_free(world->server);
	loop_free(world->loop);
	sbuf_deinit(&world->journal);
	unlink(world->token_path);
	rmdir(world->folder);
}

static struct apiclient_request *send_call(struct world *world, const char *method)
{
	struct apiclient_request *request = NULL;
	const struct apiclient_call call = {method, "/a/b?c=d", "application/merge-patch+json",
					    VIEW("{\"x\":1}"), 0, NULL};
	assert_int_equal(apiclient_send(world->client, &call, saw_answer, world, &request, &err),
			 0);
	return request;
}

static void expect_journal(struct world *world, const char *expected)
{
	assert_int_equal(loop_run(world->loop, &err), 0);
	assert_string_equal(sbuf_text(&world->journal), expected);
	sbuf_clear(&world->journal);
}

#define ANSWER(status, size, body)                                                           \
	{.bytes = VIEW_INIT("HTTP/1.1 " status " X\r\nContent-Type: application/json\r\n"    \
			    "Content-Length: " size "\r\n\r\n" body)}
#define STATUS_409 "{\"kind\":\"Status\",\"code\":409,\"message\":\"modified\"}"

static void a_reflector_is_run_from_list_to_watch(void **state)
{
	(void)state;
	static const struct kube_bytes_object a = {"ns", "a", "u", "11", NULL, false};
	static const struct kube_bytes_object b = {"ns", "b", "u", "21", NULL, false};
	const struct kube_bytes_list list = {"20", NULL, NULL, &a, 1};
	struct sbuf body, first, second;
	struct world world;
	sbuf_init(&body, 4096);
	sbuf_init(&first, 4096);
	sbuf_init(&second, 4096);
	kube_bytes_list(&body, &pods, &list);
	sbuf_printf(&first,
		    "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf\r\n"
		    "Content-Length: %zu\r\n\r\n",
		    body.len);
	sbuf_append(&first, sbuf_view(&body));
	sbuf_clear(&body);
	kube_bytes_event(&body, &pods, "ADDED", &b);
	sbuf_printf(&second,
		    "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf"
		    ";stream=watch\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n",
		    body.len);
	sbuf_append(&second, sbuf_view(&body));
	sbuf_append(&second, VIEW("\r\n"));
	const struct script_answer answers[] = {{.bytes = sbuf_view(&first)},
						{.bytes = sbuf_view(&second)}};
	begin_world(&world, answers, ARRAY_SIZE(answers), false);
	const struct reflector_sink sink = {&world, saw_begin, saw_end, saw_object, NULL};
	const struct reflector_config config = {&pods, REFLECTOR_LIST, 0, 30000, 42};
	assert_int_equal(reflector_new(&config, &sink, &world.reflector, &err), 0);
	assert_int_equal(apiclient_run(world.client, world.reflector, &err), 0);
	world.stop_at = "upsert b";
	expect_journal(&world, "[;listed a;];upsert b;");
	const char *sent = script_server_received(world.server);
	assert_non_null(strstr(sent, "GET /api/v1/pods?resourceVersion="));
	assert_non_null(strstr(sent, "Accept: application/vnd.kubernetes.protobuf\r\n"));
	assert_non_null(strstr(sent, "Authorization: Bearer fixed\r\n"));
	assert_non_null(strstr(sent, "User-Agent: tester/1\r\n"));
	assert_non_null(strstr(sent, "&resourceVersion=20 HTTP/1.1\r\n"));
	assert_null(strstr(sent, "Accept-Encoding"));
	assert_int_equal(apiclient_counters(world.client).by_code[2], 2);
	end_world(&world);
	sbuf_deinit(&body);
	sbuf_deinit(&first);
	sbuf_deinit(&second);
}

static void a_single_request_gets_its_answer(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {ANSWER("200", "4", "good"),
						       ANSWER("409", "49", STATUS_409),
						       ANSWER("404", "0", "")};
	struct world world;
	begin_world(&world, answers, ARRAY_SIZE(answers), false);
	send_call(&world, "PATCH");
	expect_journal(&world, "200 good good;");
	send_call(&world, "PUT");
	expect_journal(&world, "409 {\"kind\":\"Status\",\"code\":409,\"message\":\"m "
			       "conflict: PUT /a/b: modified;");
	send_call(&world, "GET");
	expect_journal(&world, "404  not found: GET /a/b: HTTP 404 ;");
	assert_int_equal(script_server_connections(world.server), 1);
	const char *sent = script_server_received(world.server);
	assert_non_null(strstr(sent, "PATCH /a/b?c=d HTTP/1.1\r\n"));
	assert_non_null(strstr(sent, "Content-Type: application/merge-patch+json\r\n"));
	struct apiclient_counters counters = apiclient_counters(world.client);
	assert_int_equal(counters.by_code[2], 1);
	assert_int_equal(counters.by_code[4], 2);
	assert_int_equal(counters.conflicts, 1);
	end_world(&world);
}

static void after_a_401_a_fresh_token_is_tried_once(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {ANSWER("401", "0", ""),
						       ANSWER("200", "2", "ok"),
						       ANSWER("401", "0", ""),
						       ANSWER("401", "0", "")};
	struct world world;
	begin_world(&world, answers, ARRAY_SIZE(answers), true);
	write_token(&world, "two");
	send_call(&world, "PATCH");
	expect_journal(&world, "200 ok good;");
	const char *sent = script_server_received(world.server);
	const char *second = strstr(sent, "Bearer two\r\n");
	assert_non_null(strstr(sent, "Bearer one\r\n"));
	assert_non_null(second);
	assert_non_null(strstr(second, "{\"x\":1}"));
	assert_int_equal(apiclient_counters(world.client).credential_reloads, 1);
	/* Within the same second there is nothing new to show. */
	send_call(&world, "PATCH");
	expect_journal(&world, "401  denied: PATCH /a/b: HTTP 401 ;");
	assert_int_equal(script_server_requests(world.server), 3);
	end_world(&world);
}

static void a_401_without_files_is_final(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {ANSWER("401", "0", "")};
	struct world world;
	begin_world(&world, answers, ARRAY_SIZE(answers), false);
	send_call(&world, "PATCH");
	expect_journal(&world, "401  denied: PATCH /a/b: HTTP 401 ;");
	assert_int_equal(script_server_requests(world.server), 1);
	end_world(&world);
}

static void an_answer_that_is_cut_or_too_large_is_no_answer(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {
		{.bytes = VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
		 .close = true},
	};
	struct world world;
	begin_world(&world, answers, ARRAY_SIZE(answers), false);
	send_call(&world, "GET");
	assert_int_equal(loop_run(world.loop, &err), 0);
	assert_non_null(strstr(sbuf_text(&world.journal), "0 half retry: GET /a/b: "));
	assert_int_equal(apiclient_counters(world.client).by_code[2], 1);
	end_world(&world);
}

static void a_server_that_is_not_there_is_worth_another_try(void **state)
{
	(void)state;
	struct world world;
	struct apiclient *client;
	struct apiclient_request *request;
	const struct apiclient_call call = {"GET", "/", NULL, VIEW(""), 0, "a/b"};
	begin_world(&world, NULL, 0, false);
	struct kubeconfig config = config_of("http://127.0.0.1:1", NULL);
	assert_int_equal(apiclient_new(world.loop, &config, "t", &client, &err), 0);
	assert_int_equal(apiclient_send(client, &call, saw_answer, &world, &request, &err), 0);
	assert_int_equal(loop_run(world.loop, &err), 0);
	assert_non_null(strstr(sbuf_text(&world.journal), "0  retry: GET /: "));
	assert_int_equal(apiclient_counters(client).by_code[0], 1);
	apiclient_free(client);
	end_world(&world);
}

static void a_request_that_takes_too_long_ends(void **state)
{
	(void)state;
	struct world world;
	struct apiclient_request *request;
	const struct apiclient_call call = {"GET", "/", NULL, VIEW(""), 20, NULL};
	begin_world(&world, NULL, 0, false);
	assert_int_equal(apiclient_send(world.client, &call, saw_answer, &world, &request, &err),
			 0);
	assert_int_equal(loop_run(world.loop, &err), 0);
	assert_non_null(strstr(sbuf_text(&world.journal), "0  retry: GET /: "));
	end_world(&world);
}

static void cancelled_requests_call_nobody(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {ANSWER("200", "2", "ok")};
	struct world world;
	begin_world(&world, answers, ARRAY_SIZE(answers), false);
	apiclient_cancel(send_call(&world, "GET"));
	apiclient_cancel(NULL);
	send_call(&world, "PUT");
	expect_journal(&world, "200 ok good;");
	end_world(&world);
}

static void a_client_can_be_freed_while_everything_is_under_way(void **state)
{
	(void)state;
	struct world world;
	begin_world(&world, NULL, 0, false);
	const struct reflector_sink sink = {&world, saw_begin, saw_end, saw_object, NULL};
	const struct reflector_config config = {&pods, REFLECTOR_LIST, 0, 30000, 42};
	assert_int_equal(reflector_new(&config, &sink, &world.reflector, &err), 0);
	assert_int_equal(apiclient_run(world.client, world.reflector, &err), 0);
	send_call(&world, "GET");
	send_call(&world, "PUT");
	loop_stop(world.loop);
	expect_journal(&world, "");
	end_world(&world);
}

static void a_credential_file_that_is_missing_at_the_start_is_an_error(void **state)
{
	(void)state;
	struct loop *loop;
	struct apiclient *client = NULL;
	assert_int_equal(loop_new(&loop, &err), 0);
	struct kubeconfig config = config_of("http://127.0.0.1:1", "/nonexistent/token");
	assert_int_equal(apiclient_new(loop, &config, "t", &client, &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
	assert_non_null(strstr(err.text, "/nonexistent/token"));
	assert_null(client);
	assert_null(config.arena.chunks);
	loop_free(loop);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_reflector_is_run_from_list_to_watch),
	cmocka_unit_test(a_single_request_gets_its_answer),
	cmocka_unit_test(after_a_401_a_fresh_token_is_tried_once),
	cmocka_unit_test(a_401_without_files_is_final),
	cmocka_unit_test(an_answer_that_is_cut_or_too_large_is_no_answer),
	cmocka_unit_test(a_server_that_is_not_there_is_worth_another_try),
	cmocka_unit_test(a_request_that_takes_too_long_ends),
	cmocka_unit_test(cancelled_requests_call_nobody),
	cmocka_unit_test(a_client_can_be_freed_while_everything_is_under_way),
	cmocka_unit_test(a_credential_file_that_is_missing_at_the_start_is_an_error),
};
TEST_MAIN(tests)
