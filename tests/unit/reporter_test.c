/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/reporter.h"
#include "lib/fake_controller.h"
#include "lib/own_folder.h"

#define TOKEN_FILE "reporter_test.token"
#define CA_FILE "reporter_test.ca"

static struct error err;

/* A reporter and a controller on one loop. */
struct node {
	struct loop *loop;
	struct fetcher *fetcher;
	struct fake_controller *controller;
	struct reporter *reporter;
	struct reporter_answer answer;
	unsigned n_answers, n_disconnected;
	char url[64]; /* the reporter's, which may outlive the controller */
};

static void write_file(const char *path, struct view text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text.ptr ? text.ptr : "", 1, text.len, file), text.len);
	assert_int_equal(fclose(file), 0);
}

static void saw_answer(void *owner, const struct reporter_answer *answer)
{
	struct node *node = owner;
	node->answer = *answer;
	node->n_answers++;
	loop_stop(node->loop);
}

static void saw_disconnected(void *owner)
{
	struct node *node = owner;
	node->n_disconnected++;
	loop_stop(node->loop);
}

static struct reporter_config usual(struct node *node)
{
	snprintf(node->url, sizeof(node->url), "%s", fake_controller_url(node->controller));
	return (struct reporter_config){
		.controller = node->url,
		.ca_file = CA_FILE,
		.server_name = "",
		.token_file = TOKEN_FILE,
		.timeout_ms = 10000,
	};
}

static void replace_reporter(struct node *node, const struct reporter_config *config)
{
	reporter_free(node->reporter);
	const struct reporter_handler handler = {node, saw_answer, saw_disconnected};
	assert_int_equal(reporter_new(node->fetcher, config, &handler, &node->reporter, &err), 0);
}

static void setup(struct node *node)
{
	*node = (struct node){0};
	assert_int_equal(loop_new(&node->loop, &err), 0);
	assert_int_equal(fetcher_new(node->loop, &node->fetcher, &err), 0);
	node->controller = fake_controller_new(node->loop, NULL, NULL);
	write_file(TOKEN_FILE, VIEW("secret\n"));
	write_file(CA_FILE, fake_controller_authority(node->controller));
	const struct reporter_config config = usual(node);
	replace_reporter(node, &config);
}

static void teardown(struct node *node)
{
	reporter_free(node->reporter);
	fetcher_free(node->fetcher);
	fake_controller_free(node->controller);
	loop_free(node->loop);
	unlink(TOKEN_FILE);
	unlink(CA_FILE);
}

static void post(struct node *node)
{
	unsigned before = node->n_answers;
	assert_int_equal(reporter_post(node->reporter, VIEW("{\"version\":1}"), &err), 0);
	assert_int_equal(node->n_answers, before);
	assert_int_equal(loop_run(node->loop, &err), 0);
	assert_int_equal(node->n_answers, before + 1);
}

static void answer_with(struct node *node, int status, struct view body)
{
	fake_controller_set(node->controller,
			    &(struct server_answer){.status = status,
						    .content_type = "application/json",
						    .body = body});
}

static void a_report_arrives_with_its_token_and_the_answer_comes_back(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	answer_with(&node, 200, VIEW("{\"heartbeatSeconds\":30,\"acknowledgedEvents\":7}"));
	post(&node);
	assert_true(view_equal(fake_controller_body(node.controller), VIEW("{\"version\":1}")));
	assert_true(view_equal(fake_controller_authorization(node.controller),
			       VIEW("Bearer secret")));
	assert_int_equal(node.answer.delivery.status, 200);
	assert_int_equal(node.answer.delivery.heartbeat_s, 30);
	assert_int_equal(node.answer.acknowledged_events, 7);
	assert_int_equal(node.answer.error.kind, ERROR_NONE);
	teardown(&node);
}

