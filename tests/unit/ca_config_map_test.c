/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/failing_malloc.h"
#include "lib/test_main.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "controller/ca_config_map.h"

#include "lib/fake_apiclient.inc"

#define PATH "/api/v1/namespaces/agents/configmaps/ca"
#define MAP(version, text)                                                                       \
	"{\"metadata\":{\"resourceVersion\":\"" version "\"},\"data\":{\"ca.crt\":\"" text "\"}}"

static struct ca_config_map *map;
static unsigned n_done;
static enum ca_config_map_outcome last_outcome;

static void on_done(void *owner, enum ca_config_map_outcome outcome)
{
	assert_ptr_equal(owner, &map);
	n_done++;
	last_outcome = outcome;
}

static const struct ca_config_map_config config = {
	.namespace = "agents", .name = "ca", .done = on_done, .owner = &map,
};

static int set_up(void **state)
{
	struct error err;

	(void)state;
	fake_apiclient_reset();
	n_done = 0;
	return ca_config_map_new(&config, &map, &err);
}

static int tear_down(void **state)
{
	(void)state;
	ca_config_map_free(map);
	map = NULL;
	return 0;
}

static void publish(const char *ca_cert)
{
	struct error err = {0};

	assert_int_equal(ca_config_map_publish(map, view_from(ca_cert), &err), 0);
}

static unsigned last(void)
{
	assert_true(n_fake_requests > 0);
	return n_fake_requests - 1;
}

static void expect_sent(const char *method)
{
	assert_string_equal(fake_requests[last()].method, method);
	assert_string_equal(fake_requests[last()].path, PATH);
	assert_true(fake_requests[last()].open);
}

static void expect_done(unsigned n, enum ca_config_map_outcome outcome)
{
	assert_int_equal(n_done, n);
	assert_int_equal(last_outcome, outcome);
}

static void an_empty_map_gets_the_certificates(void **state)
{
	(void)state;
	publish("a\nb\n");
	expect_sent("GET");
	fake_apiclient_answer(last(), "{\"metadata\":{\"resourceVersion\":\"7\"}}");
	expect_sent("PATCH");
	assert_string_equal(fake_requests[last()].content_type, "application/merge-patch+json");
	assert_string_equal(fake_requests[last()].body, MAP("7", "a\\nb\\n"));
	assert_int_equal(n_done, 0);
	fake_apiclient_answer(last(), "{}");
	expect_done(1, CA_CONFIG_MAP_WRITTEN);
	assert_string_equal(ca_config_map_trouble(map), "");
}

static void a_map_that_has_them_is_not_written(void **state)
{
	(void)state;
	publish("a");
	fake_apiclient_answer(last(), MAP("7", "a"));
	assert_int_equal(n_fake_requests, 1);
	expect_done(1, CA_CONFIG_MAP_EQUAL);
}

static void what_somebody_edited_away_is_written_again(void **state)
{
	static const char *const edited[] = {
		MAP("8", ""), MAP("8", "b"), MAP("8", "a "), "{\"metadata\":{\"resourceVersion\":\"8\"}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(edited); i++) {
		publish("a");
		fake_apiclient_answer(last(), MAP("7", "a"));
		publish("a");
		fake_apiclient_answer(last(), edited[i]);
		expect_sent("PATCH");
		assert_string_equal(fake_requests[last()].body, MAP("8", "a"));
		fake_apiclient_answer(last(), "{}");
		publish("a");
		fake_apiclient_answer(last(), MAP("9", "a"));
		expect_done(3 * (unsigned)(i + 1), CA_CONFIG_MAP_EQUAL);
	}
}

static void a_conflict_is_no_trouble_and_wants_another_look(void **state)
{
	(void)state;
	publish("a");
	fake_apiclient_answer(last(), MAP("7", ""));
	fake_apiclient_fail(last(), ERROR_CONFLICT);
	expect_done(1, CA_CONFIG_MAP_AGAIN);
	assert_string_equal(ca_config_map_trouble(map), "");
	publish("a");
	fake_apiclient_answer(last(), MAP("8", ""));
	expect_sent("PATCH");
}

static void expect_trouble(const char *text)
{
	assert_non_null(strstr(ca_config_map_trouble(map), "configmap agents/ca"));
	assert_non_null(strstr(ca_config_map_trouble(map), text));
}

