/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "controller/probes.h"
#include "lib/fake_server.inc"

static uint64_t silent;

static uint64_t silent_ms(void *owner)
{
	(void)owner;
	return silent;
}

static struct probes *probes;

static int setup(void **state)
{
	(void)state;
	struct error err;
	const struct probes_config config = {.silent_ms = silent_ms, .max_silent_ms = 1000};
	assert_int_equal(probes_new(&config, &probes, &err), 0);
	silent = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	probes_free(probes);
	return 0;
}

static const struct server_request *ask(const char *method, const char *path, const char *query)
{
	static struct server_request request;
	const struct server_handler handler = probes_handler(probes);
	const struct server_head head = {.method = view_from(method), .path = view_from(path),
					 .query = view_from(query), .content_length = -1};
	request = (struct server_request){0};
	handler.head(handler.owner, &request, &head);
	if (request.proceeded)
		handler.request(handler.owner, &request, &head, (struct view){0});
	return &request;
}

static void assert_answer(const char *path, const char *query, int status, const char *body)
{
	const struct server_request *request = ask("GET", path, query);
	assert_int_equal(request->status, status);
	assert_string_equal(request->body, body);
	assert_memory_equal(request->content_type, "text/plain", 10);
}

static void nothing_is_ready_before_it_is_said_so(void **state)
{
	(void)state;
	assert_answer("/readyz", "", 500, "[-]start: not finished\nreadyz check failed\n");
}

static void readiness_names_what_it_waits_for(void **state)
{
	(void)state;
	const struct probes_check checks[] = {
		{VIEW("pods"), VIEW("not synced: connection refused")},
		{VIEW("nodes"), VIEW("")},
	};
	probes_set(probes, checks, ARRAY_SIZE(checks));
	assert_answer("/readyz", "", 500,
		      "[-]pods: not synced: connection refused\n[+]nodes ok\nreadyz check failed\n");
}

static void what_is_well_is_listed_when_asked_for(void **state)
{
	(void)state;
	struct probes_check checks[] = {{VIEW("pods"), VIEW("")}, {VIEW("nodes"), VIEW("")}};
	static const char *const verbose = "[+]pods ok\n[+]nodes ok\nreadyz check passed\n";
	probes_set(probes, checks, ARRAY_SIZE(checks));
	assert_answer("/readyz", "", 200, "ok");
	assert_answer("/readyz", "verbosely", 200, "ok");
	assert_answer("/readyz", "verbose", 200, verbose);
	assert_answer("/readyz", "verbose=1", 200, verbose);
	assert_answer("/readyz", "a=b&verbose", 200, verbose);
	checks[1].note = VIEW("this replica leads");
	probes_set(probes, checks, ARRAY_SIZE(checks));
	assert_answer("/readyz", "verbose", 200,
		      "[+]pods ok\n[+]nodes ok: this replica leads\nreadyz check passed\n");
	checks[1].trouble = VIEW("no");
	probes_set(probes, checks, ARRAY_SIZE(checks));
	assert_answer("/readyz", "", 500, "[+]pods ok\n[-]nodes: no\nreadyz check failed\n");
	probes_set(probes, checks, 0);
	assert_answer("/readyz", "", 200, "ok");
}

static void what_is_lacking_without_need_is_said_and_no_reason(void **state)
{
	(void)state;
	struct probes_check checks[] = {
		{VIEW("pods"), VIEW(""), false},
		{VIEW("resourceclaims"), VIEW("may not list"), true},
	};

	probes_set(probes, checks, ARRAY_SIZE(checks));
	assert_answer("/readyz", "", 200, "ok");
	assert_answer("/readyz", "verbose", 200,
		      "[+]pods ok\n[+]resourceclaims ok without: may not list\n"
		      "readyz check passed\n");
	checks[0].trouble = VIEW("not synced yet");
	probes_set(probes, checks, ARRAY_SIZE(checks));
	assert_answer("/readyz", "", 500,
		      "[-]pods: not synced yet\n[+]resourceclaims ok without: may not list\n"
		      "readyz check failed\n");
	checks[1].tolerated = false;
	checks[0].trouble = VIEW("");
	probes_set(probes, checks, ARRAY_SIZE(checks));
	assert_answer("/readyz", "", 500,
		      "[+]pods ok\n[-]resourceclaims: may not list\nreadyz check failed\n");
}

static void a_long_trouble_is_cut(void **state)
{
	(void)state;
	char text[2000];
	memset(text, 'x', sizeof(text));
	const struct probes_check check = {VIEW("pods"), {text, sizeof(text)}};
	probes_set(probes, &check, 1);
	const struct server_request *request = ask("GET", "/readyz", "");
	assert_int_equal(request->body_len, strlen("[-]pods: \nreadyz check failed\n") + 255);
}

static void a_loop_that_shows_no_sign_of_life_is_not_alive(void **state)
{
	(void)state;
	silent = 1000;
	assert_answer("/livez", "", 200, "ok");
	assert_answer("/livez", "verbose", 200, "[+]front ok\n[+]loop ok\nlivez check passed\n");
	silent = 1001;
	assert_answer("/livez", "", 500,
		      "[+]front ok\n[-]loop: the main thread does not respond\nlivez check failed\n");
}

static void the_port_of_probes_shows_no_metrics(void **state)
{
	(void)state;
	const struct server_request *request = ask("GET", "/metrics", "");
	assert_int_equal(request->status, 404);
	assert_non_null(strstr(request->body, "--metrics-address"));
}

static void other_paths_and_methods_are_refused(void **state)
{
	(void)state;
	assert_int_equal(ask("GET", "/", "")->status, 404);
	assert_int_equal(ask("GET", "/readyz/", "")->status, 404);
	assert_int_equal(ask("HEAD", "/livez", "")->status, 200);
	const struct server_request *request = ask("POST", "/readyz", "");
	assert_int_equal(request->status, 405);
	assert_string_equal(request->allow, "GET, HEAD");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(nothing_is_ready_before_it_is_said_so, setup, teardown),
	cmocka_unit_test_setup_teardown(readiness_names_what_it_waits_for, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_well_is_listed_when_asked_for, setup, teardown),
	cmocka_unit_test_setup_teardown(what_is_lacking_without_need_is_said_and_no_reason, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_long_trouble_is_cut, setup, teardown),
	cmocka_unit_test_setup_teardown(a_loop_that_shows_no_sign_of_life_is_not_alive, setup,
					teardown),
	cmocka_unit_test_setup_teardown(the_port_of_probes_shows_no_metrics, setup, teardown),
	cmocka_unit_test_setup_teardown(other_paths_and_methods_are_refused, setup, teardown),
};
TEST_MAIN(tests)