static void a_200_that_says_nothing_acknowledges_nothing(void **state)
{
	(void)state;
	static const struct view bodies[] = {
		VIEW_INIT("{}"), VIEW_INIT(""), VIEW_INIT("not json"), VIEW_INIT("[]"),
		VIEW_INIT("{\"acknowledgedEvents\":\"7\"}"),
		VIEW_INIT("{\"heartbeatSeconds\":1e99}"),
	};
	struct node node;
	setup(&node);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		answer_with(&node, 200, bodies[i]);
		post(&node);
		assert_int_equal(node.answer.delivery.status, 200);
		assert_int_equal(node.answer.delivery.heartbeat_s, 0);
		assert_int_equal(node.answer.acknowledged_events, -1);
	}
	teardown(&node);
}

static void one_connection_serves_all_reports_while_they_are_accepted(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	for (unsigned i = 0; i < 5; i++)
		post(&node);
	assert_int_equal(fake_controller_reports(node.controller), 5);
	assert_int_equal(fake_controller_connections(node.controller), 1);
	teardown(&node);
}

/* The name is one that only the certificate knows: nothing looks it up. */
static void a_replica_is_posted_to_at_its_address_under_the_name_of_the_url(void **state)
{
	(void)state;
	struct node node;
	char url[64];
	setup(&node);
	struct reporter_config config = usual(&node);
	snprintf(url, sizeof(url), "https://controller.test%s", strrchr(config.controller, ':'));
	config.controller = url;
	config.address = "127.0.0.1";
	replace_reporter(&node, &config);
	post(&node);
	assert_int_equal(node.answer.delivery.status, 200);
	/* No replica is there. */
	config.address = "127.0.0.2";
	replace_reporter(&node, &config);
	post(&node);
	assert_int_equal(node.answer.delivery.status, 0);
	assert_int_equal(fake_controller_reports(node.controller), 1);
	/* The name that the certificate must have may be another one. */
	snprintf(url, sizeof(url), "https://replicas.test%s",
		 strrchr(fake_controller_url(node.controller), ':'));
	config.address = "127.0.0.1";
	replace_reporter(&node, &config);
	post(&node);
	assert_int_equal(node.answer.error.kind, ERROR_DENIED);
	config.server_name = "controller.test";
	replace_reporter(&node, &config);
	post(&node);
	assert_int_equal(node.answer.delivery.status, 200);
	teardown(&node);
}

/* As one that is killed: nothing is said, and its port is free again. */
static void end_controller(struct node *node)
{
	fake_controller_free(TAKE(node->controller));
	assert_int_equal(loop_run(node->loop, &err), 0);
}

TEST(the_end_of_the_connection_is_told_once_and_not_during_the_next_post)
{
	struct node node;
	setup(&node);
	post(&node);
	assert_true(node.answer.delivery.is_new_connection);
	post(&node);
	assert_false(node.answer.delivery.is_new_connection);
	assert_int_equal(node.n_disconnected, 0);
	end_controller(&node);
	assert_int_equal(node.n_disconnected, 1);
	post(&node);
	assert_int_equal(node.answer.delivery.status, 0);
	assert_int_equal(node.n_disconnected, 1);
	teardown(&node);
}

TEST(after_a_refusal_the_connection_of_the_next_report_is_watched)
{
	struct node node;
	setup(&node);
	answer_with(&node, 503, VIEW("{}"));
	post(&node);
	answer_with(&node, 200, VIEW("{}"));
	post(&node);
	end_controller(&node);
	assert_int_equal(node.n_disconnected, 1);
	teardown(&node);
}

static void after_a_refusal_another_connection_is_made(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	post(&node);
	answer_with(&node, 503, VIEW("{\"error\":\"not leading\"}"));
	post(&node);
	answer_with(&node, 200, VIEW("{}"));
	for (unsigned i = 0; i < 3; i++)
		post(&node);
	assert_int_equal(fake_controller_connections(node.controller), 2);
	teardown(&node);
}

