/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include "base/limits.h"
#include "controller/scrapes.h"
#include "lib/fake_server.inc"

#define LINE "things{name=\"a\"} 1"

static const struct metric_row rows[] = {
	{"own", METRIC_COUNTER, "", "Of the process.", NULL},
};

static struct metric_registry *registry;
static struct scrapes *scrapes;
static unsigned n_asked;
static bool refuses;
static struct server_request requests[4];

static bool ask(void *owner)
{
	(void)owner;
	n_asked++;
	return !refuses;
}

static int setup(void **state)
{
	struct error err;

	(void)state;
	n_asked = 0;
	refuses = false;
	fake_now_ms = 1000000;
	memset(requests, 0, sizeof(requests));
	assert_int_equal(metric_registry_new(rows, 1, &registry, &err), 0);
	const struct scrapes_config config = {.metrics = registry, .ask = ask};
	return scrapes_new(NULL, &config, &scrapes, &err);
}

static int teardown(void **state)
{
	(void)state;
	scrapes_free(scrapes);
	metric_registry_free(registry);
	assert_int_equal(exposition_text_alive(), 0);
	return 0;
}

static struct exposition_text *make_text(void)
{
	struct exposition_text *text;
	struct error err;

	assert_int_equal(exposition_text_new(1, &text, &err), 0);
	exposition_text_add(text, 0, VIEW(LINE), true);
	assert_int_equal(exposition_text_seal(text, &err), 0);
	return text;
}

/* It has both parts, or its own alone. */
static void assert_answered(const struct server_request *request, bool is_complete)
{
	assert_int_equal(request->status, 200);
	assert_string_equal(request->content_type, METRIC_CONTENT_TYPE);
	assert_int_equal(request->shared_len, is_complete ? sizeof(LINE) : 0);
	assert_non_null(strstr(request->body, "own_total 0\n# EOF\n"));
}

static void all_who_ask_meanwhile_share_one_text(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		scrapes_answer(scrapes, &requests[i]);
	assert_int_equal(n_asked, 1);
	assert_int_equal(requests[0].status, 0);
	scrapes_take(scrapes, make_text());
	for (int i = 0; i < 3; i++)
		assert_answered(&requests[i], true);
	assert_int_equal(scrapes_incomplete(scrapes), 0);
}

static void a_text_serves_for_a_second(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
	scrapes_take(scrapes, make_text());
	fake_pass(SCRAPES_KEEP_MS - 1);
	scrapes_answer(scrapes, &requests[1]);
	assert_answered(&requests[1], true);
	assert_int_equal(n_asked, 1);
	fake_pass(1);
	assert_int_equal(exposition_text_alive(), 0);
	scrapes_answer(scrapes, &requests[2]);
	assert_int_equal(n_asked, 2);
	scrapes_take(scrapes, make_text());
	assert_answered(&requests[2], true);
}

static void a_loop_that_hangs_leaves_out_the_devices_alone(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
	fake_pass(SCRAPES_TIMEOUT_MS - 1);
	assert_int_equal(requests[0].status, 0);
	scrapes_answer(scrapes, &requests[1]);
	fake_pass(1);
	assert_answered(&requests[0], false);
	assert_answered(&requests[1], false);
	assert_int_equal(scrapes_incomplete(scrapes), 2);
	/* What comes too late is for those who ask now. */
	scrapes_answer(scrapes, &requests[2]);
	scrapes_take(scrapes, make_text());
	assert_answered(&requests[2], true);
}

static void a_text_that_could_not_be_made_is_said_at_once(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
	scrapes_take(scrapes, NULL);
	assert_answered(&requests[0], false);
	refuses = true;
	scrapes_answer(scrapes, &requests[1]);
	assert_answered(&requests[1], false);
	assert_int_equal(scrapes_incomplete(scrapes), 2);
}

static void while_clients_hold_many_texts_the_last_one_serves_on(void **state)
{
	struct exposition_text *held[LIMIT_EXPOSITION_TEXTS];

	(void)state;
	scrapes_answer(scrapes, &requests[0]);
	scrapes_take(scrapes, make_text());
	for (size_t i = 0; i < LIMIT_EXPOSITION_TEXTS; i++)
		held[i] = make_text();
	fake_pass(20 * SCRAPES_KEEP_MS);
	scrapes_answer(scrapes, &requests[1]);
	assert_answered(&requests[1], true);
	assert_int_equal(n_asked, 1);
	for (size_t i = 0; i < LIMIT_EXPOSITION_TEXTS; i++)
		exposition_text_unref(held[i]);
	fake_pass(SCRAPES_KEEP_MS);
	scrapes_answer(scrapes, &requests[2]);
	assert_int_equal(n_asked, 2);
	scrapes_take(scrapes, make_text());
	assert_answered(&requests[2], true);
}

static void who_waits_when_all_ends_is_forgotten(void **state)
{
	(void)state;
	scrapes_answer(scrapes, &requests[0]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(all_who_ask_meanwhile_share_one_text, setup, teardown),
	cmocka_unit_test_setup_teardown(a_text_serves_for_a_second, setup, teardown),
	cmocka_unit_test_setup_teardown(a_loop_that_hangs_leaves_out_the_devices_alone, setup,
					teardown),
	cmocka_unit_test_setup_teardown(a_text_that_could_not_be_made_is_said_at_once, setup,
					teardown),
	cmocka_unit_test_setup_teardown(while_clients_hold_many_texts_the_last_one_serves_on, setup,
					teardown),
	cmocka_unit_test_setup_teardown(who_waits_when_all_ends_is_forgotten, setup, teardown),
};
TEST_MAIN(tests)
