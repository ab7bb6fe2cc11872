/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "kube/apiclient.h"
#include "kube/reachability.h"
#include "lib/kube_bytes.h"
#include "lib/script_server.h"

#include "lib/fake_boot_clock.inc"

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

static struct apiclient_request *send_as(struct world *world, const char *method, bool is_apart)
{
	struct apiclient_request *request = NULL;
	const struct apiclient_call call = {.method = method, .path = "/a/b?c=d",
					    .content_type = "application/merge-patch+json",
					    .body = VIEW("{\"x\":1}"), .is_apart = is_apart};
	assert_int_equal(apiclient_send(world->client, &call, saw_answer, world, &request, &err),
			 0);
	return request;
}

static struct apiclient_request *send_call(struct world *world, const char *method)
{
	return send_as(world, method, false);
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

/* How many requests with that method were timed. */
static uint64_t count_timed(const struct world *world, size_t method)
{
	const struct apiclient_counters counters = apiclient_counters(world->client);
	const struct histogram *durations = &counters.requests.durations[method];
	uint64_t n = 0;
	for (size_t i = 0; i < histogram_size(durations->bounds); i++)
		n += durations->counts[i];
	return n;
}

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
	assert_int_equal(count_timed(&world, 0), 1); /* the list, and not the watch */
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
	assert_int_equal(count_timed(&world, 0), 1);
	assert_int_equal(count_timed(&world, 2), 1);
	end_world(&world);
}

static void a_request_that_is_apart_shares_a_connection_with_its_like_only(void **state)
{
	(void)state;
	static const struct {
		bool is_apart;
		unsigned n_connections; /* then */
	} rows[] = {{false, 1}, {true, 2}, {false, 2}, {true, 2}};
	static const struct script_answer answers[] = {
		ANSWER("200", "4", "good"), ANSWER("200", "4", "good"),
		ANSWER("200", "4", "good"), ANSWER("200", "4", "good")};
	struct world world;
	begin_world(&world, answers, ARRAY_SIZE(answers), false);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		send_as(&world, "PUT", rows[i].is_apart);
		expect_journal(&world, "200 good good;");
		assert_int_equal(script_server_connections(world.server), rows[i].n_connections);
	}
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