static void a_failure_says_which_right_or_object_is_missing(void **state)
{
	static const struct {
		enum error_kind kind;
		const char *text;
	} rows[] = {
		{ERROR_NOT_FOUND, "create it"},
		{ERROR_DENIED, "grant get and patch"},
		{ERROR_RETRY, "as the test wants it"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		publish("a");
		fake_apiclient_fail(last(), rows[i].kind);
		expect_done(2 * (unsigned)i + 1, CA_CONFIG_MAP_AGAIN);
		expect_trouble(rows[i].text);
		publish("a");
		fake_apiclient_answer(last(), MAP("7", ""));
		expect_sent("PATCH");
		fake_apiclient_fail(last(), rows[i].kind);
		expect_done(2 * (unsigned)i + 2, CA_CONFIG_MAP_AGAIN);
		expect_trouble(rows[i].text);
	}
	publish("a");
	fake_apiclient_answer(last(), MAP("7", "a"));
	assert_string_equal(ca_config_map_trouble(map), "");
}

static void an_answer_that_is_no_map_is_trouble(void **state)
{
	(void)state;
	publish("a");
	fake_apiclient_answer(last(), "<html>");
	expect_done(1, CA_CONFIG_MAP_AGAIN);
	expect_trouble("");
}

static void a_map_that_does_not_keep_what_is_written_is_not_written_in_a_circle(void **state)
{
	(void)state;
	publish("a");
	fake_apiclient_answer(last(), MAP("7", ""));
	fake_apiclient_answer(last(), "{}");
	publish("a");
	fake_apiclient_answer(last(), MAP("9", ""));
	assert_int_equal(n_fake_requests, 3);
	expect_done(2, CA_CONFIG_MAP_AGAIN);
	expect_trouble("check what else writes it");
	/* After a back-off it is tried again. */
	publish("a");
	fake_apiclient_answer(last(), MAP("9", ""));
	expect_sent("PATCH");
}

static void new_certificates_right_after_a_write_are_written_too(void **state)
{
	(void)state;
	publish("a");
	fake_apiclient_answer(last(), MAP("7", ""));
	fake_apiclient_answer(last(), "{}");
	publish("ba");
	fake_apiclient_answer(last(), MAP("8", "a"));
	expect_sent("PATCH");
	assert_string_equal(fake_requests[last()].body, MAP("8", "ba"));
	assert_string_equal(ca_config_map_trouble(map), "");
}

static void what_cannot_begin_is_trouble_and_calls_nobody(void **state)
{
	CLEANUP(sbuf_deinit) struct sbuf large = {0};
	struct error err = {0};

	(void)state;
	fake_apiclient_refusal = ERROR_LIMIT;
	assert_int_equal(ca_config_map_publish(map, VIEW("a"), &err), -1);
	expect_trouble("as the test wants it");
	fake_apiclient_refusal = ERROR_NONE;
	sbuf_init(&large, 2 * LIMIT_FILE_BYTES);
	while (large.len <= LIMIT_FILE_BYTES)
		sbuf_append(&large, VIEW("0123456789abcdef"));
	assert_int_equal(ca_config_map_publish(map, sbuf_view(&large), &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	expect_trouble("ca.crt");
	assert_int_equal(n_fake_requests, 0);
	assert_int_equal(n_done, 0);
	publish("a");
	expect_sent("GET");
}

static void the_end_in_the_middle_cancels_the_request(void **state)
{
	(void)state;
	publish("a");
	ca_config_map_free(map);
	map = NULL;
	assert_false(fake_requests[0].open);
	assert_int_equal(n_done, 0);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
	static char name[LIMIT_URL + 1];
	struct ca_config_map_config long_config = config;
	struct ca_config_map *other = NULL;
	struct error err = {0};

	(void)state;
	memset(name, 'a', LIMIT_URL);
	long_config.name = name;
	assert_int_equal(ca_config_map_new(&long_config, &other, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_null(other);
}

static void without_memory_none_is_made_and_nothing_leaks(void **state)
{
	bool failed = true;

	(void)state;
	for (unsigned k = 1; failed; k++) {
		struct ca_config_map *other = NULL;
		struct error err = {0};

		failing_malloc_at(k);
		int result = ca_config_map_new(&config, &other, &err);
		failed = failing_malloc_off();
		assert_int_equal(result, failed ? -1 : 0);
		assert_int_equal(other != NULL, !failed);
		ca_config_map_free(other);
	}
}

static void memory_that_runs_out_on_the_way_is_trouble_until_there_is_some(void **state)
{
	bool failed = true;

	(void)state;
	for (unsigned k = 1; failed; k++) {
		struct error err = {0};

		fake_apiclient_reset();
		n_done = 0;
		failing_malloc_at(k);
		int result = ca_config_map_publish(map, VIEW("a"), &err);
		if (result == 0)
			fake_apiclient_answer(last(), MAP("7", ""));
		failed = failing_malloc_off();
		if (failed)
			expect_trouble("memory");
		else
			expect_sent("PATCH");
		assert_int_equal(n_done, failed && result == 0);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(an_empty_map_gets_the_certificates, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_map_that_has_them_is_not_written, set_up, tear_down),
	cmocka_unit_test_setup_teardown(what_somebody_edited_away_is_written_again, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_conflict_is_no_trouble_and_wants_another_look, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(a_failure_says_which_right_or_object_is_missing, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(an_answer_that_is_no_map_is_trouble, set_up, tear_down),
	cmocka_unit_test_setup_teardown(
		a_map_that_does_not_keep_what_is_written_is_not_written_in_a_circle, set_up, tear_down),
	cmocka_unit_test_setup_teardown(new_certificates_right_after_a_write_are_written_too, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(what_cannot_begin_is_trouble_and_calls_nobody, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(the_end_in_the_middle_cancels_the_request, set_up, tear_down),
	cmocka_unit_test_setup_teardown(a_path_that_is_too_long_is_refused, set_up, tear_down),
	cmocka_unit_test_setup_teardown(without_memory_none_is_made_and_nothing_leaks, set_up,
					tear_down),
	cmocka_unit_test_setup_teardown(
		memory_that_runs_out_on_the_way_is_trouble_until_there_is_some, set_up, tear_down),
};
TEST_MAIN(tests)