static void a_refusal_carries_status_reason_and_retry_after(void **state)
{
	(void)state;
	static const struct {
		int status;
		const char *body;
		uint32_t retry_after_s;
		const char *text;
		enum error_kind kind;
	} rows[] = {
		{503, "{\"error\":\"not synced\"}", 5, "HTTP status 503: not synced", ERROR_RETRY},
		{429, "{\"error\":\"slow down\"}", 2, "HTTP status 429: slow down", ERROR_RETRY},
		{401, "{\"error\":\"bad token\"}", 0, "HTTP status 401: bad token", ERROR_DENIED},
		{403, "{\"error\":\"not yours\"}", 0, "HTTP status 403: not yours", ERROR_DENIED},
		{409, "{\"error\":\"old\"}", 0, "HTTP status 409: old", ERROR_RETRY},
		{500, "<html>", 0, "HTTP status 500", ERROR_RETRY},
		{413, "{\"error\":5}", 0, "HTTP status 413", ERROR_RETRY},
		{400, "{\"error\":\"two\\nlines\"}", 0, "HTTP status 400: two?lines", ERROR_RETRY},
	};
	struct node node;
	setup(&node);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct server_answer refusal = {
			.status = rows[i].status,
			.content_type = "application/json",
			.body = view_from(rows[i].body),
			.retry_after_s = rows[i].retry_after_s,
		};
		fake_controller_set(node.controller, &refusal);
		post(&node);
		assert_int_equal(node.answer.delivery.status, rows[i].status);
		assert_int_equal(node.answer.delivery.retry_after_ms, rows[i].retry_after_s * 1000);
		assert_string_equal(node.answer.error.text, rows[i].text);
		assert_int_equal(node.answer.error.kind, rows[i].kind);
		assert_int_equal(node.answer.acknowledged_events, -1);
	}
	teardown(&node);
}

static void a_redirect_is_not_followed(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	struct fake_controller *other = fake_controller_new(node.loop, NULL, NULL);
	char location[96];
	snprintf(location, sizeof(location), "%s/v1/report", fake_controller_url(other));
	fake_controller_set(node.controller,
			    &(struct server_answer){.status = 307,
						    .content_type = "text/plain",
						    .location = view_from(location)});
	post(&node);
	assert_int_equal(node.answer.delivery.status, 307);
	assert_int_equal(fake_controller_connections(other), 0);
	fake_controller_free(other);
	teardown(&node);
}

static void token_and_authorities_are_read_again_for_every_report(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	post(&node);
	write_file(TOKEN_FILE, VIEW("  another \n"));
	post(&node);
	assert_true(view_equal(fake_controller_authorization(node.controller),
			       VIEW("Bearer another")));
	struct fake_controller *other = fake_controller_new(node.loop, NULL, NULL);
	write_file(CA_FILE, fake_controller_authority(other));
	post(&node);
	assert_int_equal(node.answer.delivery.status, 0);
	assert_int_equal(node.answer.error.kind, ERROR_DENIED);
	write_file(CA_FILE, fake_controller_authority(node.controller));
	post(&node);
	assert_int_equal(node.answer.delivery.status, 200);
	fake_controller_free(other);
	teardown(&node);
}

static void an_unknown_authority_gets_no_token(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	struct fake_controller *other = fake_controller_new(node.loop, NULL, NULL);
	write_file(CA_FILE, fake_controller_authority(other));
	post(&node);
	assert_int_equal(node.answer.delivery.status, 0);
	assert_int_equal(node.answer.error.kind, ERROR_DENIED);
	assert_int_equal(fake_controller_reports(node.controller), 0);
	assert_int_equal(fake_controller_authorization(node.controller).len, 0);
	fake_controller_free(other);
	teardown(&node);
}

static void the_certificate_must_have_the_configured_name(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int status;
	} rows[] = {{"controller.test", 200}, {"someone.else", 0}};
	struct node node;
	setup(&node);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct reporter_config config = usual(&node);
		config.server_name = rows[i].name;
		replace_reporter(&node, &config);
		post(&node);
		assert_int_equal(node.answer.delivery.status, rows[i].status);
	}
	teardown(&node);
}