/* As after a suspend: time-outs count by a clock that stood still. */
static void a_request_whose_time_has_come_before_it_is_sent_is_not_sent(void **state)
{
	(void)state;
	static const struct script_answer answers[] = {ANSWER("200", "2", "ok")};
	static const struct {
		uint64_t passed_ms;
		unsigned n_sent;
	} rows[] = {{0, 1}, {999, 1}, {1000, 0}, {1001, 0}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct apiclient_call call = {
			.method = "PUT", .path = "/a", .send_before = fake_boot_ms + 1000};
		struct apiclient_request *request;
		struct world world;
		begin_world(&world, answers, ARRAY_SIZE(answers), false);
		assert_int_equal(apiclient_send(world.client, &call, saw_answer, &world, &request,
						&err),
				 0);
		fake_boot_ms += rows[i].passed_ms;
		expect_journal(&world, rows[i].n_sent > 0
					       ? "200 ok good;"
					       : "0  retry: PUT /a: the time for the request was "
						 "over before it was sent;");
		assert_int_equal(script_server_requests(world.server), rows[i].n_sent);
		end_world(&world);
	}
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

static int accept_one(void *owner, enum reflector_change change, const struct object_meta *meta,
		      struct view object, struct error *error)
{
	(void)owner, (void)change, (void)meta, (void)object, (void)error;
	return 0;
}

static void note_nothing(void *owner)
{
	(void)owner;
}

static struct reflector *make_reflector(void)
{
	const struct reflector_sink sink = {NULL, note_nothing, note_nothing, accept_one, NULL};
	const struct reflector_config config = {&pods, REFLECTOR_LIST, 0, 30000, 42};
	struct reflector *reflector;
	assert_int_equal(reflector_new(&config, &sink, &reflector, &err), 0);
	return reflector;
}

/* With the limit of reflectors, each stopped one makes room for another. */
static void a_stopped_reflector_is_run_no_longer_and_the_others_are(void **state)
{
	(void)state;
	struct world world;
	struct reflector *reflectors[16], *further = make_reflector();
	begin_world(&world, NULL, 0, false);
	for (size_t i = 0; i < ARRAY_SIZE(reflectors); i++) {
		reflectors[i] = make_reflector();
		assert_int_equal(apiclient_run(world.client, reflectors[i], &err), 0);
	}
	assert_int_equal(apiclient_run(world.client, further, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	apiclient_stop(world.client, further); /* which is not run */
	apiclient_nudge(world.client, further);
	for (size_t i = 0; i < ARRAY_SIZE(reflectors); i += 5) {
		apiclient_stop(world.client, reflectors[i]);
		reflector_free(reflectors[i]); /* nobody uses it any more */
		reflectors[i] = make_reflector();
		assert_int_equal(apiclient_run(world.client, reflectors[i], &err), 0);
		apiclient_nudge(world.client, reflectors[i]);
	}
	loop_stop(world.loop);
	expect_journal(&world, "");
	apiclient_free(TAKE(world.client));
	for (size_t i = 0; i < ARRAY_SIZE(reflectors); i++)
		reflector_free(reflectors[i]);
	reflector_free(further);
	end_world(&world);
}

/* Outages. */

#define N_FOLLOWED 3
/* For one wait of a test. A back-off is up to 6.4 s, and a busy machine may stop for seconds. */
#define NO_MORE_THAN_MS 60000

/* What the server has: a list and a watch of each. */
static const struct resource followed[N_FOLLOWED] = {
	{"a.b", "v1", "ones", "One", RESOURCE_JSON, NULL},
	{"a.b", "v1", "twos", "Two", RESOURCE_JSON, NULL},
	{"a.b", "v1", "threes", "Three", RESOURCE_JSON, NULL},
};

#define PATH(plural) "GET /apis/a.b/v1/" plural "?"
#define LIST(kind)                                                                              \
	VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" \
		  "{\"kind\":\"" kind "List\",\"apiVersion\":\"a.b/v1\",\"metadata\":"            \
		  "{\"resourceVersion\":\"5\"},\"items\":[]}")
#define WATCH                                                                                \
	VIEW_INIT("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"                    \
		  "Transfer-Encoding: chunked\r\n\r\n")
#define STATUS(code) VIEW_INIT("HTTP/1.1 " code " X\r\nContent-Length: 2\r\n\r\nok")

enum { READYZ, WATCHES, LISTS = WATCHES + N_FOLLOWED, OTHERS = LISTS + N_FOLLOWED, N_ROUTES };

static const struct script_route well[N_ROUTES] = {
	[READYZ] = {"GET /readyz ", {.bytes = STATUS("200")}},
	[WATCHES] = {PATH("ones") "watch=1", {.bytes = WATCH}},
	{PATH("twos") "watch=1", {.bytes = WATCH}},
	{PATH("threes") "watch=1", {.bytes = WATCH}},
	[LISTS] = {PATH("ones"), {.bytes = LIST("One"), .close = true}},
	{PATH("twos"), {.bytes = LIST("Two"), .close = true}},
	{PATH("threes"), {.bytes = LIST("Three"), .close = true}},
	[OTHERS] = {"GET /a/b", {.bytes = STATUS("200")}},
};

struct cluster;

struct follower {
	struct cluster *cluster;
	struct reflector *reflector;
	bool is_followed;
	uint64_t followed_at; /* ms; for the last time */
};

/* A client that follows what a server has, which may be stopped and started. */
struct cluster {
	struct loop *loop;
	struct script_server *server;
	struct apiclient *client;
	struct script_route routes[N_ROUTES];
	struct follower followers[N_FOLLOWED];
	struct loop_timer *poll;
	bool (*until)(const struct cluster *cluster);
	unsigned wanted; /* what `until` compares with */
	uint64_t give_up_at;
	char told[64];   /* "away " or "back " each time */
	bool was_away;   /* as told last */
	uint64_t longest_wait_ms; /* of all followers, when it was told that the server is back */
	unsigned n_doubts; /* how often it was told that it is doubtful, and not away */
	unsigned n_answered;
};

static void ignore(void *owner)
{
	(void)owner;
}

static int take_any(void *owner, enum reflector_change change, const struct object_meta *meta,
		    struct view document, struct error *object_err)
{
	(void)owner, (void)change, (void)meta, (void)document, (void)object_err;
	return 0;
}

static void saw_followed(void *owner, bool is_followed)
{
	struct follower *follower = owner;
	follower->is_followed = is_followed;
	if (is_followed)
		follower->followed_at = loop_now_ms(follower->cluster->loop);
}

/* Asked as of long ago: that begins nothing. Whose back-off is over has its jitter in its timer. */
static void note_waits(struct cluster *cluster)
{
	uint64_t now = loop_now_ms(cluster->loop);
	for (size_t i = 0; i < N_FOLLOWED; i++) {
		struct reflector_request request;
		if (reflector_next(cluster->followers[i].reflector, 0, &request) == REFLECTOR_WAIT &&
		    request.wait_until > now + cluster->longest_wait_ms)
			cluster->longest_wait_ms = request.wait_until - now;
	}
}

static void saw_state(void *owner)
{
	struct cluster *cluster = owner;
	bool is_away = apiclient_is_away(cluster->client);
	bool is_doubtful = apiclient_is_doubtful(cluster->client);
	assert_true(is_doubtful || !is_away);
	assert_int_equal(apiclient_trouble(cluster->client)[0] != '\0', is_away);
	cluster->n_doubts += is_doubtful && !is_away;
	if (is_away == cluster->was_away)
		return;
	cluster->was_away = is_away;
	if (!is_away)
		note_waits(cluster);
	strcat(cluster->told, is_away ? "away " : "back ");
	assert_true(strlen(cluster->told) < sizeof(cluster->told) - 8);
}

static void count_answer(void *owner, int status, struct view body, const struct error *error)
{
	struct cluster *cluster = owner;
	(void)status, (void)body, (void)error;
	cluster->n_answered++;
}

static void look(void *owner)
{
	struct cluster *cluster = owner;
	if (cluster->until(cluster) || loop_now_ms(cluster->loop) >= cluster->give_up_at)
		loop_stop(cluster->loop);
	else
		loop_timer_set(cluster->poll, 2);
}

static void run_until(struct cluster *cluster, bool (*until)(const struct cluster *cluster),
		      unsigned wanted)
{
	cluster->until = until;
	cluster->wanted = wanted;
	cluster->give_up_at = loop_now_ms(cluster->loop) + NO_MORE_THAN_MS;
	loop_timer_set(cluster->poll, 0);
	assert_int_equal(loop_run(cluster->loop, &err), 0);
	assert_true(until(cluster));
}

static bool are_all_followed(const struct cluster *cluster)
{
	for (size_t i = 0; i < N_FOLLOWED; i++)
		if (!cluster->followers[i].is_followed)
			return false;
	return true;
}

static bool is_none_followed(const struct cluster *cluster)
{
	for (size_t i = 0; i < N_FOLLOWED; i++)
		if (cluster->followers[i].is_followed)
			return false;
	return true;
}

static bool are_others_followed(const struct cluster *cluster)
{
	for (size_t i = 1; i < N_FOLLOWED; i++)
		if (!cluster->followers[i].is_followed)
			return false;
	return true;
}

static bool is_unready(const struct cluster *cluster)
{
	return strstr(apiclient_trouble(cluster->client), "HTTP status") != NULL;
}

static bool is_away(const struct cluster *cluster)
{
	return apiclient_is_away(cluster->client);
}

static bool has_time_passed(const struct cluster *cluster)
{
	return loop_now_ms(cluster->loop) + NO_MORE_THAN_MS >= cluster->give_up_at + cluster->wanted;
}

static unsigned count_followed(const struct cluster *cluster)
{
	unsigned n = 0;
	for (size_t i = 0; i < N_FOLLOWED; i++)
		n += cluster->followers[i].is_followed;
	return n;
}

static bool has_followed(const struct cluster *cluster)
{
	return count_followed(cluster) >= cluster->wanted;
}

static bool has_failed_requests(const struct cluster *cluster)
{
	return apiclient_counters(cluster->client).by_code[0] >= cluster->wanted;
}

static bool has_been_answered(const struct cluster *cluster)
{
	return cluster->n_answered >= cluster->wanted;
}

/* How many requests the server has got that begin so. */
static unsigned count_received(const struct cluster *cluster, const char *begins)
{
	unsigned n = 0;
	for (const char *at = script_server_received(cluster->server); (at = strstr(at, begins));
	     at++)
		n++;
	return n;
}

static unsigned count_watches(const struct cluster *cluster)
{
	return count_received(cluster, "?watch=1");
}

static bool has_watches(const struct cluster *cluster)
{
	return count_watches(cluster) >= cluster->wanted;
}

static bool has_received_requests(const struct cluster *cluster)
{
	return script_server_requests(cluster->server) >= cluster->wanted;
}

static void begin_cluster(struct cluster *cluster)
{
	const struct script_server_config script = {.routes = cluster->routes,
						    .n_routes = N_ROUTES};
	*cluster = (struct cluster){0};
	memcpy(cluster->routes, well, sizeof(well));
	assert_int_equal(loop_new(&cluster->loop, &err), 0);
	assert_int_equal(loop_timer_new(cluster->loop, look, cluster, &cluster->poll, &err), 0);
	cluster->server = script_server_new(cluster->loop, &script);
	struct kubeconfig config = config_of(script_server_url(cluster->server), NULL);
	assert_int_equal(apiclient_new(cluster->loop, &config, "t", &cluster->client, &err), 0);
	apiclient_on_state(cluster->client, saw_state, cluster);
	for (size_t i = 0; i < N_FOLLOWED; i++) {
		struct follower *follower = &cluster->followers[i];
		const struct reflector_sink sink = {.owner = follower,
						    .replace_begin = ignore,
						    .replace_end = ignore,
						    .object = take_any,
						    .followed = saw_followed};
		const struct reflector_config reflector = {&followed[i], REFLECTOR_LIST, 0, 30000, i};
		follower->cluster = cluster;
		assert_int_equal(reflector_new(&reflector, &sink, &follower->reflector, &err), 0);
		assert_int_equal(apiclient_run(cluster->client, follower->reflector, &err), 0);
	}
	run_until(cluster, are_all_followed, 0);
	assert_int_equal(apiclient_counters(cluster->client).probes, 0);
	assert_int_equal(script_server_requests(cluster->server), 2 * N_FOLLOWED);
}

static void end_cluster(struct cluster *cluster)
{
	apiclient_free(cluster->client);
	for (size_t i = 0; i < N_FOLLOWED; i++)
		reflector_free(cluster->followers[i].reflector);
	script_server_free(cluster->server);
	loop_timer_free(cluster->poll);
	loop_free(cluster->loop);
}

static void send_single_for(struct cluster *cluster, uint32_t timeout_ms)
{
	struct apiclient_request *request;
	const struct apiclient_call call = {"GET", "/a/b", NULL, VIEW(""), timeout_ms, NULL};
	assert_int_equal(apiclient_send(cluster->client, &call, count_answer, cluster, &request,
					&err),
			 0);
}

static void send_single(struct cluster *cluster)
{
	send_single_for(cluster, 0);
}

/* The server is gone, and that is known. */
static void begin_outage(struct cluster *cluster)
{
	script_server_stop(cluster->server);
	run_until(cluster, is_away, 0);
	assert_string_equal(cluster->told, "away ");
	cluster->told[0] = '\0';
	assert_true(is_none_followed(cluster));
}

static void while_the_server_is_gone_there_are_probes_only_and_then_all_go_ahead(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	begin_outage(&cluster);
	run_until(&cluster, has_failed_requests, 2);
	/* Nobody else has tried: this is what failed, and all that failed. */
	struct apiclient_counters counters = apiclient_counters(cluster.client);
	assert_int_equal(counters.by_code[0], 2);
	assert_int_equal(counters.probes, 2);
	assert_int_equal(counters.outages, 1);
	for (size_t i = 0; i < N_FOLLOWED; i++)
		assert_int_equal(reflector_counters(cluster.followers[i].reflector).watches, 1);
	assert_string_equal(cluster.told, "");
	script_server_start(cluster.server);
	run_until(&cluster, are_all_followed, 0);
	assert_string_equal(cluster.told, "back ");
	assert_false(apiclient_is_away(cluster.client));
	counters = apiclient_counters(cluster.client);
	assert_int_equal(counters.by_code[0], 2);
	assert_int_equal(counters.probes, 3);
	assert_int_equal(counters.outages, 1);
	assert_int_equal(count_received(&cluster, "GET /readyz "), 1);
	assert_int_equal(count_watches(&cluster), 2 * N_FOLLOWED);
	assert_int_equal(script_server_requests(cluster.server), 3 * N_FOLLOWED + 1);
	end_cluster(&cluster);
}

/* All of them waited for the server, which was steady before, and nothing else. */
static void expect_jitter(const struct cluster *cluster)
{
	assert_string_equal(cluster->told, "back ");
	assert_in_range(cluster->longest_wait_ms, 0, REACHABILITY_JITTER_MS);
}

static void those_that_go_ahead_do_so_within_the_jitter(void **state)
{
	(void)state;
	struct cluster cluster;
	uint64_t began_at, first = UINT64_MAX, last = 0;
	_Static_assert(REACHABILITY_JITTER_MS <= 200, "watches are soon back");
	begin_cluster(&cluster);
	begin_outage(&cluster);
	script_server_start(cluster.server);
	run_until(&cluster, has_received_requests, 2 * N_FOLLOWED + 1); /* the probe */
	began_at = loop_now_ms(cluster.loop);
	run_until(&cluster, are_all_followed, 0);
	for (size_t i = 0; i < N_FOLLOWED; i++) {
		uint64_t at = cluster.followers[i].followed_at;
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	expect_jitter(&cluster);
	assert_true(first >= began_at - 5);
	assert_true(last <= began_at + REACHABILITY_JITTER_MS + 550); /* a busy machine */
	end_cluster(&cluster);
}

/* The first answer to anything is enough; the probe would come a second after the last. */
static void an_answer_to_a_single_request_lets_all_go_ahead(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	begin_outage(&cluster);
	send_single(&cluster); /* is sent all the same */
	run_until(&cluster, has_been_answered, 1);
	assert_string_equal(cluster.told, "");
	script_server_start(cluster.server);
	send_single(&cluster);
	run_until(&cluster, has_been_answered, 2);
	expect_jitter(&cluster);
	run_until(&cluster, are_all_followed, 0);
	assert_int_equal(apiclient_counters(cluster.client).probes, 1);
	assert_int_equal(count_received(&cluster, "GET /readyz "), 0);
	end_cluster(&cluster);
}

/* Nothing of the first is remembered: not the back-off, nor that it was cut short. */
static void after_a_second_outage_all_go_ahead_as_fast_as_after_the_first(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	for (unsigned outage = 1; outage <= 2; outage++) {
		begin_outage(&cluster);
		script_server_start(cluster.server);
		send_single(&cluster);
		run_until(&cluster, has_been_answered, outage);
		uint64_t answered_at = loop_now_ms(cluster.loop);
		run_until(&cluster, are_all_followed, 0);
		for (size_t i = 0; i < N_FOLLOWED; i++) /* the shortest back-off is 800 ms */
			assert_true(cluster.followers[i].followed_at <= answered_at + 700);
		assert_string_equal(cluster.told, "back ");
		cluster.told[0] = '\0';
	}
	assert_int_equal(apiclient_counters(cluster.client).outages, 2);
	end_cluster(&cluster);
}

static void watches_that_are_cut_by_a_live_server_are_back_at_once_by_one_probe(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	script_server_hang_up(cluster.server);
	run_until(&cluster, is_none_followed, 0);
	uint64_t cut_at = loop_now_ms(cluster.loop);
	run_until(&cluster, are_all_followed, 0);
	for (size_t i = 0; i < N_FOLLOWED; i++) /* the shortest back-off is 800 ms */
		assert_true(cluster.followers[i].followed_at - cut_at < 700);
	struct apiclient_counters counters = apiclient_counters(cluster.client);
	assert_int_equal(counters.probes, 1);
	assert_int_equal(counters.outages, 0);
	assert_int_equal(counters.by_code[0], 0); /* they were answered, and then cut */
	assert_string_equal(cluster.told, "");
	assert_int_equal(count_watches(&cluster), 2 * N_FOLLOWED);
	end_cluster(&cluster);
}

static void a_server_that_does_not_let_us_ask_for_its_readiness_answers_all_the_same(void **state)
{
	(void)state;
	static const struct view refusals[] = {STATUS("401"), STATUS("403"), STATUS("404")};
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct cluster cluster;
		begin_cluster(&cluster);
		cluster.routes[READYZ].answer.bytes = refusals[i];
		script_server_hang_up(cluster.server);
		run_until(&cluster, is_none_followed, 0);
		run_until(&cluster, are_all_followed, 0);
		assert_string_equal(cluster.told, "");
		assert_int_equal(apiclient_counters(cluster.client).probes, 1);
		end_cluster(&cluster);
	}
}

/* It may be unready for a reason that does not concern watches. */
static void a_server_that_says_it_is_unready_and_works_is_found_out_by_one_watch(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cluster.routes[READYZ].answer.bytes = (struct view)STATUS("500");
	script_server_hang_up(cluster.server);
	run_until(&cluster, is_away, 0);
	assert_int_equal(script_server_requests(cluster.server), 2 * N_FOLLOWED + 1);
	run_until(&cluster, are_all_followed, 0);
	assert_string_equal(cluster.told, "away back ");
	assert_int_equal(apiclient_counters(cluster.client).probes, 1);
	assert_int_equal(apiclient_counters(cluster.client).outages, 1);
	assert_int_equal(count_watches(&cluster), 2 * N_FOLLOWED);
	end_cluster(&cluster);
}

static void an_unready_server_gets_a_probe_and_one_watch_by_turns_each_time_another(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cluster.routes[READYZ].answer.bytes = (struct view)STATUS("500");
	for (size_t i = 0; i < N_FOLLOWED; i++)
		cluster.routes[WATCHES + i].answer.bytes = (struct view)STATUS("500");
	script_server_hang_up(cluster.server);
	const unsigned before = 2 * N_FOLLOWED;
	for (unsigned n = 1; n <= 4; n++) {
		run_until(&cluster, has_received_requests, before + n);
		assert_int_equal(script_server_requests(cluster.server), before + n);
		assert_int_equal(count_received(&cluster, "GET /readyz "), (n + 1) / 2);
		assert_int_equal(count_watches(&cluster), N_FOLLOWED + n / 2);
	}
	for (size_t i = 0; i < N_FOLLOWED; i++)
		assert_true(count_received(&cluster, well[WATCHES + i].begins) <= 2);
	assert_string_equal(cluster.told, "away ");
	end_cluster(&cluster);
}

/* Trouble of its own: no other watch is disturbed, and it is not hastened again and again. */
static void one_broken_resource_of_a_live_server_does_not_make_the_client_spin(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cluster.routes[WATCHES].answer.bytes = (struct view)STATUS("500");
	script_server_hang_up(cluster.server);
	run_until(&cluster, is_none_followed, 0);
	run_until(&cluster, are_others_followed, 0);
	unsigned n_at_first = count_received(&cluster, well[WATCHES].begins);
	assert_true(n_at_first <= 2 + N_FOLLOWED - 1); /* others that recover hasten it, each once */
	run_until(&cluster, has_time_passed, 1200);    /* its second back-off is 1600 ms at least */
	assert_true(are_others_followed(&cluster));
	assert_true(count_received(&cluster, well[WATCHES].begins) <= n_at_first + 1);
	assert_true(apiclient_counters(cluster.client).probes <= 2);
	assert_string_equal(cluster.told, "");
	end_cluster(&cluster);
}

/* Head and nothing else, as of a proxy that does not know long answers. */
static void cut_watches_at_once(struct cluster *cluster, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cluster->routes[WATCHES + i].answer.close = true;
	script_server_hang_up(cluster->server);
	run_until(cluster, is_none_followed, 0);
}

static void regress_13_a_watch_that_is_cut_at_once_each_time_backs_off(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cut_watches_at_once(&cluster, 1);
	run_until(&cluster, has_time_passed, 7000);
	/* It is hastened by its first doubt and by two others; then 1.6 s, 3.2 s and so on. */
	assert_in_range(count_received(&cluster, well[WATCHES].begins), 2, 7);
	assert_true(apiclient_counters(cluster.client).probes <= 6);
	end_cluster(&cluster);
}

static void regress_13_watches_that_are_all_cut_at_once_do_not_hasten_each_other_for_ever(
	void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cut_watches_at_once(&cluster, N_FOLLOWED);
	run_until(&cluster, has_time_passed, 7000);
	assert_in_range(count_watches(&cluster), N_FOLLOWED + 1, 7 * N_FOLLOWED);
	end_cluster(&cluster);
}

/* What it failed for may be what the others wait for, as an etcd that was away. */
static void a_watch_that_has_recovered_lets_the_others_that_failed_go_ahead(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	for (size_t i = 0; i < N_FOLLOWED; i++)
		cluster.routes[WATCHES + i].answer.bytes = (struct view)STATUS("500");
	script_server_hang_up(cluster.server);
	run_until(&cluster, has_watches, 4 * N_FOLLOWED); /* the next back-offs are 1.6 s to 6.4 s */
	uint64_t first = UINT64_MAX, last = 0;
	for (size_t i = 0; i < N_FOLLOWED; i++)
		cluster.routes[WATCHES + i].answer.bytes = (struct view)WATCH;
	run_until(&cluster, are_all_followed, 0);
	for (size_t i = 0; i < N_FOLLOWED; i++) {
		uint64_t at = cluster.followers[i].followed_at;
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	assert_true(last - first < 1000); /* on a busy machine */
	assert_string_equal(cluster.told, "");
	end_cluster(&cluster);
}

/* It answers, and says why others should not ask: by it alone nobody goes ahead. */
static void neither_429_nor_a_refusal_ends_an_outage(void **state)
{
	(void)state;
	static const struct view answers[] = {STATUS("429"), STATUS("401"), STATUS("403")};
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct cluster cluster;
		begin_cluster(&cluster);
		cluster.routes[READYZ].answer.bytes = (struct view)STATUS("500");
		cluster.routes[OTHERS].answer.bytes = answers[i];
		for (size_t k = 0; k < N_FOLLOWED; k++)
			cluster.routes[WATCHES + k].answer.bytes = answers[i];
		script_server_hang_up(cluster.server);
		run_until(&cluster, is_away, 0);
		send_single(&cluster);
		run_until(&cluster, has_been_answered, 1);
		assert_true(apiclient_is_away(cluster.client));
		run_until(&cluster, has_watches, N_FOLLOWED + 1); /* the one that is tried */
		run_until(&cluster, has_time_passed, 100);
		assert_true(apiclient_is_away(cluster.client));
		/* On a busy machine one more is tried meanwhile. */
		assert_in_range(count_watches(&cluster), N_FOLLOWED + 1, N_FOLLOWED + 2);
		assert_string_equal(cluster.told, "away ");
		/* What was refused goes on when it is over; who was throttled has its time. */
		cluster.routes[OTHERS].answer.bytes = (struct view)STATUS("404");
		for (size_t k = 0; k < N_FOLLOWED; k++)
			cluster.routes[WATCHES + k].answer.bytes = (struct view)WATCH;
		send_single(&cluster);
		run_until(&cluster, has_been_answered, 2);
		assert_string_equal(cluster.told, "away back ");
		const unsigned n_free = i == 0 ? N_FOLLOWED - 1 : N_FOLLOWED;
		run_until(&cluster, has_followed, n_free);
		assert_int_equal(count_followed(&cluster), n_free);
		end_cluster(&cluster);
	}
}

static bool has_probes(const struct cluster *cluster)
{
	return count_received(cluster, "GET /readyz ") >= cluster->wanted;
}

/* Otherwise each of the two waits 400 ms at least. A busy machine may be slow many times. */
static void the_probe_follows_at_once_on_a_watch_that_was_tried_and_refused(void **state)
{
	(void)state;
	struct cluster cluster;
	uint64_t shortest = UINT64_MAX;
	begin_cluster(&cluster);
	cluster.routes[READYZ].answer.bytes = (struct view)STATUS("500");
	for (size_t k = 0; k < N_FOLLOWED; k++)
		cluster.routes[WATCHES + k].answer.bytes = (struct view)STATUS("403");
	script_server_hang_up(cluster.server);
	run_until(&cluster, is_away, 0);
	for (unsigned n = 1; n <= 10 && shortest >= 200; n++) {
		run_until(&cluster, has_watches, N_FOLLOWED + n);
		uint64_t tried_at = loop_now_ms(cluster.loop);
		run_until(&cluster, has_probes, n + 1);
		uint64_t took = loop_now_ms(cluster.loop) - tried_at;
		shortest = took < shortest ? took : shortest;
	}
	assert_true(shortest < 200);
	assert_true(apiclient_is_away(cluster.client));
	end_cluster(&cluster);
}

static void a_server_that_says_429_to_the_probe_is_away(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cluster.routes[READYZ].answer.bytes = (struct view)STATUS("429");
	script_server_hang_up(cluster.server);
	run_until(&cluster, is_away, 0);
	assert_string_equal(apiclient_trouble(cluster.client), "GET /readyz: HTTP status 429");
	end_cluster(&cluster);
}

static void a_refusal_ends_a_doubt(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cluster.routes[READYZ].answer.bytes = (struct view){0}; /* the probe tells nothing */
	cluster.routes[OTHERS].answer.bytes = (struct view)STATUS("403");
	script_server_hang_up(cluster.server);
	run_until(&cluster, has_received_requests, 2 * N_FOLLOWED + 1);
	assert_true(is_none_followed(&cluster));
	send_single(&cluster);
	run_until(&cluster, are_all_followed, 0);
	assert_string_equal(cluster.told, "");
	end_cluster(&cluster);
}

static void a_request_that_is_aside_and_hangs_raises_no_doubt(void **state)
{
	(void)state;
	struct cluster cluster;
	struct apiclient_request *request;
	const struct apiclient_call call = {
		.method = "GET", .path = "/a/b", .timeout_ms = 200, .is_aside = true};
	begin_cluster(&cluster);
	cluster.routes[OTHERS].answer.bytes = (struct view){0};
	assert_int_equal(apiclient_send(cluster.client, &call, count_answer, &cluster, &request,
					&err),
			 0);
	run_until(&cluster, has_been_answered, 1);
	run_until(&cluster, has_time_passed, 300); /* a probe would be sent meanwhile */
	assert_false(apiclient_is_doubtful(cluster.client));
	assert_int_equal(apiclient_counters(cluster.client).by_code[0], 1);
	assert_int_equal(apiclient_counters(cluster.client).probes, 0);
	assert_int_equal(script_server_requests(cluster.server), 2 * N_FOLLOWED + 1);
	end_cluster(&cluster);
}

static void a_server_that_cuts_the_probe_and_works_is_found_out_by_one_watch(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cluster.routes[READYZ].answer = (struct script_answer){.close = true};
	script_server_hang_up(cluster.server);
	run_until(&cluster, is_away, 0);
	run_until(&cluster, are_all_followed, 0);
	assert_string_equal(cluster.told, "away back ");
	assert_int_equal(apiclient_counters(cluster.client).probes, 1);
	assert_int_equal(count_watches(&cluster), 2 * N_FOLLOWED);
	end_cluster(&cluster);
}

static void why_the_server_is_away_is_said_until_it_is_back(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	assert_string_equal(apiclient_trouble(cluster.client), "");
	begin_outage(&cluster);
	assert_non_null(strstr(apiclient_trouble(cluster.client), "GET /readyz: "));
	assert_null(strstr(apiclient_trouble(cluster.client), "status"));
	for (size_t i = 0; i < N_FOLLOWED; i++)
		cluster.routes[WATCHES + i].answer.bytes = (struct view)STATUS("500");
	cluster.routes[READYZ].answer.bytes = (struct view)STATUS("503");
	script_server_start(cluster.server);
	run_until(&cluster, is_unready, 0);
	assert_string_equal(apiclient_trouble(cluster.client), "GET /readyz: HTTP status 503");
	send_single(&cluster);
	run_until(&cluster, has_been_answered, 1);
	assert_string_equal(apiclient_trouble(cluster.client), "");
	end_cluster(&cluster);
}

/* The watch of the first resource stays open and tells. */
static void begin_outage_but_for_one_watch(struct cluster *cluster)
{
	begin_cluster(cluster);
	cluster->routes[READYZ].answer.bytes = (struct view)STATUS("500");
	for (size_t i = 0; i < N_FOLLOWED; i++)
		cluster->routes[WATCHES + i].answer.bytes = (struct view)STATUS("500");
	for (size_t i = 1; i < N_FOLLOWED; i++)
		script_server_cut(cluster->server, well[WATCHES + i].begins);
	run_until(cluster, is_away, 0);
	assert_true(cluster->followers[0].is_followed);
	for (size_t i = 0; i < N_FOLLOWED; i++)
		cluster->routes[WATCHES + i].answer.bytes = (struct view)WATCH;
}

#define EVENT                                                                                   \
	"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"One\",\"apiVersion\":\"a.b/v1\","                 \
	"\"metadata\":{\"resourceVersion\":\"6\"}}}\n"

/* On the watch of the first resource; end: of the chunks, or nothing. */
static void push_event(const struct cluster *cluster, const char *end)
{
	char chunks[256];
	snprintf(chunks, sizeof(chunks), "%zx\r\n%s\r\n%s", strlen(EVENT), EVENT, end);
	script_server_push(cluster->server, well[WATCHES].begins, view_from(chunks));
}

static void a_watch_that_tells_something_ends_an_outage(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_outage_but_for_one_watch(&cluster);
	assert_string_equal(cluster.told, "away ");
	push_event(&cluster, "");
	run_until(&cluster, are_all_followed, 0);
	assert_string_equal(cluster.told, "away back ");
	assert_int_equal(reflector_counters(cluster.followers[0].reflector).watches, 1);
	assert_int_equal(reflector_counters(cluster.followers[0].reflector).bookmarks, 1);
	end_cluster(&cluster);
}

static bool has_told_for_long(const struct cluster *cluster)
{
	push_event(cluster, "");
	return has_time_passed(cluster);
}

/* As of a load balancer behind which one server works: whoever connects gets another. */
static void regress_13_a_watch_that_tells_while_all_else_fails_does_not_make_the_client_spin(
	void **state)
{
	(void)state;
	struct cluster cluster;
	begin_outage_but_for_one_watch(&cluster);
	for (size_t i = 1; i < N_FOLLOWED; i++)
		cluster.routes[WATCHES + i].answer.bytes = (struct view)STATUS("500");
	unsigned before = script_server_requests(cluster.server);
	run_until(&cluster, has_told_for_long, 6000);
	/* All others once or twice, and then a probe or a try each half a second. */
	assert_in_range(script_server_requests(cluster.server) - before, 2, 24);
	assert_string_equal(cluster.told, "away back away ");
	for (size_t i = 1; i < N_FOLLOWED; i++)
		cluster.routes[WATCHES + i].answer.bytes = (struct view)WATCH;
	uint64_t well_at = loop_now_ms(cluster.loop);
	run_until(&cluster, are_all_followed, 0);
	for (size_t i = 1; i < N_FOLLOWED; i++)
		assert_true(cluster.followers[i].followed_at <= well_at + 4000);
	end_cluster(&cluster);
}

/* A connection that stayed open may lag by the length of the outage. */
static void watches_that_were_silent_with_a_request_are_resumed_when_the_server_answers(void **state)
{
	(void)state;
	for (int is_silent = 0; is_silent < 2; is_silent++) {
		struct cluster cluster;
		begin_cluster(&cluster);
		run_until(&cluster, has_time_passed, 5);
		/* Another that fails at once tells nothing of connections. */
		cluster.routes[OTHERS].answer.bytes =
			is_silent ? (struct view){0} : (struct view)STATUS("500");
		send_single_for(&cluster, 2200);
		run_until(&cluster, has_been_answered, 1);
		assert_false(apiclient_is_away(cluster.client));
		assert_int_equal(cluster.n_doubts, is_silent);
		run_until(&cluster, has_received_requests, 2 * N_FOLLOWED + 2);
		run_until(&cluster, has_time_passed, 300);
		assert_true(are_all_followed(&cluster));
		assert_false(apiclient_is_doubtful(cluster.client));
		assert_int_equal(count_watches(&cluster), is_silent ? 2 * N_FOLLOWED : N_FOLLOWED);
		/* They had their heads, and nobody blames the server. */
		assert_int_equal(apiclient_counters(cluster.client).by_code[0], is_silent);
		assert_int_equal(apiclient_counters(cluster.client).probes, 1);
		assert_string_equal(cluster.told, "");
		end_cluster(&cluster);
	}
}

/*
 * The network was cut, and nobody asked for anything meanwhile. So nothing but the probe, which was
 * sent before it was mended, tells that the watches may lag.
 */
static void regress_13_a_probe_that_waits_in_vain_resumes_watches_though_others_are_answered(
	void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	run_until(&cluster, has_time_passed, 5);
	cluster.routes[READYZ].answer.bytes = (struct view){0};
	cluster.routes[OTHERS].answer.bytes = (struct view)STATUS("500");
	send_single(&cluster);
	run_until(&cluster, has_received_requests, 2 * N_FOLLOWED + 2); /* the probe */
	cluster.routes[OTHERS].answer.bytes = (struct view)STATUS("200");
	send_single(&cluster);
	run_until(&cluster, has_been_answered, 2);
	run_until(&cluster, has_watches, 2 * N_FOLLOWED);
	run_until(&cluster, has_time_passed, 300);
	run_until(&cluster, are_all_followed, 0);
	assert_int_equal(count_watches(&cluster), 2 * N_FOLLOWED);
	assert_false(apiclient_is_away(cluster.client));
	end_cluster(&cluster);
}

static bool has_been_refused(const struct cluster *cluster)
{
	return apiclient_counters(cluster->client).by_code[4] >= cluster->wanted;
}

/* The server is back, and whoever asks next is told so: after its first answer to anything. */
static uint64_t end_outage(struct cluster *cluster)
{
	script_server_start(cluster->server);
	send_single(cluster);
	run_until(cluster, has_been_answered, cluster->n_answered + 1);
	assert_string_equal(cluster->told, "back ");
	cluster->told[0] = '\0';
	return loop_now_ms(cluster->loop);
}

/* What waits for having been refused waits no longer when a steady server was away and is back. */
static void the_return_of_a_steady_server_ends_the_wait_of_those_that_were_refused(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	cluster.routes[WATCHES].answer.bytes = (struct view)STATUS("403");
	push_event(&cluster, "0\r\n\r\n"); /* it ends well, and leaves no doubt */
	run_until(&cluster, has_been_refused, 2);
	assert_int_equal(apiclient_counters(cluster.client).probes, 0);
	begin_outage(&cluster);
	cluster.routes[WATCHES].answer.bytes = (struct view)WATCH;
	uint64_t back_at = end_outage(&cluster);
	run_until(&cluster, are_all_followed, 0);
	/* Its back-off is 1600 ms at least. */
	assert_true(cluster.followers[0].followed_at <= back_at + REACHABILITY_JITTER_MS + 800);
	end_cluster(&cluster);
}

/* Each wait for the server ends early once, for the doubt; otherwise each flap would cost requests. */
static void a_server_that_flaps_ends_no_wait_a_second_time_before_it_has_settled(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	begin_outage(&cluster);
	uint64_t back_at = end_outage(&cluster);
	run_until(&cluster, are_all_followed, 0);
	script_server_hang_up(cluster.server);
	run_until(&cluster, is_none_followed, 0);
	send_single(&cluster);
	run_until(&cluster, are_all_followed, 0);
	uint64_t lost_at = loop_now_ms(cluster.loop);
	bool does_flap = lost_at < back_at + REACHABILITY_STEADY_MS / 2; /* a busy machine is slow */
	begin_outage(&cluster);
	back_at = end_outage(&cluster);
	run_until(&cluster, are_all_followed, 0);
	/* It has settled, or the back-off of a second failure is over. */
	uint64_t settled_at = back_at + REACHABILITY_STEADY_MS;
	uint64_t early_at = lost_at + 1600 < settled_at ? lost_at + 1600 : settled_at;
	for (size_t i = 0; does_flap && i < N_FOLLOWED; i++)
		assert_true(cluster.followers[i].followed_at >= early_at);
	end_cluster(&cluster);
}

/* The end of a short return forgets nothing; what was refused waits until it has been well. */
static void a_server_that_flaps_ends_no_wait_of_those_that_were_refused(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	begin_outage(&cluster);
	script_server_start(cluster.server);
	run_until(&cluster, are_all_followed, 0);
	cluster.routes[WATCHES].answer.bytes = (struct view)STATUS("403");
	cluster.told[0] = '\0';
	begin_outage(&cluster);
	script_server_start(cluster.server);
	run_until(&cluster, are_others_followed, 0);
	uint64_t back_at = loop_now_ms(cluster.loop);
	/* It backs off until the server has been well for a second. */
	run_until(&cluster, has_time_passed, 500);
	unsigned n = count_received(&cluster, well[WATCHES].begins);
	assert_in_range(n, 2, 5);
	cluster.routes[WATCHES].answer.bytes = (struct view)WATCH;
	run_until(&cluster, are_all_followed, 0);
	assert_true(cluster.followers[0].followed_at < back_at + REACHABILITY_STEADY_MS + 1500);
	end_cluster(&cluster);
}

static void a_client_can_be_freed_while_it_probes_or_the_server_is_away(void **state)
{
	(void)state;
	for (int is_probing = 0; is_probing < 2; is_probing++) {
		struct cluster cluster;
		begin_cluster(&cluster);
		if (is_probing) {
			cluster.routes[READYZ].answer.bytes = (struct view){0};
			script_server_hang_up(cluster.server);
			run_until(&cluster, has_received_requests, 2 * N_FOLLOWED + 1);
		} else {
			begin_outage(&cluster);
		}
		end_cluster(&cluster);
		assert_string_equal(cluster.told, "");
	}
}

static void nobody_need_be_told_of_the_servers_state(void **state)
{
	(void)state;
	struct cluster cluster;
	begin_cluster(&cluster);
	apiclient_on_state(cluster.client, NULL, NULL);
	script_server_stop(cluster.server);
	run_until(&cluster, is_away, 0);
	assert_string_equal(cluster.told, "");
	end_cluster(&cluster);
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
	cmocka_unit_test(a_request_that_is_apart_shares_a_connection_with_its_like_only),
	cmocka_unit_test(after_a_401_a_fresh_token_is_tried_once),
	cmocka_unit_test(a_401_without_files_is_final),
	cmocka_unit_test(an_answer_that_is_cut_or_too_large_is_no_answer),
	cmocka_unit_test(a_server_that_is_not_there_is_worth_another_try),
	cmocka_unit_test(a_request_that_takes_too_long_ends),
	cmocka_unit_test(a_request_whose_time_has_come_before_it_is_sent_is_not_sent),
	cmocka_unit_test(cancelled_requests_call_nobody),
	cmocka_unit_test(a_stopped_reflector_is_run_no_longer_and_the_others_are),
	cmocka_unit_test(a_client_can_be_freed_while_everything_is_under_way),
	cmocka_unit_test(while_the_server_is_gone_there_are_probes_only_and_then_all_go_ahead),
	cmocka_unit_test(those_that_go_ahead_do_so_within_the_jitter),
	cmocka_unit_test(an_answer_to_a_single_request_lets_all_go_ahead),
	cmocka_unit_test(after_a_second_outage_all_go_ahead_as_fast_as_after_the_first),
	cmocka_unit_test(watches_that_are_cut_by_a_live_server_are_back_at_once_by_one_probe),
	cmocka_unit_test(a_server_that_does_not_let_us_ask_for_its_readiness_answers_all_the_same),
	cmocka_unit_test(a_server_that_says_it_is_unready_and_works_is_found_out_by_one_watch),
	cmocka_unit_test(an_unready_server_gets_a_probe_and_one_watch_by_turns_each_time_another),
	cmocka_unit_test(one_broken_resource_of_a_live_server_does_not_make_the_client_spin),
	cmocka_unit_test(regress_13_a_watch_that_is_cut_at_once_each_time_backs_off),
	cmocka_unit_test(regress_13_watches_that_are_all_cut_at_once_do_not_hasten_each_other_for_ever),
	cmocka_unit_test(a_watch_that_has_recovered_lets_the_others_that_failed_go_ahead),
	cmocka_unit_test(neither_429_nor_a_refusal_ends_an_outage),
	cmocka_unit_test(the_probe_follows_at_once_on_a_watch_that_was_tried_and_refused),
	cmocka_unit_test(a_server_that_says_429_to_the_probe_is_away),
	cmocka_unit_test(a_refusal_ends_a_doubt),
	cmocka_unit_test(a_request_that_is_aside_and_hangs_raises_no_doubt),
	cmocka_unit_test(a_server_that_cuts_the_probe_and_works_is_found_out_by_one_watch),
	cmocka_unit_test(why_the_server_is_away_is_said_until_it_is_back),
	cmocka_unit_test(a_watch_that_tells_something_ends_an_outage),
	cmocka_unit_test(regress_13_a_watch_that_tells_while_all_else_fails_does_not_make_the_client_spin),
	cmocka_unit_test(watches_that_were_silent_with_a_request_are_resumed_when_the_server_answers),
	cmocka_unit_test(
		regress_13_a_probe_that_waits_in_vain_resumes_watches_though_others_are_answered),
	cmocka_unit_test(the_return_of_a_steady_server_ends_the_wait_of_those_that_were_refused),
	cmocka_unit_test(a_server_that_flaps_ends_no_wait_a_second_time_before_it_has_settled),
	cmocka_unit_test(a_server_that_flaps_ends_no_wait_of_those_that_were_refused),
	cmocka_unit_test(a_client_can_be_freed_while_it_probes_or_the_server_is_away),
	cmocka_unit_test(nobody_need_be_told_of_the_servers_state),
	cmocka_unit_test(a_credential_file_that_is_missing_at_the_start_is_an_error),
};
TEST_MAIN(tests)