static void a_missing_or_empty_file_fails_before_anything_is_sent(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	write_file(TOKEN_FILE, VIEW(" \n"));
	assert_int_equal(reporter_post(node.reporter, VIEW("{}"), &err), -1);
	assert_int_equal(err.kind, ERROR_DENIED);
	unlink(TOKEN_FILE);
	assert_int_equal(reporter_post(node.reporter, VIEW("{}"), &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
	assert_non_null(strstr(err.text, TOKEN_FILE));
	write_file(TOKEN_FILE, VIEW("secret"));
	write_file(CA_FILE, VIEW(""));
	assert_int_equal(reporter_post(node.reporter, VIEW("{}"), &err), -1);
	unlink(CA_FILE);
	assert_int_equal(reporter_post(node.reporter, VIEW("{}"), &err), -1);
	assert_non_null(strstr(err.text, CA_FILE));
	assert_int_equal(fake_controller_connections(node.controller), 0);
	teardown(&node);
}

static void a_token_cannot_smuggle_a_header(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	write_file(TOKEN_FILE, VIEW("a\r\nX-Evil: 1"));
	assert_int_equal(reporter_post(node.reporter, VIEW("{}"), &err), -1);
	assert_int_equal(err.kind, ERROR_REJECTED);
	write_file(TOKEN_FILE, VIEW("a"));
	post(&node);
	assert_int_equal(node.answer.delivery.status, 200);
	teardown(&node);
}

static void a_controller_that_hangs_is_given_up(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	struct reporter_config config = usual(&node);
	config.timeout_ms = 300;
	replace_reporter(&node, &config);
	fake_controller_hang(node.controller);
	post(&node);
	assert_int_equal(node.answer.delivery.status, 0);
	assert_int_equal(node.answer.error.kind, ERROR_RETRY);
	teardown(&node);
}

static void a_controller_that_is_away_is_no_status(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	char url[64];
	snprintf(url, sizeof(url), "%s", fake_controller_url(node.controller));
	struct reporter_config config = usual(&node);
	config.controller = url;
	replace_reporter(&node, &config);
	fake_controller_free(node.controller);
	node.controller = NULL;
	post(&node);
	assert_int_equal(node.answer.delivery.status, 0);
	assert_int_equal(node.answer.error.kind, ERROR_RETRY);
	teardown(&node);
}

static void freeing_during_a_post_does_not_call_back(void **state)
{
	(void)state;
	struct node node;
	setup(&node);
	assert_int_equal(reporter_post(node.reporter, VIEW("{}"), &err), 0);
	teardown(&node);
	assert_int_equal(node.n_answers, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_report_arrives_with_its_token_and_the_answer_comes_back),
	cmocka_unit_test(a_200_that_says_nothing_acknowledges_nothing),
	cmocka_unit_test(one_connection_serves_all_reports_while_they_are_accepted),
	cmocka_unit_test(a_replica_is_posted_to_at_its_address_under_the_name_of_the_url),
	cmocka_unit_test(the_end_of_the_connection_is_told_once_and_not_during_the_next_post),
	cmocka_unit_test(after_a_refusal_the_connection_of_the_next_report_is_watched),
	cmocka_unit_test(after_a_refusal_another_connection_is_made),
	cmocka_unit_test(a_refusal_carries_status_reason_and_retry_after),
	cmocka_unit_test(a_redirect_is_not_followed),
	cmocka_unit_test(token_and_authorities_are_read_again_for_every_report),
	cmocka_unit_test(an_unknown_authority_gets_no_token),
	cmocka_unit_test(the_certificate_must_have_the_configured_name),
	cmocka_unit_test(a_missing_or_empty_file_fails_before_anything_is_sent),
	cmocka_unit_test(a_token_cannot_smuggle_a_header),
	cmocka_unit_test(a_controller_that_hangs_is_given_up),
	cmocka_unit_test(a_controller_that_is_away_is_no_status),
	cmocka_unit_test(freeing_during_a_post_does_not_call_back),
};
TEST_MAIN_WITH(tests, own_folder_enter, own_folder_leave)
